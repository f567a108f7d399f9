#define _GNU_SOURCE /* preadv2 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <time.h>
#include <unistd.h>

#include "geometry.h"
#include "journal.h"
#include "le.h"
#include "signals.h"
#include "temporary.h"

/* Names are random: a second try means that the generator is broken. */
#define NAME_TRIES 100
/*
 * Milliseconds that a run waits for a lock which others have only for moments,
 * whatever it was told, and also when it is to stop.
 */
#define LEAST_PATIENCE 1000
/* Microseconds between two looks at a lock. */
#define LONGEST_PAUSE 50000

static uint64_t
now_milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int
stopped(struct store *store, struct error *error)
{
	return error_set(error, 128 + signals_stop,
	    "%s: stopped by a signal", store->path);
}

/* Take over an open descriptor; refuse what is no regular file. */
static int
check_regular(struct store *store, struct error *error)
{
	struct stat st;

	if (fstat(store->fd, &st) < 0)
		return error_system(error, errno, store->path);
	if (S_ISDIR(st.st_mode))
		return error_system(error, EISDIR, store->path);
	if (!S_ISREG(st.st_mode)) {
		return error_set(error, STATUS_FAILED,
		    "%s: a filter must be a regular file", store->path);
	}
	store->length = (uint64_t)st.st_size;
	return 0;
}

static void
command_name(pid_t process, char name[STORE_HOLDER_NAME])
{
	char path[64];
	FILE *comm;

	name[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
	comm = fopen(path, "re");
	if (comm == NULL)
		return;
	if (fgets(name, STORE_HOLDER_NAME, comm) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(comm);
}

pid_t
store_holder(const struct store *store, char name[STORE_HOLDER_NAME])
{
	char line[256];
	struct stat st;
	FILE *locks;
	pid_t holder = 0;

	name[0] = '\0';
	if (fstat(store->fd, &st) < 0)
		return 0;
	locks = fopen("/proc/locks", "re");
	if (locks == NULL)
		return 0;
	/* "1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", proc(5) */
	while (holder == 0 && fgets(line, sizeof line, locks) != NULL) {
		unsigned major_number, minor_number;
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid,
		    &major_number, &minor_number, &inode) == 4 && pid > 0 &&
		    inode == st.st_ino && major_number == major(st.st_dev) &&
		    minor_number == minor(st.st_dev))
			holder = pid;
	}
	fclose(locks);
	if (holder != 0)
		command_name(holder, name);
	return holder;
}

static void
describe_holder(const struct store *store, pid_t holder, char *text,
    size_t nbytes)
{
	char name[STORE_HOLDER_NAME];

	if (holder == 0)
		holder = store_holder(store, name);
	else
		command_name(holder, name);
	if (holder == 0)
		snprintf(text, nbytes, "another run");
	else
		snprintf(text, nbytes, "process %d (%s)", (int)holder, name);
}

/*
 * A lock could not be had since `start`: sleep for `pause` microseconds, and
 * longer each time. Polled, since no lock has a timeout and an alarm can come
 * too early. `holder` is 0 if it isn't known.
 */
static int
wait_for_lock(struct store *store, uint64_t start, uint64_t patience,
    long *pause, pid_t holder, struct error *error)
{
	uint64_t waited = now_milliseconds() - start;
	char text[5000], who[100];

	if (waited >= patience) {
		describe_holder(store, holder, who, sizeof who);
		return error_set(error, STATUS_LOCKED, "%s: in use by %s; gave"
		    " up after %g s (--lock-timeout)", store->path, who,
		    (double)patience / 1000);
	}
	if (waited >= 1000 && !store->noticed) {
		describe_holder(store, holder, who, sizeof who);
		snprintf(text, sizeof text, "%s: waiting for %s", store->path,
		    who);
		store->wait.notice(text);
		store->noticed = 1;
	}
	nanosleep(&(struct timespec){ .tv_nsec = *pause * 1000 }, NULL);
	*pause = *pause < LONGEST_PAUSE / 2 ? *pause * 2 : LONGEST_PAUSE;
	return 0;
}

static int
lock(struct store *store, uint64_t start, struct error *error)
{
	long pause = 1000;

	while (flock(store->fd, (store->wait.shared ? LOCK_SH : LOCK_EX) |
	    LOCK_NB) < 0) {
		if (signals_stop)
			return stopped(store, error);
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return error_system(error, errno, store->path);
		if (wait_for_lock(store, start, store->wait.milliseconds,
		    &pause, 0, error) < 0)
			return -1;
	}
	return 0;
}

