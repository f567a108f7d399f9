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
#include <stdint.h>

#include "base/error.h"
#include "redis/address.h"

/*
 * Begin TLS on a context that is connected to the host and does not block;
 * waits as patience.h says. Fails with STATUS_USAGE if a certificate is the
 * reason: retrying is useless.
 */
int tls_start(redisContext *context, const struct address *location,
    const char *host, uint64_t patience, struct error *error);

#endif
