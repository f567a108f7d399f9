/*
 * Goal: no bit is lost while several processes mark in one file (--shared),
 * whoever of them is killed, and however they mark: in turn, as this version
 * does it, or at any time with atomic operations, as version 0.1.0 does it. The
 * model: what was marked is found. One process is slow: in its turn, it stores
 * what it has read a moment before, so that whoever marks meanwhile loses bits.
 *
 * Usage: shared-marks.test [ROUNDS [SEED]]
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "growing.h"
#include "layers/inside.h"
#include "random64.h"
#include "tap.h"

#define PROCESSES 4
#define DIGESTS 2000 /* of each process */
#define BATCH 40
#define ROUNDS 6
/* How long the slow process takes for a batch, in nanoseconds. */
#define PAUSE 200000

enum manner { AS_ALWAYS, SLOWLY, AS_OLDER };

/* A process that hangs is killed after so many seconds. */
#define PATIENCE 100

/* What the processes share: each one's progress, and how many have begun. */
static struct common {
	unsigned ready;
	size_t marked[PROCESSES];
} *common;

static struct digest digests[PROCESSES][DIGESTS];
static char path[] = "/tmp/shared-marks-XXXXXX";

static void
die(const char *text)
{
	fprintf(stderr, "Bail out! %s\n", text);
	_exit(1);
}

static void
notice(const char *text)
{
	(void)text;
}

static const struct filter_use use = { .writable = 1, .growth = -1,
	.wait = { .shared = 1, .milliseconds = 60000, .notice = notice },
	.max_bytes = UINT64_MAX };

/* An empty filter for so many lines, which grows. */
static void
make(uint64_t capacity)
{
	struct filter *f;
	struct error error;

	if (create_growing(&f, path, capacity, 1e-6, &error) != 0 ||
	    filter_close(f, &error) < 0)
		die(error.text);
}

static void
pause_for(long nanoseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = nanoseconds }, NULL);
}

/* Mark in layer i as one that has the turn may: read, and store later. */
static void
mark_slowly(struct block_array *layer, const struct digest *d, size_t n)
{
	size_t nbytes = (size_t)layer->geometry.pages * PAGE_BYTES;
	struct block_array copy = { .geometry = layer->geometry,
		.pages = aligned_alloc(PAGE_BYTES, nbytes) };

	if (copy.pages == NULL)
		die("no memory");
	memcpy(copy.pages, layer->pages, nbytes);
	pause_for(PAUSE);
	loops()->mark(&copy, d, n);
	memcpy(layer->pages, copy.pages, nbytes);
	free(copy.pages);
}

/* Version 0.1.0 takes no turn: it marks at any time. */
static int
mark_layer(struct layers *f, unsigned i, const struct digest *d, size_t n,
    enum manner manner, struct error *error)
{
	int result = 0, alone = 0;

	if (n > 0 && manner == SLOWLY)
		alone = layers_take_turn(f, error);
	if (alone > 0)
		mark_slowly(&f->arrays.blocks[i], d, n);
	else if (alone == 0)
		result = arrays_mark(&f->arrays, i, d, n, ARRAYS_SHARED,
		    error);
	if (n > 0 && manner == SLOWLY)
		slots_end_turn(&f->slots);
	return alone < 0 ? -1 : result;
}

/* Like filter_mark, in another manner. */
static int
mark(struct filter *filter, const struct digest *d, size_t n,
    enum manner manner, struct error *error)
{
	struct layers *f = layers_of(filter);

	for (unsigned i = 0; n > 0 && i < f->table.count; i++) {
		size_t some = f->allotted[i] < n ? (size_t)f->allotted[i] : n;

		f->allotted[i] -= some;
		if (mark_layer(f, i, d, some, manner, error) < 0)
			return -1;
		d += some;
		n -= some;
	}
	return 0;
}

/* Before it marks, version 0.1.0 says that it shares the file. */
static void
say_that_older(struct filter *f, struct error *error)
{
	struct layers *layers = layers_of(f);

	if (layers_lock_table(layers, error) < 0)
		die(error->text);
	layers->slots.head.marking = MARKING_SHARED;
	if (slots_write(&layers->slots, &layers->table, error) < 0)
		die(error->text);
	slots_unlock(&layers->slots);
}

