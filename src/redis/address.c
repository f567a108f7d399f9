#include "redis/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/components.h"
#include "base/host.h"
#include "base/number.h"
#include "base/passwords.h"

/* The schemes, in upper or lower case, and what they mean. */
static const struct scheme {
	const char *name;
	int tls, is_path;
} schemes[] = {
	{ "redis:", 0, 0 }, { "rediss:", 1, 0 }, { "redis+unix:", 0, 1 },
	{ "valkey:", 0, 0 }, { "valkeys:", 1, 0 }, { "valkey+unix:", 0, 1 },
};

/* Return the scheme of an address, or NULL if it is not a server's. */
static const struct scheme *
scheme_of(const char *text)
{
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		if (strncasecmp(text, schemes[i].name,
		    strlen(schemes[i].name)) == 0)
			return &schemes[i];
	}
	return NULL;
}

int
address_is_server(const char *text)
{
	return scheme_of(text) != NULL;
}

int
address_is_foreign(const char *text)
{
	const char *scheme_end = strstr(text, "://");

	return scheme_end != NULL && scheme_of(text) == NULL &&
	    memchr(text, '/', (size_t)(scheme_end - text)) == NULL;
}

int
address_refuse(const char *text, struct error *error)
{
	char *shown = memory_or_die(passwords_leave_out(text));

	error_set(error, STATUS_USAGE, "%s: filters have no address of this"
	    " kind, only redis://, rediss://, redis+unix://, valkey://,"
	    " valkeys:// and valkey+unix://; a file of this name is ./%s",
	    shown, shown);
	free(shown);
	return -1;
}

/* The length of USER:PASSWORD@ at `at`, where they would stand; 0 without. The
 * last @ ends it, so that a password may have bytes that should have been
 * escaped. */
static size_t
credentials(const char *at)
{
	const char *last = strrchr(at, '@');

	return last == NULL ? 0 : (size_t)(last + 1 - at);
}

static int
bad_address(const struct address *address, struct error *error, const char *why)
{
	return error_set(error, STATUS_USAGE, "%s: %s", address->shown, why);
}

/* Set *to, which is NULL, to the part with each %XX decoded (but not to a
 * NUL). */
static int
take_decoded(const struct address *address, char **to, const char *at,
    size_t nbytes, struct error *error)
{
	char *end = memory_or_die(malloc(nbytes + 1));

	*to = end;
	for (size_t i = 0; i < nbytes; i++) {
		int byte = at[i];

		if (byte == '%') {
			byte = 0;
			if (i + 2 < nbytes)
				byte = number_hex((const uint8_t *)at + i + 1,
				    2);
			if (byte <= 0)
				return bad_address(address, error,
				    "a % must be followed"
				    " by two hexadecimal digits");
			i += 2;
		}
		*end++ = (char)byte;
	}
	*end = '\0';
	return 0;
}

/* Take a host with its port, as base/host.h reads them. */
static int
take_host(struct address *address, const char *at, size_t nbytes,
    struct error *error)
{
	struct address_host *host = &address->hosts[address->count++];
	struct host given;
	enum host_state state = host_split(&given, at, nbytes);

	if (state == HOST_OPEN)
		return bad_address(address, error, "a [ lacks its ]");
	if (take_decoded(address, &host->name, given.name, given.nbytes,
	    error) < 0)
		return -1;
	if (*host->name == '\0')
		return bad_address(address, error, "the host is missing:"
		    " redis://HOST/NAME");
	if (state == HOST_NO_PORT || given.port == 0)
		return bad_address(address, error,
		    "a port is a number from 1 to 65535");
	host->port = given.port < 0 ? ADDRESS_PORT : given.port;
	return 0;
}

/* Take a list such as "HOST,HOST:PORT". */
static int
take_hosts(struct address *address, const char *at, size_t nbytes,
    struct error *error)
{
	const char *end = at + nbytes, *comma;

	for (;; at = comma + 1) {
		comma = memchr(at, ',', (size_t)(end - at));
		if (comma == NULL)
			return take_host(address, at, (size_t)(end - at),
			    error);
		if (address->count + 1 == ADDRESS_HOSTS_MAX)
			return bad_address(address, error,
			    "an address has at most 64 hosts");
		if (take_host(address, at, (size_t)(comma - at), error) < 0)
			return -1;
	}
}

/* "/PATH?name=NAME": the path of a socket ends where `query` begins. */
static int
take_socket(struct address *address, const char *at, const char *query,
    struct error *error)
{
	static const char name[] = "?name=";
	size_t nbytes = (size_t)(query - at);

