/*
 * URLs: what comes out has no bytes but those of a URL, is what a model makes
 * of the normal form without any rules, and is the same if url_key takes a
 * short way.
 *
 * An input is a byte that says what is left out and sorted, a byte of switches,
 * and an address.
 */
#include <ctype.h>

#include "bits/scan.h"
#include "fuzz.h"
#include "key/url.h"

static const char *const lists[] = { "", "a", "*", "utm_*,b", "*a*b*" };

/* --- the model: byte by byte, on text in its normal form */

struct text {
	char *data;
	size_t nbytes;
};

static void
put(struct text *to, char c)
{
	to->data[to->nbytes++] = c;
}

static int
is_unreserved(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

static int
is_escape(const char *p, const char *end)
{
	return end - p >= 3 && *p == '%' && isxdigit((unsigned char)p[1]) &&
	    isxdigit((unsigned char)p[2]);
}

/* Does the pattern match all of the name? */
static int
matches(const char *p, const char *p_end, const char *name, const char *end)
{
	if (p == p_end)
		return name == end;
	if (*p != '*')
		return name < end && *p == *name &&
		    matches(p + 1, p_end, name + 1, end);
	for (;; name += is_escape(name, end) ? 3 : 1) {
		if (matches(p + 1, p_end, name, end))
			return 1;
		if (name >= end)
			return 0;
	}
}

#define TRACKING "utm_*,gclid,gclsrc,dclid,gbraid,wbraid,fbclid,msclkid," \
	"twclid,ttclid,yclid,igshid,mc_cid,mc_eid,_hsenc,_hsmi,mkt_tok," \
	"oly_anon_id,oly_enc_id,vero_id,wickedid,_ga,_gl"

static int
is_ignored(const char *list, const char *name, const char *end)
{
	for (; *list != '\0'; list += strcspn(list, ",")) {
		list += *list == ',';
		if (matches(list, list + strcspn(list, ","), name, end))
			return 1;
	}
	return 0;
}

/* A parameter in its form. */
static void
put_form(struct text *to, const char *p, const char *end)
{
	const char *equals = memchr(p, '=', (size_t)(end - p));
	char digits[3] = "";

	for (; p < end; p++) {
		int c = (unsigned char)*p;

		if (p == equals) {
			put(to, '=');
			continue;
		}
		if (is_escape(p, end)) {
			memcpy(digits, p + 1, 2);
			c = (int)strtol(digits, NULL, 16);
			p += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if (c == ' ')
			put(to, '+');
		else if (is_unreserved(c))
			put(to, (char)c);
		else
			to->nbytes += (size_t)sprintf(to->data + to->nbytes,
			    "%%%02X", (unsigned)c);
	}
	if (equals == NULL)
		put(to, '=');
}

struct parameter {
	const char *text;
	size_t nbytes, compared, place;
};

static int
compare(const void *x, const void *y)
{
	const struct parameter *a = x, *b = y;
	size_t n = a->compared < b->compared ? a->compared : b->compared;
	int result = memcmp(a->text, b->text, n);

	if (result == 0)
		result = (a->compared > b->compared) -
		    (a->compared < b->compared);
	if (result == 0)
		result = a->place > b->place ? 1 : -1;
	return result;
}

/* The query [p, end), behind a question mark in `to`. */
static void
put_query(const struct url_rules *rules, const char *p, const char *end,
    struct text *to)
{
	const unsigned switches = rules->switches;
	size_t room = 4 * (size_t)(end - p) + 16, count = 0, kept = 0;
	struct text form = { malloc(room), 0 };
	struct parameter *list = malloc(((size_t)(end - p) + 1) *
	    sizeof *list);
	int whole = (switches & (URL_FORM | URL_VALUES)) != 0;

	MUST(form.data != NULL && list != NULL);
	for (const char *stop;; p = stop + 1) {
		size_t start = form.nbytes, name;
		const char *equals;

		stop = memchr(p, '&', (size_t)(end - p));
		stop = stop == NULL ? end : stop;
		name = strcspn(p, "=&");
		name = name < (size_t)(stop - p) ? name : (size_t)(stop - p);
		if (switches & URL_FORM && stop > p)
			put_form(&form, p, stop);
		else
			for (const char *q = p; q < stop; q++)
				put(&form, *q);
		equals = memchr(form.data + start, '=', form.nbytes - start);
		if (switches & URL_VALUES && equals != NULL)
			form.nbytes = (size_t)(equals - form.data);
		if (!is_ignored(rules->ignore, p, p + name) &&
		    !(switches & URL_TRACKING &&
		    is_ignored(TRACKING, p, p + name)) &&
		    !(whole && form.nbytes == start)) {
			list[count] = (struct parameter){ form.data + start,
				form.nbytes - start, form.nbytes - start,
				count };
			if (!whole && name < list[count].nbytes)
				list[count].compared = name;
			count++;
		}
		put(&form, '\0');
		if (stop == end)
			break;
	}
	if (whole || rules->sort)
		qsort(list, count, sizeof *list, compare);
	for (size_t i = 0; i < count; i++) {
		if (switches & URL_VALUES && i > 0 &&
		    list[i].nbytes == list[i - 1].nbytes && memcmp(
		    list[i].text, list[i - 1].text, list[i].nbytes) == 0)
			continue;
		put(to, kept++ > 0 ? '&' : '?');
		for (size_t j = 0; j < list[i].nbytes; j++)
			put(to, list[i].text[j]);
	}
	free(list);
	free(form.data);
}

/* The path [p, end) after an authority. */
static void
put_path(unsigned switches, const char *p, const char *end, struct text *to)
{
	if (switches & URL_SLASH && end - p > 1 && end[-1] == '/')
		end--;
	while (p < end) {
		size_t digits;

		put(to, *p++);
		digits = strspn(p, "0123456789");
		if (switches & URL_NUMBERS && digits > 0 &&
		    (p + digits >= end || p[digits] == '/')) {
			put(to, '0');
			p = p + digits < end ? p + digits : end;
		}
		while (p < end && *p != '/')
			put(to, *p++);
	}
}

/* The key of the address whose normal form is `normal`, with a NUL behind. */
static void
model(const struct url_rules *rules, const char *normal, struct text *to)
{
	const char *p = normal, *query = p + strcspn(p, "?");
	const char *authority = strchr(p, ':') + 1, *host, *path, *port;
	int dot;

	to->nbytes = 0;
	if (strncmp(authority, "//", 2) == 0) {
		host = authority + 2;
		path = host + strcspn(host, "/?");
		if (memchr(host, '@', (size_t)(path - host)) != NULL)
			host = strchr(host, '@') + 1;
		if (rules->switches & URL_SCHEME &&
		    (strncmp(p, "http:", 5) == 0 ||
		    strncmp(p, "https:", 6) == 0))
			p = authority;
		while (p < host)
			put(to, *p++);
		port = host + strcspn(host, ":/?");
		port = *host == '[' ? host : port;
		dot = rules->switches & URL_WWW && port - host > 1 &&
		    port[-1] == '.';
		if (rules->switches & URL_WWW && strncmp(p, "www", 3) == 0) {
			size_t n = 3 + strspn(p + 3, "0123456789");

			if (p[n] == '.' && p + n + 1 < port - dot)
				p += n + 1;
		}
		for (; p < path; p++) {
			if (!(dot && p == port - 1))
				put(to, *p);
		}
		put_path(rules->switches, path, query, to);
	} else {
		while (p < query)
			put(to, *p++);
	}
	if (*query == '?')
		put_query(rules, query + 1, query + strlen(query), to);
}

/* Would there be an escape with this byte that there isn't now? */
static int
makes_escape(const struct text *to, int c)
{
	char end[4] = { to->data[to->nbytes - 2], to->data[to->nbytes - 1],
		(char)c, '0' };

	return is_escape(end, end + 3) || is_escape(end + 1, end + 4);
}

/*
 * Add the fragment of an address that has a key. Returns 0 if that has none
 * then, because a byte is in no URL.
 */
static int
put_fragment(struct key url, struct text *to)
{
	const char *p = (const char *)url.data, *end = p + url.nbytes;
	const char *plain = "!$&'()*+,;=:@/?-._~#";
	char digits[3] = "";

	while (end > p && (unsigned char)end[-1] <= ' ')
		end--;
	while (p < end && *p != '#')
		p++;
	if (end - p < 2)
		return 1;
	for (; p < end; p++) {
		int c = (unsigned char)*p, escape = is_escape(p, end);

		if (escape) {
			memcpy(digits, p + 1, 2);
			c = (int)strtol(digits, NULL, 16);
			p += 2;
		}
		if (!escape && (c == '%' || isalnum(c) ||
		    (c != 0 && strchr(plain, c) != NULL))) {
			put(to, (char)c);
		} else if (escape && is_unreserved(c) &&
		    !makes_escape(to, c)) {
			put(to, (char)c);
		} else if (escape || c == '\t' || c >= 0x80 ||
		    (c != 0 && strchr(" \"<>[]\\^`{|}", c) != NULL)) {
			to->nbytes += (size_t)sprintf(to->data + to->nbytes,
			    "%%%02X", (unsigned)c);
		} else {
			return 0;
		}
	}
	return 1;
}

/* --- */

/* Just as large as they must be, for the address sanitizer. */
static uint8_t *
room_for(size_t nbytes)
{
	uint8_t *room = malloc(nbytes);

	MUST(room != NULL);
	return room;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	struct input_bytes in = { bytes, nbytes };
	const struct url_rules plain = { "", 0, 0 };
	unsigned flags = (unsigned)take(&in, 1);
	struct url_rules rules = { "", (int)(flags & 1),
		(unsigned)take(&in, 1) };
	uint8_t *data = room_for(in.nbytes + LOOPS_PADDING);
	uint8_t *to = room_for(URL_ROOM(in.nbytes));
	uint8_t *short_way = room_for(URL_ROOM(in.nbytes)), *again;
	struct key url = { data, in.nbytes }, key, normal;
	struct text want;
	size_t n;

	strcpy(rules.ignore,
	    lists[(flags >> 1) % (sizeof lists / sizeof *lists)]);
	if (in.nbytes > 0)
		memcpy(data, in.data, in.nbytes);
	memset(data + in.nbytes, '/', LOOPS_PADDING);
	/* the normal form, as it is in two ways and again */
	n = url_normalize(&plain, url, to);
	again = room_for(URL_ROOM(n));
	MUST(n <= 3 * in.nbytes + 3);
	for (size_t i = 0; i < n; i++)
		MUST(to[i] > 0x20 && to[i] < 0x7f && to[i] != '#' &&
		    memchr("\"<>\\^`{|}", to[i], 9) == NULL);
	normal = (struct key){ room_for(n + LOOPS_PADDING), n };
	memset((uint8_t *)(uintptr_t)normal.data, 0, n + LOOPS_PADDING);
	memcpy((uint8_t *)(uintptr_t)normal.data, to, n);
	MUST(url_normalize(&plain, normal, again) == n &&
	    memcmp(again, to, n) == 0);
	key = url_key(&plain, url, short_way);
	MUST((key.data == NULL) == (n == 0) && key.nbytes == n &&
	    (n == 0 || memcmp(key.data, to, n) == 0));
	/* the key by the rules */
	want.data = malloc(4 * n + 3 * in.nbytes + 16);
	MUST(want.data != NULL);
	want.nbytes = 0;
	if (n > 0) {
		model(&rules, (const char *)normal.data, &want);
		if (rules.switches & URL_FRAGMENT && !put_fragment(url, &want))
			want.nbytes = 0;
	}
	n = url_normalize(&rules, url, to);
	MUST(n == want.nbytes && memcmp(to, want.data, n) == 0);
	key = url_key(&rules, url, short_way);
	MUST((key.data == NULL) == (n == 0) && key.nbytes == n &&
	    (n == 0 || memcmp(key.data, to, n) == 0));
	free(want.data);
	free((uint8_t *)(uintptr_t)normal.data);
	free(again);
	free(short_way);
	free(to);
	free(data);
	return 0;
}
