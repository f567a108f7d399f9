/*
 * One pass writes the normal form, component by component, and checks on the
 * way whether it is a URL. liburiparser 0.9.7 takes 0.6 to 1.1 us to parse and
 * normalize an address of 80 bytes, without the steps that it lacks (ports,
 * empty paths, bytes that the RFC forbids); this takes a tenth of that.
 */
#include "key/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "bits/scan.h"
#include "key/url_query.h"
#include "key/url_text.h"

static uint8_t
lower(uint8_t c)
{
	if (url_class[c] & UPPER)
		return (uint8_t)(c + 'a' - 'A');
	return c;
}

/* --- the parts of a URL */

/* RFC 3986's IPvFuture, as it is. NULL: it isn't one. */
static uint8_t *
copy_future(const uint8_t *p, size_t nbytes, uint8_t *to)
{
	size_t i = 1;

	while (i < nbytes && number_hex(p + i, 1) >= 0)
		i++;
	if (i < 2 || i + 1 >= nbytes || p[i] != '.')
		return NULL;
	while (++i < nbytes &&
	    url_class[p[i]] & (UNRESERVED | SUB_DELIMS | COLON))
		continue;
	if (i < nbytes)
		return NULL;
	memcpy(to, p, nbytes);
	return to + nbytes;
}

/* The longest run of groups that are zero, of at least two. */
struct zeros {
	unsigned first, count;
};

static struct zeros
longest_zeros(const uint16_t groups[8])
{
	struct zeros longest = { 8, 1 }, run = { 0, 0 };

	for (unsigned i = 0; i < 8; i++) {
		if (groups[i] != 0) {
			run = (struct zeros){ i + 1, 0 };
			continue;
		}
		if (++run.count > longest.count)
			longest = run;
	}
	return longest;
}

/*
 * An IPv6 address as in RFC 5952, section 4. Not by inet_ntop, since libraries
 * differ in what they write, and keys must not. NULL: it isn't one.
 */
static uint8_t *
copy_address(const uint8_t *p, size_t nbytes, uint8_t *to)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t bytes[16];
	uint16_t groups[8];
	struct zeros zeros;

	if (nbytes >= sizeof text || memchr(p, '\0', nbytes) != NULL)
		return NULL;
	memcpy(text, p, nbytes);
	text[nbytes] = '\0';
	if (inet_pton(AF_INET6, text, bytes) != 1)
		return NULL;
	for (unsigned i = 0; i < 8; i++)
		groups[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
	zeros = longest_zeros(groups);
	for (unsigned i = 0; i < 8; i++) {
		if (i == zeros.first) {
			*to++ = ':';
			i += zeros.count - 1;
			if (i == 7)
				*to++ = ':';
			continue;
		}
		if (i > 0)
			*to++ = ':';
		to += sprintf((char *)to, "%x", groups[i]);
	}
	return to;
}

/* An address in brackets: in->p is at the first one. */
static uint8_t *
copy_literal(struct reader *in, uint8_t *to)
{
	const uint8_t *start = in->p + 1;
	const uint8_t *stop = url_find(start, in->end, ']');
	size_t nbytes = (size_t)(stop - start);

	if (stop == in->end)
		return NULL;
	*to++ = '[';
	if (nbytes > 0 && lower(*start) == 'v')
		to = copy_future(start, nbytes, to);
	else
		to = copy_address(start, nbytes, to);
	if (to == NULL)
		return NULL;
	in->p = stop + 1;
	*to++ = ']';
	return to;
}

/* Does a host end with a dot that isn't all of it? */
static size_t
last_dot_bytes(const uint8_t *host, const uint8_t *end)
{
	return end - host > 1 && end[-1] == '.';
}

/* How many bytes of a host are "www", perhaps digits, and a dot before more? */
static size_t
www_bytes(const uint8_t *host, const uint8_t *end)
{
	const uint8_t *p = host + 3;

	if (end - host < 5 || memcmp(host, "www", 3) != 0)
		return 0;
	while (p < end && url_class[*p] & DIGIT)
		p++;
	if (end - p < 2 || *p != '.')
		return 0;
	return (size_t)(p + 1 - host);
}

