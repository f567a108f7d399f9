/*
 * Linux. /proc and /sys may be missing, in containers and early at boot, and
 * kernels may be older than the headers that this was compiled with: each
 * function says what it does then.
 */
#define _GNU_SOURCE /* leases, holes, O_TMPFILE, pipe2, sched_getaffinity */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* f_type of statfs(2), from <linux/magic.h> */
#define NFS_MAGIC 0x6969
/* f_type of other file systems whose files other hosts may change */
static const uint32_t network_types[] = {
	0x517b,     /* SMB */
	0xff534d42, /* CIFS */
	0xfe534d42, /* SMB 2 */
	0x01021997, /* 9P */
	0x65735546, /* FUSE */
	0x00c36400, /* Ceph */
	0x5346414f, /* AFS */
	0x6b414653, /* AFS, the kernel's own */
	0x73757245  /* Coda */
};

#define CGROUP_ROOT "/sys/fs/cgroup"
/* The longest name of a directory that is looked at below it. */
#define DIRECTORY_BYTES 5000

/* --- descriptors */

struct os_name
os_name(int fd)
{
	struct os_name name;

	snprintf(name.text, sizeof name.text, "/proc/self/fd/%d", fd);
	return name;
}

int
os_reopen(int fd, int flags)
{
	return open(os_name(fd).text, flags | O_CLOEXEC | O_NOCTTY);
}

int
os_pipe(int ends[2], int flags)
{
	return pipe2(ends, flags | O_CLOEXEC);
}

void
os_widen_pipe(int fd)
{
	fcntl(fd, F_SETPIPE_SZ, 1024 * 1024);
}

int
os_socket(int family, int type, int protocol)
{
	return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

void
os_keep_alive(int fd, int idle, int interval, int count)
{
	const int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
	    sizeof interval);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* --- files */

int
os_open_nameless(const char *directory, mode_t mode)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);

	/*
	 * A file whose name is not in /proc could not be linked by os_link
	 * later.
	 */
	if (fd >= 0 && access(os_name(fd).text, F_OK) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int
os_link(int fd, const char *path)
{
	return linkat(AT_FDCWD, os_name(fd).text, AT_FDCWD, path,
	    AT_SYMLINK_FOLLOW);
}

/* renameat2(2), which not every C library has, with RENAME_NOREPLACE. */
int
os_rename_to_new(const char *name, const char *path)
{
#ifdef SYS_renameat2
	return (int)syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, path, 1);
#else
	(void)name;
	(void)path;
	errno = ENOSYS;
	return -1;
#endif
}

uint64_t
os_changed(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 +
	    (uint64_t)st->st_mtim.tv_nsec;
}

int
os_has_acl(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

int
os_allocate(int fd, uint64_t offset, uint64_t nbytes)
{
	return posix_fallocate(fd, (off_t)offset, (off_t)nbytes);
}

int
os_punch(int fd, uint64_t offset, uint64_t nbytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	    (off_t)offset, (off_t)nbytes);
}

int
os_may_have_data(int fd, uint64_t offset, uint64_t nbytes)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno != ENXIO; /* ENXIO: none up to the end */
	return (uint64_t)data < offset + nbytes;
}

int
os_sync(int fd)
{
	return fdatasync(fd);
}

void
os_will_read(int fd, uint64_t offset, uint64_t nbytes)
{
	posix_fadvise(fd, (off_t)offset, (off_t)nbytes, POSIX_FADV_WILLNEED);
}

void
os_will_read_on(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

enum os_file_system
os_file_system(int fd)
{
	const size_t count = sizeof network_types / sizeof *network_types;
	struct statfs fs;
	uint32_t type;

	if (fstatfs(fd, &fs) < 0)
		return OS_UNKNOWN;
	type = (uint32_t)fs.f_type; /* signed in some C libraries */
	if (type == NFS_MAGIC)
		return OS_NFS;
	for (size_t i = 0; i < count; i++) {
		if (type == network_types[i])
			return OS_REMOTE;
	}
	return OS_LOCAL;
}

/* --- locks */

int
os_lock_opened(int fd, struct flock *range)
{
	return fcntl(fd, F_OFD_SETLK, range);
}

pid_t
os_lock_holder(const struct stat *st)
{
	char line[256];
	pid_t holder = 0;
	FILE *locks = fopen("/proc/locks", "re");

	if (locks == NULL)
		return 0;
	/* "1: FLOCK  ADVISORY  WRITE 1234 fd:00:5678 0 EOF", proc(5) */
	while (holder == 0 && fgets(line, sizeof line, locks) != NULL) {
		unsigned major_number, minor_number;
		unsigned long inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid,
		    &major_number, &minor_number, &inode) == 4 && pid > 0 &&
		    inode == st->st_ino && major_number == major(st->st_dev) &&
		    minor_number == minor(st->st_dev))
			holder = pid;
	}
	fclose(locks);
	return holder;
}

