/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of the node: accepts connections, executes requests one at a
 * time, notices exits, and ends when no process is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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

static void accept_one(struct node *n, int listener)
{
	struct node_reply reply = { 0 };
	int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	bool full = s < 0 && (errno == EMFILE || errno == ENFILE);
	if (full) {
		/* Out of descriptors: use the spare one to refuse. */
		reply.error = -EMFILE;
		if (n->spare >= 0)
			close(n->spare);
		s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
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
		accept_one(n, n->listener);
		break;
	case SOURCE_PATH_LISTENER:
		accept_one(n, n->path_listener);
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

/* The signal that ends the node. */
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = signal;
}

/* Blocks the signals that end a node, except in epoll_pwait(). */
static void signals_handle(sigset_t *others)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t block;
	sigemptyset(&block);
	for (unsigned i = 0; i < ARRAY_COUNT(signals); i++) {
		struct sigaction old, new = { .sa_handler = stop };
		sigaction(signals[i], NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &new, NULL);
		sigaddset(&block, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &block, others);
}

static int listener_add(struct node *n, int fd, struct source *source)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = source };
	if (fd < 0)
		return 0;
	return epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int node_loop(struct node *n, const sigset_t *signals)
{
	struct epoll_event events[NODE_EVENTS];
	bool left = false;

	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (n->epoll < 0)
		return -errno;
	n->listener_source.kind = SOURCE_LISTENER;
	n->path_source.kind = SOURCE_PATH_LISTENER;
	n->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = listener_add(n, n->listener, &n->listener_source);
	if (r == 0)
		r = listener_add(n, n->path_listener, &n->path_source);
	while (r == 0 && !stopped && !node_idle(n)) {
		/* A report continues at once, after the events of others. */
		int timeout = n->report ? 0
			      : left	? NODE_TICK_MS
			      : n->process_count || n->stay
				      ? -1
				      : NODE_LINGER_TICK_MS;
		int count = epoll_pwait(
			n->epoll, events, NODE_EVENTS, timeout, signals);
		if (count < 0 && errno != EINTR)
			r = -errno;
		for (int i = 0; i < count; i++)
			source_handle(n, events[i].data.ptr);
		left = node_tick(n);
	}
	return r;
}

int node_serve(const struct node_options *o)
{
	if (o->arena_bytes &&
		o->arena_bytes < NODE_ARENA_BYTES_MIN(o->control_stride))
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

	struct node_address a;
	sigset_t signals;
	int r = node_address(o->name, &a);
	if (r == 0) {
		memcpy(n->name, a.name, sizeof(n->name));
		signals_handle(&signals);
		r = listen_open(n, &a);
	}
	if (r == 0 && o->background) {
		/* The parent exits when the sockets are bound. */
		pid_t pid = fork();
		if (pid > 0)
			_exit(0);
		if (pid < 0)
			r = -errno;
	}
	if (r == 0)
		r = node_loop(n, &signals);
	node_end(n);
	if (stopped) {
		signal(stopped, SIG_DFL);
		sigprocmask(SIG_SETMASK, &signals, NULL);
		raise(stopped);
	}
	return r > 0 ? 0 : r;
}
