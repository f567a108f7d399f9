/* The parameters of a URL's query: which are left out, their form and order. */
#include "key/url_query.h"

#include <string.h>

#include "bits/scan.h"
#include "key/url_order.h"

/* --- leaving out */

/*
 * Does a pattern with * match? Goes back to the last * only, which takes an
 * encoded byte as a whole, since both are normal.
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
			star_at += url_encoded_byte(p + star_at, p + nbytes) >=
			    0 ? 3 : 1;
			j = star_at;
		} else {
			return 0;
		}
	}
	while (i < npattern && pattern[i] == '*')
		i++;
	return i == npattern;
}

/* The parameters of URL_TRACKING, but for utm_*: those of each length. */
static const char *const tracking[] = {
	[3] = "_ga" "_gl",
	[5] = "_hsmi" "dclid" "gclid" "yclid",
	[6] = "_hsenc" "fbclid" "gbraid" "gclsrc" "igshid" "mc_cid" "mc_eid"
	    "ttclid" "twclid" "wbraid",
	[7] = "mkt_tok" "msclkid" "vero_id",
	[8] = "wickedid",
	[10] = "oly_enc_id",
	[11] = "oly_anon_id"
};
#define TRACKING (sizeof tracking / sizeof *tracking)

/* The bit of a character in those of `first_of`. */
#define BIT(c) ((uint32_t)1 << ((c) & 31))

/* What they begin with, utm_* included, by length; the last: all above. */
static const uint32_t first_of[TRACKING + 1] = {
	[3] = BIT('_'),
	[4] = BIT('u'),
	[5] = BIT('u') | BIT('_') | BIT('d') | BIT('g') | BIT('y'),
	[6] = BIT('u') | BIT('_') | BIT('f') | BIT('g') | BIT('i') |
	    BIT('m') | BIT('t') | BIT('w'),
	[7] = BIT('u') | BIT('m') | BIT('v'),
	[8] = BIT('u') | BIT('w'),
	[9] = BIT('u'),
	[10] = BIT('u') | BIT('o'),
	[11] = BIT('u') | BIT('o'),
	[TRACKING] = BIT('u')
};

/* Is it one of them, if its first character is? */
static __attribute__((noinline)) int
is_in_tracking(const uint8_t *name, size_t nbytes)
{
	if (nbytes >= 4 && memcmp(name, "utm_", 4) == 0)
		return 1;
	if (nbytes >= TRACKING || tracking[nbytes] == NULL)
		return 0;
	for (const char *p = tracking[nbytes]; *p != '\0'; p += nbytes) {
		if (memcmp(p, name, nbytes) == 0)
			return 1;
	}
	return 0;
}

/*
 * Is it? Length and first character exclude nearly all others, with one branch
 * that is nearly never taken. A byte behind the name is read if it is empty.
 */
static inline int
is_tracking(const uint8_t *name, size_t nbytes)
{
	uint32_t first = first_of[nbytes < TRACKING ? nbytes : TRACKING];

	return (first & BIT(name[0])) != 0 && is_in_tracking(name, nbytes);
}

static int
is_listed(const char *list, const uint8_t *name, size_t nbytes)
{
	while (*list != '\0') {
		size_t n = strcspn(list, ",");

		if (matches(list, n, name, nbytes))
			return 1;
		list += n + (list[n] == ',');
	}
	return 0;
}

/* Are parameters left out by their names? */
static inline int
leaves_out(const struct url_rules *rules)
{
	return rules->ignore[0] != '\0' || rules->switches & URL_TRACKING;
}

/* Are parameters with this name left out? */
static inline int
is_ignored(const struct url_rules *rules, const uint8_t *name, size_t nbytes)
{
	if (rules->switches & URL_TRACKING && is_tracking(name, nbytes))
		return 1;
	return rules->ignore[0] != '\0' &&
	    is_listed(rules->ignore, name, nbytes);
}

