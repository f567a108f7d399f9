/* serve: serve the filters of a directory to clients of memcached and Redis. */
#include "base/components.h"
#include "base/os.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/version.h"

#ifdef WITH_SERVE
/*
 * libmemcached takes a major version of 0 for no version, and other clients
 * choose their requests by it: so report a memcached that has these requests.
 */
#define LIKE_MEMCACHED "1.4.0-bloomdedup-"

static int
run_serve(const struct options *o, struct error *error)
{
	char address[] = "127.0.0.1:12345";
	char *const addresses[] = { address };
	struct serve_settings settings = o->serve;
	int listens = o->listen.count > 0;

	settings.addresses = listens ? o->listen.items : addresses;
	settings.address_count = listens ? o->listen.count : 1;
	settings.sync = o->run.use.sync;
	settings.memory_bytes = o->memory != 0 ? o->memory :
	    os_memory_available() / 2;
	if (o->capacity != 0)
		settings.capacity = o->capacity;
	if (o->error_rate > 0)
		settings.error_rate = o->error_rate;
	if (o->max_key != 0)
		settings.limits.key = (size_t)o->max_key;
	if (o->max_value != 0)
		settings.limits.value = (size_t)o->max_value;
	settings.limits.touch = settings.lease_time > 0;
	settings.version = LIKE_MEMCACHED VERSION;
	settings.notice = error_print;
	return server_run(&settings, error);
}
#else
static int
run_serve(const struct options *o, struct error *error)
{
	(void)o;
	return component_need(COMPONENT_SERVE, "serve", error);
}
#endif

const struct command command_serve = {
	.name = "serve", .run = run_serve,
	.summary = "serve filters to memcached and Redis clients",
	.usage = "serve -d DIR [-l ADDRESS]... [OPTION]...",
	.intro = "Serve the filters NAME.bloom of DIR in memcached's text"
	    " protocol, until SIGTERM. The most common requests: 'add NAME'"
	    " with the value 1000000|0.0001 makes a filter for a million"
	    " subkeys at a rate of 0.0001; 'add NAME|SUBKEY' is answered with"
	    " STORED if the subkey is new, and with NOT_STORED if it was seen"
	    " before; 'get NAME|SUBKEY' asks without remembering. Clients of"
	    " Redis use BF.ADD and RedisBloom's other commands. The manual has"
	    " all of them.",
	.manual = "bloomdedup-serve",
	.takes = "serve takes its directory as an option: -d DIR",
	.needs = "directory",
};
