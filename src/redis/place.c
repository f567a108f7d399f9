#include "redis/place.h"

#include <string.h>

/* How long requests are made again, if there is no --lock-timeout. */
#define RETRY_MS 60000

int
place_open(struct place *p, const char *location,
    const struct filter_use *use, struct error *error)
{
	/* Without a notice, the caller gave no timeout. */
	uint64_t wait = use->wait.notice == NULL ? RETRY_MS :
	    use->wait.milliseconds;

	*p = (struct place){ .notice = use->wait.notice };
	if (address_parse(&p->address, location, error) < 0)
		return -1;
	if (net_open(&p->net, &p->address, wait, use->writable, p->notice,
	    error) < 0) {
		address_free(&p->address);
		return -1;
	}
	p->shards = (struct shards){ .net = p->net, .name = p->address.name,
		.shown = p->address.shown, .trouble = &p->trouble,
		.batch = &p->batch, .generation = LAYOUT_NO_GENERATION };
	return 0;
}

void
place_close(struct place *p)
{
	net_close(p->net);
	shards_free_batch(&p->batch);
	address_free(&p->address);
}

void
place_tell(const struct place *p, const struct error *text)
{
	if (p->notice != NULL)
		p->notice(text->text);
}

int
place_read(const struct place *p, redisReply *reply, struct found *found,
    struct error *error)
{
	struct error why;
	int result = 0;

	if (reply == NULL)
		return -1;
	found->exists = reply->type != REDIS_REPLY_NIL;
	if (found->exists && reply->type != REDIS_REPLY_STRING)
		result = shards_odd(&p->shards, reply, error);
	else if (found->exists && layout_decode(&found->layout,
	    &found->header, reply->str, reply->len, &why) < 0)
		result = error_set(error, why.status, "%s: %s",
		    p->address.shown, why.text);
	freeReplyObject(reply);
	return result;
}

int
place_find(struct place *p, struct found *found, struct error *error)
{
	char key[LAYOUT_KEY_MAX];

	layout_header_key(key, p->address.name);
	return place_read(p, net_call(p->net, key, error, "GET %s", key),
	    found, error);
}

int
place_is_ours(const struct place *p, const struct found *found)
{
	return found->exists && memcmp(found->header.id, p->header.id,
	    sizeof p->header.id) == 0;
}

void
place_take(struct place *p, const struct layout *layout)
{
	p->shards.layout = *layout;
	p->shards.grows = p->header.growth == GROWTH_GROW;
	memcpy(p->shards.id, p->header.id, sizeof p->shards.id);
	p->shards.kind = layout->kind == SHARDS_BLOOM ? &bloom_operations :
	    &bits_operations;
}
