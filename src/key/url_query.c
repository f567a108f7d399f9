/* The parameters of a URL's query: which are left out, their form and order. */
#include "key/url_query.h"

#include <string.h>

#include "key/scan.h"

/* What parameters are sorted by; with values left out, both are the same. */
enum order { BY_NAME, BY_WHOLE };

/* A parameter as it was written: up to its ampersand, or to the end. */
static size_t
parameter_bytes(const uint8_t *p, const uint8_t *end, enum order order)
{
	const uint8_t *stop = url_find(p, end, '&');

	if (order == BY_NAME)
		stop = url_find(p, stop, '=');
	return (size_t)(stop - p);
}

/* --- leaving out */

/*
 * Does a pattern with * match? Goes back to the last * only, which takes an
 * encoded byte as a whole, since both are normal: a % begins an escape.
 */
static int
matches(const char *pattern, size_t npattern, const uint8_t *p, size_t nbytes)
{
	size_t i = 0, j = 0, star = SIZE_MAX, star_at = 0;

	while (j < nbytes) {
		if (i < npattern && pattern[i] == '*') {
			star = i++;
			star_at = j;
		} else if (i < npattern && (uint8_t)pattern[i] == p[j]) {
			i++;
			j++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			star_at += p[star_at] == '%' ? 3 : 1;
			j = star_at;
		} else {
			return 0;
		}
	}
	while (i < npattern && pattern[i] == '*')
		i++;
	return i == npattern;
}

