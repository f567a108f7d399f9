/*
 * A message may quote an argument as a whole or in pieces. So what is looked
 * for in it is the password with the few bytes before it, as they stood in the
 * argument.
 */
#include "base/passwords.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the password of a text stands; `nbytes` is 0 if it has none. */
struct password {
	size_t begin, nbytes;
	size_t before;  /* the bytes in front of it by which it is known */
};

static struct noted {
	struct noted *next; /* the one noted before it, or NULL */
	const char *text;   /* the bytes in front of it, and the password */
	size_t before;      /* the length of the bytes in front of it */
	size_t nbytes;
} *noted;

/* Is the word that ends at `colon` the scheme of a filter's address? */
static int
is_our_scheme(const char *text, const char *colon)
{
	const char *at = colon;

	while (at > text && (isalnum((unsigned char)at[-1]) ||
	    strchr("+-.", at[-1]) != NULL))
		at--;
	for (; at < colon; at++) {
		if (strncasecmp(at, "redis", 5) == 0 ||
		    strncasecmp(at, "valkey", 6) == 0)
			return 1;
	}
	return 0;
}

/* "USER:PASSWORD" in front of the last @: a password may have one, too. */
static struct password
find_credentials(const char *text)
{
	const char *last = strrchr(text, '@'), *colon = text, *begin;
	struct password password = { 0 };

	if (last == NULL)
		return password;
	while ((colon = strchr(colon, ':')) != NULL && colon < last) {
		begin = ++colon;
		if (strncmp(begin, "//", 2) == 0)
			begin += 2;
		else if (!is_our_scheme(text, colon - 1))
			continue;
		password.begin = (size_t)(begin - text);
		password.nbytes = (size_t)(last - begin);
		password.before = (size_t)(begin - colon) + 1;
		return password;
	}
	return password;
}

/* The value behind "password="; of several, from the first to the last. */
static struct password
find_value(const char *text)
{
	static const char name[] = "password=";
	struct password password = { 0 };

	for (const char *at = text; *at != '\0'; at++) {
		size_t before = sizeof name - 1, nbytes;
		char quote[2] = "";

		if (strncasecmp(at, name, before) != 0)
			continue;
		if (at[before] == '\'' || at[before] == '"')
			quote[0] = at[before++];
		nbytes = strcspn(at + before, quote[0] != '\0' ? quote :
		    "&# '\"\t\n");
		if (nbytes > 0 && password.nbytes == 0)
			password = (struct password){ .before = before,
				.begin = (size_t)(at - text) + before };
		if (nbytes > 0)
			password.nbytes = (size_t)(at - text) + before +
			    nbytes - password.begin;
	}
	return password;
}

/* The password of an argument: if it has two, from the first to the last. */
static struct password
find_password(const char *text)
{
	struct password one = find_credentials(text), two = find_value(text);
	size_t end;

	if (one.nbytes == 0)
		return two;
	end = one.begin + one.nbytes;
	if (two.nbytes > 0 && two.begin + two.nbytes > end)
		end = two.begin + two.nbytes;
	if (two.nbytes > 0 && two.begin < one.begin)
		one = two;
	one.nbytes = end - one.begin;
	return one;
}

/* Note the password of a text, which stays. */
static int
note(const char *text, struct password password)
{
	struct noted *new = malloc(sizeof *new);

	if (new == NULL)
		return -1;
	*new = (struct noted){ noted, text + password.begin - password.before,
		password.before, password.nbytes };
	noted = new;
	return 0;
}

int
passwords_take(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct password password = find_password(argv[i]);
		char *original = argv[i];

		if (password.nbytes == 0)
			continue;
		argv[i] = strdup(original);
		if (argv[i] == NULL || note(argv[i], password) < 0)
			return -1;
		memset(original + password.begin, '*', password.nbytes);
	}
	return 0;
}

int
passwords_note(const char *text)
{
	struct password password = find_password(text);

	return password.nbytes == 0 ? 0 : note(text, password);
}

size_t
passwords_at(const char *text, const char *at)
{
	size_t length = 0, position = (size_t)(at - text), n;

	for (const struct noted *s = noted; s != NULL; s = s->next) {
		const char *password = s->text + s->before;

		if (position < s->before ||
		    strncmp(at - s->before, s->text, s->before) != 0)
			continue;
		n = strnlen(at, s->nbytes); /* a truncated text has less */
		if (memcmp(at, password, n) == 0 && n > length)
			length = n;
	}
	return length;
}

char *
passwords_leave_out(const char *argument)
{
	struct password password = find_password(argument);
	char *copy = strdup(argument);
	const char *rest = argument + password.begin + password.nbytes;

	if (copy != NULL && password.nbytes > 0)
		strcpy(copy + password.begin, rest + (*rest == '@'));
	return copy;
}
