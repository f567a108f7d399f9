#include "redis/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/components.h"

/* The schemes, in upper or lower case, and what they mean. */
static const struct scheme {
	const char *name;
	int tls, is_path;
} schemes[] = {
	{ "redis:", 0, 0 }, { "rediss:", 1, 0 }, { "redis+unix:", 0, 1 },
	{ "valkey:", 0, 0 }, { "valkeys:", 1, 0 }, { "valkey+unix:", 0, 1 },
};

/* NULL: not the address of a server. */
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

/* Where USER:PASSWORD@ begins in an address, and its length: 0 without one. The
 * last @ ends it, so that a password with bytes that should have been escaped
 * is not shown either. The text may be no address at all. */
static size_t
credentials(const char *text, size_t *nbytes)
{
	size_t begin = strcspn(text, ":");
	const char *at;

	if (text[begin] == ':')
		begin++;
	if (strncmp(text + begin, "//", 2) == 0)
		begin += 2;
	at = strrchr(text + begin, '@');
	*nbytes = at == NULL ? 0 : (size_t)(at + 1 - (text + begin));
	return begin;
}

/* A copy of the text, in which an address begins at `address`, without user and
 * password; either may be secret. */
static char *
without_credentials(const char *text, const char *address)
{
	char *copy = memory_or_die(strdup(text));
	size_t nbytes, begin = credentials(address, &nbytes);

	strcpy(copy + (address - text) + begin, address + begin + nbytes);
	return copy;
}

/*
 * Addresses of the command line that had a password, and what is shown of them:
 * here and nowhere else, so that no message can show it.
 */
static struct taken {
	struct taken *next;
	char *address, *shown;
	const char *argument; /* where argv shows it from now on */
} *taken;

void
address_take_passwords(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *text = argv[i];
		int is_letters = text[0] == '-' && text[1] != '-';
		size_t begin, nbytes, at;
		struct taken *new;

		/* at the beginning, after =, or after letters of options */
		while (*text != '\0' && (scheme_of(text) == NULL ||
		    (text > argv[i] && text[-1] != '=' && !is_letters)))
			text++;
		if (*text == '\0')
			continue;
		begin = credentials(text, &nbytes);
		if (nbytes == 0)
			continue;
		new = memory_or_die(malloc(sizeof *new));
		*new = (struct taken){ taken, memory_or_die(strdup(text)),
			without_credentials(text, text), NULL };
		taken = new;
		at = (size_t)(text - argv[i]);
		argv[i] = without_credentials(argv[i], text);
		new->argument = argv[i] + at;
		memset(text + begin, '*', nbytes - 1);
	}
}

static int
refuse(const struct address *l, struct error *error, const char *why)
{
	return error_set(error, STATUS_USAGE, "%s: %s", l->shown, why);
}

/* Set *to, which is NULL, to the part with each %XX decoded (but not to a
 * NUL). */
static int
take(const struct address *l, char **to, const char *at, size_t nbytes,
    struct error *error)
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
				return refuse(l, error, "a % must be followed"
				    " by two hexadecimal digits");
			i += 2;
		}
		*end++ = (char)byte;
	}
	*end = '\0';
	return 0;
}

