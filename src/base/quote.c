#include "base/quote.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"%+,-./:=@_~"

char *
quote_word(const char *word)
{
	const size_t nbytes = strlen(word);
	char *quoted = memory_or_die(malloc(2 * nbytes + 3));
	/* Single quotes leave all as it is, but cannot contain each other. */
	const char quote = strchr(word, '\'') == NULL ? '\'' : '"';
	char *p = quoted;

	if (*word != '~' && strspn(word, PLAIN) == nbytes)
		return memcpy(quoted, word, nbytes + 1);
	*p++ = quote;
	for (; *word != '\0'; word++) {
		if (quote == '"' && strchr("\"$\\`", *word) != NULL)
			*p++ = '\\';
		*p++ = *word;
	}
	*p++ = quote;
	*p = '\0';
	return quoted;
}
