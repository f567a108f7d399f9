/* Commands about keys, which are the names of filters. */
#include "serve/resp_command.h"

#include <fnmatch.h>
#include <strings.h>

#include "base/error.h"
#include "serve/catalog.h"

/* What TYPE says of RedisBloom's filters. */
#define TYPE_NAME "MBbloom--"

static void
begin_deleting(struct resp *r)
{
	resp_may(r, VERB_DELETE);
}

static void
delete_key(struct resp *r, struct bytes name)
{
	struct error error = { 0 };
	int result;

	/* Requests of other clients may refer to it. */
	sweep_run(r->client->service->sweep);
	if (catalog_find(r->client->service->catalog, name) == NULL)
		return;
	r->client->paused = 1;
	result = catalog_remove(r->client->service->catalog, name, &error);
	if (result == 0)
		r->sum++;
	else if (result < 0)
		resp_refuse(r, "ERR %s", error.text);
}

static void
count_key(struct resp *r, struct bytes name)
{
	r->sum += catalog_find(r->client->service->catalog, name) != NULL;
}

static void
say_sum(struct resp *r)
{
	resp_put_integer(r->client, r->sum);
}

static void
type(struct resp *r)
{
	resp_put_simple(r->client, catalog_find(r->client->service->catalog,
	    resp_kept(r, 1)) != NULL ? TYPE_NAME : "none");
}

/* All names at once, whatever the cursor: COUNT is only a hint. */
static void
scan(struct resp *r)
{
	struct catalog *catalog = r->client->service->catalog;
	const char *pattern = "*";
	size_t count = 0;

	for (unsigned i = 2; i < r->kept; i += 2) {
		const char *value = resp_string(r, i + 1);

		if (resp_is(r, i, "MATCH"))
			pattern = value;
		else if (resp_is(r, i, "TYPE") &&
		    strcasecmp(value, TYPE_NAME) != 0)
			pattern = ""; /* no name */
	}
	r->client->paused = 1;
	catalog_list(catalog);
	for (size_t i = 0; i < catalog->count; i++)
		count += fnmatch(pattern, catalog->items[i]->name, 0) == 0;
	resp_put_array(r->client, 2);
	resp_put_text(r->client, "0");
	resp_put_array(r->client, count);
	for (size_t i = 0; i < catalog->count; i++) {
		if (fnmatch(pattern, catalog->items[i]->name, 0) == 0)
			resp_put_text(r->client, catalog->items[i]->name);
	}
}

const struct resp_command resp_key_commands[] = {
	{ .name = "del", .least = 2, .kept = 1,
	    .begin = begin_deleting, .item = delete_key, .end = say_sum },
	{ .name = "unlink", .least = 2, .kept = 1,
	    .begin = begin_deleting, .item = delete_key, .end = say_sum },
	{ .name = "exists", .least = 2, .kept = 1,
	    .item = count_key, .end = say_sum },
	{ .name = "type", .least = 2, .most = 2, .end = type },
	{ .name = "scan", .least = 2, .most = RESP_KEPT_MAX, .end = scan },
	{ .name = NULL }
};