static int
is_ignored(const char *list, const uint8_t *name, size_t nbytes)
{
	while (*list != '\0') {
		size_t n = strcspn(list, ",");

		if (matches(list, n, name, nbytes))
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}

/* Is the next parameter left out? Its name needs room at `to`. */
static int
is_next_ignored(const struct reader *in, const char *list, uint8_t *to)
{
	size_t nbytes = parameter_bytes(in->p, in->end, BY_NAME);
	struct reader name = { in->p, in->p + nbytes };
	const uint8_t *end = url_copy(&name, IN_PARAMETER, to);

	/* what is in no URL is reported by those who copy it */
	if (end == NULL || name.p != name.end)
		return 0;
	return is_ignored(list, to, (size_t)(end - to));
}

/* --- the form */

/*
 * What is written as in the form: letters, digits and -_~+ (and the dot), and
 * what separates names, values and parameters. scan.h says how.
 */
static const struct characters as_is = { {
	0xa8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8, 0xfc, 0xf8,
	0xf8, 0xf8, 0xf0, 0x54, 0x50, 0x5c, 0xd0, 0x70
}, url_class, (UNRESERVED & ~DOT) | PLUS | AMPERSAND | EQUALS };

/* What is written as in the form, and what separates it, from `base` on. */
struct marks {
	const uint8_t *base;
	const uint8_t *end; /* where something else begins */
	uint64_t ampersands, equals; /* bit i: base[i] is one before `end` */
};

/*
 * The end of what is written as in the form, from p on: an escape is, too, if
 * its digits are upper case and the byte is neither a space nor unreserved.
 */
static const uint8_t *
as_is_end(const uint8_t *p, const uint8_t *end)
{
	while ((p = scan()->skip(&as_is, p, end)) < end) {
		int byte = url_normal_escape(p, end);

		if (byte < 0 || byte == ' ')
			return p;
		p += 3;
	}
	return end;
}

static void
marks_load(struct marks *m, const struct reader *in)
{
	static const uint8_t bytes[3] = { '&', '=', '&' };
	uint64_t bits[3], before = ~(uint64_t)0;

	m->base = in->p;
	if (m->end <= in->p)
		m->end = as_is_end(in->p, in->end);
	if (m->end - m->base < 64)
		before = ((uint64_t)1 << (m->end - m->base)) - 1;
	scan()->equal_three(m->base, bytes, bits);
	m->ampersands = bits[0] & before;
	m->equals = bits[1] & before;
}

/*
 * Is the next parameter certainly written in its form? Then *name_bytes becomes
 * the length of its name, and in->p moves behind it.
 */
static int
is_form(struct reader *in, struct marks *m, size_t *name_bytes)
{
	size_t at = (size_t)(in->p - m->base), nbytes;
	uint64_t ampersands, equals;

	if (at >= 64 || m->end <= in->p ||
	    (m->ampersands >> at == 0 && m->end - m->base > 64)) {
		marks_load(m, in);
		at = 0;
	}
	ampersands = m->ampersands >> at;
	if (ampersands != 0)
		nbytes = (size_t)__builtin_ctzll(ampersands);
	else if (m->end == in->end)
		nbytes = (size_t)(in->end - in->p);
	else
		return 0;
	if (nbytes >= 64)
		return 0;
	equals = m->equals >> at & (((uint64_t)1 << nbytes) - 1);
	if (equals == 0 || (equals & (equals - 1)) != 0)
		return 0;
	*name_bytes = (size_t)__builtin_ctzll(equals);
	in->p += nbytes;
	return 1;
}

/*
 * Copy the next parameter as application/x-www-form-urlencoded has it: name and
 * value are decoded and encoded again in one way, with an equals sign between
 * them in any case. An empty parameter stays empty. Otherwise as url_copy.
 */
static uint8_t *
copy_form(struct reader *in, uint8_t *to)
{
	const uint8_t *p = in->p, *end = in->end;
	int in_value = 0;

	for (; p < end && *p != '&'; p++) {
		uint8_t c = *p;

		if (url_class[c] & UNRESERVED || c == '+') {
			*to++ = c;
			continue;
		}
		if (c == '=' && !in_value) {
			in_value = 1;
			*to++ = c;
			continue;
		}
		if (c == '%') {
			int byte = url_encoded_byte(p, end);

			if (byte < 0)
				return NULL;
			c = (uint8_t)byte;
			p += 2;
		} else if (!(url_class[c] & IN_PARAMETER)) {
			break;
		}
		if (url_class[c] & UNRESERVED)
			*to++ = c;
		else if (c == ' ')
			*to++ = '+';
		else
			to = url_encode(to, c);
	}
	if (p > in->p && !in_value)
		*to++ = '=';
	in->p = p;
	return to;
}

/* --- the order */

static int
compare(const uint8_t *a, size_t m, const uint8_t *b, size_t n)
{
	int result = memcmp(a, b, m < n ? m : n);

	if (result != 0)
		return result;
	return (m > n) - (m < n);
}

static int
compare_parameters(const uint8_t *a, const uint8_t *b, const uint8_t *end,
    enum order order)
{
	return compare(a, parameter_bytes(a, end, order), b,
	    parameter_bytes(b, end, order));
}

/* The end of the parameters from p on that are in order already. */
static const uint8_t *
run_end(const uint8_t *p, const uint8_t *end, enum order order)
{
	const uint8_t *stop = url_find(p, end, '&');

	while (stop != end &&
	    compare_parameters(p, stop + 1, end, order) <= 0) {
		p = stop + 1;
		stop = url_find(p, end, '&');
	}
	return stop;
}

/* Merge the runs of [from, end) two by two. */
static void
merge_runs(const uint8_t *from, const uint8_t *end, uint8_t *to,
    enum order order)
{
	while (from <= end) {
		const uint8_t *a = from, *a_end = run_end(a, end, order);
		const uint8_t *b = a_end + 1, *b_end = end;

		if (a_end != end)
			b_end = run_end(b, end, order);
		while (a <= a_end || b <= b_end) {
			int first = b > b_end || (a <= a_end &&
			    compare_parameters(a, b, end, order) <= 0);
			const uint8_t **next = first ? &a : &b;
			const uint8_t *stop = url_find(*next, end, '&');

			memcpy(to, *next, (size_t)(stop - *next));
			to += stop - *next;
			*to++ = '&';
			*next = stop + 1;
		}
		from = b_end + 1;
	}
}

/*
 * A natural merge sort of the text itself: a line may have millions of
 * parameters, too many for a table. What is merged is written behind the end.
 */
static void
sort(uint8_t *start, uint8_t *end, enum order order)
{
	while (run_end(start, end, order) != end) {
		merge_runs(start, end, end + 1, order);
		memcpy(start, end + 1, (size_t)(end - start));
	}
}

/* Keep each of the sorted parameters once; returns the new end. */
static uint8_t *
keep_once(uint8_t *start, uint8_t *end)
{
	uint8_t *last = start, *to = start;
	size_t last_bytes = SIZE_MAX, n;

	for (const uint8_t *p = start; p <= end; p += n + 1) {
		n = parameter_bytes(p, end, BY_WHOLE);
		if (n == last_bytes && memcmp(last, p, n) == 0)
			continue;
		memmove(to, p, n);
		last = to;
		last_bytes = n;
		to += n;
		*to++ = '&';
	}
	return to - 1;
}

/* --- all of it */

/* As many parameters are sorted in a table; more of them as text. */
#define TABLE_MAX 64

struct parameter {
	const uint8_t *at; /* in the input, or in `room` of the table */
	size_t nbytes;
	size_t compared;   /* bytes at its beginning that decide the order */
	uint64_t first;    /* the first eight of these as a number */
};

/* Parameters of a query that are kept, and where they are to be written. */
struct table {
	const struct url_rules *rules;
	enum order order;
	int sorts;
	int is_long; /* some were written before, so the text isn't in order */
	size_t count;
	struct parameter parameters[TABLE_MAX]; /* as they came */
	uint8_t *to;   /* where the text of those before these ends */
	uint8_t *room; /* for those that aren't written as in the input */
};

/*
 * The first eight of nbytes bytes as a number, the first one the most
 * significant; zeros for those that aren't there. Reads eight.
 */
static uint64_t
first_eight(const uint8_t *p, size_t nbytes)
{
	uint64_t number;

	memcpy(&number, p, sizeof number);
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		number = __builtin_bswap64(number);
	if (nbytes < 8)
		number &= ~(UINT64_MAX >> 8 * nbytes);
	return number;
}

/* Is a parameter greater than another one? No zeros are in a parameter. */
static unsigned
is_greater(const struct parameter *a, const struct parameter *b)
{
	if (a->first != b->first)
		return a->first > b->first;
	return compare(a->at, a->compared, b->at, b->compared) > 0;
}

/*
 * Which parameter has which place in the order: how many are smaller, or the
 * same and came before. Comparing each with each takes no branch that depends
 * on the order, which can't be predicted; so it is faster than sorting as long
 * as they are few.
 */
static void
find_places(const struct table *t, unsigned at_place[TABLE_MAX])
{
	unsigned places[TABLE_MAX];

	for (unsigned i = 0; i < t->count; i++) {
		places[i] = i;
		for (unsigned j = 0; j < i; j++) {
			unsigned greater = is_greater(&t->parameters[j],
			    &t->parameters[i]);

			places[j] += greater;
			places[i] -= greater;
		}
	}
	for (unsigned i = 0; i < t->count; i++)
		at_place[places[i]] = i;
}

/* Write the table's parameters, each with an ampersand, and empty it. */
static void
write_parameters(struct table *t)
{
	unsigned at_place[TABLE_MAX];

	if (t->sorts)
		find_places(t, at_place);
	for (size_t i = 0; i < t->count; i++) {
		size_t next = t->sorts ? at_place[i] : i;
		const struct parameter *parameter = &t->parameters[next];

		/* a fixed number of bytes: no branch depends on the length */
		memcpy(t->to, parameter->at, URL_STEP);
		if (parameter->nbytes > URL_STEP)
			memcpy(t->to, parameter->at, parameter->nbytes);
		t->to += parameter->nbytes;
		*t->to++ = '&';
	}
	t->count = 0;
}

/*
 * Take the next parameter by the rules, to `room` unless it is in its form
 * already. Its `at` is NULL at an invalid percent-encoding.
 */
static struct parameter
take_parameter(struct reader *in, const struct url_rules *rules,
    enum order order, struct marks *marks, uint8_t *room)
{
	struct parameter new = { .at = in->p };
	const uint8_t *end;
	size_t name_bytes;

	if (rules->switches & URL_FORM && is_form(in, marks, &name_bytes)) {
		new.nbytes = (size_t)(in->p - new.at);
	} else {
		new.at = room;
		if (rules->switches & URL_FORM)
			end = copy_form(in, room);
		else
			end = url_copy(in, IN_PARAMETER, room);
		if (end == NULL)
			return (struct parameter){ .at = NULL };
		new.nbytes = (size_t)(end - room);
		name_bytes = (size_t)(url_find(room, end, '=') - room);
	}
	if (rules->switches & URL_VALUES)
		new.nbytes = name_bytes;
	new.compared = order == BY_NAME ? name_bytes : new.nbytes;
	new.first = first_eight(new.at, new.compared);
	return new;
}

/* Take the parameters up to the end, or to a byte that is in no query. */
static int
take_parameters(struct table *t, struct reader *in)
{
	const struct url_rules *rules = t->rules;
	const int drops_empty = rules->switches & (URL_FORM | URL_VALUES);
	struct marks marks = { .base = in->p, .end = in->p };
	uint8_t *room = t->room;

	for (;; in->p++) {
		int is_ignored = rules->ignore[0] != '\0' &&
		    is_next_ignored(in, rules->ignore, room);
		struct parameter new = take_parameter(in, rules, t->order,
		    &marks, room);

		if (new.at == NULL)
			return -1;
		if (!is_ignored && !(drops_empty && new.nbytes == 0)) {
			if (new.at == room)
				room += new.nbytes;
			t->parameters[t->count++] = new;
		}
		if (in->p == in->end || *in->p != '&')
			return 0;
		if (t->count == TABLE_MAX) {
			write_parameters(t);
			t->is_long = 1;
			room = t->room;
		}
	}
}

uint8_t *
url_copy_query(struct reader *in, const struct url_rules *rules, uint8_t *to)
{
	const int sorts_whole = rules->switches & (URL_FORM | URL_VALUES);
	uint8_t *start = to;
	struct table t;

	if (rules->ignore[0] == '\0' && !rules->sort && !sorts_whole)
		return url_copy(in, IN_QUERY, to);
	t.rules = rules;
	t.order = sorts_whole ? BY_WHOLE : BY_NAME;
	t.sorts = rules->sort || sorts_whole;
	t.is_long = 0;
	t.count = 0;
	t.to = to;
	t.room = to + URL_QUERY_ROOM(in->end - in->p);
	if (take_parameters(&t, in) < 0)
		return NULL;
	write_parameters(&t);
	if (t.to == start)
		return start - 1; /* without its question mark */
	to = t.to - 1; /* without the last ampersand */
	if (t.sorts && t.is_long)
		sort(start, to, t.order);
	if (rules->switches & URL_VALUES)
		to = keep_once(start, to);
	return to;
}
