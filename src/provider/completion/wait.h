/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until a completion queue or counter has something. A waiter has an
 * epoll descriptor, which FI_GETWAIT hands out: in it are the bells of the
 * ports of all endpoints that complete here, and an eventfd for what somebody
 * else found meanwhile. The same bell may be in several waiters and in the
 * engine of the domain. All of them are level-triggered.
 *
 * Why no wake-up is lost. Everything below happens under the guard, except the
 * sleep itself and fi_cq_signal().
 *
 * A port is *safe to sleep on* if it is armed, or its bell rings or is about
 * to. Arming makes it so; senders go from the one to the other; polling changes
 * nothing, because it neither disarms the port nor silences the bell. Only a
 * cay_port_arm() that fails takes the safety away: it has silenced the bell and
 * armed nothing. Whoever lets that happen rings the eventfds of everybody who
 * may sleep on that bell (wait_alarm), so that they arm it again.
 *
 * A cay_port_arm() that succeeds also silences a bell that another sleeper may
 * not have heard yet. It succeeds only if all entries of the port were polled,
 * and whatever they completed has rung the eventfd of where it completed.
 *
 * An eventfd is rung by every completion while its waiter is `watched`. Ringing
 * takes `watched` away, since a ringing eventfd need not be rung again; the two
 * change together, in wait_wake() and wait_arm(). An eventfd is silenced only
 * when there is nothing for anybody: the waiter is idle (nothing is queued; no
 * thread waits for a value that the counter has) and no endpoint of it has work
 * to do that no bell announces. So it does not matter who of several sleepers
 * silences it, nor whether the others have heard it. Who may not silence it and
 * has nothing to do naps instead of sleeping.
 *
 * Work that no bell announces are messages and fetches for which there was no
 * room: they are tried again now and then. While there is such work nobody
 * sleeps for long. `endpoint.armed` says that somebody may sleep who believes
 * that there is none: whoever adds some, or has polled, tells them
 * (wait_rearm).
 *
 * fi_cq_signal() sets `signalled` before it rings, and a sleeper looks at
 * `signalled` after it has silenced the eventfd; so the guard is not needed.
 */
#ifndef CAY_PROVIDER_WAIT_H
#define CAY_PROVIDER_WAIT_H

#include <sched.h>
#include <stdatomic.h>

#include "provider/fabric/domain.h"

struct endpoint;
struct wait;

/* Is there nothing for anybody who may sleep on it? */
typedef bool wait_idle(const struct wait *);

struct wait {
	struct domain *domain;
	wait_idle *idle;
	enum fi_wait_obj object; /* FI_WAIT_NONE: cannot be slept on */
	int epoll, event;	 /* descriptors, -1 with FI_WAIT_NONE */
	bool watched; /* somebody may sleep, and the eventfd does not ring */
	_Atomic bool signalled;	   /* fi_cq_signal(): one sleeper returns */
	struct endpoint **members; /* that complete here */
	unsigned member_count, member_room;
	_Atomic unsigned misses; /* reads in a row that found nothing */
};

/* So many take some microseconds, longer than an answer to a message does. */
#define WAIT_MISSES_MAX 256

/*
 * Somebody has read, without the guard. Who finds nothing for long may keep
 * the one that it waits for from running.
 */
static inline void wait_polled(struct wait *w, bool found)
{
	/* Relaxed: a guess, and all threads that read may share it. */
	unsigned n = atomic_load_explicit(&w->misses, memory_order_relaxed);
	if (found && n == 0)
		return;
	bool yield = !found && n == WAIT_MISSES_MAX;
	atomic_store_explicit(
		&w->misses, found || yield ? 0 : n + 1, memory_order_relaxed);
	if (unlikely(yield))
		sched_yield();
}

/* 0, -FI_ENOSYS (we have no such wait object), -FI_EINVAL (nobody has). */
int wait_object_check(enum fi_wait_obj);
/* The same, or -FI_ENOMEM, -FI_EMFILE and the like. */
int wait_open(struct wait *, struct domain *, enum fi_wait_obj, wait_idle *);
void wait_close(struct wait *);
/* When an endpoint is bound to it, even if it was; 0 or -FI_ENOMEM. */
int wait_add(struct wait *, struct endpoint *);
/*
 * Before the endpoint's port is closed: others have its bell too, so that it
 * would stay in the epoll descriptor.
 */
void wait_remove(struct wait *, struct endpoint *);
/* When an endpoint of it has its port: puts its descriptor in. */
int wait_enable(struct wait *, struct endpoint *);
/* Something was completed: wakes whoever sleeps. Cheap if nobody does. */
void wait_wake(struct wait *);
/* fi_cq_signal(). Without the guard. */
void wait_signal(struct wait *);
/* Progress on every member. */
void wait_progress(struct wait *);

/*
 * The end of a loop of progress, a look whether there is what was waited for,
 * and wait_taken_signal() for who can be signalled. Leaves the guard and enters
 * it again. Spins until `spin_ns`, then sleeps; both times are absolute, in
 * CLOCK_MONOTONIC ns. 0 (look again), -FI_ETIMEDOUT (the deadline had passed
 * before the last look), -FI_EINTR, or an error of a port.
 */
int wait_turn(struct wait *, uint64_t spin_ns, uint64_t deadline_ns);
/* Was it signalled? Then it is no more. */
bool wait_taken_signal(struct wait *);

/* fi_trywait(). 0: the descriptor may be slept on; -FI_EAGAIN: read first. */
int wait_try(struct wait *);
/* FI_GETWAIT, FI_GETWAITOBJ. */
int wait_control(struct wait *, int command, void *argument);
/* Absolute, from libfabric's milliseconds; negative: for ever. */
uint64_t wait_deadline(int timeout_ms);
/* When spinning that begins now ends. */
uint64_t wait_spin_end(void);

/*
 * Arms an endpoint's port, polling what is there. 0, -FI_EAGAIN (still
 * something to poll) or another error; then wait_alarm() was called.
 */
int wait_arm_port(struct endpoint *);
/* Does the endpoint have work that no bell announces? */
bool wait_pending(const struct endpoint *);
/* Whoever sleeps on the endpoint's bell looks again. */
void wait_alarm(struct endpoint *);
/* If endpoint.armed: the endpoint was polled, or has got work to do. */
void wait_rearm(struct endpoint *);

#endif