void
os_command(pid_t process, char *name, size_t nbytes)
{
	char path[40];
	FILE *command;

	name[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/comm", (int)process);
	command = fopen(path, "re");
	if (command == NULL)
		return;
	if (fgets(name, (int)nbytes, command) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(command);
}

static enum os_lease
take_lease(int fd, int type)
{
	/* The kernel sends it to us when another program opens the file. */
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, type) == 0)
		return OS_LEASE_GIVEN;
	return errno == EAGAIN ? OS_LEASE_REFUSED : OS_LEASE_UNKNOWN;
}

/* A write lease is given only if nobody else has the file open. */
enum os_lease
os_keep_others_out(int fd)
{
	return take_lease(fd, F_WRLCK);
}

enum os_lease
os_keep_writers_out(int fd)
{
	return take_lease(fd, F_RDLCK);
}

void
os_let_in(int fd)
{
	fcntl(fd, F_SETLEASE, F_UNLCK);
}

/* --- hints about pages */

/* What a C library lacks is an advice that the kernel does not know, either. */
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE (-1)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE (-1)
#endif

void
os_prefer_huge_pages(void *base, size_t nbytes)
{
	madvise(base, nbytes, MADV_HUGEPAGE);
}

void
os_map_at_once(void *base, size_t nbytes)
{
	madvise(base, nbytes, MADV_POPULATE_WRITE);
}

/* --- random bytes */

/* Reads random bytes on kernels before 3.17, which have no getrandom(2). */
static int
read_random(void *data, size_t nbytes, struct error *error)
{
	const char *path = "/dev/urandom";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = 0;

	if (fd < 0)
		return error_system(error, errno, path);
	do {
		n = read(fd, data, nbytes);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		error_system(error, errno, path);
	else if (n != (ssize_t)nbytes) /* never short up to 256 bytes */
		error_set(error, STATUS_FAILED, "%s: not enough bytes", path);
	close(fd);
	return n == (ssize_t)nbytes ? 0 : -1;
}

int
os_random(void *data, size_t nbytes, struct error *error)
{
	ssize_t n;

	do {
		n = getrandom(data, nbytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == ENOSYS)
		return read_random(data, nbytes, error);
	if (n != (ssize_t)nbytes) /* never short up to 256 bytes */
		return error_system(error, errno, "getrandom");
	return 0;
}

/* --- limits: control groups, memory, processors */

/* Called for one group: `directory` has its files, which hold limits. */
typedef void group_visit(void *context, const char *directory, int version);

/* Is the word in a list with commas? */
static int
has_word(const char *list, const char *word)
{
	const size_t nbytes = strlen(word);

	for (; *list != '\0'; list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (n == nbytes && memcmp(list, word, n) == 0)
			return 1;
		list += n;
	}
	return 0;
}

/* A line of /proc/self/cgroup: "0::/path", or "5:cpu,cpuacct:/path". */
static void
visit_line(char *line, const char *controller, group_visit *visit,
    void *context)
{
	char directory[DIRECTORY_BYTES] = CGROUP_ROOT;
	char *list = strchr(line, ':'), *path;
	size_t root_bytes;
	int version;

	path = list == NULL ? NULL : strchr(list + 1, ':');
	if (path == NULL)
		return;
	*list++ = *path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	version = *list == '\0' ? 2 : 1;
	if (version == 1 && !has_word(list, controller))
		return;
	if (version == 1)
		snprintf(directory, sizeof directory, CGROUP_ROOT "/%s",
		    controller);
	root_bytes = strlen(directory);
	snprintf(directory + root_bytes, sizeof directory - root_bytes, "%s",
	    path);
	for (;;) {
		visit(context, directory, version);
		if (strlen(directory) <= root_bytes)
			return;
		*strrchr(directory, '/') = '\0';
	}
}

/*
 * Visit each group that limits the process, up to the root: those of version 2,
 * and those of version 1 that have the controller of this name.
 */
static void
visit_groups(const char *controller, group_visit *visit, void *context)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char *line = NULL;
	size_t room = 0;

	if (file == NULL)
		return;
	while (getline(&line, &room, file) > 0)
		visit_line(line, controller, visit, context);
	free(line);
	fclose(file);
}

/*
 * Read a group's file as text, at most nbytes - 1 of it. Returns 0, or -1 if it
 * cannot be read.
 */
static int
read_group_file(const char *directory, const char *name, char *text,
    size_t nbytes)
{
	char path[DIRECTORY_BYTES + 100];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do {
		n = read(fd, text, nbytes - 1);
	} while (n < 0 && errno == EINTR);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return 0;
}

/* The number that a group's file holds; UINT64_MAX for "max". */
static int
read_number(const char *directory, const char *name, uint64_t *number)
{
	char text[50];

	if (read_group_file(directory, name, text, sizeof text) < 0)
		return 0;
	*number = UINT64_MAX;
	return sscanf(text, "%" SCNu64, number) != EOF;
}

/* A row of a group's memory.stat; 0 if there is none. */
static uint64_t
read_row(const char *directory, const char *row)
{
	const size_t room = 16384;
	char *text = memory_or_die(calloc(1, room));
	const char *line = text;
	size_t n = strlen(row);
	uint64_t number = 0;

	read_group_file(directory, "memory.stat", text, room);
	for (; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, row, n) == 0 && line[n] == ' ' &&
		    sscanf(line + n, "%" SCNu64, &number) == 1)
			break;
	}
	free(text);
	return number;
}