	if (*at != '/' || nbytes < 2 ||
	    strncmp(query, name, sizeof name - 1) != 0)
		return bad_address(address, error, "the address of a socket is"
		    " redis+unix:///PATH?name=NAME");
	if (take_decoded(address, &address->path, at, nbytes, error) < 0)
		return -1;
	query += sizeof name - 1;
	return take_decoded(address, &address->name, query, strlen(query),
	    error);
}

/* "HOST:PORT/NAME?certificate=FILE": the address of a server; with TLS, it may
 * have a query. */
static int
take_server(struct address *address, const char *at, const char *query,
    struct error *error)
{
	static const char certificate[] = "?certificate=";
	const char *slash = at + strcspn(at, "/?"), *name = query;
	size_t nbytes;

	if (*query != '\0' && (!address->tls ||
	    strncmp(query, certificate, sizeof certificate - 1) != 0))
		return bad_address(address, error,
		    "only redis+unix:///PATH?name=NAME and"
		    " rediss://HOST/NAME?certificate=FILE have a ?; in a name,"
		    " write %3F");
	if (take_hosts(address, at, (size_t)(slash - at), error) < 0)
		return -1;
	if (*query != '\0') {
		const char *file = query + sizeof certificate - 1;

		if (take_decoded(address, &address->certificate, file,
		    strlen(file), error) < 0)
			return -1;
	}
	if (slash < query)
		name = slash + 1;
	nbytes = (size_t)(query - name);
	if (nbytes > 0 && (memchr(name, '/', nbytes) != NULL ||
	    strspn(name, "0123456789") >= nbytes))
		return bad_address(address, error,
		    "the filter's name follows the host; it"
		    " is not a number and has no / (write %2F); the database is"
		    " always 0");
	return take_decoded(address, &address->name, name, nbytes, error);
}

/* Take "USER:PASSWORD", "USER" or ":PASSWORD". */
static int
take_credentials(struct address *address, const char *at, size_t nbytes,
    struct error *error)
{
	const char *end = at + nbytes, *colon = memchr(at, ':', nbytes);

	if (colon != NULL) {
		if (take_decoded(address, &address->password, colon + 1,
		    (size_t)(end - colon - 1), error) < 0)
			return -1;
		end = colon;
	}
	if (end == at)
		return 0;
	return take_decoded(address, &address->user, at, (size_t)(end - at),
	    error);
}

static int
check_filter_name(const struct address *address, struct error *error)
{
	if (*address->name == '\0' || strlen(address->name) > ADDRESS_NAME_MAX)
		return bad_address(address, error,
		    "the name of a filter on a server must"
		    " have 1 to 200 bytes");
	for (const char *p = address->name; *p != '\0'; p++) {
		if ((unsigned char)*p <= ' ' || strchr("{}\x7f", *p) != NULL)
			return bad_address(address, error,
			    "the name of a filter on a"
			    " server cannot contain braces, blanks or control"
			    " characters");
	}
	return 0;
}

/* All that stands in the address. On failure, some of it may be there. */
static int
parse(struct address *address, const char *text, struct error *error)
{
	const struct scheme *scheme = scheme_of(text);
	const char *at, *query;
	size_t nbytes;
	int result;

	if (scheme == NULL)
		return bad_address(address, error,
		    "this is not the address of a server");
	address->tls = scheme->tls;
	if (address->tls && component_name(COMPONENT_TLS) == NULL)
		return bad_address(address, error,
		    "this bloomdedup was built without TLS,"
		    " which needs hiredis_ssl and OpenSSL; connect through"
		    " stunnel, and give its address with redis://");
	at = text + strlen(scheme->name);
	if (strncmp(at, "//", 2) != 0)
		return bad_address(address, error,
		    "an address must begin with redis://,"
		    " rediss:// or redis+unix://");
	at += 2;
	nbytes = credentials(at);
	/* An @ ends user and password, and is not a part of them. */
	if (nbytes > 0 && take_credentials(address, at, nbytes - 1, error) < 0)
		return -1;
	at += nbytes;
	query = at + strcspn(at, "?");
	if (scheme->is_path)
		result = take_socket(address, at, query, error);
	else
		result = take_server(address, at, query, error);
	if (result < 0)
		return -1;
	return check_filter_name(address, error);
}

int
address_parse(struct address *location, const char *text,
    struct error *error)
{
	const char *password = getenv("REDISCLI_AUTH");

	*location = (struct address){
		.shown = memory_or_die(passwords_leave_out(text)) };
	if (parse(location, text, error) < 0) {
		address_free(location);
		return -1;
	}
	if (location->password == NULL && password != NULL)
		location->password = memory_or_die(strdup(password));
	return 0;
}

void
address_free(struct address *location)
{
	for (size_t i = 0; i < location->count; i++)
		free(location->hosts[i].name);
	free(location->path);
	free(location->user);
	free(location->password);
	free(location->certificate);
	free(location->name);
	free(location->shown);
	*location = (struct address){ 0 };
}
