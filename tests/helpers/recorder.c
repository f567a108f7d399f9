/*
 * Records what a command does to the files of some directories, call by call,
 * so that a power failure at any moment can be replayed
 * (tests/durability/power.py). Not installed.
 *
 *   recorder TRACE DIRECTORY... -- COMMAND...
 *
 * The command runs under ptrace(2), with all of its threads and children. It
 * is stopped before and after each system call, and then the directories and
 * their files are compared with what they were: so changes through a shared
 * mapping are seen too, as those of the next call. That is left out after a
 * call that changes no file, and before it, too, in a program that can have no
 * such mapping: most calls are a loader's. A process that a signal stops stays
 * stopped until SIGCONT, and whatever was done before is in the trace then.
 * Exits as the command does.
 *
 * The trace has a line for each event, in order; numbers are decimal. What
 * changed between two stops has the same moment, the first number.
 *
 *   name MOMENT DIRECTORY NAME OBJECT NAME is now the file OBJECT, -1: gone
 *   length MOMENT OBJECT BYTES
 *   data MOMENT OBJECT OFFSET BYTES   the new bytes follow this line, and a
 *                                     newline; offset and number are multiples
 *                                     of 512, behind the file's end is zero
 *   sync MOMENT OBJECT                what OBJECT was at MOMENT is on the disk
 *   directory MOMENT DIRECTORY        the same for the names of a directory
 *   all MOMENT                        and for everything
 *
 * DIRECTORY is its number on the command line, from 0. A file that has no name
 * any more is not followed; one that has none yet (O_TMPFILE) is.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTOR = 512, NAMES_MAX = 256, NAMELESS_MAX = 256,
	DIRECTORIES_MAX = 4, THREADS_MAX = 64, NAME_BYTES = 256 };

struct object {
	int number;
	dev_t device;
	ino_t inode;
	uint8_t *data;        /* of whole sectors */
	size_t length, room;
};

struct name {
	int directory;
	char text[NAME_BYTES];
	struct object *object;
	int found;            /* by this look */
};

/* A file that was opened without a name; it may get one. */
struct nameless {
	int fd;               /* our own, so that it stays */
	struct object *object;
};

/* A thread that is in the middle of a call. */
struct thread {
	pid_t id;
	int may_map;          /* and so change files between calls */
	int harmless;         /* the call changes none */
	char kind;            /* of sync: s, f, a; opens a file without a
	                         name: t; 0: another call */
	int target;           /* object or directory */
	unsigned long moment; /* when it began */
};

static FILE *trace;
static char **directories;
static int directory_count;
static struct name names[NAMES_MAX];
static int name_count, object_count;
static struct nameless nameless[NAMELESS_MAX];
static int nameless_count;
static struct thread threads[THREADS_MAX];
static unsigned long moment;

