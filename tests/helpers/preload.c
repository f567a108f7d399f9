/*
 * For LD_PRELOAD under the program, to let its library calls fail. Not
 * installed. Environment:
 *
 *   FAIL_ALLOCATION=N   the Nth allocation of memory fails, once; with a + at
 *                       the end it fails from there on
 *   SHORT=N             every Nth read or write does less than it is asked to;
 *                       without it none does
 *   TORN=BYTES          write(2) to regular files, standard error aside, takes
 *                       so many bytes in all; then SIGKILL kills the process
 *   FOREIGN=TEXT        another program appends this to the regular file just
 *                       before the write(2) to one, standard error aside, that
 *                       FOREIGN_AT=N says, and before the next ones if that
 *                       ends in a +
 *   FULL=BYTES          write(2) to regular files, standard error aside, takes
 *                       so many bytes in all; then there is no space left
 *   TORN_FILE=PATH      TORN and FULL count only what is written to this file
 *   STOP=N,...          SIGSTOP stops the process before its Nth call, once
 *                       for each number; counted are the calls that look at
 *                       the content of files or change files (those below
 *                       that call a_step)
 *   PAGE=BYTES          the system's pages have so many, and what maps or
 *                       advises must begin at one
 *   UNREADABLE=OFFSET   a pread(2) of this byte, which isn't 0, fails (EIO)
 *   REFUSED=BYTES       anonymous memory of so many bytes is not to be had
 *   MOVED=1             no name leads to the file that was opened by it
 *   DEVICE=N            the numbers of all devices are larger by N, as they may
 *                       be after the system has started anew
 *   NAMED=1             no file can be opened without a name (O_TMPFILE)
 *   UNMAPPED=ERRNO      no file can be mapped to be shared
 *   UNLOCKED=ERRNO      no file can be locked
 *   WHOLE_LOCKS=1       a range of a file can't be locked while a process has
 *                       the lock of the whole file; who has it isn't known
 *   PROCESSORS=N        the process may run on N processors, and no group of it
 *                       has a share of them, but:
 *   CPU_MAX=FILE        this is cpu.max of each of its groups
 *   CLOCK=FILE          the monotonic clock is ahead by the nanoseconds that
 *                       the first 8 bytes of the file say, at all times
 *   SLEEP=MILLISECONDS  nanosleep(2) doesn't wait: the process's monotonic
 *                       clock goes ahead instead, and SIGSTOP stops it whenever
 *                       it would have slept for so long in all
 *   RANDOM_FROM=N       getrandom(2) gives bytes that depend on N alone
 *   FIRED=FILE          is made when something of this has happened, SLEEP and
 *                       RANDOM_FROM aside
 *
 * All is counted from main on; what the loader does before is not the
 * program's. Commands that the program starts are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int begun;
static int from_there_on;
static unsigned long wanted, allocations;
static unsigned long every, transfers;
static unsigned long page_bytes;
static unsigned long moved;
static unsigned long device;
static unsigned long named;
static unsigned long unmapped;
static unsigned long unlocked;
static unsigned long whole_locks;
static unsigned long processors;
static const char *cpu_max;
static unsigned long torn; /* bytes that may still be written + 1, or 0 */
static const char *foreign; /* appended before a write, */
static unsigned long foreign_at;
static int foreign_goes_on;
static unsigned long full; /* the same */
static const char *torn_file;
static const char *stops;  /* the numbers that are left, or NULL */
static unsigned long steps;
static unsigned long unreadable;
static unsigned long refused;
static const volatile uint64_t *ahead; /* of the clock */
static uint64_t sleep_most;  /* nanoseconds between two stops, or 0 */
static uint64_t slept, slept_before; /* the latter up to the last stop */
static uint64_t random_state;
static int is_fixed; /* are there random bytes from random_state? */
static const char *fired_path;

