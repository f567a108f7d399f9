#include "cli/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

void
text_print_name(const char *text)
{
	while (*text != '\0') {
		int length = utf8_printable(text);

		if (length > 0)
			fwrite(text, 1, (size_t)length, stdout);
		else
			printf("\\x%02x", (unsigned char)*text);
		text += length > 0 ? length : 1;
	}
}

int
text_is_near(const char *typed, const char *word)
{
	size_t n = strlen(typed), m = strlen(word);

	/* A single letter is near to nothing. */
	if (n <= 1)
		return 0;
	for (; n > 0 && *typed == *word; n--, m--) {
		typed++;
		word++;
	}
	for (; n > 0 && m > 0 && typed[n - 1] == word[m - 1]; n--)
		m--;
	return (n <= 1 && m <= 1) || (n == 2 && m == 2 &&
	    typed[0] == word[1] && typed[1] == word[0]);
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
	/* Its room doubles whenever the count is a power of two. */
	if ((list->count & (list->count - 1)) == 0)
		list->items = memory_or_die(realloc(list->items,
		    (2 * list->count + 1) * sizeof *list->items));
	list->items[list->count++] = (char *)(uintptr_t)text;
}

const char *
text_lines(char text[NUMBER_TEXT], double lines)
{
	char count[NUMBER_TEXT];

	if (lines >= TEXT_LINES_MAX)
		snprintf(text, NUMBER_TEXT, "every line");
	else
		snprintf(text, NUMBER_TEXT, "about %s lines",
		    number_format_count(count, number_whole(lines)));
	return text;
}

const char *
text_window(char text[NUMBER_TEXT], const struct window *window)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = { { 'w', 604800 }, { 'd', 86400 }, { 'h', 3600 },
		{ 'm', 60 }, { 's', 1 } };
	size_t i = 0;

	text[0] = '\0';
	if (window->kind == WINDOW_LINES)
		snprintf(text, NUMBER_TEXT, "%" PRIu64, window->length);
	if (window->kind != WINDOW_SECONDS)
		return text;
	while (window->length % units[i].seconds != 0)
		i++;
	snprintf(text, NUMBER_TEXT, "%" PRIu64 "%c",
	    window->length / units[i].seconds, units[i].letter);
	return text;
}
