/*
 * The differences between URLs that are ignored, besides their spelling
 * (url.h).
 */
#ifndef KEY_URL_RULES_H
#define KEY_URL_RULES_H

/*
 * Further differences that are ignored. All but those about parameters and the
 * fragment are for URLs with an authority, those that continue with "//" after
 * the scheme.
 */
enum url_switch {
	URL_FORM = 1 << 0,   /* spelling of parameters, and their order */
	URL_SCHEME = 1 << 1, /* the difference between http and https */
	URL_WWW = 1 << 2,    /* www., www2. and the like before the host, and a
			      * dot after it */
	URL_SLASH = 1 << 3,  /* one slash at the end of the path */
	URL_VALUES = 1 << 4, /* parameters' values, repetition and order */
	URL_NUMBERS = 1 << 5, /* the value of a segment of the path that is a
			       * number */
	URL_FRAGMENT = 1 << 6, /* not ignored with it: the fragment */
	URL_TRACKING = 1 << 7 /* parameters that say where a visitor came from:
			       * a list that is never changed (url_query.c) */
};

/* The longest list of names to leave out, with its NUL. */
#define URL_IGNORE_TEXT 1025

struct url_rules {
	char ignore[URL_IGNORE_TEXT]; /* names of parameters to leave out, from
				       * url_ignore_parse; "": none */
	int sort;           /* are parameters sorted by their names? */
	unsigned switches;  /* bits of enum url_switch */
};

/*
 * Normalize the percent-encoding in a list of names, such as "utm_*,gclid",
 * where * stands for any bytes, as that of a URL. `to` has 3 * strlen(list) + 1
 * bytes. Returns -1 if a name is empty or cannot be in a URL.
 */
int url_ignore_parse(const char *list, char *to);

/*
 * Add the switches of a list of their names, such as "form,www", to *switches.
 * Returns -1 if there is another name in it.
 */
int url_switches_parse(const char *list, unsigned *switches);

/* The longest text of url_switches_format, with its NUL. */
#define URL_SWITCHES_TEXT 60

/* Write the names of switches as a list, always in the same order. */
void url_switches_format(unsigned switches, char text[URL_SWITCHES_TEXT]);

#endif