static uint8_t *
copy_host(struct reader *in, const struct url_rules *rules, uint8_t *to)
{
	uint8_t *start = to;

	if (in->p < in->end && *in->p == '[')
		to = copy_literal(in, to);
	else
		to = url_copy(in, UNRESERVED | SUB_DELIMS, to);
	if (to == NULL)
		return NULL;
	for (uint8_t *p = start; p < to; p++) {
		if (*p == '%')
			p += 2; /* its two digits stay in upper case */
		else
			*p = lower(*p);
	}
	if (rules->switches & URL_WWW) {
		size_t www;

		to -= last_dot_bytes(start, to);
		www = www_bytes(start, to);
		memmove(start, start + www, (size_t)(to - start) - www);
		to -= www;
	}
	return to;
}

/* The scheme and its colon. Returns NULL if the text doesn't begin with one. */
static uint8_t *
copy_scheme(struct reader *in, uint8_t *to)
{
	if (in->p == in->end || !(url_class[*in->p] & ALPHA))
		return NULL;
	while (in->p < in->end && (url_class[*in->p] & (ALPHA | DIGIT | DOT) ||
	    *in->p == '+' || *in->p == '-'))
		*to++ = lower(*in->p++);
	if (in->p == in->end || *in->p++ != ':')
		return NULL;
	*to++ = ':';
	return to;
}

/* The default port of a scheme, given with its colon; "" if it has none. */
static const char *
default_port(const uint8_t *scheme, size_t nbytes)
{
	static const char *const ports[][2] = { { "http:", "80" },
		{ "https:", "443" }, { "ws:", "80" }, { "wss:", "443" },
		{ "ftp:", "21" } };

	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
		if (strlen(ports[i][0]) == nbytes &&
		    memcmp(scheme, ports[i][0], nbytes) == 0)
			return ports[i][1];
	}
	return "";
}

/* The colon and the port after it, unless it is empty or the default. */
static uint8_t *
copy_port(struct reader *in, const char *port, uint8_t *to)
{
	const uint8_t *p = in->p;
	size_t nbytes;

	while (in->p < in->end && url_class[*in->p] & DIGIT)
		in->p++;
	while (in->p - p > 1 && *p == '0')
		p++;
	nbytes = (size_t)(in->p - p);
	if (nbytes == 0 ||
	    (strlen(port) == nbytes && memcmp(p, port, nbytes) == 0))
		return to;
	*to++ = ':';
	memcpy(to, p, nbytes);
	return to + nbytes;
}

/* What is before the host, up to an at sign, if there is one. */
static uint8_t *
copy_user(struct reader *in, uint8_t *to)
{
	const uint8_t *at = in->p;

	while (at < in->end && *at != '@' && *at != '/' && *at != '?')
		at++;
	if (at == in->end || *at != '@')
		return to;
	to = url_copy(in, UNRESERVED | SUB_DELIMS | COLON, to);
	if (to == NULL || in->p != at)
		return NULL;
	in->p++;
	*to++ = '@';
	return to;
}

/* Copy what follows "//", up to the path. */
static uint8_t *
copy_authority(struct reader *in, const struct url_rules *rules,
    const char *port, uint8_t *to)
{
	to = copy_user(in, to);
	if (to != NULL)
		to = copy_host(in, rules, to);
	if (to == NULL)
		return NULL;
	if (in->p < in->end && *in->p == ':') {
		in->p++;
		to = copy_port(in, port, to);
	}
	if (in->p < in->end && *in->p != '/' && *in->p != '?')
		return NULL;
	return to;
}

