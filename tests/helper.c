/*
 * What a shell can't do, for the tests. Not installed.
 *
 *   helper pieces SEED          copy stdin to stdout in random pieces, with
 *                               pauses, so that reads come short
 *   helper fix-crc FILE         make the checksums of header and slots right
 *   helper poke FILE OFFSET HEX overwrite bytes
 *   helper lines N [SEED]       N distinct lines, without randomness
 *   helper flip FILE OFFSET BIT flip one bit of a byte
 *   helper defaults COMMAND...  run it with every signal as it is by default
 *                               (a shell makes what is behind & ignore some)
 *   helper peak KIBIBYTES COMMAND...
 *                               run it; fail if it used more memory
 *   helper nonblock COMMAND...  run it with a standard output that never waits
 *   helper kill-after MICROSECONDS COMMAND...
 *                               run it, and kill -9 it then; 137 if it was
 *   helper journal FILTER [N]   write FILTER.journal, complete, with the lines
 *                               of stdin for layer N (0); N = open: without
 *                               its commit
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "filter.h"
#include "geometry.h"
#include "hash.h"
#include "journal.h"
#include "le.h"

static int
fail(const char *what)
{
	perror(what);
	return 1;
}

static int
pieces(unsigned seed)
{
	static char data[70000];

	srand(seed);
	for (;;) {
		size_t wanted = (size_t)(rand() % 8 == 0 ?
		    rand() % 70000 : rand() % 300) + 1;
		ssize_t n = read(STDIN_FILENO, data, wanted);

		if (n == 0)
			return 0;
		if (n < 0)
			return fail("read");
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(STDOUT_FILENO, data + done,
			    (size_t)(n - done));
			if (w < 0)
				return fail("write");
			done += w;
		}
		if (rand() % 64 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 },
			    NULL);
	}
}

static int
fix_crc(const char *path)
{
	uint8_t page[PAGE_BYTES];
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return fail(path);
	for (int i = 0; i < 3; i++) {
		if (pread(fd, page, sizeof page, i * (off_t)PAGE_BYTES) !=
		    (ssize_t)sizeof page)
			return fail(path);
		le_put32(page + PAGE_BYTES - 4, (uint32_t)crc32(crc32(0,
		    NULL, 0), page, PAGE_BYTES - 4));
		if (pwrite(fd, page, sizeof page, i * (off_t)PAGE_BYTES) !=
		    (ssize_t)sizeof page)
			return fail(path);
	}
	return close(fd);
}

static int
poke(const char *path, const char *offset, const char *hex)
{
	int fd = open(path, O_WRONLY);
	off_t at = (off_t)strtoll(offset, NULL, 10);

	if (fd < 0)
		return fail(path);
	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		char digits[3] = { hex[0], hex[1], '\0' };
		uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);

		if (pwrite(fd, &byte, 1, at++) != 1)
			return fail(path);
	}
	return close(fd);
}

static int
flip(const char *path, off_t offset, unsigned bit)
{
	uint8_t byte;
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return fail(path);
	if (pread(fd, &byte, 1, offset) != 1)
		return fail(path);
	byte = (uint8_t)(byte ^ 1u << bit);
	if (pwrite(fd, &byte, 1, offset) != 1)
		return fail(path);
	return close(fd);
}

static int
run_defaults(char **command)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(command[0], command);
	return fail(command[0]);
}

static int
run_peak(long most, char **command)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return fail("fork");
	if (pid == 0) {
		execvp(command[0], command);
		_exit(fail(command[0]));
	}
	if (waitpid(pid, &status, 0) < 0 ||
	    getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return fail(command[0]);
	if (usage.ru_maxrss > most) {
		fprintf(stderr, "helper: %ld KiB of memory, more than %ld\n",
		    usage.ru_maxrss, most);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}

static int
run_nonblock(char **command)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0 || fcntl(STDOUT_FILENO, F_SETFL,
	    flags | O_NONBLOCK) < 0)
		return fail("fcntl");
	execvp(command[0], command);
	return fail(command[0]);
}

static int
run_kill_after(long microseconds, char **command)
{
	struct timespec pause = { microseconds / 1000000,
		microseconds % 1000000 * 1000 };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return fail("fork");
	if (pid == 0) {
		execvp(command[0], command);
		_exit(fail(command[0]));
	}
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return fail(command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}

static int
journal(const char *path, const char *layer)
{
	struct filter filter;
	struct journal journal;
	struct journal_span span = { (uint32_t)atoi(layer), 0 };
	struct error error;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int result;

	if (filter_open(&filter, path, 0, NULL, &error) != 0 ||
	    journal_create(&journal, path, filter.header.id, &error) < 0) {
		fprintf(stderr, "helper: %s\n", error.text);
		return 1;
	}
	while ((n = getline(&line, &room, stdin)) > 0) {
		struct digest digest = hash_key(&filter.header.hash, line,
		    (size_t)n - (line[n - 1] == '\n'));

		if (journal_add(&journal, &digest, 1, &error) < 0)
			return fail(path);
		span.count++;
	}
	free(line);
	result = strcmp(layer, "open") == 0 ? 0 :
	    journal_commit(&journal, &span, 1, &error);
	journal_close(&journal);
	filter_close(&filter, &error);
	return result < 0;
}

static int
lines(uint64_t count, uint64_t seed)
{
	for (uint64_t i = 0; i < count; i++)
		printf("https://example.org/%" PRIu64 "/%" PRIx64 "\n", seed,
		    i * UINT64_C(0x9E3779B97F4A7C15));
	return fflush(stdout) == 0 ? 0 : fail("write");
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "pieces") == 0 && argc == 3)
		return pieces((unsigned)atoi(argv[2]));
	if (strcmp(what, "fix-crc") == 0 && argc == 3)
		return fix_crc(argv[2]);
	if (strcmp(what, "poke") == 0 && argc == 5)
		return poke(argv[2], argv[3], argv[4]);
	if (strcmp(what, "lines") == 0 && argc >= 3)
		return lines(strtoull(argv[2], NULL, 10),
		    argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
	if (strcmp(what, "flip") == 0 && argc == 5)
		return flip(argv[2], (off_t)atoll(argv[3]),
		    (unsigned)atoi(argv[4]));
	if (strcmp(what, "defaults") == 0 && argc >= 3)
		return run_defaults(argv + 2);
	if (strcmp(what, "peak") == 0 && argc >= 4)
		return run_peak(atol(argv[2]), argv + 3);
	if (strcmp(what, "nonblock") == 0 && argc >= 3)
		return run_nonblock(argv + 2);
	if (strcmp(what, "kill-after") == 0 && argc >= 4)
		return run_kill_after(atol(argv[2]), argv + 3);
	if (strcmp(what, "journal") == 0 && argc >= 3)
		return journal(argv[2], argc > 3 ? argv[3] : "0");
	fprintf(stderr, "helper: see the head of tests/helper.c\n");
	return 2;
}
