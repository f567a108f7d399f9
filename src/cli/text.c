#include "cli/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

/* Longer words are never near. */
#define WORD_MAX 30

void
text_print_name(const char *text)
{
	char shown[UTF8_SHOWN];

	while (*text != '\0') {
		text += utf8_show(text, shown);
		fputs(shown, stdout);
	}
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

int
text_is_near(const char *typed, const char *word)
{
	/* d[i][j]: between the first i letters of `typed` and j of `word` */
	size_t d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(typed), m = strlen(word);

	/* A single letter is near to nothing. */
	if (n < 2 || n > WORD_MAX || m > WORD_MAX)
		return 0;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	/* Edit distance with swaps ("optimal string alignment"). */
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = smaller(
			    smaller(d[i - 1][j], d[i][j - 1]) + 1,
			    d[i - 1][j - 1] + (typed[i - 1] != word[j - 1]));
			if (i > 1 && j > 1 && typed[i - 1] == word[j - 2] &&
			    typed[i - 2] == word[j - 1])
				d[i][j] = smaller(d[i][j],
				    d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m] <= (m < 6 ? 1 : 2);
}

int
text_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (int i = 1; *list != '\0'; i++) {
		size_t length = strcspn(list, " ");

		if (length == n && memcmp(list, word, n) == 0)
			return i;
		list += length + (list[length] == ' ');
	}
	return 0;
}

void
text_list_add(struct text_list *list, const char *text)
{
	list->items = memory_grow(list->items, &list->room, list->count + 1,
	    sizeof *list->items);
	list->items[list->count++] = (char *)(uintptr_t)text;
}

const char *
text_lines(char text[NUMBER_TEXT], double lines)
{
	char count[NUMBER_TEXT];

	if (lines >= TEXT_LINES_MAX)
		snprintf(text, NUMBER_TEXT, "every line");
	else
		snprintf(text, NUMBER_TEXT, "about %s line%s",
		    number_format_count(count, number_whole(lines)),
		    number_whole(lines) == 1 ? "" : "s");
	return text;
}

/* The largest unit of which a time is a multiple, and how many they are. */
struct duration {
	uint64_t count;
	const char *unit; /* --window takes its first letter */
};

static struct duration
duration_of(uint64_t seconds)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = { { "week", 604800 }, { "day", 86400 }, { "hour", 3600 },
		{ "minute", 60 }, { "second", 1 } };
	size_t i = 0;

	while (seconds % units[i].seconds != 0)
		i++;
	return (struct duration){ seconds / units[i].seconds, units[i].name };
}

const char *
text_window(char text[NUMBER_TEXT], const struct window *window)
{
	struct duration duration;

	text[0] = '\0';
	if (window->kind == WINDOW_LINES)
		snprintf(text, NUMBER_TEXT, "%" PRIu64, window->length);
	if (window->kind != WINDOW_SECONDS)
		return text;
	duration = duration_of(window->length);
	snprintf(text, NUMBER_TEXT, "%" PRIu64 "%c", duration.count,
	    duration.unit[0]);
	return text;
}

const char *
text_window_words(char text[TEXT_WINDOW], const struct window *window)
{
	struct duration duration = { window->length, "line" };
	char count[NUMBER_TEXT];

	if (window->kind == WINDOW_SECONDS)
		duration = duration_of(window->length);
	snprintf(text, TEXT_WINDOW, "%s %s%s",
	    number_format_count(count, duration.count), duration.unit,
	    duration.count == 1 ? "" : "s");
	return text;
}

const char *
text_shard(const struct filter_costs *costs)
{
	if (costs->own_shards)
		return "a filter of the server's own (BF.*)";
	return "a bit string, which does not grow";
}