/* Mark what is left of the process's digests. */
static void
work(unsigned process, enum manner manner)
{
	struct filter *f = NULL;
	struct error error;
	int result;
	uint64_t room;

	alarm(PATIENCE);
	if (filter_open(&f, path, &use, &error) != 0)
		die(error.text);
	/* Room for all of them, so that no lock is taken for it later. */
	if (filter_reserve(f, DIGESTS - common->marked[process], &room,
	    &error) != ROOM_ENOUGH)
		die(error.text);
	__atomic_add_fetch(&common->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&common->ready, __ATOMIC_ACQUIRE) < PROCESSES)
		sched_yield();
	if (manner == AS_OLDER)
		say_that_older(f, &error);
	for (size_t at = common->marked[process]; at < DIGESTS; ) {
		size_t n = 1 + below(BATCH);
		const struct digest *d = &digests[process][at];
		uint8_t found[BATCH];

		n = n < DIGESTS - at ? n : DIGESTS - at;
		/* Those that aren't slow would be done too soon. */
		pause_for((long)below(2 * PAUSE));
		if (filter_probe(f, d, n, found, &error) < 0 ||
		    filter_reserve(f, DIGESTS - at, &room, &error) !=
		    ROOM_ENOUGH)
			die(error.text);
		if (manner == AS_ALWAYS)
			result = filter_mark(f, d, n, &error);
		else
			result = mark(f, d, n, manner, &error);
		if (result < 0)
			die(error.text);
		at += n;
		__atomic_store_n(&common->marked[process], at,
		    __ATOMIC_RELEASE);
	}
	if (filter_close(f, &error) < 0)
		die(error.text);
	_exit(0); /* what the parent printed is not ours */
}

/* The first process is slow, and the last ones do as version 0.1.0 does. */
static enum manner
manner_of(unsigned process, unsigned older)
{
	if (process == 0)
		return SLOWLY;
	return process >= PROCESSES - older ? AS_OLDER : AS_ALWAYS;
}

static pid_t
start(unsigned process, unsigned older)
{
	pid_t pid = fork();

	if (pid < 0)
		die("no process");
	random_state = random_state * 31 + process;
	if (pid == 0)
		work(process, manner_of(process, older));
	return pid;
}

/* How many digests that were marked are not found? */
static size_t
lost(void)
{
	const struct filter_use reader = FILTER_READ;
	static uint8_t found[DIGESTS];
	struct filter *f = NULL;
	struct error error;
	size_t count = 0;

	if (filter_open(&f, path, &reader, &error) != 0)
		die(error.text);
	for (unsigned i = 0; i < PROCESSES; i++) {
		size_t marked = common->marked[i];

		if (filter_probe(f, digests[i], DIGESTS, found, &error) < 0)
			die(error.text);
		for (size_t j = 0; j < marked; j++)
			count += !found[j];
	}
	filter_close(f, &error);
	return count;
}

/* Kill one of them somewhere in its work; another one goes on with that. */
static void
kill_one(pid_t pids[PROCESSES], unsigned older)
{
	unsigned victim = below(PROCESSES);
	size_t when = below(DIGESTS);

	while (__atomic_load_n(&common->marked[victim], __ATOMIC_ACQUIRE) <
	    when)
		sched_yield();
	kill(pids[victim], SIGKILL);
	waitpid(pids[victim], NULL, 0);
	pids[victim] = start(victim, older);
}

/* `older` of the processes do as version 0.1.0 does. */
static size_t
fight(unsigned older)
{
	pid_t pids[PROCESSES];
	int failures = 0, status;

	memset(common, 0, sizeof *common);
	/* In some rounds they are in one layer, in others it grows. */
	make(3 * DIGESTS + below(6 * DIGESTS));
	for (unsigned i = 0; i < PROCESSES; i++)
		draw(digests[i], DIGESTS);
	for (unsigned i = 0; i < PROCESSES; i++)
		pids[i] = start(i, older);
	for (unsigned kills = below(4); kills > 0; kills--)
		kill_one(pids, older);
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (waitpid(pids[i], &status, 0) < 0 || status != 0)
			failures++;
	}
	if (failures > 0)
		die("a process failed");
	return lost();
}

int
main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS;
	int fd = mkstemp(path);
	size_t count;

	alarm(PATIENCE * 3);
	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || common == MAP_FAILED)
		die("no file, or no memory");
	close(fd);
	for (unsigned older = 0; older <= 2; older++) {
		count = 0;
		for (long i = 0; i < rounds; i++)
			count += fight(older);
		tap_ok(count == 0, "%u of %u processes mark as 0.1.0 does: %zu"
		    " lost in %ld rounds", older, PROCESSES, count, rounds);
	}
	unlink(path);
	return tap_end();
}