/* The folder of `path`, with the slash at its end, or "". */
static int
folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (int)(slash - path + 1);
}

/* Not realpath, which wants to search all folders above the current one. */
char *
store_follow(const char *path)
{
	char *name = memory_or_die(strdup(path)), link[4096];

	for (int i = 0; i < 40; i++) {
		ssize_t n = readlink(name, link, sizeof link - 1);
		size_t nbytes;
		char *next;

		if (n < 0 && (errno == EINVAL || errno == ENOENT))
			return name; /* no link, or nothing yet */
		if (n < 0) {
			int errnum = errno;
			free(name);
			errno = errnum;
			return NULL;
		}
		link[n] = '\0';
		nbytes = strlen(name) + (size_t)n + 1;
		next = memory_or_die(malloc(nbytes));
		snprintf(next, nbytes, "%.*s%s", link[0] == '/' ? 0 :
		    folder_bytes(name), name, link);
		free(name);
		name = next;
	}
	free(name);
	errno = ELOOP;
	return NULL;
}

/* The name of the folder of `path`; to be freed. */
static char *
folder_name(const char *path)
{
	int nbytes = folder_bytes(path);
	char *folder = memory_or_die(strdup(nbytes == 0 ? "." : path));

	if (nbytes > 0)
		folder[nbytes] = '\0';
	return folder;
}

char *
store_real_path(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && errno == ENOENT ?
	    memory_or_die(strdup(path)) : store_follow(path);
}

static const char *
base_name(const char *path)
{
	return path + folder_bytes(path);
}

int
store_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int
store_same_place(const char *a, const char *b)
{
	char *names[] = { store_follow(a), store_follow(b) };
	struct stat folders[2];
	int same = 1;

	for (int i = 0; i < 2; i++) {
		char *folder = names[i] == NULL ? NULL : folder_name(names[i]);

		if (folder == NULL || stat(folder, &folders[i]) < 0)
			same = 0;
		free(folder);
	}
	same = same && store_same_file(&folders[0], &folders[1]) &&
	    strcmp(base_name(names[0]), base_name(names[1])) == 0;
	free(names[0]);
	free(names[1]);
	return same;
}

static int
take_real_path(struct store *store, struct error *error)
{
	store->real_path = store_real_path(store->path);
	return store->real_path != NULL ? 0 :
	    error_system(error, errno, store->path);
}

