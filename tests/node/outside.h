/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to a node from outside: raw requests on its control socket, its
 * status, its process, and leftovers after its exit.
 */
#ifndef CAY_TESTS_NODE_OUTSIDE_H
#define CAY_TESTS_NODE_OUTSIDE_H

#include <ctype.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "harness.h"
#include "node/address.h"
#include "node/wire.h"

/* ---- raw requests ---- */

/* Returns a socket, or -errno. Calls on it time out after 8 seconds. */
static inline int raw_connect_to(const struct node_address *a)
{
	struct timeval timeout = { 8, 0 };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(s, (const struct sockaddr *)&a->address, a->length) == 0)
		return s;
	int r = -errno;
	close(s);
	return r;
}

static inline int raw_connect(void)
{
	struct node_address a;
	int r = node_address(harness_name, &a);
	return r ? r : raw_connect_to(&a);
}

/* Listens on the address of a node. Returns a socket, or -errno. */
static inline int raw_listen(const struct node_address *a)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s >= 0 &&
		bind(s, (const struct sockaddr *)&a->address, a->length) == 0 &&
		listen(s, 16) == 0)
		return s;
	int r = -errno;
	if (s >= 0)
		close(s);
	return r;
}

/* Returns the error of the reply, -ENOTCONN at end of file, -ETIMEDOUT. */
static inline int raw_reply(int s, struct node_reply *reply, int *fd)
{
	ssize_t n = wire_receive(s, reply, sizeof(*reply), fd, 0);
	/* Reported before the reply if the node closed with unread data. */
	if (n == -ECONNRESET)
		n = wire_receive(s, reply, sizeof(*reply), fd, 0);
	if (n == sizeof(*reply))
		return reply->error;
	if (n == -EAGAIN)
		return -ETIMEDOUT;
	return n > 0 ? -EBADMSG : -ENOTCONN;
}

/* Closes a descriptor in the reply unless fd_in is given. */
static inline int raw_call(int s, const struct node_request *request, int fd,
	struct node_reply *reply, int *fd_in)
{
	int got = -1;
	/* Even if the node does not read the request, a reply may wait. */
	wire_send(s, request, sizeof(*request), fd, 0);
	int r = raw_reply(s, reply, &got);
	if (fd_in)
		*fd_in = got;
	else if (got >= 0)
		close(got);
	return r;
}

static inline struct node_request hello_request(const char *realm)
{
	struct node_request q = { .kind = NODE_HELLO };
	q.hello.magic = NODE_MAGIC;
	q.hello.major = NODE_MAJOR;
	q.hello.minor = NODE_MINOR;
	/* No thread accesses windows, so expedited barriers suffice. */
	q.hello.flags = NODE_HELLO_BARRIER;
	snprintf(q.hello.realm, sizeof(q.hello.realm), "%s", realm);
	return q;
}

static inline int raw_hello(int s, const char *realm)
{
	struct node_request q = hello_request(realm);
	struct node_reply reply;
	return raw_call(s, &q, -1, &reply, NULL);
}

/* Returns a socket that has joined the realm, or -errno. */
static inline int raw_member(const char *realm)
{
	int s = raw_connect();
	int r = s < 0 ? s : raw_hello(s, realm);
	if (r == 0 || s < 0)
		return s;
	close(s);
	return r;
}

/* LEAVE: the node need not wait for the exit of this process. */
static inline void raw_leave(int s)
{
	struct node_request q = { .kind = NODE_LEAVE };
	struct node_reply reply;
	raw_call(s, &q, -1, &reply, NULL);
	close(s);
}

/* ---- status ---- */

static inline int status_get(struct node_status *status)
{
	struct node_request q = { .kind = NODE_STATUS };
	struct node_reply reply;
	int fd = -1;
	int s = raw_connect();
	if (s < 0)
		return s;
	int r = raw_call(s, &q, -1, &reply, &fd);
	if (r == 0 && (fd < 0 || pread(fd, status, sizeof(*status), 0) !=
					 sizeof(*status)))
		r = -EBADMSG;
	if (fd >= 0)
		close(fd);
	close(s);
	return r;
}

static inline pid_t node_pid(void)
{
	struct node_status status;
	return status_get(&status) == 0 ? (pid_t)status.pid : 0;
}

/* Resource usage that a node must return to. */
struct usage {
	uint32_t processes, ports;
	uint64_t heap_used;
};

static inline bool usage_reached(void *argument)
{
	const struct usage *usage = argument;
	struct node_status s;
	return status_get(&s) == 0 && s.processes == usage->processes &&
	       s.ports == usage->ports && s.heap_used == usage->heap_used &&
	       s.zombies == 0;
}

static inline struct usage usage_now(void)
{
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	return (struct usage){ s.processes, s.ports, s.heap_used };
}

static inline void assert_usage(struct usage *usage)
{
	struct node_status s = { 0 };
	if (wait_for(usage_reached, usage, 5000))
		return;
	int r = status_get(&s);
	fail_msg("status %d: processes %u ports %u heap %llu zombies %llu "
		 "instead of %u, %u, %llu, 0",
		r, s.processes, s.ports, (unsigned long long)s.heap_used,
		(unsigned long long)s.zombies, usage->processes, usage->ports,
		(unsigned long long)usage->heap_used);
}

/* ---- descriptors of a process ---- */

