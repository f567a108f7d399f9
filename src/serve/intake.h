/*
 * Reads what clients send, and takes the requests in it. Knows nothing of
 * events.
 */
#ifndef INTAKE_H
#define INTAKE_H

struct client;
struct service;

/* The buffer for the requests of a sweep, of all clients. */
struct intake;

struct intake *intake_new(struct service *service);
void intake_free(struct intake *intake);

/*
 * Read what has arrived, at most a buffer, and add the requests in it to the
 * sweep; or, after the client was full or paused, those that were left over.
 */
void intake_read(struct intake *intake, struct client *client);

#endif