/* RFC 3986, 5.2.4, in place: [start, end) is "/..."; returns the new end. */
static uint8_t *
remove_dots(uint8_t *start, uint8_t *end)
{
	uint8_t *to = start;

	for (const uint8_t *from = start, *next; from < end; from = next) {
		size_t nbytes;

		next = url_find(from + 1, end, '/');
		nbytes = (size_t)(next - from);
		if ((nbytes == 2 || nbytes == 3) &&
		    memcmp(from, "/..", nbytes) == 0) {
			while (nbytes == 3 && to > start && *--to != '/')
				continue;
			if (next == end)
				*to++ = '/';
			continue;
		}
		memmove(to, from, nbytes);
		to += nbytes;
	}
	return to;
}

/* Write 0 for each segment of the path [start, end) that is a number. */
static uint8_t *
hide_numbers(uint8_t *start, uint8_t *end)
{
	uint8_t *to = start;

	for (const uint8_t *from = start, *next; from < end; from = next) {
		const uint8_t *p = from + 1;

		next = url_find(p, end, '/');
		while (p < next && url_class[*p] & DIGIT)
			p++;
		if (p == next && next > from + 1) {
			memcpy(to, "/0", 2);
			to += 2;
		} else {
			memmove(to, from, (size_t)(next - from));
			to += next - from;
		}
	}
	return to;
}

/* Does the path [start, end) end with a slash, and has more? */
static int
has_last_slash(const uint8_t *start, const uint8_t *end)
{
	return end - start > 1 && end[-1] == '/';
}

static uint8_t *
copy_path(struct reader *in, const struct url_rules *rules, int has_authority,
    uint8_t *to)
{
	uint8_t *start = to;
	uint8_t *end = url_copy(in, IN_PATH, to);

	if (end == start) {
		*end = '/';
		return end + has_authority;
	}
	if (*start != '/')
		return end;
	end = remove_dots(start, end);
	if (has_authority && rules->switches & URL_NUMBERS)
		end = hide_numbers(start, end);
	if (has_authority && rules->switches & URL_SLASH)
		end -= has_last_slash(start, end);
	if (!has_authority && end - start > 1 && start[1] == '/') {
		/*
		 * Two slashes at the beginning would be taken for an authority.
		 */
		memmove(start + 2, start, (size_t)(end - start));
		memcpy(start, "/.", 2);
		end += 2;
	}
	return end;
}

/*
 * The fragment, with its number sign, at which in->p is; one that is empty is
 * left out. A further number sign is a part of it.
 */
static uint8_t *
copy_fragment(struct reader *in, uint8_t *to)
{
	const uint8_t *start = in->p;

	while (in->p < in->end && *in->p == '#' && in->end - start > 1) {
		*to++ = *in->p++;
		to = url_copy(in, IN_QUERY, to);
	}
	if (in->end - start == 1)
		in->p = in->end;
	return to;
}

/* --- all of it */

static inline struct key
trim_end(struct key text)
{
	while (text.nbytes > 0 && text.data[text.nbytes - 1] <= ' ')
		text.nbytes--;
	return text;
}

/* The text without what doesn't belong to a URL: url.h. */
static struct key
trim(struct key text)
{
	const uint8_t *p = text.data, *end = p + text.nbytes;

	if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	while (p < end && *p <= ' ')
		p++;
	return trim_end((struct key){ p, (size_t)(end - p) });
}

size_t
url_normalize(const struct url_rules *rules, struct key url, uint8_t *to)
{
	const struct key text = trim(url);
	const uint8_t *end = text.data + text.nbytes;
	struct reader in = { text.data, url_find(text.data, end, '#') };
	uint8_t *start = to;
	const char *port;
	int has_authority;

	to = copy_scheme(&in, to);
	if (to == NULL)
		return 0;
	port = default_port(start, (size_t)(to - start));
	has_authority = in.end - in.p >= 2 && memcmp(in.p, "//", 2) == 0;
	if (has_authority) {
		/*
		 * The key then begins with "//", as no key of any other URL
		 * does.
		 */
		if (rules->switches & URL_SCHEME &&
		    memcmp(start, "http", 4) == 0 && *port != '\0')
			to = start;
		in.p += 2;
		memcpy(to, "//", 2);
		to = copy_authority(&in, rules, port, to + 2);
	}
	if (to != NULL)
		to = copy_path(&in, rules, has_authority, to);
	if (to != NULL && in.p < in.end && *in.p == '?') {
		in.p++;
		*to++ = '?';
		to = url_copy_query(&in, rules, to);
	}
	if (to == NULL || in.p != in.end)
		return 0;
	if (rules->switches & URL_FRAGMENT) {
		in.end = end;
		to = copy_fragment(&in, to);
		if (in.p != in.end)
			return 0;
	}
	return (size_t)(to - start);
}