int
store_open(struct store *store, const char *path, int writable,
    const struct store_wait *wait, struct error *error)
{
	uint64_t start = now_milliseconds();

	*store = (struct store)STORE_NONE;
	store->path = memory_or_die(strdup(path));
	store->writable = writable;
	if (wait != NULL)
		store->wait = *wait;
	for (;;) {
		struct stat opened, named;

		/* O_NONBLOCK: opening a FIFO must not wait for its other end */
		store->fd = open(path, (writable ? O_RDWR : O_RDONLY) |
		    O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (store->fd < 0 && errno == EINTR && !signals_stop)
			continue;
		if (store->fd < 0 && errno == ENOENT) {
			store_close(store);
			return 1;
		}
		if (store->fd < 0) {
			if (errno == EINTR)
				stopped(store, error);
			else
				error_system(error, errno, path);
			goto fail;
		}
		if (check_regular(store, error) < 0)
			goto fail;
		if (!writable) {
			if (take_real_path(store, error) < 0)
				goto fail;
			return 0;
		}
		if (lock(store, start, error) < 0)
			goto fail;

		/* While we waited, the file may have been replaced. */
		if (fstat(store->fd, &opened) == 0 &&
		    stat(path, &named) == 0 &&
		    store_same_file(&opened, &named)) {
			store->length = (uint64_t)opened.st_size;
			if (take_real_path(store, error) < 0)
				goto fail;
			return 0;
		}
		close(store->fd);
	}

fail:
	store_close(store);
	return -1;
}

void
store_widen_pipe(int fd)
{
	/* fcntl(2); the name is behind _GNU_SOURCE in C libraries. */
#ifdef __linux__
	enum { SET_PIPE_SIZE = 1024 + 7 };

	fcntl(fd, SET_PIPE_SIZE, 1024 * 1024);
#else
	(void)fd;
#endif
}

int
store_open_hidden(const char *path, char **hidden)
{
	size_t nbytes = strlen(path) + 40;
	char *name = memory_or_die(malloc(nbytes));
	int fd = -1;

	errno = EEXIST;
	for (int i = 0; i < NAME_TRIES && fd < 0; i++) {
		uint64_t number;

		if (errno != EEXIST && errno != EINTR)
			break;
		if (getrandom(&number, sizeof number, 0) !=
		    (ssize_t)sizeof number)
			break;
		snprintf(name, nbytes, "%.*s.bloomdedup-%016" PRIx64,
		    folder_bytes(path), path, number);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		int errnum = errno;
		free(name);
		errno = errnum;
		name = NULL;
	} else {
		temporary_add(name);
	}
	*hidden = name;
	return fd;
}

void
store_end_hidden(char **hidden, int remove)
{
	if (*hidden == NULL)
		return;
	if (remove)
		unlink(*hidden);
	temporary_forget(*hidden);
	free(*hidden);
	*hidden = NULL;
}

/*
 * What a folder's default ACL leaves of a new file's mode; -1 if it has none.
 * Its entries are those of Linux: a u16 tag, a u16 of rights, a u32 id.
 */
static int
default_acl_mode(const char *path)
{
	int mode = -1;
#ifdef __linux__
	enum { OWNER = 0x01, GROUP = 0x04, MASK = 0x10, OTHER = 0x20 };
	uint8_t acl[4096];
	char *folder = folder_name(path);
	ssize_t n = getxattr(folder, "system.posix_acl_default", acl,
	    sizeof acl);
	int owner = 0, group = 0, mask = -1, other = 0;

	free(folder);
	if (n < 4 || le_get32(acl) != 2)
		return -1;
	for (ssize_t i = 4; i + 8 <= n; i += 8) {
		int rights = le_get16(acl + i + 2) & 7;

		switch (le_get16(acl + i)) {
		case OWNER:
			owner = rights;
			break;
		case GROUP:
			group = rights;
			break;
		case MASK:
			mask = rights;
			break;
		case OTHER:
			other = rights;
			break;
		default:
			break;
		}
	}
	mode = owner << 6 | (mask < 0 ? group : mask) << 3 | other;
#else
	(void)path;
#endif
	return mode;
}

mode_t
store_new_mode(const char *path)
{
	int mode = default_acl_mode(path);
	mode_t hidden;

	if (mode >= 0)
		return 0666 & (mode_t)mode;
	/* It can't be asked for but by setting it. */
	hidden = umask(077);
	umask(hidden);
	return 0666 & ~hidden;
}

static int
has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && strcmp(text + n - m, suffix) == 0;
}

/*
 * Is there a journal, though there is no file that it could belong to? Looked
 * at in this order, since another run makes the file before its journal.
 */
static int
has_orphaned_journal(const char *path)
{
	char *journal = journal_name(path);
	struct stat st;
	int found = lstat(journal, &st) == 0 && lstat(path, &st) < 0;
	free(journal);
	return found;
}

int
store_create(struct store *store, const char *path, struct error *error)
{
	*store = (struct store)STORE_NONE;
	store->path = memory_or_die(strdup(path));
	store->writable = 1;
	/* Through a link it is the file that is made or replaced. */
	if (take_real_path(store, error) < 0)
		goto fail;
	if (has_suffix(store->real_path, STORE_JOURNAL)) {
		error_set(error, STATUS_USAGE, "%s: a filter's name can't end"
		    " in %s, as its journal's does", path, STORE_JOURNAL);
		goto fail;
	}
	if (has_orphaned_journal(store->real_path)) {
		error_set(error, STATUS_FAILED, "%s%s: a journal whose filter"
		    " is gone; move it away", path, STORE_JOURNAL);
		goto fail;
	}
	store->fd = store_open_hidden(store->real_path, &store->hidden);
	if (store->fd >= 0 && flock(store->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	error_system(error, errno, path);

fail:
	store_close(store);
	return -1;
}

int
store_sync_folder(const char *path, struct error *error)
{
	char *folder = folder_name(path);
	int fd, result;

	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (fd < 0)
		return 0; /* a folder that may be written but not read */
	result = fsync(fd);
	/* EINVAL: this file system doesn't sync folders */
	if (result < 0 && errno != EINVAL)
		error_system(error, errno, path);
	else
		result = 0;
	close(fd);
	return result;
}

int
store_publish(struct store *store, int replace, struct error *error)
{
	int result;

	if (store_sync(store, error) < 0)
		return -1;
	if (replace) {
		result = rename(store->hidden, store->real_path);
	} else {
		result = link(store->hidden, store->real_path);
		if (result < 0 && errno == EEXIST)
			return 1;
#ifdef SYS_renameat2
		/* File systems without links, such as FAT. */
		if (result < 0 && (errno == EPERM || errno == EOPNOTSUPP)) {
			result = (int)syscall(SYS_renameat2, AT_FDCWD,
			    store->hidden, AT_FDCWD, store->real_path,
			    1 /* RENAME_NOREPLACE */);
			if (result < 0 && errno == EEXIST)
				return 1;
			replace = 1;
		}
#endif
	}
	if (result < 0)
		return error_system(error, errno, store->path);
	store_end_hidden(&store->hidden, !replace);
	return store_sync_folder(store->real_path, error);
}

void
store_share(struct store *store, const struct store_wait *wait)
{
	store->wait = *wait;
	/* Nobody else has it, so there is nothing to wait for or to fail. */
	while (flock(store->fd, LOCK_SH) < 0 && errno == EINTR)
		continue;
}

int
store_be_alone(struct store *store)
{
	return flock(store->fd, LOCK_EX | LOCK_NB) == 0;
}

static struct flock
lock_of_range(short type, uint64_t offset, uint64_t nbytes)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
		.l_start = (off_t)offset, .l_len = (off_t)nbytes };
}