/* Is the next parameter left out? Its name needs room at `to`. */
static int
is_next_ignored(const struct reader *in, const struct url_rules *rules,
    uint8_t *to)
{
	struct reader name = *in;
	const uint8_t *end = url_copy(&name, IN_PARAMETER & ~EQUALS, to);

	return is_ignored(rules, to, (size_t)(end - to));
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

/* Parameters in their form, which follow each other. */
struct forms {
	uint64_t stops;  /* bit i: one ends i bytes after their beginning */
	uint64_t equals; /* the same for the equals sign of each */
	int others;      /* does one that may not be in its form follow them? */
};

/* Is an escape written as in the form? One of a space isn't in it. */
static int
is_form_escape(const uint8_t *p, const uint8_t *end)
{
	int byte = url_normal_escape(p, end);

	return byte >= 0 && byte != ' ';
}

/*
 * Find the parameters in [p, end) that are certainly in their form, up to the
 * first other one, and to the last one that ends within 64 bytes. Each of them
 * has one equals sign and then a stop: so from the beginning on, each odd one
 * of both is an equals sign, each even one a stop.
 */
static struct forms
find_forms(const uint8_t *p, const uint8_t *end)
{
	const size_t nbytes = (size_t)(end - p);
	struct query_marks marks = scan()->query(&as_is, p);
	uint64_t stops = marks.ampersands, odd, wrong;

	if (nbytes < 64) {
		const uint64_t last = (uint64_t)1 << nbytes;

		stops = (stops & (last - 1)) | last;
		marks.others &= last - 1;
	}
	odd = quotes_parity(stops | marks.equals);
	wrong = (stops & odd) | (marks.equals & ~odd);
	for (uint64_t left = marks.others; left != 0; left &= left - 1) {
		unsigned at = (unsigned)__builtin_ctzll(left);

		if (!is_form_escape(p + at, end))
			wrong |= (uint64_t)1 << at;
	}
	stops &= (wrong & -wrong) - 1;
	return (struct forms){ stops, marks.equals, wrong != 0 || stops == 0 };
}

/*
 * Copy the next parameter as application/x-www-form-urlencoded has it: name and
 * value are decoded and encoded again in one way, with an equals sign between
 * them in any case. An empty parameter stays empty, and a percent sign that
 * encodes nothing is a byte like others. Otherwise as url_copy.
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

			if (byte >= 0) {
				c = (uint8_t)byte;
				p += 2;
			}
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

/* --- all of it */

/*
 * Up to this many parameters are sorted in a table, by a word's bits; more are
 * sorted as text.
 */
#define TABLE_MAX 64
/* The bits of this many parameters are compared at once. */
#define FIRST_STEP 8
/* One of more bytes is written at once, so that there is no second copy. */
#define LONG_PARAMETER 16384

struct parameter {
	const uint8_t *at; /* a place in the input, or in the table's `room` */
	size_t nbytes;
};

/* Parameters of a query that are kept, and where they are to be written. */
struct parameters {
	const struct url_rules *rules;
	enum url_order order;
	int sorts;
	int needs_names; /* some are left out by name, or only names count */
	int is_long;     /* some are written already: the text isn't in order */
	int is_as_read;  /* all are in their form and in order in the input */
	unsigned count;
	struct parameter parameters[TABLE_MAX]; /* the order is the input's */
	uint64_t first[TABLE_MAX + FIRST_STEP]; /* first_eight of each */
	uint64_t last_first; /* first_eight of the last one */
	uint8_t *to;   /* the end of the text of those before these */
	uint8_t *room; /* room for those that aren't written as in the input */
};

static size_t
name_bytes(const struct parameter *parameter)
{
	const uint8_t *end = parameter->at + parameter->nbytes;

	return (size_t)(url_find(parameter->at, end, '=') - parameter->at);
}

/* How many bytes at the beginning of a parameter decide the order? */
static inline size_t
compared_bytes(const struct parameter *parameter, enum url_order order)
{
	if (order == URL_BY_NAME)
		return name_bytes(parameter);
	return parameter->nbytes;
}

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
static int
is_greater(const struct parameters *t, unsigned i, unsigned j)
{
	const struct parameter *a = &t->parameters[i], *b = &t->parameters[j];

	if (t->first[i] != t->first[j])
		return t->first[i] > t->first[j];
	return url_compare(a->at, compared_bytes(a, t->order), b->at,
	    compared_bytes(b, t->order)) > 0;
}

/* An insertion sort of parameters most of which are in order already. */
static void
finish_sort(const struct parameters *t, unsigned sorted[TABLE_MAX])
{
	for (unsigned i = 1; i < t->count; i++) {
		unsigned next = sorted[i], place = i;

		for (; place > 0 && is_greater(t, sorted[place - 1], next);
		    place--)
			sorted[place] = sorted[place - 1];
		sorted[place] = next;
	}
}

/*
 * The table's parameters in order. The place of each is the number of those
 * whose first eight bytes are smaller. Comparing each with each takes no branch
 * that depends on the order, which can't be predicted; so it is faster than
 * sorting as long as they are few.
 */
static void
sort_table(struct parameters *t, unsigned sorted[TABLE_MAX])
{
	const unsigned count = t->count;
	uint64_t taken = 0; /* bit i: place i is */
	int has_same = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < FIRST_STEP; i++)
		t->first[count + i] = UINT64_MAX; /* it sorts last */
	for (unsigned i = 0; i < count; i++) {
		uint64_t first = t->first[i];
		unsigned place = 0;

		for (unsigned j = 0; j < count; j += FIRST_STEP) {
#pragma GCC unroll 8
			for (unsigned k = 0; k < FIRST_STEP; k++)
				place += t->first[j + k] < first;
		}
		for (; taken >> place & 1; place++)
			has_same = 1;
		taken |= (uint64_t)1 << place;
		sorted[place] = i;
	}
	if (has_same)
		finish_sort(t, sorted);
}