static void
fired(void)
{
	int saved = errno, fd;

	if (fired_path == NULL)
		return;
	fd = open(fired_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	errno = saved;
}

/* --- allocations */

static int
fails(void)
{
	if (!begun || wanted == 0)
		return 0;
	allocations++;
	if (allocations != wanted && !(from_there_on && allocations > wanted))
		return 0;
	fired();
	errno = ENOMEM;
	return 1;
}

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *);
	long (*sysconf)(int);
	int (*clock_gettime)(clockid_t, struct timespec *);
	int (*nanosleep)(const struct timespec *, struct timespec *);
} next;

/* What dlsym itself may ask for, before there is anything behind us. */
static _Alignas(max_align_t) char early[8192];
static size_t early_used;

static void *
take_early(size_t nbytes)
{
	void *p = early + early_used;

	early_used += (nbytes + sizeof(max_align_t) - 1) /
	    sizeof(max_align_t) * sizeof(max_align_t);
	if (early_used > sizeof early)
		_exit(99);
	return p;
}

static int
is_early(const void *p)
{
	return (const char *)p >= early &&
	    (const char *)p < early + sizeof early;
}

/* Returns 0 while it is at work. */
static int
find_next(void)
{
	static int busy;
	static const struct { const char *name; void *to; } names[] = {
		{ "malloc", &next.malloc },
		{ "calloc", &next.calloc },
		{ "realloc", &next.realloc },
		{ "aligned_alloc", &next.aligned_alloc },
		{ "posix_memalign", &next.posix_memalign },
		{ "free", &next.free },
		{ "sysconf", &next.sysconf },
		{ "clock_gettime", &next.clock_gettime },
		{ "nanosleep", &next.nanosleep },
	};

	if (busy)
		return 0;
	if (next.free != NULL)
		return 1;
	busy = 1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *found = dlsym(RTLD_NEXT, names[i].name);

		if (found == NULL)
			_exit(99);
		memcpy(names[i].to, &found, sizeof found);
	}
	busy = 0;
	return 1;
}

void *
malloc(size_t nbytes)
{
	if (!find_next())
		return take_early(nbytes);
	return fails() ? NULL : next.malloc(nbytes);
}

void *
calloc(size_t count, size_t nbytes)
{
	if (!find_next())
		return take_early(count * nbytes);
	return fails() ? NULL : next.calloc(count, nbytes);
}

void *
realloc(void *old, size_t nbytes)
{
	if (!find_next() || is_early(old))
		_exit(99);
	return fails() ? NULL : next.realloc(old, nbytes);
}

void *
aligned_alloc(size_t alignment, size_t nbytes)
{
	if (!find_next())
		_exit(99);
	return fails() ? NULL : next.aligned_alloc(alignment, nbytes);
}

int
posix_memalign(void **p, size_t alignment, size_t nbytes)
{
	if (!find_next())
		_exit(99);
	return fails() ? ENOMEM : next.posix_memalign(p, alignment, nbytes);
}

void
free(void *p)
{
	if (!is_early(p) && find_next())
		next.free(p);
}

/* --- stops */

static void
a_step(void)
{
	char *rest;

	if (!begun || stops == NULL || ++steps != strtoul(stops, &rest, 10))
		return;
	stops = *rest == ',' ? rest + 1 : NULL;
	raise(SIGSTOP);
}

#if UINTPTR_MAX > UINT32_MAX /* elsewhere, the calls take two words */
off_t
lseek(int fd, off_t offset, int whence)
{
	a_step();
	return syscall(SYS_lseek, fd, offset, whence);
}

int
ftruncate(int fd, off_t length)
{
	a_step();
	return (int)syscall(SYS_ftruncate, fd, length);
}
#endif

