/* The server: listens, serves, and stops when asked to. */
#ifndef SERVER_H
#define SERVER_H

#include "base/error.h"
#include "serve/service.h"

/*
 * Serve until SIGTERM, SIGINT or SIGHUP; then answer what has arrived, write
 * the filters back and return 0. Returns -1 with `error` filled if it can't
 * start, or if what is remembered could not be written at the end.
 */
int server_run(const struct serve_settings *plan, struct error *error);

#endif
