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
#include "port/cocopy.h"
#include "port/consumer.h"
#include "port/doorbell.h"
#include "port/resolve.h"
#include "port/spin.h"
#include "port/ultra.h"

#define SPIN_NS_MAX	 (50 * CLOCK_NS_PER_US)
#define SPIN_NS_MIN	 (1 * CLOCK_NS_PER_US)
#define SPIN_POLLS	 64 /* between two readings of the clock */
#define NAP_NS_MIN	 (20 * CLOCK_NS_PER_US)
#define RESOLVE_CHECK_NS (100 * CLOCK_NS_PER_MS)
#define NAP_NS_MAX	 (1 * CLOCK_NS_PER_MS)

static bool wait_peek(struct cay_port *port)
{
	bool found;
	do {
		port_consume_begin(port);
		found = consumer_peek(port) != 0 ||
			(unlikely(!list_empty(&port->ultra)) &&
				ultra_pending(port));
		port_consume_end(port);
	} while (!found && unlikely(port_attends(port, PORT_COCOPY)) &&
		 cocopy_help(port));
	return found;
}

static bool wait_spin(struct cay_port *port, uint64_t deadline)
{
	static _Thread_local struct spin spin_state
		__attribute__((tls_model("initial-exec")));
	uint64_t now = clock_now_ns();
	if (!spin_allowed(&spin_state, now, spin_preemptions))
		return false;
	/* Relaxed: an estimate, by the last thread that waited. */
	uint64_t spin =
		atomic_load_explicit(&port->spin_ns, memory_order_relaxed);
	uint64_t until = bits_min(now + spin, deadline);
	bool found = false;
	do
		for (int i = 0; !found && i < SPIN_POLLS; i++) {
			found = wait_peek(port);
			if (!found)
				clock_relax();
		}
	while (!found && clock_now_ns() < until);
	spin = found ? bits_min(2 * spin, SPIN_NS_MAX) : spin / 2;
	if (spin < SPIN_NS_MIN)
		spin = SPIN_NS_MIN;
	atomic_store_explicit(&port->spin_ns, spin, memory_order_relaxed);
	return found;
}

/*
 * Sets SLEEP or ARMED in W. Returns the W of *own to sleep on, or 0 if an entry
 * has been claimed: poll again.
 */
static uint64_t wait_announce(
	struct cay_port *port, uint64_t flag, struct context **own)
{
	port_consume_begin(port);
	struct consumer *rx = &port->consumer;
	*own = rx->own;
	consumer_return_all(port, rx);
	uint64_t w = device_sleep(rx->own, rx->next, flag);
	if (w)
		consumer_resync_rdr(port, rx, w);
	else if (port->flags & CAY_PORT_SHARED)
		/* Another thread may sleep on the flag that was cleared. */
		device_wake_consumers(rx->own);
	port_consume_end(port);
	return w;
}

/*
 * Returns true if the set is closed and not migrated: the node has closed the
 * port.
 */
static bool wait_closed(const struct cay_port *port)
{
	const struct context *own = atomic_load_explicit(
		&port->origin.device.own, memory_order_acquire);
	return device_closed(own);
}

/* Sleeps on W, and on the ULTRA paths of the port, until it is woken. */
static int wait_sleep(struct cay_port *port, struct context *own, uint64_t w,
	uint64_t deadline)
{
	uint64_t until = deadline;
	bool paths = !list_empty(&port->ultra), sleep = true;
	/* A node that has exited completes no resolution. */
	if (unlikely(resolve_pending(port)))
		until = bits_min(until, clock_after_ns(RESOLVE_CHECK_NS));
	if (paths) {
		port_consume_begin(port);
		sleep = ultra_asleep(port, &until);
		port_consume_end(port);
	}
	/* K5 in cocopy.h. */
	if (sleep && unlikely(port_attends(port, PORT_COCOPY)))
		sleep = !cocopy_help(port);
	/* 0 as well if a message of a path has arrived meanwhile. */
	int r = 0;
	if (sleep) {
		port_count(&port->count.sleeps);
		r = device_sleep_on(own, w, until);
	} else {
		device_cancel_sleep(own, W_SLEEP);
		/* Another thread may sleep on the flag that was cleared. */
		if (port->flags & CAY_PORT_SHARED)
			device_wake_consumers(own);
	}
	if (paths) {
		port_consume_begin(port);
		ultra_awake(port);
		port_consume_end(port);
	}
	if (unlikely(r == -ETIMEDOUT && resolve_pending(port)))
		resolve_abort(port);
	return r;
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
		if (r == -ETIMEDOUT || r == -EINTR) {
			device_cancel_sleep(own, W_SLEEP);
			if (port->flags & CAY_PORT_SHARED)
				device_wake_consumers(own);
		}
		if (wait_peek(port))
			return 0;
		if (r == -EINTR)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (wait_closed(port))
			return -ENOTCONN;
		if (w)
			continue;
		/*
		 * An entry is claimed and not published: its sender is between
		 * two stores, or stopped, and will not wake this thread.
		 */
		uint64_t now = clock_now_ns();
		clock_nap_ns(
			bits_min(nap, deadline > now ? deadline - now : 0));
		nap = bits_min(2 * nap, NAP_NS_MAX);
	}
}

/* Tells the caller that there is an event, or something on a path. */
static int wait_found(struct cay_port *port, int result)
{
	port_consume_begin(port);
	ultra_reported(port);
	port_consume_end(port);
	return result;
}

int cay_wait(struct cay_port *port, uint64_t deadline)
{
	if (unlikely(!port_usable(port)))
		return port_error(port);
	port_consume_begin(port);
	int r = consumer_prepare(port);
	port_consume_end(port);
	if (r)
		return r;
	if (wait_peek(port))
		return wait_found(port, 0);
	if (!deadline) {
		if (unlikely(resolve_pending(port)))
			resolve_abort(port);
		r = wait_peek(port) ? 0 : -EAGAIN;
	} else {
		r = wait_long(port, deadline);
	}
	return r ? r : wait_found(port, 0);
}

int cay_port_arm(struct cay_port *port)
{
	if (unlikely(!port_usable(port)))
		return port_error(port);
	if (port->doorbell < 0)
		return -EBADF;
	port_consume_begin(port);
	int r = consumer_prepare(port);
	port_consume_end(port);
	if (r)
		return r;
	doorbell_clear(port->doorbell);
	if (wait_closed(port))
		return -ENOTCONN;
	if (unlikely(resolve_pending(port)))
		resolve_abort(port);
	struct context *own;
	if (wait_peek(port) || !wait_announce(port, W_ARMED, &own))
		return wait_found(port, -EAGAIN);
	if (list_empty(&port->ultra))
		return 0;
	port_consume_begin(port);
	bool armed = ultra_arm(port);
	port_consume_end(port);
	if (armed)
		return 0;
	device_cancel_sleep(own, W_ARMED);
	return wait_found(port, -EAGAIN);
}
