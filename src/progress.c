#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "num.h"

#define SECOND 1000000000u
#define INTERVAL (SECOND / 5)

uint64_t
progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void
progress_start(struct progress *p, int wanted)
{
	*p = (struct progress){ .on = wanted && isatty(STDERR_FILENO),
		.started = progress_now() };
	/* What is over at once needs no progress. */
	p->due = p->started + INTERVAL;
}

int
progress_due(const struct progress *p)
{
	return p->on && progress_now() >= p->due;
}

static size_t
terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* Standard error has no buffer here; an error has nobody to be told to. */
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
	char line[256], text[NUM_TEXT], left[40];
	uint64_t now = progress_now();
	double seconds = (double)(now - p->started) / SECOND;
	size_t n, width = terminal_width();

	p->due = now + INTERVAL;
	n = (size_t)snprintf(line, sizeof line, "\r%s %s",
	    num_format_count(text, f->count), f->unit);
	/* The most wanted first: the rest goes where the terminal is narrow. */
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
	/* the \r takes no column; the last column would wrap on some */
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
