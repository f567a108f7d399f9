/*
 * TLS for a connection to a Redis server, by hiredis and OpenSSL. Left out if
 * hiredis has no TLS.
 *
 * The server's certificate must be signed by an authority that OpenSSL trusts
 * by default, which SSL_CERT_FILE and SSL_CERT_DIR in the environment change
 * (SSL_CTX_set_default_verify_paths(3)), and be made out to the host.
 */
#ifndef REDIS_TLS_H
#define REDIS_TLS_H

#include <hiredis/hiredis.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"
#include "redis/address.h"

/*
 * Begin TLS on a context that is connected to the host, waiting for it as long
 * as the context's timeout. Fails with STATUS_USAGE if a certificate is the
 * reason: retrying is useless. hiredis' blocking calls work until tls_send.
 */
int tls_start(redisContext *context, const struct address *location,
    const char *host, struct error *error);

/*
 * Send what the socket takes now, receive what has arrived. Returns the number
 * of bytes, which may be 0, or -1: context->errstr has the reason. What was not
 * sent must come first in the next call.
 */
ssize_t tls_send(redisContext *context, const struct iovec *parts, int count);
ssize_t tls_receive(redisContext *context, void *buffer, size_t nbytes);

#endif
