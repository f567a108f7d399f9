/*
 * What is behind a filter: the table of operations that each kind implements,
 * for filter/ and the directories of the kinds. A kind embeds `struct filter`
 * as its first member. The contracts are those of the functions of the same
 * names in filter/filter.h, except as noted here. A filter on top of another
 * one has only `probe`, `reserve`, `mark` and `close`, and leaves the rest to
 * that one. Others have `costs`, `idle_after` and `write_back`, too, and what
 * their kind of location can do: `claim`, or for files `sync` and `read_pages`.
 * The rest is NULL where there is nothing to do or to report.
 */
#ifndef MODEL_OPERATIONS_H
#define MODEL_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "disk/table.h"
#include "model/use.h"

struct filter;

struct filter_operations {
	size_t batch_lines;

	void (*prefetch)(const struct filter *filter,
	    const struct digest *digests, size_t n);
	/* found[i] is set to 1 or left alone. */
	int (*probe)(struct filter *filter, const struct digest *digests,
	    size_t n, uint8_t *found, struct error *error);
	enum room (*reserve)(struct filter *filter, uint64_t wanted,
	    uint64_t *room, struct error *error);
	void (*grow_ahead)(struct filter *filter);
	int (*mark)(struct filter *filter, const struct digest *digests,
	    size_t n, struct error *error);
	int (*claim)(struct filter *filter, const struct digest *digests,
	    size_t n, uint8_t *claims, struct error *error);
	void (*expect)(struct filter *filter, uint64_t lines);
	int (*idle_after)(const struct filter *filter);
	int (*write_back)(struct filter *filter, int all,
	    struct error *error);
	int (*sync)(struct filter *filter, struct error *error);

	int (*read_pages)(struct filter *filter, unsigned layer,
	    uint64_t first, size_t pages, uint8_t *to, struct error *error);

	/* Instead of read_pages, where each costs a round trip: read some pages
	   of the only layer, up to `sample_pages`, in the order of their
	   numbers. */
	int (*sample)(struct filter *filter, const uint64_t *numbers, size_t n,
	    uint8_t *to, struct error *error);
	size_t sample_pages;

	struct filter_costs (*costs)(const struct filter *filter);
	enum filter_state (*state)(struct filter *filter);
	/* Frees the filter, too. */
	int (*close)(struct filter *filter, struct error *error);
};

/* An output of a run that was finished when the filter was opened. */
#define FINISHED_OUTPUTS 3
struct finished_output {
	int exists;
	uint64_t device, inode;
};

struct filter {
	const struct filter_operations *operations;
	struct filter *under; /* the filter that this one is on top of, or
			       * NULL */
	struct filter *bottom; /* the filter at the bottom: itself if `under` is
			        * NULL */
	uint64_t waiting;     /* lines in a journal that it reads */
	/* The rest is unused in a filter on top of another one. */
	const char *name, *path; /* filter_name, filter_path */
	const struct header *header;
	const struct table *table;
	enum growth growth;   /* behaviour of this run when the filter is
			       * full */
	struct finished_output finished[FINISHED_OUTPUTS];
	int held;             /* all marks will come at the end, in layers that
	                         a journal names: until then a window does not
	                         move, and its last generation takes any
	                         number of lines */
};

#endif
