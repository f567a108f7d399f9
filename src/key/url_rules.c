#include "key/url_rules.h"

#include <stdio.h>
#include <string.h>

#include "key/url_text.h"

static const struct {
	const char *name;
	enum url_switch bit;
} switches[] = {
	{ "form", URL_FORM }, { "scheme", URL_SCHEME }, { "www", URL_WWW },
	{ "slash", URL_SLASH }, { "values", URL_VALUES },
	{ "numbers", URL_NUMBERS }, { "fragment", URL_FRAGMENT },
	{ "tracking", URL_TRACKING },
};
#define SWITCHES (sizeof switches / sizeof *switches)

int
url_switches_parse(const char *list, unsigned *bits)
{
	for (;;) {
		size_t nbytes = strcspn(list, ","), i = 0;

		while (i < SWITCHES && (strlen(switches[i].name) != nbytes ||
		    memcmp(list, switches[i].name, nbytes) != 0))
			i++;
		if (i == SWITCHES)
			return -1;
		*bits |= switches[i].bit;
		list += nbytes;
		if (*list++ == '\0')
			return 0;
	}
}

void
url_switches_format(unsigned bits, char text[URL_SWITCHES_TEXT])
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < SWITCHES; i++) {
		if (bits & switches[i].bit)
			n += (size_t)snprintf(text + n, URL_SWITCHES_TEXT - n,
			    "%s%s", n == 0 ? "" : ",", switches[i].name);
	}
}

int
url_ignore_parse(const char *list, char *to)
{
	for (;;) {
		size_t nbytes = strcspn(list, ",&=");
		struct reader in = { (const uint8_t *)list,
			(const uint8_t *)list + nbytes };
		uint8_t *end = url_copy(&in, IN_PARAMETER, (uint8_t *)to);

		if (nbytes == 0 || end == NULL || in.p != in.end ||
		    list[nbytes] == '&' || list[nbytes] == '=')
			return -1;
		to = (char *)end;
		list += nbytes;
		*to++ = *list;
		if (*list++ == '\0')
			return 0;
	}
}
