#include "redis/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/components.h"

/* The schemes, and what they mean; in any case. */
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
 * is not shown either. */
static size_t
credentials(const char *text, size_t *nbytes)
{
	size_t begin = strcspn(text, ":") + 1;
	const char *at = strrchr(text, '@');

	begin += strncmp(text + begin, "//", 2) == 0 ? 2 : 0;
	*nbytes = at == NULL ? 0 : (size_t)(at + 1 - text) - begin;
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
			byte = i + 2 < nbytes ? number_hex((const uint8_t *)at +
			    i + 1, 2) : 0;
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

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
static int
take_host(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	int bracket = nbytes > 0 && *at == '[';
	const char *end = at + nbytes;
	const char *colon = memchr(at, bracket ? ']' : ':', nbytes);
	struct address_host *host = &l->hosts[l->count];
	unsigned long port;

	if (bracket && colon == NULL)
		return refuse(l, error, "a [ lacks its ]");
	colon = colon == NULL ? end : colon;
	l->count++;
	if (take(l, &host->name, at + bracket,
	    (size_t)(colon - at - bracket), error) < 0)
		return -1;
	if (*host->name == '\0')
		return refuse(l, error, "the host is missing:"
		    " redis://HOST/NAME");
	host->port = ADDRESS_PORT;
	colon += bracket;
	if (colon == end)
		return 0;
	port = strtoul(colon + 1, NULL, 10);
	if (*colon != ':' || colon + 1 + strspn(colon + 1, "0123456789") !=
	    end || port < 1 || port > 65535)
		return refuse(l, error, "a port is a number from 1 to 65535");
	host->port = (int)port;
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

/* What follows the password: "HOST:PORT/NAME" or "/PATH", then the query. */
static int
take_place(struct address *l, const struct scheme *scheme, const char *at,
    struct error *error)
{
	const char *slash = at + strcspn(at, "/?");
	const char *end = slash + strcspn(slash, "?"), *name, *value = NULL;
	const char *query = scheme->is_path ? "?name=" : "?certificate=";
	size_t nbytes;

	if (*end != '\0') {
		if (strncmp(end, query, strlen(query)) != 0 ||
		    (!scheme->is_path && !scheme->tls))
			return refuse(l, error, "only redis+unix:///PATH?name="
			    "NAME and rediss://HOST/NAME?certificate=FILE have"
			    " a ?; in a name, write %3F");
		value = end + strlen(query);
	}
	if (scheme->is_path) {
		if (slash > at || end - slash < 2 || value == NULL)
			return refuse(l, error, "the address of a socket is"
			    " redis+unix:///PATH?name=NAME");
		if (take(l, &l->path, slash, (size_t)(end - slash), error) < 0)
			return -1;
		return take(l, &l->name, value, strlen(value), error);
	}
	if (take_hosts(l, at, (size_t)(slash - at), error) < 0 ||
	    (value != NULL && take(l, &l->certificate, value, strlen(value),
	    error) < 0))
		return -1;
	name = slash < end ? slash + 1 : end;
	nbytes = (size_t)(end - name);
	if (nbytes > 0 && (memchr(name, '/', nbytes) != NULL ||
	    strspn(name, "0123456789") >= nbytes))
		return refuse(l, error, "after the host comes the filter's"
		    " name, which isn't a number and has no / (write %2F); the"
		    " database is always 0");
	return take(l, &l->name, name, nbytes, error);
}

static int
parse(struct address *l, const char *text, struct error *error)
{
	const struct scheme *scheme = scheme_of(text);
	const char *password = getenv("REDISCLI_AUTH");
	size_t nbytes;
	const char *at = text + credentials(text, &nbytes);

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
	/* "USER:PASSWORD@"; USER may be empty. */
	if (nbytes > 0) {
		const char *end = at + nbytes - 1;
		const char *colon = memchr(at, ':', nbytes - 1);

		if (colon != NULL && take(l, &l->password, colon + 1,
		    (size_t)(end - colon - 1), error) < 0)
			return -1;
		end = colon != NULL ? colon : end;
		if (end > at &&
		    take(l, &l->user, at, (size_t)(end - at), error) < 0)
			return -1;
	}
	if (take_place(l, scheme, at + nbytes, error) < 0)
		return -1;
	if (*l->name == '\0' || strlen(l->name) > ADDRESS_NAME_MAX)
		return refuse(l, error, "the name of a filter on a server must"
		    " have 1 to 200 bytes");
	for (const char *p = l->name; *p != '\0'; p++) {
		if ((unsigned char)*p <= ' ' || strchr("{}\x7f", *p) != NULL)
			return refuse(l, error, "the name of a filter on a"
			    " server can't have braces, blanks or control"
			    " characters");
	}
	if (l->password == NULL && password != NULL)
		l->password = memory_or_die(strdup(password));
	return 0;
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
	text = with_credentials(text);
	*location = (struct address){
		.shown = without_credentials(text, text) };
	if (parse(location, text, error) == 0)
		return 0;
	address_free(location);
	return -1;
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