/* The port at `at`, which reaches to `end`; 0 if it is none. */
static int
read_port(const char *at, const char *end)
{
	unsigned long port = strtoul(at, NULL, 10);

	if (at + strspn(at, "0123456789") != end || port > 65535)
		return 0;
	return (int)port;
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
static int
take_host(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	struct address_host *host = &l->hosts[l->count++];
	const char *end = at + nbytes, *name_end, *rest;

	if (nbytes > 0 && *at == '[') {
		at++;
		name_end = memchr(at, ']', (size_t)(end - at));
		if (name_end == NULL)
			return refuse(l, error, "a [ lacks its ]");
		rest = name_end + 1;
	} else {
		name_end = memchr(at, ':', nbytes);
		if (name_end == NULL)
			name_end = end;
		rest = name_end;
	}
	if (take(l, &host->name, at, (size_t)(name_end - at), error) < 0)
		return -1;
	if (*host->name == '\0')
		return refuse(l, error, "the host is missing:"
		    " redis://HOST/NAME");
	host->port = ADDRESS_PORT;
	if (rest == end)
		return 0;
	if (*rest == ':')
		host->port = read_port(rest + 1, end);
	else
		host->port = 0;
	if (host->port == 0)
		return refuse(l, error, "a port is a number from 1 to 65535");
	return 0;
}

/* "HOST,HOST:PORT,..." */
static int
take_hosts(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	const char *end = at + nbytes, *comma;

	for (;; at = comma + 1) {
		comma = memchr(at, ',', (size_t)(end - at));
		if (comma == NULL)
			return take_host(l, at, (size_t)(end - at), error);
		if (l->count + 1 == ADDRESS_HOSTS_MAX)
			return refuse(l, error, "an address has at most 64"
			    " hosts");
		if (take_host(l, at, (size_t)(comma - at), error) < 0)
			return -1;
	}
}

/* "/PATH?name=NAME": the path of a socket ends where `query` begins. */
static int
take_socket(struct address *l, const char *at, const char *query,
    struct error *error)
{
	static const char name[] = "?name=";
	size_t nbytes = (size_t)(query - at);

	if (*at != '/' || nbytes < 2 ||
	    strncmp(query, name, sizeof name - 1) != 0)
		return refuse(l, error, "the address of a socket is"
		    " redis+unix:///PATH?name=NAME");
	if (take(l, &l->path, at, nbytes, error) < 0)
		return -1;
	query += sizeof name - 1;
	return take(l, &l->name, query, strlen(query), error);
}

/* "HOST:PORT/NAME?certificate=FILE": the address of a server; with TLS, it may
 * have a query. */
static int
take_server(struct address *l, const char *at, const char *query,
    struct error *error)
{
	static const char certificate[] = "?certificate=";
	const char *slash = at + strcspn(at, "/?"), *name = query;
	size_t nbytes;

	if (*query != '\0' && (!l->tls ||
	    strncmp(query, certificate, sizeof certificate - 1) != 0))
		return refuse(l, error, "only redis+unix:///PATH?name=NAME and"
		    " rediss://HOST/NAME?certificate=FILE have a ?; in a name,"
		    " write %3F");
	if (take_hosts(l, at, (size_t)(slash - at), error) < 0)
		return -1;
	if (*query != '\0') {
		const char *file = query + sizeof certificate - 1;

		if (take(l, &l->certificate, file, strlen(file), error) < 0)
			return -1;
	}
	if (slash < query)
		name = slash + 1;
	nbytes = (size_t)(query - name);
	if (nbytes > 0 && (memchr(name, '/', nbytes) != NULL ||
	    strspn(name, "0123456789") >= nbytes))
		return refuse(l, error, "the filter's name follows the host; it"
		    " is not a number and has no / (write %2F); the database is"
		    " always 0");
	return take(l, &l->name, name, nbytes, error);
}

/* "USER:PASSWORD", "USER" or ":PASSWORD". */
static int
take_credentials(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	const char *end = at + nbytes, *colon = memchr(at, ':', nbytes);

	if (colon != NULL) {
		if (take(l, &l->password, colon + 1,
		    (size_t)(end - colon - 1), error) < 0)
			return -1;
		end = colon;
	}
	if (end == at)
		return 0;
	return take(l, &l->user, at, (size_t)(end - at), error);
}

static int
check_name(const struct address *l, struct error *error)
{
	if (*l->name == '\0' || strlen(l->name) > ADDRESS_NAME_MAX)
		return refuse(l, error, "the name of a filter on a server must"
		    " have 1 to 200 bytes");
	for (const char *p = l->name; *p != '\0'; p++) {
		if ((unsigned char)*p <= ' ' || strchr("{}\x7f", *p) != NULL)
			return refuse(l, error, "the name of a filter on a"
			    " server cannot contain braces, blanks or control"
			    " characters");
	}
	return 0;
}

/* All that stands in the address. On failure, some of it may be there. */
static int
parse(struct address *l, const char *text, struct error *error)
{
	const struct scheme *scheme = scheme_of(text);
	size_t nbytes;
	const char *at = text + credentials(text, &nbytes), *query;
	int result;

	if (scheme == NULL)
		return refuse(l, error, "this is not the address of a server");
	l->tls = scheme->tls;
	if (l->tls && component_name(COMPONENT_TLS) == NULL)
		return refuse(l, error, "this bloomdedup was built without TLS,"
		    " which needs hiredis_ssl and OpenSSL; connect through"
		    " stunnel, and give its address with redis://");
	if (strncmp(text + strlen(scheme->name), "//", 2) != 0)
		return refuse(l, error, "an address must begin with redis://,"
		    " rediss:// or redis+unix://");
	/* An @ ends them. */
	if (nbytes > 0 && take_credentials(l, at, nbytes - 1, error) < 0)
		return -1;
	at += nbytes;
	query = at + strcspn(at, "?");
	if (scheme->is_path)
		result = take_socket(l, at, query, error);
	else
		result = take_server(l, at, query, error);
	if (result < 0)
		return -1;
	return check_name(l, error);
}

/*
 * The address that an argument of the command line had. Two may be shown alike
 * and have other passwords: first, it is looked for by where it is.
 */
static const char *
with_credentials(const char *text)
{
	for (const struct taken *t = taken; t != NULL; t = t->next) {
		if (t->argument == text)
			return t->address;
	}
	for (const struct taken *t = taken; t != NULL; t = t->next) {
		if (strcmp(t->shown, text) == 0)
			return t->address;
	}
	return text;
}

int
address_parse(struct address *location, const char *text,
    struct error *error)
{
	const char *password = getenv("REDISCLI_AUTH");

	text = with_credentials(text);
	*location = (struct address){
		.shown = without_credentials(text, text) };
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
