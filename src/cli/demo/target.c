/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target: a process with two ports that does what it is told over a
 * socket pair and reports what it has seen. The socket is only for the demo's
 * own stage directions; the messages go through the device.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/demo/demo.h"

#define QUIET_MS 50 /* enough to say that a descriptor does not ring */

struct order {
	uint32_t kind, count;
};

struct target {
	int socket, epoll;
	struct cay_port *port, *raw;
	unsigned char *memory; /* cay_alloc(), TARGET_MEMORY */
};

/* ---- what both processes need ---- */

uint64_t demo_sum(const void *data, size_t length)
{
	const unsigned char *at = data;
	uint64_t sum = 14695981039346656037ull; /* FNV-1a */
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ at[i]) * 1099511628211ull;
	return sum;
}

int demo_await(struct cay_port *port, struct cay_event *e)
{
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);
	for (;;) {
		int n = cay_poll(port, e, 1);
		if (n)
			return n < 0 ? n : 0;
		int r = cay_wait(port, deadline);
		if (r && r != -EINTR)
			return r;
	}
}

pid_t demo_fork(void)
{
	pid_t parent = getpid();
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return pid;
	/* The parent may have died before prctl() could say so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 0;
}

static void socket_patience(int socket)
{
	struct timeval t = { DEMO_PATIENCE_NS / CLOCK_NS_PER_S, 0 };
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* ---- the target's own process ---- */

static void report(const struct target *t, const struct seen *seen)
{
	if (send(t->socket, seen, sizeof(*seen), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void seen_event(
	struct target *t, const struct cay_event *e, struct seen *seen)
{
	seen->event = *e;
	if (e->data && !e->error) {
		seen->sum = demo_sum(e->data, e->length);
		memcpy(seen->data, e->data,
			bits_min(e->length, sizeof(seen->data)));
	}
	cay_release(t->port, e);
}

static void take_one(struct target *t, struct seen *seen)
{
	struct cay_event e;
	seen->error = demo_await(t->port, &e);
	if (seen->error == 0)
		seen_event(t, &e, seen);
}

static void take_many(struct target *t, uint32_t count, struct seen *seen)
{
	uint64_t first = 0;
	for (uint32_t i = 0; i < count && seen->error == 0; i++) {
		take_one(t, seen);
		if (i == 0)
			first = seen->event.tag;
		seen->counted_up += seen->event.tag == first + i;
	}
}

static void take_raw(struct target *t, struct seen *seen)
{
	const struct cay_nqe *nqe;
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);
	while (!(nqe = cay_nqe_next(t->raw)) && seen->error == 0)
		seen->error = cay_wait(t->raw, deadline);
	if (!nqe)
		return;
	seen->nqe = *nqe;
	struct cay_answer answer = cay_trigger(t->raw, CAY_ISSUE_NQ, 1);
	if (answer.accepted != 1)
		seen->error = -EPROTO;
}

static int epoll_look(struct target *t, int timeout_ms)
{
	struct epoll_event e;
	int n = epoll_wait(t->epoll, &e, 1, timeout_ms);
	return n < 0 ? -errno : n;
}

static void listen_awake(struct target *t, struct seen *seen)
{
	int n = epoll_look(t, QUIET_MS);
	seen->readable = n > 0;
	if (n < 0)
		seen->error = n;
	else
		take_one(t, seen);
}

static void sleep_armed(struct target *t, struct seen *seen)
{
	seen->error = cay_port_arm(t->port);
	report(t, seen); /* asleep, as far as any sender can see */
	if (seen->error)
		return;
	int n = epoll_look(t, (int)(DEMO_PATIENCE_NS / CLOCK_NS_PER_MS));
	seen->readable = n > 0;
	if (n < 0)
		seen->error = n;
	else
		take_one(t, seen);
}

/* One more window on the memory; it lasts as long as the port. */
static void open_window(struct target *t, uint32_t rights, struct seen *seen)
{
	struct cay_window *window;
	seen->error = cay_window_open(
		t->port, t->memory, TARGET_MEMORY, rights, &window);
	if (seen->error == 0)
		seen->error = cay_window_key(window, &seen->key);
}

/* Nothing is polled for it. */
static void look(struct target *t, uint32_t bytes, struct seen *seen)
{
	seen->sum = demo_sum(t->memory, bits_min(bytes, TARGET_MEMORY));
	memcpy(seen->data, t->memory, sizeof(seen->data));
}

static void post(struct target *t, uint32_t bytes, struct seen *seen)
{
	seen->error = cay_receive_post(t->port, t->memory,
		bits_min(bytes, TARGET_MEMORY), TARGET_COOKIE);
}

static void order_run(
	struct target *t, const struct order *o, struct seen *seen)
{
	switch (o->kind) {
	case ORDER_TAKE:
		take_one(t, seen);
		break;
	case ORDER_DRAIN:
		take_many(t, o->count, seen);
		break;
	case ORDER_RAW:
		take_raw(t, seen);
		break;
	case ORDER_LISTEN:
		listen_awake(t, seen);
		break;
	case ORDER_SLEEP:
		sleep_armed(t, seen);
		break;
	case ORDER_WINDOW:
		open_window(t, o->count, seen);
		break;
	case ORDER_LOOK:
		look(t, o->count, seen);
		break;
	case ORDER_POST:
		post(t, o->count, seen);
		break;
	}
}

static int target_open(struct target *t)
{
	struct cay_port_options main = { .name = TARGET_NAME,
		.nq_entries = TARGET_ENTRIES };
	struct cay_port_options raw = { .name = TARGET_RAW_NAME };
	struct epoll_event e = { .events = EPOLLIN };

	t->port = cay_port_open(&main);
	t->raw = t->port ? cay_port_open(&raw) : NULL;
	t->memory = t->raw ? cay_alloc(t->port, TARGET_MEMORY, 0) : NULL;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!t->memory || t->epoll < 0)
		return -errno;
	int fd = cay_port_fd(t->port);
	if (fd < 0)
		return fd;
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

__attribute__((noreturn)) static void target_main(int socket)
{
	struct target t = { .socket = socket };
	struct order o;
	struct seen seen = { .error = target_open(&t) };

	report(&t, &seen);
	while (seen.error == 0 && recv(socket, &o, sizeof(o), 0) == sizeof(o) &&
		o.kind != ORDER_END) {
		memset(&seen, 0, sizeof(seen));
		order_run(&t, &o, &seen);
		report(&t, &seen);
	}
	if (t.raw)
		cay_port_close(t.raw);
	if (t.port)
		cay_port_close(t.port);
	_exit(0);
}

/* ---- the origin's side ---- */

int target_start(struct demo *d)
{
	struct seen seen;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	d->target_pid = demo_fork();
	if (d->target_pid == 0) {
		close(pair[0]);
		target_main(pair[1]);
	}
	close(pair[1]);
	d->target_socket = pair[0];
	if (d->target_pid < 0)
		return (int)d->target_pid;
	socket_patience(pair[0]);
	return target_seen(d, &seen);
}

int target_order(struct demo *d, enum order_kind kind, uint32_t count)
{
	struct order o = { kind, count };
	ssize_t n = send(d->target_socket, &o, sizeof(o), MSG_NOSIGNAL);
	return n == sizeof(o) ? 0 : -errno;
}

int target_seen(struct demo *d, struct seen *seen)
{
	ssize_t n = recv(d->target_socket, seen, sizeof(*seen), 0);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return n == sizeof(*seen) ? seen->error : -EPIPE;
}

int target_asked(
	struct demo *d, enum order_kind kind, uint32_t count, struct seen *seen)
{
	int r = target_order(d, kind, count);
	if (r == 0)
		r = target_seen(d, seen);
	return r ? show_failed(d, "the target", r) : 0;
}

/* In order if it can, and in any case. */
void target_end(struct demo *d)
{
	if (d->target_socket >= 0) {
		target_order(d, ORDER_END, 0);
		close(d->target_socket);
	}
	if (d->target_pid <= 0)
		return;
	uint64_t deadline = clock_after_ns(CLOCK_NS_PER_S);
	while (waitpid(d->target_pid, NULL, WNOHANG) == 0) {
		if (clock_passed(deadline))
			kill(d->target_pid, SIGKILL);
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
}