/* Write a parameter with an ampersand. Returns where the next one goes. */
static inline uint8_t *
write_parameter(uint8_t *to, const struct parameter *parameter)
{
	/*
	 * Copy a fixed number of bytes, so that no branch depends on the
	 * length.
	 */
	memcpy(to, parameter->at, URL_STEP);
	if (parameter->nbytes > URL_STEP)
		memcpy(to, parameter->at, parameter->nbytes);
	to += parameter->nbytes;
	*to++ = '&';
	return to;
}

static uint8_t *
write_sorted(struct parameters *t)
{
	/* An analyzer can't see that sort_table fills in all that is used. */
	unsigned sorted[TABLE_MAX] = { 0 };
	uint8_t *to = t->to;

	sort_table(t, sorted);
	for (unsigned i = 0; i < t->count; i++)
		to = write_parameter(to, &t->parameters[sorted[i]]);
	return to;
}

/* Write the table's parameters, and empty it. */
static void
write_parameters(struct parameters *t)
{
	uint8_t *to = t->to;

	if (t->sorts) {
		to = write_sorted(t);
	} else {
		for (unsigned i = 0; i < t->count; i++)
			to = write_parameter(to, &t->parameters[i]);
	}
	t->to = to;
	t->count = 0;
}

/* Add a parameter to the table, where there must be room. */
static inline void
keep_parameter(struct parameters *t, const struct parameter *new)
{
	uint64_t first = first_eight(new->at, compared_bytes(new, t->order));

	t->is_as_read &= t->last_first < first;
	t->last_first = first;
	t->first[t->count] = first;
	t->parameters[t->count++] = *new;
}

/*
 * Take the next parameters as they are, as long as they are in their form; move
 * in->p to the next one, or behind the end. Returns whether that may be in its
 * form, too.
 */
static int
take_forms(struct parameters *t, struct reader *in)
{
	const struct url_rules *rules = t->rules;
	const uint8_t *start = in->p, *at = start;
	struct forms forms = find_forms(start, in->end);
	uint64_t stops = forms.stops, equals = forms.equals;

	for (; stops != 0 && t->count < TABLE_MAX; stops &= stops - 1) {
		const uint8_t *stop = start + __builtin_ctzll(stops);
		struct parameter new = { at, (size_t)(stop - at) };

		at = stop + 1;
		if (t->needs_names) {
			const uint8_t *name_end = start +
			    __builtin_ctzll(equals);
			size_t nbytes = (size_t)(name_end - new.at);

			equals &= equals - 1;
			if (rules->switches & URL_VALUES)
				new.nbytes = nbytes;
			if (new.nbytes == 0 ||
			    is_ignored(rules, new.at, nbytes)) {
				t->is_as_read = 0;
				continue;
			}
		}
		keep_parameter(t, &new);
	}
	in->p = at;
	return !forms.others || stops != 0;
}