int
fsync(int fd)
{
	a_step();
	return (int)syscall(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
	a_step();
	return (int)syscall(SYS_fdatasync, fd);
}

int
unlink(const char *path)
{
	a_step();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int
rename(const char *from, const char *to)
{
	a_step();
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
linkat(int from, const char *old, int to, const char *new, int flags)
{
	a_step();
	return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

/* --- reads and writes */

/* Is this one of the files whose bytes are counted? */
static int
is_counted(int fd)
{
	struct stat st, wanted_file;

	if (fd == STDERR_FILENO || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return torn_file == NULL || (stat(torn_file, &wanted_file) == 0 &&
	    st.st_ino == wanted_file.st_ino);
}

/* How many bytes to transfer: at least one of those that were asked for. */
static size_t
some(size_t nbytes)
{
	if (!begun || every == 0 || nbytes < 2 || ++transfers % every != 0)
		return nbytes;
	fired();
	return transfers / every % 2 == 0 ? 1 : nbytes - 1 - nbytes / 3;
}

ssize_t
read(int fd, void *data, size_t nbytes)
{
	return syscall(SYS_read, fd, data, some(nbytes));
}

/* Another program appends to the file `fd`. */
static void
append_foreign(int fd)
{
	static unsigned long writes;
	char name[40];
	int other;

	writes++;
	if (writes != foreign_at && !(foreign_goes_on && writes > foreign_at))
		return;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	other = openat(AT_FDCWD, name, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (other < 0)
		return;
	if (syscall(SYS_write, other, foreign, strlen(foreign)) > 0)
		fired();
	close(other);
}

ssize_t
write(int fd, const void *data, size_t nbytes)
{
	struct stat st;

	a_step();
	if (begun && foreign != NULL && fd != STDERR_FILENO &&
	    fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 0)
		append_foreign(fd);
	nbytes = some(nbytes);
	if (begun && torn != 0 && is_counted(fd)) {
		if (nbytes > torn - 1) {
			syscall(SYS_write, fd, data, torn - 1);
			fired();
			raise(SIGKILL);
		}
		torn -= nbytes;
	}
	if (begun && full != 0 && is_counted(fd)) {
		if (nbytes > full - 1) {
			nbytes = full - 1;
			fired();
		}
		full -= nbytes;
		if (nbytes == 0) {
			errno = ENOSPC;
			return -1;
		}
	}
	return syscall(SYS_write, fd, data, nbytes);
}

/* Their names are those of the C library, also where a header renames them. */
ssize_t
pread(int fd, void *data, size_t nbytes, off_t offset)
{
	uint64_t first = (uint64_t)offset;

	a_step();
	if (begun && unreadable != 0 && first <= unreadable &&
	    unreadable - first < nbytes) {
		fired();
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, data, some(nbytes), offset);
}

ssize_t
pwrite(int fd, const void *data, size_t nbytes, off_t offset)
{
	a_step();
	return syscall(SYS_pwrite64, fd, data, some(nbytes), offset);
}

/* --- names that don't stay, and devices with other numbers */

static int
look(int fd, const char *path, struct stat *st, int flags)
{
	int result = fstatat(fd, path, st, flags);

	if (begun && device != 0 && result == 0) {
		st->st_dev += device;
		fired();
	}
	return result;
}

int
stat(const char *path, struct stat *st)
{
	return look(AT_FDCWD, path, st, 0);
}

int
fstat(int fd, struct stat *st)
{
	return look(fd, "", st, AT_EMPTY_PATH);
}

int
lstat(const char *path, struct stat *st)
{
	int result = look(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);

	if (begun && moved != 0 && result == 0) {
		st->st_ino = ~st->st_ino;
		fired();
	}
	return result;
}

/* --- a file system whose files have names */

int
open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_list rest;

		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	a_step();
	if (begun && named != 0 && (flags & O_TMPFILE) == O_TMPFILE) {
		fired();
		errno = EOPNOTSUPP;
		return -1;
	}
	if (begun && processors != 0 && strstr(path, "/cpu.") != NULL) {
		if (cpu_max == NULL) {
			errno = ENOENT;
			return -1;
		}
		path = cpu_max;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

/* --- a file system without locks, or with those of another machine */

int
flock(int fd, int operation)
{
	a_step();
	if (begun && unlocked != 0) {
		fired();
		errno = (int)unlocked;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

/* Every command has one argument, or none, for which any will do. */
int
fcntl(int fd, int command, ...)
{
#ifdef SYS_fcntl64
	const long call = SYS_fcntl64;
#else
	const long call = SYS_fcntl;
#endif
	struct flock *range;
	va_list rest;
	void *argument;

	va_start(rest, command);
	argument = va_arg(rest, void *);
	va_end(rest);
	range = argument;
	a_step();
	if (begun && unlocked != 0 && command == F_SETLK) {
		fired();
		errno = (int)unlocked;
		return -1;
	}
	if (begun && whole_locks != 0 && command == F_SETLK &&
	    range->l_type == F_WRLCK) {
		fired();
		errno = EAGAIN;
		return -1;
	}
	if (begun && whole_locks != 0 && command == F_GETLK &&
	    range->l_type == F_WRLCK) {
		range->l_type = F_RDLCK;
		range->l_pid = -1;
		return 0;
	}
	return (int)syscall(call, fd, command, argument);
}

/* --- random bytes that are always the same */

ssize_t
getrandom(void *data, size_t nbytes, unsigned flags)
{
	unsigned char *bytes = data;

	if (!begun || !is_fixed)
		return syscall(SYS_getrandom, data, nbytes, flags);
	for (size_t i = 0; i < nbytes; i++) {
		/* Knuth's constants of MMIX */
		random_state = random_state * 6364136223846793005 +
		    1442695040888963407;
		bytes[i] = (unsigned char)(random_state >> 56);
	}
	return (ssize_t)nbytes;
}

/* --- fewer processors, or more */

int
sched_getaffinity(pid_t pid, size_t nbytes, cpu_set_t *set)
{
	if (processors == 0)
		return (int)syscall(SYS_sched_getaffinity, pid, nbytes, set) <
		    0 ? -1 : 0;
	fired();
	CPU_ZERO_S(nbytes, set);
	for (unsigned long i = 0; i < processors; i++)
		CPU_SET_S(i, nbytes, set);
	return 0;
}

/* --- a system with larger pages */

static int
is_off(uint64_t place)
{
	if (page_bytes == 0 || place % page_bytes == 0)
		return 0;
	errno = EINVAL;
	return 1;
}

static size_t
round_up(size_t nbytes)
{
	return page_bytes == 0 ? nbytes :
	    (nbytes + page_bytes - 1) / page_bytes * page_bytes;
}

long
sysconf(int name)
{
	if (name == _SC_PAGESIZE && page_bytes != 0) {
		fired();
		return (long)page_bytes;
	}
	return find_next() ? next.sysconf(name) : -1;
}

static void *
map(void *at, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
#if defined SYS_mmap2 /* 32 bits: mmap2(2), offsets in units of 4096 bytes */
	return (void *)syscall(SYS_mmap2, at, nbytes, protection, flags, fd,
	    (long)(offset / 4096));
#else
	return (void *)syscall(SYS_mmap, at, nbytes, protection, flags, fd,
	    offset);
#endif
}

/* At a multiple, by way of a range that is larger. */
void *
mmap(void *at, size_t nbytes, int protection, int flags, int fd, off_t offset)
{
	char *base;

	if (begun && refused != 0 && nbytes >= refused &&
	    (flags & MAP_ANONYMOUS) != 0) {
		fired();
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (begun && unmapped != 0 && (flags & MAP_SHARED) != 0 && fd >= 0) {
		fired();
		errno = (int)unmapped;
		return MAP_FAILED;
	}
	if (page_bytes == 0 || at != NULL)
		return map(at, nbytes, protection, flags, fd, offset);
	if (is_off((uint64_t)offset))
		return MAP_FAILED;
	base = map(NULL, round_up(nbytes) + page_bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return base;
	base += page_bytes - (uintptr_t)base % page_bytes;
	return map(base, round_up(nbytes), protection, flags | MAP_FIXED, fd,
	    offset);
}

int
munmap(void *at, size_t nbytes)
{
	return is_off((uintptr_t)at) ? -1 :
	    (int)syscall(SYS_munmap, at, round_up(nbytes));
}

int
madvise(void *at, size_t nbytes, int advice)
{
	return is_off((uintptr_t)at) ? -1 :
	    (int)syscall(SYS_madvise, at, round_up(nbytes), advice);
}

int
mincore(void *at, size_t nbytes, unsigned char *resident)
{
	return is_off((uintptr_t)at) ? -1 :
	    (int)syscall(SYS_mincore, at, nbytes, resident);
}

/* --- a clock that jumps */

static void
put_ahead(struct timespec *now, uint64_t nanoseconds)
{
	nanoseconds += (uint64_t)now->tv_nsec;
	now->tv_sec += (time_t)(nanoseconds / 1000000000);
	now->tv_nsec = (long)(nanoseconds % 1000000000);
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static int told;

	if (!find_next() || next.clock_gettime(clock, now) < 0)
		return -1;
	if (clock != CLOCK_MONOTONIC)
		return 0;
	put_ahead(now, slept);
	if (ahead == NULL)
		return 0;
	put_ahead(now, *ahead);
	if (!told)
		fired();
	told = 1;
	return 0;
}

int
nanosleep(const struct timespec *time, struct timespec *rest)
{
	if (!find_next())
		return -1;
	if (!begun || sleep_most == 0)
		return next.nanosleep(time, rest);
	slept += (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
	if (slept - slept_before >= sleep_most) {
		slept_before = slept;
		raise(SIGSTOP);
	}
	return 0;
}

static const volatile uint64_t *
map_clock(const char *path)
{
	int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	void *at;

	if (fd < 0)
		return NULL;
	at = map(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* --- from main on */

static int (*real_main)(int, char **, char **);

static unsigned long
take_number(const char *name)
{
	const char *text = getenv(name);

	return text == NULL ? 0 : strtoul(text, NULL, 10);
}

static int
our_main(int argc, char **argv, char **environment)
{
	const char *text = getenv("FAIL_ALLOCATION");

	wanted = take_number("FAIL_ALLOCATION");
	from_there_on = text != NULL && strchr(text, '+') != NULL;
	every = take_number("SHORT");
	page_bytes = take_number("PAGE");
	moved = take_number("MOVED");
	device = take_number("DEVICE");
	named = take_number("NAMED");
	unmapped = take_number("UNMAPPED");
	unlocked = take_number("UNLOCKED");
	whole_locks = take_number("WHOLE_LOCKS");
	processors = take_number("PROCESSORS");
	cpu_max = getenv("CPU_MAX");
	if (getenv("TORN") != NULL)
		torn = take_number("TORN") + 1;
	foreign = getenv("FOREIGN");
	foreign_at = take_number("FOREIGN_AT");
	text = getenv("FOREIGN_AT");
	foreign_goes_on = text != NULL && strchr(text, '+') != NULL;
	if (getenv("FULL") != NULL)
		full = take_number("FULL") + 1;
	torn_file = getenv("TORN_FILE");
	stops = getenv("STOP");
	unreadable = take_number("UNREADABLE");
	refused = take_number("REFUSED");
	fired_path = getenv("FIRED");
	ahead = map_clock(getenv("CLOCK"));
	random_state = take_number("RANDOM_FROM");
	is_fixed = getenv("RANDOM_FROM") != NULL;
	sleep_most = (uint64_t)take_number("SLEEP") * 1000000;
	unsetenv("LD_PRELOAD");
	begun = 1;
	return real_main(argc, argv, environment);
}

/* What the start files call, in glibc and musl alike. */
int
__libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
    void (*init)(void), void (*fini)(void), void (*end)(void), void *stack)
{
	int (*start)(int (*)(int, char **, char **), int, char **,
	    void (*)(void), void (*)(void), void (*)(void), void *);
	void *found = dlsym(RTLD_NEXT, "__libc_start_main");

	if (found == NULL)
		_exit(99);
	memcpy(&start, &found, sizeof found);
	real_main = main;
	return start(our_main, argc, argv, init, fini, end, stack);
}