/* --- what is normal already */

/*
 * What is normal in any place of path and query: letters, digits and
 * -_~!$&'()*+,;=:@/? (scan.h has the form).
 */
static const struct characters plain = { {
	0xb8, 0xfc, 0xf8, 0xf8, 0xfc, 0xf8, 0xfc, 0xfc,
	0xfc, 0xfc, 0xfc, 0x5c, 0x54, 0x5c, 0xd0, 0x7c
}, url_class, IN_QUERY & ~(ENCODED | DOT) };

/* What is normal in a host: small letters, digits and -_~. */
static const struct characters in_host = { {
	0x88, 0xc8, 0xc8, 0xc8, 0xc8, 0xc8, 0xc8, 0xc8,
	0xc8, 0xc8, 0xc0, 0x40, 0x40, 0x44, 0xc0, 0x60
}, url_class, LOWER | DIGIT | MARK };

/* What is normal in a path: all of these but the question mark. */
static const struct characters in_path = { {
	0xb8, 0xfc, 0xf8, 0xf8, 0xfc, 0xf8, 0xfc, 0xfc,
	0xfc, 0xfc, 0xfc, 0x5c, 0x54, 0x5c, 0xd0, 0x74
}, url_class, IN_PATH & ~(ENCODED | DOT) };

/* The first byte in [p, end) that isn't certainly normal, else `end`. */
static inline const uint8_t *
plain_end(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	while ((p = scan()->skip(set, p, end)) < end) {
		if (url_normal_escape(p, end) < 0)
			return p;
		p += 3;
	}
	return end;
}

/*
 * An address that is written in its normal form, as most are: http or https, a
 * host in lower case without a port, a path without dots, nothing that must be
 * encoded.
 */
struct url_pieces {
	const uint8_t *start, *host, *path;
	const uint8_t *query; /* begins at the question mark; or the end */
	const uint8_t *end;
};

/* What find_pieces is asked for. */
enum query { QUERY_IN_PATH, QUERY_NORMAL, QUERY_ANY };

/*
 * Find the slash at which the path begins. Returns NULL if it isn't certain
 * that scheme and host are normal.
 */
static inline const uint8_t *
find_path(struct key url, const uint8_t **host)
{
	const uint8_t *start = url.data, *end = start + url.nbytes, *path;

	*host = start + 7 + (start[4] == 's');
	if (url.nbytes < 9 || memcmp(start, "http", 4) != 0 ||
	    memcmp(*host - 3, "://", 3) != 0 || **host == '/')
		return NULL;
	path = scan()->skip(&in_host, *host, end);
	if (path == end || *path != '/')
		return NULL;
	return path;
}

/* Is it certain that all of the address is normal? */
static int
is_normal(struct key url)
{
	const uint8_t *host, *path = find_path(url, &host);
	const uint8_t *end = url.data + url.nbytes;

	return path != NULL && plain_end(&plain, path + 1, end) == end;
}

/*
 * Find the parts. Returns 0 if it isn't certain that all of them are normal,
 * with QUERY_ANY all but the query. With QUERY_IN_PATH, the path goes on to the
 * end.
 */
static int
find_pieces(struct key url, enum query what, struct url_pieces *parts)
{
	const uint8_t *end = url.data + url.nbytes, *host, *query;
	const uint8_t *path = find_path(url, &host);

	if (path == NULL)
		return 0;
	query = plain_end(what == QUERY_IN_PATH ? &plain : &in_path, path + 1,
	    end);
	*parts = (struct url_pieces){ url.data, host, path, query, end };
	if (query == end)
		return 1;
	if (what == QUERY_IN_PATH || *query != '?')
		return 0;
	return what == QUERY_ANY || plain_end(&plain, query, end) == end;
}