static inline bool fd_next(DIR *d, long *fd)
{
	struct dirent *e;
	while ((e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0])) {
			*fd = strtol(e->d_name, NULL, 10);
			return true;
		}
	return false;
}

/* Returns the number of descriptors, or -1 if the process has exited. */
static inline int fd_count(pid_t pid)
{
	char path[64];
	long fd;
	int count = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	if (!d)
		return -1;
	while (fd_next(d, &fd))
		count += pid != getpid() || fd != dirfd(d);
	closedir(d);
	return count;
}

/* Waits until the number of descriptors no longer changes. */
static inline void fd_count_settle(pid_t pid)
{
	int before = -1, same = 0;
	for (unsigned i = 0; same < 5 && i < 500; i++) {
		int now = fd_count(pid);
		same = now == before ? same + 1 : 0;
		before = now;
		clock_nap_ns(4 * CLOCK_NS_PER_MS);
	}
}

/* Returns the RLIMIT_NOFILE that leaves `spare` descriptors; 0 on failure. */
static inline rlim_t fd_limit_for(pid_t pid, unsigned spare)
{
	static unsigned char used[65536];
	char path[64];
	long fd;
	memset(used, 0, sizeof(used));
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	while (d && fd_next(d, &fd))
		if ((size_t)fd < sizeof(used) &&
			(pid != getpid() || fd != dirfd(d)))
			used[fd] = 1;
	if (!d)
		return 0;
	closedir(d);
	rlim_t limit = 0;
	while (limit < sizeof(used) - 1 && (used[limit] || spare--))
		limit++;
	return limit;
}

/* ---- leftovers of a node ---- */

/* The name of the current node, or of all nodes of this run. */
struct names {
	char text[NODE_NAME_MAX];
	size_t length; /* prefix that must match */
};

static inline struct names names_of_node(void)
{
	struct names n;
	memcpy(n.text, harness_name, sizeof(n.text));
	n.length = strlen(n.text) + 1;
	return n;
}

static inline struct names names_of_run(void)
{
	struct names n = names_of_node();
	n.length = strcspn(n.text, "+") + 1;
	return n;
}

/* Returns true if an argument of the process matches. */
static inline bool argument_matches(const char *pid, const struct names *names)
{
	char path[300], text[4096];
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	for (char *at = text; at < text + n; at += strlen(at) + 1)
		if (strncmp(at, names->text, names->length) == 0)
			return true;
	return false;
}

static inline unsigned processes_named(const struct names *names)
{
	struct dirent *e;
	unsigned count = 0;
	DIR *d = opendir("/proc");
	while (d && (e = readdir(d)) != NULL)
		count += isdigit((unsigned char)e->d_name[0]) &&
			 argument_matches(e->d_name, names);
	if (d)
		closedir(d);
	return count;
}

/* Counts abstract sockets. */
static inline unsigned sockets_named(const struct names *names)
{
	char line[512], start[32];
	unsigned count = 0;
	FILE *f = fopen("/proc/net/unix", "re");
	int skip =
		snprintf(start, sizeof(start), "@cay/%u/", (unsigned)geteuid());
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, start);
		line[strcspn(line, "\n")] = 0;
		count += at &&
			 strncmp(at + skip, names->text, names->length) == 0;
	}
	if (f)
		fclose(f);
	return count;
}

static inline unsigned node_processes(void)
{
	struct names names = names_of_node();
	return processes_named(&names);
}

static inline unsigned shm_files(void)
{
	struct dirent *e;
	unsigned count = 0;
	DIR *d = opendir("/dev/shm");
	while (d && (e = readdir(d)) != NULL)
		count += strstr(e->d_name, "cay") != NULL;
	if (d)
		closedir(d);
	return count;
}

/* The argument is a struct names. */
static inline bool no_leftovers(void *names)
{
	return processes_named(names) == 0 && sockets_named(names) == 0 &&
	       shm_files() == 0;
}

static inline bool node_absent(void *unused)
{
	struct names names = names_of_node();
	(void)unused;
	return processes_named(&names) == 0 && sockets_named(&names) == 0;
}

/* The node exits by itself. */
static inline void assert_node_exits(void)
{
	assert_true(wait_for(node_absent, NULL, 5000));
}

/* ---- a node in a child process ---- */

static pid_t server;

static inline bool server_listens(void *unused)
{
	(void)unused;
	int s = raw_connect();
	if (s >= 0)
		close(s);
	return s >= 0;
}

/* Starts a node; the body calls node_serve(). */
static inline void server_start(int (*body)(void *), void *argument)
{
	harness_rename();
	server = child_start(body, argument);
	assert_true(wait_for(server_listens, NULL, 5000));
}

/* The node exits by itself after the last member, with status 0. */
static inline void server_join(void)
{
	assert_int_equal(child_join(server), 0);
}

/* ---- small ports ---- */

/* Opens a port with the smallest possible queues. */
static inline struct cay_port *port_open_small(void)
{
	static const struct cay_port_options small = { .nq_entries = 16,
		.rdr_bytes = 65536,
		.sdr_bytes = 4096,
		.peers = 4,
		.windows = 4 };
	return cay_port_open(&small);
}

static inline void assert_no_port_left(void)
{
	errno = 0;
	assert_null(port_open_small());
	assert_int_equal(errno, ENOSPC);
}

#endif
