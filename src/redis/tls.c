#include "redis/tls.h"

#include <arpa/inet.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>

#include "base/signals.h"
#include "redis/patience.h"

/* What OpenSSL says of an error: text that is never freed. */
static const char *
words_for(unsigned long code)
{
	const char *words;

	if (ERR_SYSTEM_ERROR(code))
		words = strerror(ERR_GET_REASON(code));
	else
		words = ERR_reason_error_string(code);
	/* It has none for an alert that it doesn't know. */
	return words != NULL ? words : "OpenSSL failed";
}

/* Fill `error` with what OpenSSL found wrong with a file or a server. */
static int
tls_error(struct error *error, const char *what)
{
	return error_set(error, STATUS_USAGE, "%s: %s", what,
	    words_for(ERR_peek_error()));
}

/* The settings of a connection. */
static SSL_CTX *
make_context(const struct address *location, struct error *error)
{
	const char *file = location->certificate;
	SSL_CTX *ctx;

	ERR_clear_error();
	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx == NULL || SSL_CTX_set_min_proto_version(ctx,
	    TLS1_2_VERSION) != 1 || SSL_CTX_set_default_verify_paths(ctx) != 1)
		tls_error(error, location->shown);
	else if (file != NULL && (SSL_CTX_use_certificate_chain_file(ctx,
	    file) != 1 || SSL_CTX_use_PrivateKey_file(ctx, file,
	    SSL_FILETYPE_PEM) != 1))
		tls_error(error, file);
	else
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

/* The handshake failed: because of the server's certificate? */
static int
explain(const SSL *ssl, const struct address *location, struct error *error)
{
	const char *why = "the server closed the connection";
	unsigned long code = ERR_peek_error();
	long verdict = SSL_get_verify_result(ssl);

	if (verdict != X509_V_OK)
		return error_set(error, STATUS_USAGE, "%s: the server's"
		    " certificate is refused: %s", location->shown,
		    X509_verify_cert_error_string(verdict));
	if (code != 0)
		why = words_for(code);
	return error_set(error, STATUS_FAILED, "%s: %s", location->shown, why);
}

/* Exchange keys and certificates; hiredis owns ssl. */
static int
shake_hands(SSL *ssl, const redisContext *context,
    const struct address *location, uint64_t patience, struct error *error)
{
	uint64_t since = clock_now();
	short events;
	int result;

	for (;;) {
		ERR_clear_error();
		signals_in_socket = 1;
		result = SSL_do_handshake(ssl);
		signals_in_socket = 0;
		if (result == 1)
			return 0;
		result = SSL_get_error(ssl, result);
		if (result != SSL_ERROR_WANT_READ &&
		    result != SSL_ERROR_WANT_WRITE)
			return explain(ssl, location, error);
		events = result == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
		if (patience_wait(location, context, events, since, patience,
		    error) < 0)
			return -1;
	}
}

int
tls_start(redisContext *context, const struct address *location,
    const char *host, uint64_t patience, struct error *error)
{
	SSL_CTX *ctx = make_context(location, error);
	struct in6_addr unused;
	SSL *ssl;
	int ok;

	if (ctx == NULL)
		return -1;
	ssl = memory_or_die(SSL_new(ctx));
	SSL_CTX_free(ctx); /* ssl has a reference */
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	/* A record that has gone out counts as sent at once. */
	SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE);
	/* The name or address that the server's certificate must have. */
	if (inet_pton(AF_INET, host, &unused) == 1 ||
	    inet_pton(AF_INET6, host, &unused) == 1)
		ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	else
		ok = SSL_set_tlsext_host_name(ssl, host) == 1 &&
		    SSL_set1_host(ssl, host) == 1;
	if (!ok) {
		tls_error(error, location->shown);
		SSL_free(ssl);
		return -1;
	}
	signals_in_socket = 1;
	ok = redisInitiateSSL(context, ssl) == REDIS_OK;
	signals_in_socket = 0;
	if (ok)
		return shake_hands(ssl, context, location, patience, error);
	explain(ssl, location, error);
	SSL_free(ssl);
	return -1;
}