static void
die(const char *what)
{
	fprintf(stderr, "recorder: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* --- looking at files */

static int
is_object(const struct object *object, const struct stat *st)
{
	return object != NULL && object->device == st->st_dev &&
	    object->inode == st->st_ino;
}

static struct object *
find_object(const struct stat *st)
{
	for (int i = 0; i < nameless_count; i++) {
		if (is_object(nameless[i].object, st))
			return nameless[i].object;
	}
	for (int i = 0; i < name_count; i++) {
		struct object *object = names[i].object;

		if (is_object(object, st))
			return object;
	}
	return NULL;
}

static struct object *
new_object(const struct stat *st)
{
	struct object *object = calloc(1, sizeof *object);

	if (object == NULL)
		die("memory");
	object->number = object_count++;
	object->device = st->st_dev;
	object->inode = st->st_ino;
	return object;
}

static size_t
whole_sectors(size_t nbytes)
{
	return (nbytes + SECTOR - 1) / SECTOR * SECTOR;
}

static void
make_room(struct object *object, size_t nbytes)
{
	if (nbytes <= object->room)
		return;
	object->data = realloc(object->data, nbytes);
	if (object->data == NULL)
		die("memory");
	memset(object->data + object->room, 0, nbytes - object->room);
	object->room = nbytes;
}

/*
 * What the open file `fd`, or an empty one if it is -1, is now, as whole
 * sectors; *length is its own.
 */
static uint8_t *
read_file(int fd, size_t *length, size_t *room)
{
	static uint8_t *data;
	static size_t most;
	ssize_t n;

	*length = 0;
	while (fd >= 0) {
		if (most - *length < 1 << 20) {
			most = most * 2 + (1 << 20);
			data = realloc(data, most);
			if (data == NULL)
				die("memory");
		}
		n = read(fd, data + *length, most - *length - SECTOR);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*length += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	*room = whole_sectors(*length);
	if (data != NULL)
		memset(data + *length, 0, *room - *length);
	return data;
}

static void
look_at_data(struct object *object, const char *path)
{
	size_t length, room, end;
	uint8_t *data;
	/* An open file is behind a link in /proc. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    (strncmp(path, "/proc/", 6) == 0 ? 0 : O_NOFOLLOW));

	/* Its lease keeps us out: the next look that can will see it. */
	if (fd < 0 && errno == EWOULDBLOCK)
		return;
	data = read_file(fd, &length, &room);
	if (length != object->length) {
		fprintf(trace, "length %lu %d %zu\n", moment, object->number,
		    length);
		/* what was cut off is zero if it comes back */
		if (room < object->room)
			memset(object->data + room, 0, object->room - room);
		object->length = length;
	}
	make_room(object, room);
	for (size_t at = 0; at < room; at = end) {
		end = at + SECTOR;
		if (memcmp(data + at, object->data + at, SECTOR) == 0)
			continue;
		while (end < room &&
		    memcmp(data + end, object->data + end, SECTOR) != 0)
			end += SECTOR;
		fprintf(trace, "data %lu %d %zu %zu\n", moment, object->number,
		    at, end - at);
		fwrite(data + at, 1, end - at, trace);
		fputc('\n', trace);
		memcpy(object->data + at, data + at, end - at);
	}
}

static struct name *
find_name(int directory, const char *text)
{
	for (int i = 0; i < name_count; i++) {
		if (names[i].directory == directory &&
		    strcmp(names[i].text, text) == 0)
			return &names[i];
	}
	if (name_count == NAMES_MAX || strlen(text) >= NAME_BYTES) {
		errno = E2BIG;
		die(text);
	}
	names[name_count].directory = directory;
	strcpy(names[name_count].text, text);
	return &names[name_count++];
}

static void
look_at_name(int directory, const char *text, const char *path)
{
	struct name *name;
	struct object *object;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	object = find_object(&st);
	name = find_name(directory, text);
	name->found = 1;
	if (object == NULL || object != name->object) {
		object = object != NULL ? object : new_object(&st);
		fprintf(trace, "name %lu %d %s %d\n", moment, directory, text,
		    object->number);
		name->object = object;
	}
	look_at_data(object, path);
}

static void
look_at_directory(int directory)
{
	char path[4096 + NAME_BYTES];
	DIR *dir = opendir(directories[directory]);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof path, "%s/%s", directories[directory],
		    entry->d_name);
		look_at_name(directory, entry->d_name, path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Write what has changed. */
static void
look(void)
{
	moment++;
	for (int i = 0; i < name_count; i++)
		names[i].found = 0;
	for (int i = 0; i < nameless_count; i++) {
		char path[64];

		snprintf(path, sizeof path, "/proc/self/fd/%d",
		    nameless[i].fd);
		look_at_data(nameless[i].object, path);
	}
	for (int i = 0; i < directory_count; i++)
		look_at_directory(i);
	for (int i = 0; i < name_count; i++) {
		if (names[i].object == NULL || names[i].found)
			continue;
		fprintf(trace, "name %lu %d %s -1\n", moment,
		    names[i].directory, names[i].text);
		names[i].object = NULL;
	}
}

/* --- the command's calls */

/*
 * What ptrace(2) tells about a stop, PTRACE_GET_SYSCALL_INFO: of the words,
 * the first byte says before (1) or after (2); before, the fourth is the
 * call's number, and its arguments follow; after, the fourth is the result.
 */
enum { GET_SYSCALL_INFO = 0x420e, WORDS = 11, BEFORE = 1, AFTER = 2 };

static struct thread *
find_thread(pid_t id)
{
	struct thread *free_one = NULL;

	for (int i = 0; i < THREADS_MAX; i++) {
		if (threads[i].id == id)
			return &threads[i];
		if (threads[i].id == 0 && free_one == NULL)
			free_one = &threads[i];
	}
	if (free_one == NULL) {
		errno = E2BIG;
		die("threads");
	}
	*free_one = (struct thread){ .id = id, .may_map = 1 };
	return free_one;
}

/* Which file or directory does this descriptor of the thread stand for? */
static void
find_target(struct thread *thread, int fd)
{
	char path[64];
	struct stat st, directory;
	struct object *object;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread->id, fd);
	if (stat(path, &st) < 0)
		return;
	for (int i = 0; i < directory_count; i++) {
		if (stat(directories[i], &directory) == 0 &&
		    directory.st_dev == st.st_dev &&
		    directory.st_ino == st.st_ino) {
			thread->kind = 'f';
			thread->target = i;
		}
	}
	object = find_object(&st);
	if (object != NULL) {
		thread->kind = 's';
		thread->target = object->number;
	}
}

/* The thread has opened a file without a name: follow it. */
static void
follow_nameless(const struct thread *thread, int fd)
{
	char path[64];
	struct stat st;
	struct nameless *next = &nameless[nameless_count];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread->id, fd);
	if (nameless_count == NAMELESS_MAX) {
		errno = E2BIG;
		die("files without a name");
	}
	next->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (next->fd < 0 || fstat(next->fd, &st) < 0)
		die(path);
	next->object = new_object(&st);
	nameless_count++;
}

/* Does this call change no file? */
static int
is_harmless(const uint64_t *info)
{
	static const uint64_t harmless[] = { SYS_brk, SYS_clone, SYS_close,
		SYS_dup3, SYS_execve, SYS_exit_group, SYS_fcntl, SYS_futex,
		SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid,
		SYS_getgid, SYS_getpid, SYS_getppid, SYS_getrandom, SYS_gettid,
		SYS_getuid, SYS_kill, SYS_lseek, SYS_mprotect, SYS_mremap,
		SYS_munmap, SYS_nanosleep, SYS_pipe2, SYS_ppoll, SYS_pread64,
		SYS_prlimit64, SYS_pselect6, SYS_read, SYS_readlinkat,
		SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
		SYS_set_robust_list, SYS_set_tid_address, SYS_sigaltstack,
		SYS_sysinfo, SYS_uname, SYS_wait4,
		/* not on all machines */
#ifdef SYS_access
		SYS_access,
#endif
#ifdef SYS_arch_prctl
		SYS_arch_prctl,
#endif
#ifdef SYS_clock_nanosleep
		SYS_clock_nanosleep,
#endif
#ifdef SYS_dup2
		SYS_dup2,
#endif
#ifdef SYS_fstat
		SYS_fstat,
#endif
#ifdef SYS_mmap
		SYS_mmap,
#endif
#ifdef SYS_newfstatat
		SYS_newfstatat,
#endif
#ifdef SYS_poll
		SYS_poll,
#endif
#ifdef SYS_readlink
		SYS_readlink,
#endif
#ifdef SYS_rseq
		SYS_rseq,
#endif
#ifdef SYS_vfork
		SYS_vfork,
#endif
	};

	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
		if (info[3] == harmless[i])
			return 1;
	}
	return info[3] == SYS_openat &&
	    (info[6] & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
}

static void
before_call(struct thread *thread, const uint64_t *info)
{
	thread->kind = 0;
	thread->moment = moment;
	switch (info[3]) {
	case SYS_openat:
		/* no other file can be mapped to be written to */
		if ((info[6] & O_ACCMODE) == O_RDWR)
			thread->may_map = 1;
		if ((info[6] & O_TMPFILE) == O_TMPFILE)
			thread->kind = 't';
		break;
	case SYS_fsync:
	case SYS_fdatasync:
		find_target(thread, (int)info[4]);
		break;
	case SYS_sync:
	case SYS_syncfs:
		thread->kind = 'a';
		break;
	default:
		break;
	}
}

static void
after_call(struct thread *thread, int64_t result)
{
	if (result < 0)
		return;
	if (thread->kind == 's')
		fprintf(trace, "sync %lu %d\n", thread->moment,
		    thread->target);
	else if (thread->kind == 'f')
		fprintf(trace, "directory %lu %d\n", thread->moment,
		    thread->target);
	else if (thread->kind == 't')
		follow_nameless(thread, (int)result);
	else if (thread->kind == 'a')
		fprintf(trace, "all %lu\n", thread->moment);
	thread->kind = 0;
}

/* musl opens a file by open(2), glibc by openat(2): tell the latter alone. */
static void
turn_open_into_openat(uint64_t *info)
{
#ifdef SYS_open
	if (info[3] != SYS_open)
		return;
	info[3] = SYS_openat;
	memmove(&info[5], &info[4], 3 * sizeof *info);
	info[4] = (uint64_t)AT_FDCWD;
#else
	(void)info;
#endif
}

/*
 * Built for i386, the recorder traces programs of x86-64, too, such as the
 * shell: gives the calls that matter the numbers that they have here, and all
 * others one that none has, so that they may change files.
 */
static void
translate_call(uint64_t *info)
{
#ifdef __i386__
	/* the upper half of the first word: linux/audit.h */
	enum { X86_64 = 62 };
	static const struct {
		uint64_t theirs, ours;
	} calls[] = { { 74, SYS_fsync }, { 75, SYS_fdatasync },
		{ 162, SYS_sync }, { 257, SYS_openat }, { 306, SYS_syncfs } };
	uint64_t number = UINT64_MAX;

	if ((info[0] >> 32 & 0xffff) != X86_64)
		return;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (info[3] == calls[i].theirs)
			number = calls[i].ours;
	}
	info[3] = number;
#else
	(void)info;
#endif
}

static void
at_call(struct thread *thread)
{
	uint64_t info[WORDS] = { 0 };

	if (syscall(SYS_ptrace, GET_SYSCALL_INFO, thread->id, sizeof info,
	    info) < 0)
		return;
	if ((info[0] & 0xff) == BEFORE) {
		translate_call(info);
		turn_open_into_openat(info);
		thread->harmless = is_harmless(info);
		if (!thread->harmless || thread->may_map)
			look();
		before_call(thread, info);
	} else if ((info[0] & 0xff) == AFTER) {
		if (!thread->harmless)
			look();
		after_call(thread, (int64_t)info[3]);
	}
}

static int
exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}

