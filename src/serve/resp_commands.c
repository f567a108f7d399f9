/* The table of all commands, and what tells of it. */
#include "serve/resp_command.h"

#include <string.h>
#include <strings.h>

static void
put_commands(struct resp_request *r, const struct resp_commands *commands)
{
	for (size_t i = 0; i < commands->count; i++) {
		const struct resp_command *c = &commands->items[i];

		/* as Redis before 7: name, arity, flags, keys */
		resp_put_array(r->asker, 6);
		resp_put_text(r->asker, c->name);
		replies_format(&r->asker->replies, ":%s%u\r\n",
		    c->least == c->most ? "" : "-", (unsigned)c->least);
		resp_put_array(r->asker, 0);
		resp_put_integer(r->asker, c->keys != 0);
		replies_line(&r->asker->replies, c->keys < 0 ? ":-1" :
		    c->keys > 0 ? ":1" : ":0");
		resp_put_integer(r->asker, c->keys != 0);
	}
}

static void command(struct resp_request *r);

static const struct resp_command own[] = {
	{ .name = "command", .least = 1, .end = command },
};
static const struct resp_commands own_commands = { own, 1 };

static const struct resp_commands *const tables[] = { &resp_filter_commands,
	&resp_connection_commands, &resp_key_commands, &own_commands };
#define TABLES (sizeof tables / sizeof *tables)

static void
command(struct resp_request *r)
{
	size_t count = 0;

	for (size_t i = 0; i < TABLES; i++)
		count += tables[i]->count;
	if (r->kept > 1 && resp_is(r, 1, "DOCS")) {
		resp_put_map(r->asker, 0);
	} else if (r->kept > 1 && resp_is(r, 1, "COUNT")) {
		resp_put_integer(r->asker, count);
	} else if (r->kept > 1) {
		resp_refuse(r, "ERR unknown subcommand '%.128s'. Try COMMAND"
		    " HELP.", resp_string(r, 1));
	} else {
		resp_put_array(r->asker, count);
		for (size_t i = 0; i < TABLES; i++)
			put_commands(r, tables[i]);
	}
}

const struct resp_command *
resp_command_find(struct bytes name)
{
	for (size_t i = 0; i < TABLES; i++) {
		for (size_t j = 0; j < tables[i]->count; j++) {
			const struct resp_command *c = &tables[i]->items[j];

			if (strlen(c->name) == name.nbytes &&
			    strncasecmp(c->name, (const char *)name.data,
			    name.nbytes) == 0)
				return c;
		}
	}
	return NULL;
}
