#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"

#define INTERVAL (CLOCK_SECOND / 5)

void
progress_start(struct progress *p, int wanted)
{
	*p = (struct progress){ .on = wanted && isatty(STDERR_FILENO),
		.started = clock_now() };
	/* A run that ends at once needs no live line. */
	p->due = p->started + INTERVAL;
}

int
progress_due(const struct progress *p)
{
	return p->on && clock_now() >= p->due;
}

static size_t
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* Unbuffered; there is nowhere to report an error. */
static void
put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

void
progress_draw(struct progress *p, const struct progress_figures *f)
{
	char line[256], a[NUMBER_TEXT], b[NUMBER_TEXT];
	uint64_t now = clock_now();
	double seconds = (double)(now - p->started) / (double)CLOCK_SECOND;
	double lines = f->lines == 0 ? 1 : (double)f->lines;
	size_t n, width = terminal_width();

	p->due = now + INTERVAL;
	n = (size_t)snprintf(line, sizeof line, "\r%s lines",
	    number_format_count(a, f->lines));
	/* The most important first: a narrow terminal cuts the rest. */
	if (f->done > 0) {
		double done = fmin(f->done, 1);
		unsigned long left = (unsigned long)fmin(1e9,
		    ceil(seconds * (1 - done) / done));

		n += (size_t)snprintf(line + n, sizeof line - n,
		    "  %.0f %%  %lu:%02lu:%02lu left", floor(100 * done),
		    left / 3600, left / 60 % 60, left % 60);
	}
	n += (size_t)snprintf(line + n, sizeof line - n,
	    "  %s/s  %.1f %% new  filter %.0f %% full", number_format_count(b,
	    number_whole(lines / (seconds + 1e-9))),
	    100 * (double)f->new / lines, floor(100 * f->full));
	/* the \r takes no column; some terminals wrap after the last one */
	if (n > width)
		line[width] = '\0';
	put(line);
	put("\033[K");
	p->shown = 1;
}

void
progress_clear(struct progress *p)
{
	if (p->shown)
		put("\r\033[K");
	p->shown = 0;
}