/* Lowers *context to what the group has left, if that is less. */
static void
look_at_memory(void *context, const char *directory, int version)
{
	static const struct files {
		const char *limit, *used, *inactive;
	} of_version[] = {
		{ "memory.limit_in_bytes", "memory.usage_in_bytes",
		    "total_inactive_file" },
		{ "memory.max", "memory.current", "inactive_file" }
	};
	const struct files *files = &of_version[version - 1];
	uint64_t *left = context, limit, used, inactive;

	if (!read_number(directory, files->limit, &limit) ||
	    limit == UINT64_MAX || !read_number(directory, files->used, &used))
		return;
	/*
	 * The kernel takes away unused page cache first, so it counts as free.
	 */
	inactive = read_row(directory, files->inactive);
	used -= inactive < used ? inactive : used;
	used = used < limit ? limit - used : 0;
	*left = used < *left ? used : *left;
}

uint64_t
os_memory_available(void)
{
	uint64_t available = (uint64_t)sysconf(_SC_PHYS_PAGES) *
	    (uint64_t)sysconf(_SC_PAGESIZE), kibibytes;
	char line[4096];
	FILE *file = fopen("/proc/meminfo", "re");

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1)
			available = kibibytes * 1024;
	}
	if (file != NULL)
		fclose(file);
	visit_groups("memory", look_at_memory, &available);
	return available;
}

/* Without a limit, which is "max" or negative, there are no two numbers. */
static void
take_share(unsigned *most, const char *text)
{
	uint64_t quota, period;

	if (text[0] == '-' || sscanf(text, "%" SCNu64 "%" SCNu64, &quota,
	    &period) != 2 || period == 0)
		return;
	quota = quota / period + (quota % period > 0);
	if (quota > 0 && quota < *most)
		*most = (unsigned)quota;
}

static void
look_at_processors(void *context, const char *directory, int version)
{
	char quota[50], period[50], text[102];

	if (version == 2) {
		if (read_group_file(directory, "cpu.max", text,
		    sizeof text) == 0)
			take_share(context, text);
		return;
	}
	if (read_group_file(directory, "cpu.cfs_quota_us", quota,
	    sizeof quota) < 0 || read_group_file(directory, "cpu.cfs_period_us",
	    period, sizeof period) < 0)
		return;
	snprintf(text, sizeof text, "%s %s", quota, period);
	take_share(context, text);
}

unsigned
os_processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = online > 0 ? (unsigned)online : 1;
	cpu_set_t set;

	/* It fails where there are more than the set has room for. */
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		count = (unsigned)CPU_COUNT(&set);
	visit_groups("cpu", look_at_processors, &count);
	return count > 0 ? count : 1;
}
