/* serve: serve the filters of a folder to clients of memcached and Redis. */
#include "base/meminfo.h"
#include "base/parts.h"
#include "bits/sizing.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/version.h"
#ifdef WITH_SERVE
#include "serve/service.h"
#endif

#ifdef WITH_SERVE
static uint64_t
or_default(uint64_t given, uint64_t otherwise)
{
	return given != 0 ? given : otherwise;
}

/*
 * libmemcached takes a major version of 0 for no version, and other clients
 * choose their requests by it: so report a memcached that has these requests.
 */
#define LIKE_MEMCACHED "1.4.0-bloomdedup-"

static int
serve(const struct options *o, struct error *error)
{
	char address[] = "127.0.0.1:12345";
	char *const addresses[] = { address };
	const struct serve_settings plan = {
		.folder = o->serve.folder,
		.addresses = o->serve.listen.count > 0 ?
		    o->serve.listen.items : addresses,
		.address_count = o->serve.listen.count > 0 ?
		    o->serve.listen.count : 1,
		.socket_mode = o->serve.socket_mode != 0 ?
		    o->serve.socket_mode : 0600,
		.admin = o->serve.admin ? ADMIN_ALL :
		    o->serve.no_admin ? ADMIN_NONE : ADMIN_DEFAULT,
		.read_only = o->serve.read_only,
		.sync = o->run.use.sync,
		.memory_bytes = or_default(o->memory,
		    meminfo_available() / 2),
		.capacity = or_default(o->capacity, SIZING_CAPACITY_DEFAULT),
		.error_rate = o->error_rate != 0 ? o->error_rate :
		    SIZING_RATE_DEFAULT,
		.connections = or_default(o->serve.connections, 1024),
		.limits.key = (size_t)or_default(o->serve.key_bytes, 64 << 10),
		.limits.value = (size_t)or_default(o->serve.value_bytes,
		    1 << 20),
		.reply_bytes = or_default(o->serve.reply_bytes, 1 << 20),
		.idle_time = o->serve.idle_time,
		.version = LIKE_MEMCACHED VERSION,
		.tell = error_print,
	};

	return server_run(&plan, error);
}
#endif

static int
run_serve(const struct options *o, struct error *error)
{
	if (parts_need(PART_SERVE, "serve", error) < 0)
		return -1;
#ifdef WITH_SERVE
	return serve(o, error);
#else
	(void)o;
	return -1;
#endif
}

const struct command command_serve = {
	.name = "serve", .run = run_serve,
	.summary = "serve a folder of filters to memcached and Redis clients",
	.usage = "serve -d FOLDER [-l ADDRESS]... [OPTION]...",
	.intro = "Serve the filters NAME.bloom of FOLDER in memcached's text"
	    " protocol, until SIGTERM. The most common requests: 'add NAME'"
	    " with the value 1000000|0.0001 makes a filter for a million"
	    " subkeys at a rate of 0.0001; 'add NAME|SUBKEY' is answered with"
	    " STORED if the subkey is new, and with NOT_STORED if it was seen"
	    " before; 'get NAME|SUBKEY' asks without remembering. Clients of"
	    " Redis use BF.ADD and RedisBloom's other commands. The manual has"
	    " all of them.",
	.takes = "serve takes its folder as an option: -d FOLDER",
	.needs = "folder",
};
