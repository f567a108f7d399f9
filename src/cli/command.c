#include "cli/command.h"

#include <string.h>

#include "cli/text.h"

const struct command *const command_table[COMMAND_COUNT] = {
	[COMMAND_FILTER] = &command_filter,
	[COMMAND_ADD] = &command_add,
	[COMMAND_CHECK] = &command_check,
	[COMMAND_CREATE] = &command_create,
	[COMMAND_INFO] = &command_info,
	[COMMAND_KEY] = &command_key,
	[COMMAND_MERGE] = &command_merge,
	[COMMAND_PARTITION] = &command_partition,
	[COMMAND_REMOVE] = &command_remove,
	[COMMAND_SIZE] = &command_size,
	[COMMAND_TRY] = &command_try,
	[COMMAND_SERVE] = &command_serve,
	[COMMAND_HELP] = &command_help,
	[COMMAND_VERSION] = &command_version,
};

enum command_id
command_find(const char *name)
{
	int id = COMMAND_FILTER + 1;

	while (id < COMMAND_COUNT &&
	    strcmp(name, command_table[id]->name) != 0)
		id++;
	return (enum command_id)id;
}

const char *
command_near(const char *name)
{
	static const char *const others[][2] = {
		{ "ls", "info" }, { "stats", "info" },
		{ "lookup", "check" }, { "query", "check" },
		{ "test", "check" }, { "contains", "check" },
		{ "insert", "add" }, { "resize", "create" }
	};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (strcmp(name, others[i][0]) == 0)
			return others[i][1];
	}
	for (int id = COMMAND_FILTER + 1; id < COMMAND_COUNT; id++) {
		if (text_is_near(name, command_table[id]->name))
			return command_table[id]->name;
	}
	return NULL;
}
