#include "redis/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parts.h"

#define UNIX_SCHEME "redis+unix:"
#define TLS_SCHEME "rediss:"
#define SCHEME "redis:"

/* A part of the text. */
struct span {
	const char *at;
	size_t nbytes;
};

static int
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

int
address_is_server(const char *text)
{
	return begins(text, SCHEME) || begins(text, TLS_SCHEME) ||
	    begins(text, UNIX_SCHEME);
}

/* Where the query begins, or the end. */
static const char *
query(const char *text)
{
	static const char *const first[] = {
		"?name=", "?password-file=", "?certificate="
	};
	const char *end = text + strlen(text);

	for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
		const char *at = strstr(text, first[i]);

		end = at != NULL && at < end ? at : end;
	}
	return end;
}

/*
 * USER:PASSWORD, up to the last @ before the query, so that a password with
 * bytes that should have been escaped is not shown either; or empty.
 */
static struct span
credentials(const char *text)
{
	const char *at = strstr(text, "://"), *end = query(text);
	struct span span = { text, 0 };

	if (at == NULL)
		return span;
	span.at = at + 3;
	for (const char *p = end; p > span.at; p--) {
		if (p[-1] == '@') {
			span.nbytes = (size_t)(p - 1 - span.at);
			break;
		}
	}
	return span;
}

/* The password in it, which may be empty; NULL if there is none. */
static const char *
password_in(struct span user)
{
	const char *colon = memchr(user.at, ':', user.nbytes);

	return colon == NULL ? NULL : colon + 1;
}

/* A copy of the address without its password. */
static char *
without_password(const char *text)
{
	struct span user = credentials(text);
	const char *password = password_in(user);
	char *copy = memory_or_die(malloc(strlen(text) + 1));

	strcpy(copy, text);
	if (password != NULL)
		strcpy(copy + (password - 1 - text), user.at + user.nbytes);
	return copy;
}

/*
 * Passwords of the command line, and the addresses that they were taken from:
 * here and nowhere else, so that no message can show one.
 */
static struct taken {
	struct taken *next;
	char *address, *password;
} *taken;

static void
take_password(char *text, struct span user, const char *password)
{
	struct taken *new = memory_or_die(malloc(sizeof *new));
	size_t nbytes = user.nbytes - (size_t)(password - user.at);

	new->address = without_password(text);
	new->password = memory_or_die(strndup(password, nbytes));
	new->next = taken;
	taken = new;
	memset(text + (password - text), '*', nbytes);
}

static const char *
taken_password(const char *address)
{
	for (const struct taken *t = taken; t != NULL; t = t->next) {
		if (strcmp(t->address, address) == 0)
			return t->password;
	}
	return NULL;
}

void
address_take_passwords(int argc, char **argv)
{
	static const char *const schemes[] = {
		"redis://", "rediss://", "redis+unix://"
	};

	for (int i = 1; i < argc; i++) {
		for (size_t j = 0; j < sizeof schemes / sizeof *schemes; j++) {
			char *text = strstr(argv[i], schemes[j]), *copy;
			const char *password;
			struct span user;
			size_t before;

			if (text == NULL)
				continue;
			user = credentials(text);
			password = password_in(user);
			if (password == NULL)
				continue;
			before = (size_t)(text - argv[i]);
			copy = memory_or_die(malloc(strlen(argv[i]) + 1));
			memcpy(copy, argv[i], before);
			take_password(text, user, password);
			strcpy(copy + before, taken->address);
			argv[i] = copy;
			break;
		}
	}
}

static int
hex_digit(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits) % 16;
}

/* A copy with each %XX decoded (but not to a NUL); NULL if malformed. */
static char *
decode(const char *at, size_t nbytes)
{
	char *copy = memory_or_die(malloc(nbytes + 1)), *to = copy;

	for (size_t i = 0; i < nbytes; i++) {
		int high, low;

		if (at[i] != '%') {
			*to++ = at[i];
			continue;
		}
		high = i + 2 < nbytes ? hex_digit(at[i + 1]) : -1;
		low = i + 2 < nbytes ? hex_digit(at[i + 2]) : -1;
		if (high < 0 || low < 0 || high + low == 0) {
			free(copy);
			return NULL;
		}
		*to++ = (char)(16 * high + low);
		i += 2;
	}
	*to = '\0';
	return copy;
}

static int
refuse(const struct address *l, struct error *error, const char *why)
{
	return error_set(error, STATUS_USAGE, "%s: %s", l->shown, why);
}

static int
bad_escape(const struct address *l, struct error *error)
{
	return refuse(l, error, "a % must be followed by two hexadecimal"
	    " digits");
}

