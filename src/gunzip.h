/*
 * Gzip (RFC 1952) inflated as it is read: member after member, as gzip(1) has
 * it, with the zeros that may follow the last one.
 *
 * Inflating goes by pieces, from memory to memory. While one is worked on, a
 * worker inflates the next one, as far as what was read goes. All reading is
 * done in the caller's thread, and nothing that is inflated waits for more to
 * be read.
 */
#ifndef GUNZIP_H
#define GUNZIP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* So many bytes are read, and handed out, at a time. */
#define GUNZIP_BYTES (256 * 1024)

struct gunzip;

struct gunzip_source {
	/* As read(2), of up to GUNZIP_BYTES, but it waits. */
	ssize_t (*read)(void *context, uint8_t *data, size_t nbytes);
	/* Would it return at once? */
	int (*is_ready)(void *context);
	void *context;
};

/*
 * Are these bytes the beginning of a member (section 2.3)? Could they be, if
 * there were more of them?
 */
int gunzip_is_head(const uint8_t *data, size_t nbytes);
int gunzip_may_be_head(const uint8_t *data, size_t nbytes);

/* For one file after the other. Two threads and more: with a worker. */
struct gunzip *gunzip_new(const struct gunzip_source *source,
    unsigned threads);

/* NULL is none. */
void gunzip_free(struct gunzip *gunzip);

/* A file whose first bytes, up to GUNZIP_BYTES, were read: a member's head. */
void gunzip_begin(struct gunzip *gunzip, const uint8_t *data, size_t nbytes);

/*
 * The next bytes, up to GUNZIP_BYTES of them; 0 at the end; -1 if there is no
 * going on. Then, and at an end behind which something is left out, *wrong
 * becomes what is wrong with the data, or NULL and errno says why no more
 * could be read. What was read before is handed out before.
 */
ssize_t gunzip_read(struct gunzip *gunzip, uint8_t *data, const char **wrong);

/* Done with the file, at its end or before. */
void gunzip_end(struct gunzip *gunzip);

/*
 * Are there bytes that gunzip_read would hand out without reading any? Waits
 * for the worker.
 */
int gunzip_has_more(struct gunzip *gunzip);

/* Is the worker at work? */
int gunzip_is_ahead(const struct gunzip *gunzip);

/*
 * Inflate the beginning of a member, without any of the above. *nbytes becomes
 * how much of the packed bytes that took. Returns the number of inflated bytes,
 * 0 if it is damaged.
 */
size_t gunzip_sample(const uint8_t *packed, size_t *nbytes, uint8_t *data,
    size_t room);

#endif