static uint8_t *
append(uint8_t *to, const uint8_t *from, const uint8_t *end)
{
	memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

/* Do the rules change a query that is in its normal form? */
static int
has_query_rules(const struct url_rules *rules)
{
	return rules->sort || rules->ignore[0] != '\0' ||
	    rules->switches & (URL_FORM | URL_VALUES | URL_TRACKING);
}

/* Is --url the only rule, as mostly? Then nothing is left out of a URL. */
static int
is_only_rule(const struct url_rules *rules)
{
	return rules->switches == 0 && !has_query_rules(rules);
}

/*
 * The key of an address of these parts: a piece of it, or bytes in `to`. Its
 * data is NULL if the query isn't one.
 */
static struct key
key_of_parts(const struct url_rules *rules, const struct url_pieces *parts,
    uint8_t *to)
{
	const unsigned set = rules->switches;
	const uint8_t *start = parts->start, *stop = parts->query;
	uint8_t *key = to;
	size_t www = 0, dot = 0;

	if (set & URL_SCHEME)
		start = parts->host - 2;
	if (set & URL_SLASH)
		stop -= has_last_slash(parts->path, parts->query);
	if (set & URL_WWW) {
		dot = last_dot_bytes(parts->host, parts->path);
		www = www_bytes(parts->host, parts->path - dot);
	}

	/* Mostly nothing is left out in the middle, and nothing is copied. */
	if (www + dot == 0 && parts->query == parts->end)
		return (struct key){ start, (size_t)(stop - start) };
	if (www + dot == 0 && stop == parts->query && !has_query_rules(rules))
		return (struct key){ start, (size_t)(parts->end - start) };
	if (www + dot > 0) {
		to = append(to, start, parts->host);
		to = append(to, parts->host + www, parts->path - dot);
		start = parts->path;
	}
	to = append(to, start, stop);
	if (!has_query_rules(rules)) {
		to = append(to, parts->query, parts->end);
	} else if (parts->query < parts->end) {
		struct reader in = { parts->query + 1, parts->end };

		*to++ = '?';
		to = url_copy_query(&in, rules, to);
		if (in.p != in.end && *in.p == '#') {
			if (set & URL_FRAGMENT)
				to = copy_fragment(&in, to);
			else
				in.p = in.end;
		}
		if (in.p != in.end)
			return (struct key){ NULL, 0 };
	}
	return (struct key){ key, (size_t)(to - key) };
}

/*
 * The key of a URL that is to be changed, or may not be in its normal form.
 * This and normal_key are functions of their own, so that url_key needs none of
 * the registers that must be saved.
 */
static __attribute__((noinline)) struct key
make_key(const struct url_rules *rules, struct key url, uint8_t *to)
{
	enum query query = QUERY_IN_PATH;
	struct url_pieces parts;
	size_t nbytes;

	if (has_query_rules(rules))
		query = QUERY_ANY;
	else if (rules->switches & URL_SLASH)
		query = QUERY_NORMAL;
	if (!is_only_rule(rules) && !(rules->switches & URL_NUMBERS) &&
	    find_pieces(url, query, &parts))
		return key_of_parts(rules, &parts, to);
	nbytes = url_normalize(rules, url, to);
	if (nbytes == 0)
		return (struct key){ NULL, 0 };
	return (struct key){ to, nbytes };
}

/* The key of a URL for which --url is the only rule. */
static __attribute__((noinline)) struct key
normal_key(const struct url_rules *rules, struct key url, uint8_t *to)
{
	if (is_normal(url))
		return url;
	return make_key(rules, url, to);
}

struct key
url_key(const struct url_rules *rules, struct key url, uint8_t *to)
{
	/* A URL in normal form begins with "http": only its end is trimmed. */
	const struct key text = trim_end(url);

	if (is_only_rule(rules))
		return normal_key(rules, text, to);
	return make_key(rules, text, to);
}
