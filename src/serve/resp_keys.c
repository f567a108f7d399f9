/* Commands about keys, which are the names of filters. */
#include "serve/resp_command.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "serve/admin.h"
#include "serve/catalog.h"

/* What TYPE says of RedisBloom's filters. */
#define TYPE_NAME "MBbloom--"

static struct served *
find(const struct resp_request *r, struct bytes name)
{
	return name.data != NULL && catalog_is_name(name) ?
	    catalog_find(r->service->catalog, name) : NULL;
}

static void
begin_deleting(struct resp_request *r)
{
	const char *why = admin_refusal(r->service->plan, r->local,
	    VERB_DELETE);

	if (why != NULL)
		resp_refuse(r, "NOPERM %s", why);
}

static void
delete_key(struct resp_request *r, struct bytes name)
{
	struct error error = { 0 };
	int result;

	/* Requests of other clients may refer to it. */
	sweep_run(r->sweep);
	if (find(r, name) == NULL)
		return;
	r->costly = 1;
	result = catalog_remove(r->service->catalog, name, &error);
	if (result == 0)
		r->sum++;
	else if (result < 0)
		resp_refuse(r, "ERR %s", error.text);
}

static void
count_key(struct resp_request *r, struct bytes name)
{
	r->sum += find(r, name) != NULL;
}

static void
say_sum(struct resp_request *r)
{
	resp_put_integer(r->asker, r->sum);
}

static void
type(struct resp_request *r)
{
	resp_put_simple(r->asker, find(r, resp_kept(r, 1)) != NULL ?
	    TYPE_NAME : "none");
}

/* The end of a set such as [^a-z], with whether `c` is in it. */
static const uint8_t *
match_set(const uint8_t *p, const uint8_t *end, uint8_t c, int *matches)
{
	int negated = p < end && *p == '^', found = 0;

	for (p += negated; p < end && *p != ']'; p++) {
		if (*p == '\\' && p + 1 < end)
			p++;
		if (end - p > 2 && p[1] == '-' && p[2] != ']') {
			found |= (p[0] <= c && c <= p[2]) ||
			    (p[2] <= c && c <= p[0]);
			p += 2;
		} else {
			found |= *p == c;
		}
	}
	*matches = found != negated;
	return p < end ? p + 1 : p;
}

/* Does one byte match the pattern's part at *p, which is then passed over? */
static int
match_one(const uint8_t **p, const uint8_t *end, uint8_t c)
{
	int matches;

	if (**p == '[') {
		*p = match_set(*p + 1, end, c, &matches);
		return matches;
	}
	if (**p == '?') {
		(*p)++;
		return 1;
	}
	if (**p == '\\' && *p + 1 < end)
		(*p)++;
	return *(*p)++ == c;
}

/*
 * Redis' patterns, in time that is a product of both lengths: where a match
 * fails, only the last * takes more.
 */
static int
matches_pattern(struct bytes pattern, const char *name)
{
	const uint8_t *p = pattern.data, *end = p + pattern.nbytes;
	const uint8_t *star = NULL;
	const char *from = NULL;

	while (*name != '\0') {
		if (p < end && *p == '*') {
			star = ++p;
			from = name;
		} else if (p < end && match_one(&p, end, (uint8_t)*name)) {
			name++;
		} else if (star != NULL) {
			p = star;
			name = ++from;
		} else {
			return 0;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* Its options: MATCH and TYPE. Returns -1 if the request is refused. */
static int
parse_scan(struct resp_request *r, struct bytes *pattern, int *all)
{
	int64_t number;

	if (resp_integer(r, 1, &number) < 0 || number < 0) {
		resp_refuse(r, "ERR invalid cursor");
		return -1;
	}
	for (unsigned i = 2; i < r->kept; i += 2) {
		if (i + 1 < r->kept && resp_is(r, i, "MATCH")) {
			*pattern = resp_kept(r, i + 1);
		} else if (i + 1 < r->kept && resp_is(r, i, "TYPE")) {
			*all = strcasecmp(resp_string(r, i + 1),
			    TYPE_NAME) == 0;
		} else if (i + 1 < r->kept && resp_is(r, i, "COUNT")) {
			if (resp_integer(r, i + 1, &number) == 0 && number > 0)
				continue;
			resp_refuse(r, "ERR value is not an integer or out of"
			    " range");
			return -1;
		} else {
			resp_refuse(r, "ERR syntax error");
			return -1;
		}
	}
	return 0;
}

/* All names at once, whatever the cursor: COUNT is only a hint. */
static void
scan(struct resp_request *r)
{
	struct catalog *catalog = r->service->catalog;
	struct bytes pattern = { (const uint8_t *)"*", 1 };
	size_t count = 0;
	int all = 1;

	r->costly = 1;
	if (parse_scan(r, &pattern, &all) < 0) {
		resp_put_error(r->asker, r->refusal);
		return;
	}
	catalog_list(catalog);
	for (size_t i = 0; all && i < catalog_count(catalog); i++)
		count += (size_t)matches_pattern(pattern,
		    served_name(catalog_at(catalog, i)));
	resp_put_array(r->asker, 2);
	resp_put_text(r->asker, "0");
	resp_put_array(r->asker, count);
	for (size_t i = 0; count > 0 && i < catalog_count(catalog); i++) {
		const char *name = served_name(catalog_at(catalog, i));

		if (matches_pattern(pattern, name))
			resp_put_text(r->asker, name);
	}
}

static const struct resp_command commands[] = {
	{ .name = "del", .keys = -1, .least = 2, .kept = 1,
	    .begin = begin_deleting, .item = delete_key, .end = say_sum },
	{ .name = "unlink", .keys = -1, .least = 2, .kept = 1,
	    .begin = begin_deleting, .item = delete_key, .end = say_sum },
	{ .name = "exists", .keys = -1, .least = 2, .kept = 1,
	    .item = count_key, .end = say_sum },
	{ .name = "type", .keys = 1, .least = 2, .most = 2, .end = type },
	{ .name = "scan", .least = 2, .most = RESP_KEPT_MAX, .end = scan },
};

const struct resp_commands resp_key_commands = { commands,
	sizeof commands / sizeof *commands };
