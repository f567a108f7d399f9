/*
 * Load for a server that speaks memcached's protocol, bloomdedup or another:
 *
 *     load ADDRESS REQUEST PREFIX FIRST COUNT CONNECTIONS DEPTH
 *
 * ADDRESS is HOST:PORT (numbers) or unix:PATH; REQUEST is set, get or add, or
 * multi: a get of DEPTH keys; or, with leases of an hour, lease (an add), touch
 * or delete. The keys are PREFIX and 50 bytes, which a number
 * from FIRST on decides; a % in PREFIX becomes that number modulo 100. Each
 * connection sends DEPTH requests, waits for all of their replies, and sends
 * the next ones, until COUNT are answered in all. Prints
 *
 *     requests a second, microseconds of the median, of the 99th percentile and
 *     of the longest time from sending to the last reply, and how many were
 *     answered with STORED, TOUCHED, DELETED or a VALUE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define KEY_BYTES 50
#define REQUEST_MAX 256
#define REPLY_BYTES 65536
#define TIMES_MAX 4000000

struct connection {
	int fd;
	char *requests;
	size_t request_bytes, sent;
	size_t waiting;     /* replies */
	char last[8];       /* bytes of an unfinished line of them */
	size_t last_bytes;
	double begun;
};

static const char *request, *prefix;
static int multi;
static uint64_t next_key, left;
static size_t depth;
static uint64_t positive;
static float *times;
static size_t time_count;

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
connect_to(const char *address)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in inet = { .sin_family = AF_INET };
	const char *colon = strrchr(address, ':');
	const int on = 1;
	char host[64];
	int fd;

	if (strncmp(address, "unix:", 5) == 0) {
		snprintf(local.sun_path, sizeof local.sun_path, "%s",
		    address + 5);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&local, sizeof local) < 0)
			die(address);
		return fd;
	}
	snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
	inet.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &inet.sin_addr) != 1)
		die(address);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&inet, sizeof inet) < 0)
		die(address);
	return fd;
}

static char *
put(char *to, const char *text)
{
	size_t n = strlen(text);

	memcpy(to, text, n);
	return to + n;
}

static char *
put_key(char *to, uint64_t key)
{
	static const char rest[] =
	    "/a-path-as-it-is-found-in-a-crawl-";

	*to++ = ' ';
	for (const char *p = prefix; *p != '\0'; p++) {
		if (*p == '%')
			to += sprintf(to, "%u", (unsigned)(key % 100));
		else
			*to++ = *p;
	}
	for (int i = 0; i < 16; i++, key >>= 4)
		*to++ = "0123456789abcdef"[key & 15];
	memcpy(to, rest, KEY_BYTES - 16);
	return to + KEY_BYTES - 16;
}

/* What follows the key. */
static const char *
rest_of_request(void)
{
	if (strcmp(request, "lease") == 0)
		return " 0 3600 1\r\nx\r\n";
	if (strcmp(request, "touch") == 0)
		return " 3600\r\n";
	if (strcmp(request, "get") == 0 || strcmp(request, "delete") == 0)
		return "\r\n";
	return " 0 0 1\r\nx\r\n";
}

static char *
put_request(char *to, uint64_t key)
{
	const char *verb = strcmp(request, "lease") == 0 ? "add" : request;

	return put(put_key(put(to, verb), key), rest_of_request());
}

static void
begin(struct connection *c)
{
	char *to = c->requests;
	size_t n = left < depth ? (size_t)left : depth;

	if (multi)
		to = put(to, "get");
	for (size_t i = 0; i < n; i++)
		to = multi ? put_key(to, next_key++) :
		    put_request(to, next_key++);
	if (multi)
		to = put(to, "\r\n");
	left -= n;
	c->waiting = multi ? 1 : n;
	c->request_bytes = (size_t)(to - c->requests);
	c->sent = 0;
	c->begun = now();
}

