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
 *   helper kill-at N NOTE COMMAND...
 *                               run it, and kill -9 it at stop N: each system
 *                               call has two, before and after it. NOTE gets
 *                               a line about the stop, or how many there were
 *   helper numbered N           N lines of the same length, so that none
 *                               begins as another
 *   helper came-out N PART END FILE
 *                               each of those must be in FILE, at least once;
 *                               beside them stubs of lines and empty lines,
 *                               no two things glued together. Prints how many
 *                               stubs, how many repeats, and of how many parts
 *                               of PART lines some but not all were in the
 *                               first END bytes
 *   helper journal FILTER [N]   write FILTER.journal, complete, with the lines
 *                               of stdin for layer N (0); N = open: without
 *                               its commit
 *   helper strerror NUMBER...   what the C library says of each errno
 *   helper ask ADDRESS          send stdin there (a unix socket's path, or
 *                               HOST:PORT), say that this was all, and print
 *                               what comes back until the other end closes
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "filter/filter.h"
#include "bits/geometry.h"
#include "bits/loops.h"
#include "disk/journal.h"
#include "base/le.h"

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
	sigset_t child, before;
	int status;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(command[0], command);
		_exit(fail(command[0]));
	}
	/* Until then, or until it has ended. */
	sigtimedwait(&child, NULL, &pause);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return fail(command[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}

/*
 * What ptrace(2) tells about a stop, PTRACE_GET_SYSCALL_INFO: of the words,
 * the first byte says before (1) or after (2), the fourth is the call's
 * number, and its arguments follow. C libraries differ in the names.
 */
enum { GET_SYSCALL_INFO = 0x420e, WORDS = 11, CALL = 3, ARGUMENTS = 4,
	BEFORE = 1, AFTER = 2 };

/* The program begins with a look at its standard input. */
static int
is_first_call(const uint64_t *info)
{
	return info[CALL] == SYS_fcntl && info[ARGUMENTS] == STDIN_FILENO &&
	    info[ARGUMENTS + 1] == F_GETFD;
}

/* How often a thread is waited for is another number each time. */
static int
is_waiting(const uint64_t *info)
{
	return info[CALL] == SYS_futex;
}

/* Let it run from stop to stop; returns its wait status. */
static int
follow(pid_t pid, unsigned long wanted, FILE *note)
{
	unsigned long stops = 0;
	uint64_t info[WORDS] = { 0 }, call = 0;
	int status, begun = 0, waiting = 0, number = 0;

	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD |
	    PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, number) < 0 ||
		    waitpid(pid, &status, 0) < 0)
			return -1;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		number = WSTOPSIG(status);
		if (number == SIGTRAP)
			number = 0;
		if (number != (SIGTRAP | 0x80))
			continue;
		number = 0;
		if (syscall(SYS_ptrace, GET_SYSCALL_INFO, pid, sizeof info,
		    info) < 0)
			return -1;
		if ((info[0] & 0xff) == BEFORE)
			call = info[CALL];
		begun = begun || is_first_call(info);
		if ((info[0] & 0xff) == BEFORE)
			waiting = is_waiting(info);
		if (!begun || waiting || ++stops != wanted)
			continue;
		fprintf(note, "%s call %" PRIu64 "\n", (info[0] & 0xff) ==
		    BEFORE ? "before" : "after", call);
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) < 0)
			return -1;
		return status;
	}
	fprintf(note, "%lu\n", stops);
	return status;
}

static int
run_kill_at(unsigned long wanted, const char *path, char **command)
{
	FILE *note = fopen(path, "we");
	int status;
	pid_t pid = fork();

	if (note == NULL || pid < 0)
		return fail(path);
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(fail("ptrace"));
		raise(SIGSTOP);
		execvp(command[0], command);
		_exit(fail(command[0]));
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return fail("ptrace");
	status = follow(pid, wanted, note);
	if (status < 0 || fclose(note) != 0)
		return fail("ptrace");
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}
#define NUMBERED "https://example.org/"
enum { NUMBER_DIGITS = 10, NUMBERED_BYTES = sizeof NUMBERED - 1 +
	NUMBER_DIGITS };

static int
numbered(uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++)
		printf(NUMBERED "%010" PRIu64 "\n", i);
	return fflush(stdout) == 0 ? 0 : fail("write");
}

/* The number of a line of `numbered`, -1 if it is a stub of one, else -2. */
static int64_t
number_of(const char *line, size_t nbytes)
{
	static const char head[] = NUMBERED;
	char digits[NUMBER_DIGITS + 1] = "";
	size_t n = nbytes < sizeof head - 1 ? nbytes : sizeof head - 1;

	if (nbytes > NUMBERED_BYTES || memcmp(line, head, n) != 0)
		return -2;
	memcpy(digits, line + n, nbytes - n);
	if (strspn(digits, "0123456789") != nbytes - n)
		return -2;
	return nbytes < NUMBERED_BYTES ? -1 : strtoll(digits, NULL, 10);
}

/* How many parts have some but not all of their lines? */
static uint64_t
parts_cut(const uint32_t *seen, uint64_t count, uint64_t part)
{
	uint64_t cut = 0;

	for (uint64_t i = 0; i + part <= count; i += part) {
		uint64_t have = 0;

		for (uint64_t j = i + 1; j <= i + part; j++)
			have += seen[j] > 0;
		cut += have > 0 && have < part;
	}
	return cut;
}

