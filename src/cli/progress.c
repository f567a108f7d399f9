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

/* "1:05:09" or "0:12" */
static void
format_time(char *text, size_t nbytes, double seconds)
{
	unsigned long s = seconds < 1e9 ? (unsigned long)ceil(seconds) :
	    1000000000;

	if (s >= 3600)
		snprintf(text, nbytes, "%lu:%02lu:%02lu", s / 3600,
		    s / 60 % 60, s % 60);
	else
		snprintf(text, nbytes, "%lu:%02lu", s / 60, s % 60);
}

/* 9812345 -> "9.8M" */
static void
format_rate(char *text, size_t nbytes, double rate)
{
	static const char units[] = "\0kMGT";
	size_t unit = 0;

	for (; rate >= 999.5 && unit < 4; unit++)
		rate /= 1000;
	if (unit == 0)
		snprintf(text, nbytes, "%.0f", rate);
	else
		snprintf(text, nbytes, "%.*f%c", rate < 99.5, rate,
		    units[unit]);
}

void
progress_draw(struct progress *p, const struct progress_figures *f)
{
	char line[256], text[NUMBER_TEXT], left[40];
	uint64_t now = clock_now();
	double seconds = (double)(now - p->started) / (double)CLOCK_SECOND;
	size_t n, width = terminal_width();

	p->due = now + INTERVAL;
	n = (size_t)snprintf(line, sizeof line, "\r%s %s",
	    number_format_count(text, f->count), f->unit);
	/* The most important first: a narrow terminal cuts the rest. */
	if (f->done >= 0) {
		double share = f->done < 1 ? f->done : 1;
		n += (size_t)snprintf(line + n, sizeof line - n, "  %.0f %%",
		    floor(100 * share));
		if (share > 0) {
			format_time(left, sizeof left,
			    seconds * (1 - share) / share);
			n += (size_t)snprintf(line + n, sizeof line - n,
			    "  %s left", left);
		}
	}
	format_rate(text, sizeof text, (double)f->count / (seconds + 1e-9));
	n += (size_t)snprintf(line + n, sizeof line - n, "  %s/s", text);
	if (f->share_new >= 0)
		n += (size_t)snprintf(line + n, sizeof line - n,
		    "  %.1f %% new", 100 * f->share_new);
	if (f->fill >= 0)
		n += (size_t)snprintf(line + n, sizeof line - n,
		    "  filter %.0f %% full", floor(100 * f->fill));
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