/*
 * Copy the next parameter to `to`, by the rules, and move in->p to what is
 * behind it. Returns whether it is kept.
 */
static int
copy_next(const struct url_rules *rules, struct reader *in, uint8_t *to,
    struct parameter *new)
{
	const unsigned set = rules->switches;
	const int is_left_out = leaves_out(rules) &&
	    is_next_ignored(in, rules, to);
	const uint8_t *end;

	if (set & URL_FORM)
		end = copy_form(in, to);
	else
		end = url_copy(in, IN_PARAMETER, to);
	*new = (struct parameter){ to, (size_t)(end - to) };
	if (set & URL_VALUES)
		new->nbytes = name_bytes(new);
	if (set & (URL_FORM | URL_VALUES) && new->nbytes == 0)
		return 0;
	return !is_left_out;
}

/* Take the next parameter by the rules; it needs `*room`, which moves on. */
static void
take_copied(struct parameters *t, struct reader *in, uint8_t **room)
{
	struct parameter new;

	t->is_as_read = 0;
	if (copy_next(t->rules, in, *room, &new)) {
		*room += new.nbytes;
		keep_parameter(t, &new);
	}
}

/* Is the next parameter so long that it is copied only once? */
static inline int
is_next_long(const struct reader *in)
{
	return in->end - in->p > LONG_PARAMETER &&
	    url_find(in->p, in->end, '&') - in->p > LONG_PARAMETER;
}

/* Write the next parameter, by the rules, behind those in the table. */
static void
write_copied(struct parameters *t, struct reader *in)
{
	struct parameter new;

	write_parameters(t);
	t->is_long = 1;
	t->is_as_read = 0;
	if (copy_next(t->rules, in, t->to, &new)) {
		t->to += new.nbytes;
		*t->to++ = '&';
	}
}

/* Take the parameters up to the end, or to a byte that is in no query. */
static void
take_parameters(struct parameters *t, struct reader *in)
{
	uint8_t *room = t->room;

	for (;;) {
		int has_form = 0;

		if (t->count == TABLE_MAX) {
			write_parameters(t);
			t->is_long = 1;
			t->is_as_read = 0;
			room = t->room;
		}
		if (t->rules->switches & URL_FORM)
			has_form = take_forms(t, in);
		if (in->p > in->end) {
			in->p = in->end;
			return;
		}
		if (has_form || t->count == TABLE_MAX)
			continue;
		if (is_next_long(in))
			write_copied(t, in);
		else
			take_copied(t, in, &room);
		if (in->p == in->end || *in->p != '&')
			return;
		in->p++;
	}
}

uint8_t *
url_copy_query(struct reader *in, const struct url_rules *rules, uint8_t *to)
{
	const int sorts_whole = rules->switches & (URL_FORM | URL_VALUES);
	const uint8_t *query = in->p;
	uint8_t *start = to;
	struct parameters t;

	if (!leaves_out(rules) && !rules->sort && !sorts_whole)
		return url_copy(in, IN_QUERY, to);
	t.rules = rules;
	t.order = sorts_whole ? URL_BY_WHOLE : URL_BY_NAME;
	t.sorts = rules->sort || sorts_whole;
	t.needs_names = leaves_out(rules) || rules->switches & URL_VALUES;
	t.is_long = 0;
	t.is_as_read = rules->switches & URL_FORM &&
	    !(rules->switches & URL_VALUES);
	t.last_first = 0;
	t.count = 0;
	t.to = to;
	t.room = to + URL_QUERY_ROOM(in->end - in->p);
	take_parameters(&t, in);
	if (t.is_as_read) {
		memcpy(to, query, (size_t)(in->p - query));
		return to + (in->p - query);
	}
	write_parameters(&t);
	if (t.to == start)
		return start - 1; /* the question mark goes, too */
	to = t.to - 1; /* the last ampersand goes */
	if (t.sorts && t.is_long)
		url_sort(start, to, t.order);
	if (rules->switches & URL_VALUES)
		to = url_keep_once(start, to);
	return to;
}
