/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node's loop: accepts, reads one request at a time, answers, notices
 * deaths, and ends itself when nobody is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
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
#include "node/node.h"
#include "node/request.h"

#define NODE_LINGER_NS	    (300 * CLOCK_NS_PER_MS)
#define NODE_TICK_MS	    2  /* while something waits to be finished */
#define NODE_LINGER_TICK_MS 50 /* while nobody is there */
#define NODE_EVENTS	    64

static void accept_refuse(struct node *n)
{
	/* Out of descriptors: use the spare one to say so. */
	struct node_reply reply = { .error = -EMFILE };
	n->count.refused++;
	if (n->spare >= 0)
		close(n->spare);
	int s = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
	if (s >= 0) {
		send(s, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
		close(s);
	}
	n->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_one(struct node *n)
{
	int s = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
	if (s < 0) {
		if (errno == EMFILE || errno == ENFILE)
			accept_refuse(n);
		return;
	}
	struct process *p = process_add(n, s);
	if (p)
		return;
	struct node_reply reply = { .error = -errno };
	n->count.refused++;
	send(s, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(s);
}

static void source_handle(struct node *n, const struct source *source)
{
	struct process *p = source->process;
	switch (source->kind) {
	case SOURCE_LISTENER:
		accept_one(n);
		break;
	case SOURCE_SOCKET:
		if (!p->hung_up && request_handle(p) != 0)
			process_hang_up(p);
		break;
	case SOURCE_PIDFD:
		if (p->state != PROCESS_DEAD) {
			epoll_ctl(n->epoll, EPOLL_CTL_DEL, p->pidfd, NULL);
			process_exited(p);
		}
		break;
	}
}

/* Nobody connected and nobody to be remembered, for a while. */
static bool node_over(struct node *n)
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
	bool left = false;
	while (!node_over(n)) {
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

/* 0, 1 (another node has the name), -errno. */
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

static int node_epoll(struct node *n)
{
	struct epoll_event e = { .events = EPOLLIN,
		.data.ptr = &n->listener_source };
	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (n->epoll < 0)
		return -errno;
	n->listener_source.kind = SOURCE_LISTENER;
	n->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return epoll_ctl(n->epoll, EPOLL_CTL_ADD, n->listener, &e) ? -errno : 0;
}

/* Two per process, and one per port that asks for a descriptor. */
static void node_raise_limits(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Whoever started us may have been bound to a core; we serve all. */
static void node_unbind(void)
{
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

/* The caller goes on; the socket is bound by now, so it may connect. */
static int node_background(void)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		_exit(0);
	return 0;
}

int node_serve(const struct node_options *o)
{
	if (o->arena_bytes && o->arena_bytes < NODE_ARENA_BYTES_MIN)
		return -EINVAL;
	struct node *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	node_init(n, o);
	node_raise_limits();
	node_unbind();
	int r = node_listen(n, o->name);
	if (r == 0 && o->background)
		r = node_background();
	if (r == 0)
		r = node_epoll(n);
	if (r == 0)
		r = node_loop(n);
	node_end(n);
	return r > 0 ? 0 : r;
}