int
store_lock_range(struct store *store, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	struct flock ours = lock_of_range(F_WRLCK, offset, nbytes), other;
	uint64_t start = now_milliseconds();
	uint64_t patience = store->wait.milliseconds;
	long pause = 50; /* others have it for less */

	if (patience < LEAST_PATIENCE)
		patience = LEAST_PATIENCE;
	while (fcntl(store->fd, F_SETLK, &ours) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return error_system(error, errno, store->path);
		if (signals_stop &&
		    now_milliseconds() - start >= LEAST_PATIENCE)
			return stopped(store, error);
		other = ours;
		if (fcntl(store->fd, F_GETLK, &other) == 0 &&
		    other.l_type == F_UNLCK)
			continue; /* by now it is free */
		if (wait_for_lock(store, start, patience, &pause,
		    other.l_pid, error) < 0)
			return -1;
	}
	return 0;
}

void
store_unlock_range(struct store *store, uint64_t offset, uint64_t nbytes)
{
	struct flock ours = lock_of_range(F_UNLCK, offset, nbytes);

	while (fcntl(store->fd, F_SETLK, &ours) < 0 && errno == EINTR)
		continue;
}

void
store_close(struct store *store)
{
	store_end_hidden(&store->hidden, 1);
	if (store->fd >= 0)
		close(store->fd);
	free(store->path);
	free(store->real_path);
	*store = (struct store)STORE_NONE;
}

int
store_measure(struct store *store, struct error *error)
{
	struct stat st;

	if (fstat(store->fd, &st) < 0)
		return error_system(error, errno, store->path);
	store->length = (uint64_t)st.st_size;
	return 0;
}

int
store_read(struct store *store, void *data, size_t nbytes, uint64_t offset,
    struct error *error)
{
	char *p = data;