static void
send_some(struct connection *c)
{
	ssize_t n;

	if (c->sent == c->request_bytes)
		return;
	n = send(c->fd, c->requests + c->sent, c->request_bytes - c->sent,
	    MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		c->sent += (size_t)n;
	else if (errno != EAGAIN)
		die("send");
}

/* A line of a reply begins with this byte; replies end with these lines. */
static void
count_line(struct connection *c, const char *line)
{
	switch (line[0]) {
	case 'V': /* VALUE, and 1 in the next line */
		positive++;
		break;
	case 'S':
		positive += line[1] == 'T';
		c->waiting--;
		if (line[1] != 'T') {
			fprintf(stderr, "load: %.60s\n", line);
			exit(1);
		}
		break;
	case 'D':
	case 'T':
		positive++;
		c->waiting--;
		break;
	case 'E':
	case 'N':
		c->waiting--;
		break;
	}
}

static void
receive(struct connection *c)
{
	static char data[REPLY_BYTES + 8];
	char *start = data, *end;
	ssize_t n;

	memcpy(data, c->last, c->last_bytes);
	n = recv(c->fd, data + c->last_bytes, REPLY_BYTES, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		die("recv");
	n += (ssize_t)c->last_bytes;
	while ((end = memchr(start, '\n', (size_t)(data + n - start))) !=
	    NULL) {
		count_line(c, start);
		start = end + 1;
	}
	/* the beginning of a line says it all */
	c->last_bytes = (size_t)(data + n - start);
	if (c->last_bytes > sizeof c->last)
		c->last_bytes = sizeof c->last;
	memcpy(c->last, start, c->last_bytes);
	if (c->waiting > 0)
		return;
	if (time_count < TIMES_MAX)
		times[time_count++] = (float)((now() - c->begun) * 1e6);
	if (left > 0)
		begin(c);
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	struct connection *connections;
	struct pollfd *fds;
	size_t count;
	uint64_t total;
	double start, seconds;

	if (argc != 8) {
		fprintf(stderr, "usage: load ADDRESS REQUEST PREFIX FIRST"
		    " COUNT CONNECTIONS DEPTH\n");
		return 2;
	}
	request = argv[2];
	multi = strcmp(request, "multi") == 0;
	prefix = argv[3];
	next_key = strtoull(argv[4], NULL, 10);
	total = left = strtoull(argv[5], NULL, 10);
	count = strtoull(argv[6], NULL, 10);
	depth = strtoull(argv[7], NULL, 10);
	connections = calloc(count, sizeof *connections);
	fds = calloc(count, sizeof *fds);
	times = malloc(TIMES_MAX * sizeof *times);
	if (connections == NULL || fds == NULL || times == NULL)
		die("memory");
	for (size_t i = 0; i < count; i++) {
		connections[i].fd = connect_to(argv[1]);
		connections[i].requests = malloc(depth * REQUEST_MAX);
		fds[i].fd = connections[i].fd;
	}
	start = now();
	for (size_t i = 0; i < count; i++)
		begin(&connections[i]);
	for (;;) {
		size_t busy = 0;

		for (size_t i = 0; i < count; i++) {
			struct connection *c = &connections[i];

			send_some(c);
			busy += c->waiting > 0;
			fds[i].events = c->waiting == 0 ? 0 :
			    c->sent < c->request_bytes ? POLLIN | POLLOUT :
			    POLLIN;
		}
		if (busy == 0)
			break;
		if (poll(fds, count, -1) < 0)
			die("poll");
		for (size_t i = 0; i < count; i++) {
			if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
				receive(&connections[i]);
		}
	}
	seconds = now() - start;
	qsort(times, time_count, sizeof *times, compare);
	printf("%.0f %.0f %.0f %.0f %llu\n", (double)total / seconds,
	    (double)times[time_count / 2],
	    (double)times[(size_t)((double)time_count * 0.99)],
	    (double)times[time_count - 1],
	    (unsigned long long)positive);
	return 0;
}
