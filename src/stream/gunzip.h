/*
 * Inflate gzip (RFC 1952) as it is read: member after member, ignoring zeros
 * after the last one, as gzip(1) does. Inflated bytes are handed out before
 * more is read.
 */
#ifndef GUNZIP_H
#define GUNZIP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* At most this many bytes are read, and handed out, at a time. */
#define GUNZIP_BYTES (256 * 1024)

struct gunzip;

struct gunzip_source {
	/* As read(2), of up to GUNZIP_BYTES, but waits for input. */
	ssize_t (*read)(void *context, uint8_t *data, size_t nbytes);
	void *context;
};

/*
 * Are these bytes the beginning of a member (section 2.3)? Could they be, if
 * there were more of them?
 */
int gunzip_is_head(const uint8_t *data, size_t nbytes);
int gunzip_may_be_head(const uint8_t *data, size_t nbytes);

/* For any number of files, one after the other. */
struct gunzip *gunzip_new(const struct gunzip_source *source);

/* Does nothing if it is NULL. */
void gunzip_free(struct gunzip *gunzip);

/* Begin a file; `data`, at most GUNZIP_BYTES, begins with a member's head. */
void gunzip_begin(struct gunzip *gunzip, const uint8_t *data, size_t nbytes);

/*
 * The next bytes, up to `nbytes` of them; 0 at the end; -1 on an error. Then,
 * and at an end after which something is ignored, *wrong becomes what is wrong
 * with the data; if it is NULL, errno says why no more could be read. Bytes
 * before an error are handed out first.
 */
ssize_t gunzip_read(struct gunzip *gunzip, uint8_t *data, size_t nbytes,
    const char **wrong);

/* Done with the file, at its end or before. */
void gunzip_end(struct gunzip *gunzip);

/* May gunzip_read have bytes to hand out without reading any? */
int gunzip_has_more(const struct gunzip *gunzip);

/*
 * Inflate the beginning of a member, without a struct gunzip. *nbytes becomes
 * the number of packed bytes used. Returns the number of inflated bytes, 0 if
 * the member is damaged.
 */
size_t gunzip_sample(const uint8_t *packed, size_t *nbytes, uint8_t *data,
    size_t room);

#endif