	while (nbytes > 0) {
		ssize_t n = pread(store->fd, p, nbytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(error, errno, store->path);
		if (n == 0) {
			return error_set(error, STATUS_FAILED,
			    "%s: the file ends too early", store->path);
		}
		p += n;
		nbytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int
store_read_cached(const struct store *store, void *data, size_t nbytes,
    uint64_t offset)
{
#ifdef RWF_NOWAIT
	struct iovec all = { data, nbytes };

	return preadv2(store->fd, &all, 1, (off_t)offset, RWF_NOWAIT) ==
	    (ssize_t)nbytes;
#else
	(void)store, (void)data, (void)nbytes, (void)offset;
	return 0;
#endif
}

int
store_write(struct store *store, const void *data, size_t nbytes,
    uint64_t offset, struct error *error)
{
	const char *p = data;

	while (nbytes > 0) {
		ssize_t n = pwrite(store->fd, p, nbytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(error, errno, store->path);
		p += n;
		nbytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

int
store_is_zero(struct store *store, uint64_t offset, int *zero,
    struct error *error)
{
	char piece[64 * 1024];

	*zero = 1;
	while (*zero && offset < store->length) {
		uint64_t left = store->length - offset;
		size_t n = left < sizeof piece ? (size_t)left : sizeof piece;

		if (store_read(store, piece, n, offset, error) < 0)
			return -1;
		/* each byte is zero if the first is and all equal the next */
		*zero = piece[0] == 0 && memcmp(piece, piece + 1, n - 1) == 0;
		offset += n;
	}
	return 0;
}

/* For file systems (and C libraries) that can't allocate. */
static int
write_zeros(struct store *store, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	static const char zeros[64 * 1024];

	while (nbytes > 0) {
		size_t n = nbytes < sizeof zeros ? nbytes : sizeof zeros;

		if (signals_stop)
			return stopped(store, error);
		if (store_write(store, zeros, n, offset, error) < 0)
			return -1;
		offset += n;
		nbytes -= n;
	}
	return 0;
}

int
store_extend(struct store *store, uint64_t length, uint64_t nbytes,
    struct error *error)
{
	int errnum;

	if (length + nbytes > (uint64_t)INT64_MAX)
		return error_system(error, EFBIG, store->path);
	while (ftruncate(store->fd, (off_t)length) < 0) {
		if (errno != EINTR)
			return error_system(error, errno, store->path);
	}
	do {
		if (signals_stop)
			return stopped(store, error);
		errnum = posix_fallocate(store->fd, (off_t)length,
		    (off_t)nbytes);
	} while (errnum == EINTR);
	if (errnum == EOPNOTSUPP || errnum == EINVAL) {
		if (write_zeros(store, length, nbytes, error) < 0)
			errnum = -1;
		else
			errnum = 0;
	} else if (errnum != 0) {
		error_system(error, errnum, store->path);
	}
	if (errnum != 0) {
		/* As it was; if that fails too, it is but unused space. */
		if (ftruncate(store->fd, (off_t)length) < 0)
			return -1;
		return -1;
	}
	store->length = length + nbytes;
	return 0;
}

int
store_sync(struct store *store, struct error *error)
{
	/* The system tells it once; what was lost is not written later. */
	if (store->unsafe == 0 && store->fd >= 0 && fdatasync(store->fd) < 0)
		store->unsafe = errno;
	return store->unsafe == 0 ? 0 :
	    error_system(error, store->unsafe, store->path);
}

/* At least PAGE_BYTES; on some machines 16 or 64 KiB, and mmap(2) wants it. */
static size_t
system_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *
cannot_map(const char *path, uint64_t nbytes, int errnum, struct error *error)
{
	error_set(error, STATUS_FAILED, "%s%scannot map %" PRIu64
	    " bytes of memory: %s", path == NULL ? "" : path,
	    path == NULL ? "" : ": ", nbytes, strerror(errnum));
	return NULL;
}

void *
store_map(struct store *store, uint64_t offset, uint64_t nbytes,
    struct error *error)
{
	int protection = PROT_READ | (store->writable ? PROT_WRITE : 0);
	size_t before;
	uint8_t *base;

	if (nbytes > SIZE_MAX / 2)
		return cannot_map(store->path, nbytes, ENOMEM, error);
	before = (size_t)(offset % system_page());
	base = mmap(NULL, (size_t)nbytes + before, protection, MAP_SHARED,
	    store->fd, (off_t)(offset - before));
	if (base == MAP_FAILED)
		return cannot_map(store->path, nbytes, errno, error);
	/* Keys are anywhere: reading ahead would be for nothing. */
	madvise(base, (size_t)nbytes + before, MADV_RANDOM);
	base += before;
	signals_bus_range(base, (size_t)nbytes, store->path);
	return base;
}

void *
store_map_memory(uint64_t nbytes, int sparse, struct error *error)
{
	const size_t huge = STORE_HUGE_BYTES;
	size_t wanted, head;
	uint8_t *base;

	if (nbytes > SIZE_MAX / 2)
		return cannot_map(NULL, nbytes, ENOMEM, error);
	wanted = ((size_t)nbytes + system_page() - 1) / system_page() *
	    system_page();
	base = mmap(NULL, wanted + huge, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | (sparse ? MAP_NORESERVE : 0), -1, 0);
	if (base == MAP_FAILED)
		return cannot_map(NULL, nbytes, errno, error);
	/* Cut off what is too much at both ends. */
	head = (huge - (uintptr_t)base % huge) % huge;
	if (head > 0)
		munmap(base, head);
	munmap(base + head + wanted, huge - head);
	return base + head;
}

int
store_is_cached(const void *place)
{
	uint8_t *page = (uint8_t *)(uintptr_t)place;
	unsigned char resident = 1;

	mincore(page - (uintptr_t)page % system_page(), 1, &resident);
	return resident & 1;
}

void
store_unmap(void *base, uint64_t nbytes)
{
	size_t before;

	if (base == NULL)
		return;
	signals_bus_forget(base);
	before = (uintptr_t)base % system_page();
	munmap((uint8_t *)base - before, (size_t)nbytes + before);
}
