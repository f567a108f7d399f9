#include "redis/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/parts.h"

/* The schemes, and what they mean; in any case. */
static const struct scheme {
	const char *name;
	int tls, path;
} schemes[] = {
	{ "redis:", 0, 0 }, { "rediss:", 1, 0 }, { "redis+unix:", 0, 1 },
	{ "valkey:", 0, 0 }, { "valkeys:", 1, 0 }, { "valkey+unix:", 0, 1 },
};

/* What can follow the ? of an address, and the & after that. */
enum { NAME, PASSWORD_FILE, CERTIFICATE, PARAMETERS };
static const char *const parameters[PARAMETERS] = { "name=", "password-file=",
	"certificate=" };

/* A part of the text. */
struct span {
	const char *at;
	size_t nbytes;
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

/* After the last @ before `end`, or the begin of [at, end). */
static const char *
after_user(const char *at, const char *end)
{
	while (end > at && end[-1] != '@')
		end--;
	return end;
}

/* HOST:PORT/... or a path? No password: its ?name= begins a query. */
static int
is_place(const char *at, const char *end)
{
	const char *slash = memchr(at, '/', (size_t)(end - at)), *digits;

	if (slash == NULL)
		return 0;
	for (digits = slash; digits > at && digits[-1] >= '0' &&
	    digits[-1] <= '9'; )
		digits--;
	return memchr(at, ':', (size_t)(slash - at)) == NULL ||
	    slash[-1] == ']' || (digits < slash && digits[-1] == ':');
}

/* Which of the parameters begins here? PARAMETERS: none. */
static int
parameter_at(const char *at)
{
	int i = 0;

	while (i < PARAMETERS &&
	    strncmp(at, parameters[i], strlen(parameters[i])) != 0)
		i++;
	return i;
}

/* Where the query begins, or the end. */
static const char *
query(const char *at)
{
	const char *p = at;

	while (*p != '\0' && (*p != '?' || parameter_at(p + 1) == PARAMETERS ||
	    !is_place(after_user(at, p), p)))
		p++;
	return p;
}

/*
 * USER:PASSWORD@, up to the last @ before the query, so that a password with
 * bytes that should have been escaped is not shown either; or empty.
 */
static struct span
credentials(const char *text)
{
	const char *at = strchr(text, ':') + 1;

	at += strncmp(at, "//", 2) == 0 ? 2 : 0;
	return (struct span){ at,
		(size_t)(after_user(at, query(at)) - at) };
}

/* A copy of the address without user and password, either may be secret. */
static char *
without_credentials(const char *text)
{
	struct span user = credentials(text);
	char *copy = memory_or_die(strdup(text));

	strcpy(copy + (user.at - text), user.at + user.nbytes);
	return copy;
}

/*
 * User and password of the command line, and the addresses that they were taken
 * from: here and nowhere else, so that no message can show them.
 */
static struct taken {
	struct taken *next;
	char *address, *credentials;
} *taken;

static const struct taken *
taken_from(const char *address)
{
	const struct taken *t = taken;

	while (t != NULL && strcmp(t->address, address) != 0)
		t = t->next;
	return t;
}

static void
take_from(char **word, char *text)
{
	struct span user = credentials(text);
	struct taken *new;
	size_t before = (size_t)(text - *word);
	char *copy;

	if (user.nbytes == 0)
		return;
	new = memory_or_die(malloc(sizeof *new));
	new->address = without_credentials(text);
	new->credentials = memory_or_die(strndup(user.at, user.nbytes));
	new->next = taken;
	taken = new;
	copy = memory_or_die(malloc(before + strlen(new->address) + 1));
	memcpy(copy, *word, before);
	strcpy(copy + before, new->address);
	memset(text + (user.at - text), '*', user.nbytes - 1);
	*word = copy;
}

void
address_take_passwords(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		for (char *text = argv[i]; *text != '\0'; text++) {
			/* After letters of options, anywhere. */
			int begins = text == argv[i] || text[-1] == '=' ||
			    (argv[i][0] == '-' && argv[i][1] != '-');

			if (begins && scheme_of(text) != NULL) {
				take_from(&argv[i], text);
				break;
			}
		}
	}
}