/* Deal with a stop; returns the signal that the thread gets. */
static int
at_stop(struct thread *thread, int status)
{
	int number = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_EXEC)
		thread->may_map = 0;
	else if (status >> 16 == PTRACE_EVENT_CLONE)
		thread->may_map = 1; /* both threads */
	if (number == (SIGTRAP | 0x80)) {
		at_call(thread);
		return 0;
	}
	return status >> 16 != 0 ? 0 : number;
}

/* Has a signal stopped the process? (A new one begins with SIGTRAP.) */
static int
is_stopped(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP &&
	    WSTOPSIG(status) != SIGTRAP;
}

/* Let the thread go on, or, if a signal has stopped it, stay as it is. */
static void
let_go(const struct thread *thread, int status, int number)
{
	fflush(trace);
	/* ESRCH: it was killed meanwhile */
	if ((is_stopped(status) ?
	    ptrace(PTRACE_LISTEN, thread->id, NULL, NULL) :
	    ptrace(PTRACE_SYSCALL, thread->id, NULL, number)) < 0 &&
	    errno != ESRCH)
		die("ptrace");
}

/* Let them all run from stop to stop, until the first one has ended. */
static int
follow(pid_t first)
{
	int status, number, result = -1;
	pid_t id;

	while ((id = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *thread = find_thread(id);

		if (!WIFSTOPPED(status)) {
			if (id == first)
				result = exit_status(status);
			thread->id = 0;
			continue;
		}
		number = at_stop(thread, status);
		let_go(thread, status, number);
	}
	return result;
}

int
main(int argc, char **argv)
{
	int status, begin[2];
	char byte;
	pid_t pid;

	directories = argv + 2;
	while (2 + directory_count < argc &&
	    strcmp(directories[directory_count], "--") != 0)
		directory_count++;
	if (3 + directory_count >= argc || directory_count > DIRECTORIES_MAX) {
		fputs("usage: recorder TRACE DIRECTORY... -- COMMAND...\n",
		    stderr);
		return 125;
	}
	trace = fopen(argv[1], "we");
	if (trace == NULL)
		die(argv[1]);
	look();
	if (pipe2(begin, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		if (read(begin[0], &byte, 1) != 1)
			_exit(125);
		execvp(directories[directory_count + 1],
		    directories + directory_count + 1);
		_exit(127);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD |
	    PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
	    PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL) < 0)
		die("ptrace");
	/* its calls are seen from execve on */
	if (write(begin[1], "", 1) != 1)
		die("pipe");
	status = follow(pid);
	if (fclose(trace) != 0)
		die(argv[1]);
	return status;
}