static int
came_out(uint64_t count, uint64_t part, off_t end, const char *path)
{
	uint32_t *seen = calloc((size_t)count + 1, sizeof *seen);
	uint64_t stubs = 0, repeats = 0, lost = 0, cut = 0;
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	off_t at = 0;
	ssize_t n;

	if (f == NULL || seen == NULL)
		return fail(path);
	while ((n = getline(&line, &room, f)) > 0) {
		size_t nbytes = (size_t)n - (line[n - 1] == '\n');
		int64_t number = number_of(line, nbytes);

		if (number < -1 || number > (int64_t)count) {
			fprintf(stderr, "helper: glued: %s\n", line);
			return 1;
		}
		if (number > 0 && seen[number]++ > 0)
			repeats++;
		else if (number < 0 && nbytes > 0)
			stubs++;
		if (at < end && at + n >= end)
			cut = parts_cut(seen, count, part);
		at += n;
	}
	for (uint64_t i = 1; i <= count; i++)
		lost += seen[i] == 0;
	free(line);
	free(seen);
	fclose(f);
	if (lost > 0) {
		fprintf(stderr, "helper: %" PRIu64 " lines lost\n", lost);
		return 1;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stubs, repeats, cut);
	return 0;
}

static int
journal(const char *path, const char *layer)
{
	const struct filter_use use = FILTER_READ;
	struct filter *filter;
	struct journal journal;
	struct journal_span span = { (uint32_t)atoi(layer), 0 };
	struct error error;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int result;

	if (filter_open(&filter, path, &use, &error) != 0 ||
	    journal_create(&journal, path, filter_header(filter)->id, 0,
	    &error) < 0) {
		fprintf(stderr, "helper: %s\n", error.text);
		return 1;
	}
	while ((n = getline(&line, &room, stdin)) > 0) {
		struct key key = { (const uint8_t *)line,
			(size_t)n - (line[n - 1] == '\n') };
		struct digest digest;

		loops()->digest(&filter_header(filter)->hash, &key, 1,
		    &digest);
		if (journal_add(&journal, &digest, 1, &error) < 0)
			return fail(path);
		span.count++;
	}
	free(line);
	result = strcmp(layer, "open") == 0 ? 0 :
	    journal_commit(&journal, &span, 1, &error);
	journal_close(&journal);
	filter_close(filter, &error);
	return result < 0;
}

/* A connection to ADDRESS, or -1; it cuts the address in two. */
static int
connect_to(char *address)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	char *port = strrchr(address, ':');
	struct addrinfo *found = NULL;
	int fd = -1;

	if (strchr(address, '/') != NULL) {
		snprintf(path.sun_path, sizeof path.sun_path, "%s", address);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		return connect(fd, (struct sockaddr *)&path, sizeof path) < 0 ?
		    -1 : fd;
	}
	if (port == NULL)
		return -1;
	*port++ = '\0';
	if (getaddrinfo(address, port, NULL, &found) != 0)
		return -1;
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	if (connect(fd, found->ai_addr, found->ai_addrlen) < 0)
		fd = -1;
	freeaddrinfo(found);
	return fd;
}

/* Both directions at once: who only sends may fill both. */
static int
ask(char *address)
{
	static char request[65536], reply[65536];
	const int fd = connect_to(address);
	struct pollfd both[] = { { .fd = fd }, { .events = POLLIN } };
	int more = 1;
	ssize_t begin = 0, left = 0, n;

	if (fd < 0)
		return fail(address);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		both[0].events = left > 0 ? POLLIN | POLLOUT : POLLIN;
		both[1].fd = more && left == 0 ? STDIN_FILENO : -1;
		if (poll(both, 2, -1) < 0)
			return fail("poll");
		if ((both[0].revents & ~POLLOUT) != 0) {
			n = read(fd, reply, sizeof reply);
			if (n <= 0)
				return 0;
			if (write(STDOUT_FILENO, reply, (size_t)n) != n)
				return fail("write");
		}
		if (both[1].revents != 0) {
			begin = 0;
			left = read(STDIN_FILENO, request, sizeof request);
			if (left <= 0) {
				left = more = 0;
				shutdown(fd, SHUT_WR);
			}
		}
		if (left > 0) {
			n = send(fd, request + begin, (size_t)left,
			    MSG_DONTWAIT);
			if (n < 0 && errno != EAGAIN)
				left = more = 0;
			else if (n > 0) {
				begin += n;
				left -= n;
			}
		}
	}
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
	if (strcmp(what, "kill-at") == 0 && argc >= 5)
		return run_kill_at(strtoul(argv[2], NULL, 10), argv[3],
		    argv + 4);
	if (strcmp(what, "numbered") == 0 && argc == 3)
		return numbered(strtoull(argv[2], NULL, 10));
	if (strcmp(what, "came-out") == 0 && argc == 6)
		return came_out(strtoull(argv[2], NULL, 10),
		    strtoull(argv[3], NULL, 10), (off_t)atoll(argv[4]),
		    argv[5]);
	if (strcmp(what, "journal") == 0 && argc >= 3)
		return journal(argv[2], argc > 3 ? argv[3] : "0");
	if (strcmp(what, "strerror") == 0) {
		for (int i = 2; i < argc; i++)
			printf("%s\n", strerror(atoi(argv[i])));
		return 0;
	}
	if (strcmp(what, "ask") == 0 && argc == 3)
		return ask(argv[2]);
	fprintf(stderr, "helper: see the head of tests/helpers/helper.c\n");
	return 2;
}
