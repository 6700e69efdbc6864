/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of the node: accepts connections, executes requests one at a
 * time, notices exits, and ends when no process is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "node/address.h"
#include "node/closer.h"
#include "node/node.h"
#include "node/request.h"

#define NODE_LINGER_NS	    (300 * CLOCK_NS_PER_MS) /* without processes */
#define NODE_TICK_MS	    2			    /* while work is deferred */
#define NODE_LINGER_TICK_MS 50 /* while no process is connected */
#define NODE_EVENTS	    64

static void accept_one(struct node *n)
{
	struct node_reply reply = { 0 };
	int s = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
	bool full = s < 0 && (errno == EMFILE || errno == ENFILE);
	if (full) {
		/* Out of descriptors: use the spare one to refuse. */
		reply.error = -EMFILE;
		if (n->spare >= 0)
			close(n->spare);
		s = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
		n->count.refused++;
	} else if (s >= 0) {
		if (process_add(n, s))
			return;
		reply.error = -errno;
		n->count.refused++;
	}
	if (s >= 0) {
		send(s, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
		closer_close(s);
	}
	if (full)
		n->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void source_handle(struct node *n, const struct source *source)
{
	struct process *p = source->process;
	switch (source->kind) {
	case SOURCE_LISTENER:
		accept_one(n);
		break;
	case SOURCE_SOCKET:
		if (!p->socket_closed && request_handle(p) != 0)
			process_disconnect(p);
		break;
	case SOURCE_PIDFD:
		if (p->state != PROCESS_EXITED) {
			epoll_ctl(n->epoll, EPOLL_CTL_DEL, p->pidfd, NULL);
			process_exited(p);
		}
		break;
	}
}

/* Returns true if no process has been connected for a while. */
static bool node_idle(struct node *n)
{
	if (n->process_count || n->stay) {
		n->idle_since_ns = 0;
		return false;
	}
	if (!n->idle_since_ns)
		n->idle_since_ns = clock_now_ns();
	return clock_now_ns() - n->idle_since_ns > NODE_LINGER_NS;
}

static int node_loop(struct node *n)
{
	struct epoll_event events[NODE_EVENTS];
	struct epoll_event listener = { .events = EPOLLIN,
		.data.ptr = &n->listener_source };
	bool left = false;

	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (n->epoll < 0)
		return -errno;
	n->listener_source.kind = SOURCE_LISTENER;
	n->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (epoll_ctl(n->epoll, EPOLL_CTL_ADD, n->listener, &listener) != 0)
		return -errno;
	while (!node_idle(n)) {
		int timeout = left ? NODE_TICK_MS
			      : n->process_count || n->stay
				      ? -1
				      : NODE_LINGER_TICK_MS;
		int count = epoll_wait(n->epoll, events, NODE_EVENTS, timeout);
		if (count < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < count; i++)
			source_handle(n, events[i].data.ptr);
		left = node_tick(n);
	}
	return 0;
}

/* Returns 0, 1 (another node has the name), or -errno. */
static int node_listen(struct node *n, const char *name)
{
	struct node_address a;
	int r = node_address(name, &a);
	if (r)
		return r;
	memcpy(n->name, a.name, sizeof(n->name));
	n->listener = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->listener < 0)
		return -errno;
	if (bind(n->listener, (const struct sockaddr *)&a.address, a.length) !=
		0)
		return errno == EADDRINUSE ? 1 : -errno;
	return listen(n->listener, 4096) ? -errno : 0;
}

int node_serve(const struct node_options *o)
{
	if (o->arena_bytes && o->arena_bytes < NODE_ARENA_BYTES_MIN)
		return -EINVAL;
	struct node *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	node_init(n, o);

	/* Two descriptors per process, and one per port with a doorbell. */
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	/* An arena above RLIMIT_FSIZE is an error of the request: EFBIG. */
	signal(SIGXFSZ, SIG_IGN);
	/* The process that started the node may be bound to one core. */
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);

	int r = node_listen(n, o->name);
	if (r == 0 && o->background) {
		/* The parent exits when the socket is bound. */
		pid_t pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid < 0)
			r = -errno;
	}
	if (r == 0)
		r = node_loop(n);
	node_end(n);
	return r > 0 ? 0 : r;
}