static int
take_credentials(struct address *l, struct span user, struct error *error)
{
	const char *password = password_in(user);
	size_t name = password == NULL ? user.nbytes :
	    (size_t)(password - 1 - user.at);

	if (name > 0 && (l->user = decode(user.at, name)) == NULL)
		return bad_escape(l, error);
	if (password != NULL && (l->password = decode(password,
	    user.nbytes - name - 1)) == NULL)
		return bad_escape(l, error);
	return 0;
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT" */
static int
take_host(struct address *l, struct span host, struct error *error)
{
	const char *end = host.at + host.nbytes, *colon, *digits;
	long port = 0;

	if (host.nbytes > 0 && *host.at == '[') {
		colon = memchr(host.at, ']', host.nbytes);
		if (colon == NULL)
			return refuse(l, error, "a [ lacks its ]");
		l->host = decode(host.at + 1, (size_t)(colon - host.at - 1));
		colon++;
	} else {
		colon = memchr(host.at, ':', host.nbytes);
		colon = colon == NULL ? end : colon;
		l->host = decode(host.at, (size_t)(colon - host.at));
	}
	if (l->host == NULL)
		return bad_escape(l, error);
	if (*l->host == '\0')
		return refuse(l, error, "the host is missing:"
		    " redis://HOST/NAME");
	l->port = ADDRESS_PORT;
	if (colon == end)
		return 0;
	for (digits = colon + 1; digits < end && *digits >= '0' &&
	    *digits <= '9' && port <= 65535; digits++)
		port = 10 * port + (*digits - '0');
	if (*colon != ':' || digits != end || port < 1 || port > 65535)
		return refuse(l, error, "a port is a number from 1 to 65535");
	l->port = (int)port;
	return 0;
}

static int
take_name(struct address *l, const char *at, size_t nbytes,
    struct error *error)
{
	free(l->name);
	l->name = decode(at, nbytes);
	if (l->name == NULL)
		return bad_escape(l, error);
	if (*l->name == '\0' || strlen(l->name) > ADDRESS_NAME_MAX)
		return refuse(l, error, "the name of a filter on a server must"
		    " have 1 to 200 bytes");
	for (const char *p = l->name; *p != '\0'; p++) {
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == '{' ||
		    *p == '}')
			return refuse(l, error, "the name of a filter on a"
			    " server can't have braces, blanks or control"
			    " characters");
	}
	return 0;
}

static int
read_password(struct address *l, const char *path, struct error *error)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int reason;

	if (file == NULL)
		return error_system(error, errno, path);
	errno = 0;
	n = getline(&line, &room, file);
	reason = errno;
	fclose(file);
	if (n < 0) {
		free(line);
		return error_set(error, STATUS_FAILED, "%s: %s", path,
		    reason != 0 ? strerror(reason) : "there is no password in"
		    " it");
	}
	line[strcspn(line, "\r\n")] = '\0';
	free(l->password);
	l->password = line;
	return 0;
}

static int
take_password_file(struct address *l, struct span value, struct error *error)
{
	char *path = decode(value.at, value.nbytes);
	int result;

	if (path == NULL)
		return bad_escape(l, error);
	result = read_password(l, path, error);
	free(path);
	return result;
}

static int
take_certificate(struct address *l, struct span value, struct error *error)
{
	free(l->certificate);
	l->certificate = decode(value.at, value.nbytes);
	return l->certificate == NULL ? bad_escape(l, error) : 0;
}

/* Is it NAME=VALUE? Then *value is what follows the =. */
static int
is_parameter(struct span parameter, const char *name, struct span *value)
{
	size_t skip = strlen(name);

	if (parameter.nbytes < skip || strncmp(parameter.at, name, skip) != 0)
		return 0;
	*value = (struct span){ parameter.at + skip, parameter.nbytes - skip };
	return 1;
}

static int
take_parameter(struct address *l, struct span parameter, struct error *error)
{
	struct span value;

	if (is_parameter(parameter, "password-file=", &value))
		return take_password_file(l, value, error);
	if (l->tls && is_parameter(parameter, "certificate=", &value))
		return take_certificate(l, value, error);
	if (l->path != NULL && is_parameter(parameter, "name=", &value))
		return take_name(l, value.at, value.nbytes, error);
	return refuse(l, error, l->path != NULL ? "only name=NAME and"
	    " password-file=FILE, joined by &, can follow ?" : l->tls ? "only"
	    " password-file=FILE and certificate=FILE, joined by &, can follow"
	    " ?" : "only password-file=FILE can follow ?");
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

/* Find a password that is neither in the address nor in a file. */
static int
find_password(struct address *l, const char *text, struct error *error)
{
	const char *password = taken_password(text);

	if (l->password != NULL)
		return 0;
	if (password != NULL) {
		l->password = decode(password, strlen(password));
		return l->password == NULL ? bad_escape(l, error) : 0;
	}
	password = getenv("REDISCLI_AUTH");
	if (password != NULL)
		l->password = memory_or_die(strdup(password));
	return 0;
}

static int
parse(struct address *l, const char *text, struct error *error)
{
	struct span user = credentials(text), path;
	const char *host = user.at + user.nbytes + (user.nbytes > 0 ||
	    user.at[0] == '@');
	struct span authority = { host, strcspn(host, "/?#") };

	l->tls = begins(text, TLS_SCHEME);
	if (l->tls && parts_name(PART_TLS) == NULL)
		return refuse(l, error, "this bloomdedup was built without TLS,"
		    " which needs hiredis_ssl and OpenSSL; connect through"
		    " stunnel, and give its address with redis://");
	if (strstr(text, "://") == NULL)
		return refuse(l, error, "an address must begin with redis://,"
		    " rediss:// or redis+unix://");
	path.at = authority.at + authority.nbytes;
	path.nbytes = strcspn(path.at, "?#");
	if (take_credentials(l, user, error) < 0)
		return -1;
	if (begins(text, UNIX_SCHEME)) {
		if (authority.nbytes > 0 || path.nbytes < 2)
			return refuse(l, error, "the socket's path must begin"
			    " with /: redis+unix:///PATH?name=NAME");
		if ((l->path = decode(path.at, path.nbytes)) == NULL)
			return bad_escape(l, error);
	} else if (take_host(l, authority, error) < 0 ||
	    take_name(l, path.at + 1, path.nbytes == 0 ? 0 : path.nbytes - 1,
	    error) < 0) {
		return -1;
	}
	if (take_query(l, path.at + path.nbytes, error) < 0)
		return -1;
	if (l->name == NULL)
		return refuse(l, error, "the filter's name is missing:"
		    " redis+unix:///PATH?name=NAME");
	return find_password(l, text, error);
}

int
address_parse(struct address *location, const char *text,
    struct error *error)
{
	*location = (struct address){ .shown = without_password(text) };
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
