/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting: spin for a bounded, adaptive time, then sleep; see cay_wait(3).
 *
 * A successful spin doubles the time of the next one, a failed one halves it.
 * A thread that shares its core with others does not spin; see spin.h.
 */
#include <errno.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/futex.h"
#include "port/intake.h"
#include "port/spin.h"

#define SPIN_NS_MAX (50 * CLOCK_NS_PER_US)
#define SPIN_NS_MIN (1 * CLOCK_NS_PER_US)
#define SPIN_LOOKS  64 /* between two looks at the clock */
#define NAP_NS_MIN  (20 * CLOCK_NS_PER_US)
#define NAP_NS_MAX  (1 * CLOCK_NS_PER_MS)

/* Something to poll? */
static bool wait_look(struct cay_port *port)
{
	port_consume_begin(port);
	bool found = intake_peek(port) != 0;
	port_consume_end(port);
	return found;
}

static bool wait_spin_until(struct cay_port *port, uint64_t until)
{
	do {
		for (int i = 0; i < SPIN_LOOKS; i++) {
			if (wait_look(port))
				return true;
			clock_relax();
		}
	} while (clock_now_ns() < until);
	return false;
}

static bool wait_spin(struct cay_port *port, uint64_t deadline)
{
	static _Thread_local struct spin spin_state
		__attribute__((tls_model("initial-exec")));
	uint64_t now = clock_now_ns();
	if (!spin_allowed(&spin_state, now, spin_preemptions))
		return false;
	/* Relaxed: a guess, from whichever thread waited last. */
	uint64_t spin =
		atomic_load_explicit(&port->spin_ns, memory_order_relaxed);
	uint64_t until = bits_min(now + spin, deadline);
	bool found = wait_spin_until(port, until);
	spin = found ? bits_min(2 * spin, SPIN_NS_MAX) : spin / 2;
	if (spin < SPIN_NS_MIN)
		spin = SPIN_NS_MIN;
	atomic_store_explicit(&port->spin_ns, spin, memory_order_relaxed);
	return found;
}

/*
 * Announces a sleep. The W to sleep on, which is that of *own, or 0: poll
 * again.
 */
static uint64_t wait_announce(
	struct cay_port *port, uint64_t flag, struct context **own)
{
	port_consume_begin(port);
	struct intake *in = &port->intake;
	*own = in->own;
	intake_idle(port, in);
	uint64_t w = device_sleep(in->own, in->next, flag);
	if (w)
		intake_settle(port, in, w);
	else if (port->flags & CAY_PORT_SHARED)
		/* Another thread may sleep on the flag that we took away. */
		futex_wake_upper(&in->own->control->w);
	port_consume_end(port);
	return w;
}

static int wait_sleep(struct cay_port *port, struct context *own, uint64_t w,
	uint64_t deadline)
{
	port_count(&port->count.sleeps);
	int r = futex_wait_upper(&own->control->w, w, deadline);
	if (r == -ETIMEDOUT || r == -EINTR) {
		device_cancel_sleep(own, W_SLEEP);
		if (port->flags & CAY_PORT_SHARED)
			futex_wake_upper(&own->control->w);
	}
	return r == -EAGAIN ? 0 : r;
}

/* Closed without being replaced: the node has given the port up. */
static bool wait_closed(const struct cay_port *port)
{
	const struct context *own =
		atomic_load_explicit(&port->origin.own, memory_order_acquire);
	const struct queue_control *c = own->control;
	return atomic_load_explicit(&c->w, memory_order_acquire) & W_CLOSED &&
	       atomic_load_explicit(&c->migration, memory_order_acquire) ==
		       QUEUE_STABLE;
}

/*
 * An entry is claimed and not published: its sender is between two stores, or
 * does not run. Nobody will wake us for it, so nap for ever longer.
 */
static void wait_nap(uint64_t *nap, uint64_t deadline)
{
	uint64_t now = clock_now_ns();
	uint64_t left = deadline > now ? deadline - now : 0;
	clock_nap_ns(bits_min(*nap, left));
	*nap = bits_min(2 * *nap, NAP_NS_MAX);
}

__attribute__((noinline)) static int wait_long(
	struct cay_port *port, uint64_t deadline)
{
	uint64_t nap = NAP_NS_MIN;
	if (wait_spin(port, deadline))
		return 0;
	for (;;) {
		int r = 0;
		struct context *own;
		uint64_t w = wait_announce(port, W_SLEEP, &own);
		if (w)
			r = wait_sleep(port, own, w, deadline);
		if (wait_look(port))
			return 0;
		if (r == -EINTR)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (wait_closed(port))
			return -ENOTCONN;
		if (!w)
			wait_nap(&nap, deadline);
	}
}

int cay_wait(struct cay_port *port, uint64_t deadline)
{
	if (unlikely(!port_here(port)))
		return port_absent(port);
	port_consume_begin(port);
	int r = intake_ready(port);
	port_consume_end(port);
	if (r)
		return r;
	if (wait_look(port))
		return 0;
	return deadline ? wait_long(port, deadline) : -EAGAIN;
}

static void bell_drain(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));
	(void)n; /* EAGAIN: it had not rung */
}

int cay_port_arm(struct cay_port *port)
{
	if (unlikely(!port_here(port)))
		return port_absent(port);
	if (port->bell < 0)
		return -EBADF;
	port_consume_begin(port);
	int r = intake_ready(port);
	port_consume_end(port);
	if (r)
		return r;
	bell_drain(port->bell);
	if (wait_closed(port))
		return -ENOTCONN;
	struct context *own;
	if (wait_look(port) || !wait_announce(port, W_ARMED, &own))
		return -EAGAIN;
	return 0;
}