static int
refuse(const struct address *l, struct error *error, const char *why)
{
	return error_set(error, STATUS_USAGE, "%s: %s", l->shown, why);
}

/* Set *to to the part with each %XX decoded (but not to a NUL). */
static int
take(const struct address *l, char **to, const char *at, size_t nbytes,
    struct error *error)
{
	char *end = memory_or_die(malloc(nbytes + 1));

	free(*to);
	*to = end;
	for (size_t i = 0; i < nbytes; i++) {
		int byte = at[i];

		if (byte == '%') {
			byte = i + 2 < nbytes ? hex_read((const uint8_t *)at +
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

/* "USER:PASSWORD@", in the address or taken from it; USER may be empty. */
static int
take_credentials(struct address *l, const char *text, struct error *error)
{
	struct span user = credentials(text);
	const struct taken *from = taken_from(text);
	const char *colon, *end;

	if (user.nbytes == 0 && from != NULL)
		user = (struct span){ from->credentials,
			strlen(from->credentials) };
	if (user.nbytes == 0)
		return 0;
	end = user.at + user.nbytes - 1;
	colon = memchr(user.at, ':', user.nbytes);
	if (colon != NULL && take(l, &l->password, colon + 1,
	    (size_t)(end - colon - 1), error) < 0)
		return -1;
	end = colon != NULL ? colon : end;
	return end == user.at ? 0 : take(l, &l->user, user.at,
	    (size_t)(end - user.at), error);
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
static int
take_host(struct address *l, struct span host, struct error *error)
{
	int bracket = host.nbytes > 0 && *host.at == '[';
	const char *end = host.at + host.nbytes;
	const char *colon = memchr(host.at, bracket ? ']' : ':', host.nbytes);
	unsigned long port;

	if (bracket && colon == NULL)
		return refuse(l, error, "a [ lacks its ]");
	colon = colon == NULL ? end : colon;
	if (take(l, &l->host, host.at + bracket,
	    (size_t)(colon - host.at - bracket), error) < 0)
		return -1;
	if (*l->host == '\0')
		return refuse(l, error, "the host is missing:"
		    " redis://HOST/NAME");
	l->port = ADDRESS_PORT;
	colon += bracket;
	if (colon == end)
		return 0;
	port = strtoul(colon + 1, NULL, 10);
	if (*colon != ':' || colon + 1 + strspn(colon + 1, "0123456789") !=
	    end || port < 1 || port > 65535)
		return refuse(l, error, "a port is a number from 1 to 65535");
	l->port = (int)port;
	return 0;
}

static int
take_name(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	if (take(l, &l->name, at, nbytes, error) < 0)
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
	return 0;
}

/* The password is the first line of a file. */
static int
read_password(struct address *l, const char *path, struct error *error)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;
	ssize_t n;
	int reason;

	if (file == NULL)
		return error_system(error, errno, path);
	free(l->password);
	l->password = NULL;
	errno = 0;
	n = getline(&l->password, &room, file);
	reason = errno;
	fclose(file);
	if (n < 0)
		return error_set(error, STATUS_FAILED, "%s: %s", path,
		    reason != 0 ? strerror(reason) : "there is no password in"
		    " it");
	l->password[strcspn(l->password, "\r\n")] = '\0';
	return 0;
}

static int
take_parameter(struct address *l, struct span parameter, struct error *error)
{
	int which = parameter_at(parameter.at), result;
	char *path = NULL;

	if (which == PARAMETERS || (which == NAME && l->path == NULL) ||
	    (which == CERTIFICATE && !l->tls))
		return refuse(l, error, l->path != NULL ? "only name=NAME and"
		    " password-file=FILE, joined by &, can follow ?" :
		    l->tls ? "only password-file=FILE and certificate=FILE,"
		    " joined by &, can follow ?" :
		    "only password-file=FILE can follow ?");
	parameter.at += strlen(parameters[which]);
	parameter.nbytes -= strlen(parameters[which]);
	if (which == NAME)
		return take_name(l, parameter.at, parameter.nbytes, error);
	if (which == CERTIFICATE)
		return take(l, &l->certificate, parameter.at,
		    parameter.nbytes, error);
	result = take(l, &path, parameter.at, parameter.nbytes, error);
	if (result == 0)
		result = read_password(l, path, error);
	free(path);
	return result;
}

static int
take_query(struct address *l, const char *at, struct error *error)
{
	while (*at != '\0') {
		struct span parameter = { at + 1, strcspn(at + 1, "&") };

		if (*at == '#')
			return refuse(l, error, "an address can't have a #");
		if (take_parameter(l, parameter, error) < 0)
			return -1;
		at = parameter.at + parameter.nbytes;
	}
	return 0;
}

/* The part of the address between // and the query: a socket's path, or a host
 * and the filter's name. */
static int
take_place(struct address *l, struct span authority, struct span path,
    int unix_socket, struct error *error)
{
	const char *name = path.at + 1;
	size_t nbytes = path.nbytes == 0 ? 0 : path.nbytes - 1;

	if (unix_socket)
		return authority.nbytes > 0 || path.nbytes < 2 ?
		    refuse(l, error, "the socket's path must begin with /:"
		    " redis+unix:///PATH?name=NAME") :
		    take(l, &l->path, path.at, path.nbytes, error);
	if (take_host(l, authority, error) < 0)
		return -1;
	if (nbytes > 0 && (memchr(name, '/', nbytes) != NULL ||
	    strspn(name, "0123456789") >= nbytes))
		return refuse(l, error, "after the host comes the filter's"
		    " name, which isn't a number and has no / (write %2F); the"
		    " database is always 0");
	return take_name(l, name, nbytes, error);
}

static int
parse(struct address *l, const char *text, struct error *error)
{
	const struct scheme *scheme = scheme_of(text);
	struct span user = credentials(text), path;
	const char *host = user.at + user.nbytes;
	struct span authority = { host, strcspn(host, "/?#") };
	const char *password;

	l->tls = scheme->tls;
	if (l->tls && parts_name(PART_TLS) == NULL)
		return refuse(l, error, "this bloomdedup was built without TLS,"
		    " which needs hiredis_ssl and OpenSSL; connect through"
		    " stunnel, and give its address with redis://");
	if (strncmp(text + strlen(scheme->name), "//", 2) != 0)
		return refuse(l, error, "an address must begin with redis://,"
		    " rediss:// or redis+unix://");
	path.at = authority.at + authority.nbytes;
	path.nbytes = strcspn(path.at, "?#");
	if (take_credentials(l, text, error) < 0 ||
	    take_place(l, authority, path, scheme->path, error) < 0 ||
	    take_query(l, path.at + path.nbytes, error) < 0)
		return -1;
	if (l->name == NULL)
		return refuse(l, error, "the filter's name is missing:"
		    " redis+unix:///PATH?name=NAME");
	password = getenv("REDISCLI_AUTH");
	if (l->password == NULL && password != NULL)
		l->password = memory_or_die(strdup(password));
	return 0;
}

int
address_parse(struct address *location, const char *text,
    struct error *error)
{
	*location = (struct address){ .shown = without_credentials(text) };
	if (parse(location, text, error) == 0)
		return 0;
	address_free(location);
	return -1;
}

void
address_free(struct address *location)
{
	free(location->host);
	free(location->path);
	free(location->user);
	free(location->password);
	free(location->certificate);
	free(location->name);
	free(location->shown);
	*location = (struct address){ 0 };
}
