/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wait objects of completion queues and counters. A wait object has an epoll
 * descriptor, which FI_GETWAIT returns. Its epoll set holds the doorbells of
 * the ports of all endpoints that complete here, and an eventfd that is set
 * from within the process. A doorbell may be in several epoll sets, and in that
 * of the domain's progress thread. All descriptors are level-triggered.
 *
 * Why no wake-up is lost. Everything below happens under the domain lock,
 * except the sleep itself and fi_cq_signal().
 *
 * A port is *safe to sleep on* if it is armed, or its doorbell rings or is
 * about to ring. Arming establishes this; a sender turns the first state into
 * the second; polling preserves it, because it neither disarms the port nor
 * clears the doorbell. Only a cay_port_arm() that fails breaks it: it has
 * cleared the doorbell and armed nothing. Its caller then sets the eventfds of
 * all wait objects with this doorbell (wait_wake_sleepers), so that their
 * sleepers arm the port again.
 *
 * A cay_port_arm() that succeeds also clears a doorbell that another sleeper
 * may not have seen. It succeeds only if all entries of the port were polled,
 * and each completion of theirs has set the eventfd of its queue or counter.
 *
 * A completion sets the eventfd of a wait object that is `watched`. Setting it
 * clears `watched`, since the eventfd stays readable; the two change together,
 * in wait_wake() and wait_arm(). The eventfd is cleared only while the wait
 * object is idle (the queue is empty; no thread waits for a value that the
 * counter has reached) and none of its endpoints has retries. So it does not
 * matter which of several sleepers clears it, nor whether the others have seen
 * it. A thread that must not clear it and has nothing to do naps instead of
 * sleeping.
 *
 * No doorbell announces the end of backpressure: operations that met it are
 * retried at intervals, and no thread sleeps for long while there are any.
 * `endpoint.armed` says that a thread may sleep which assumes that there are
 * none: a thread that adds a retry, or has polled, wakes it (wait_recheck).
 *
 * fi_cq_signal() sets `signalled` before it sets the eventfd, and a sleeper
 * reads `signalled` after it has cleared the eventfd; so neither needs the
 * lock.
 */
#ifndef CAY_PROVIDER_WAIT_H
#define CAY_PROVIDER_WAIT_H

#include <stdatomic.h>

#include "provider/completion/pace.h"
#include "provider/fabric/domain.h"

struct endpoint;
struct wait;

/* Returns true if there is nothing for any thread that may sleep on it. */
typedef bool wait_idle(const struct wait *);

struct wait {
	struct domain *domain;
	wait_idle *idle;
	enum fi_wait_obj object; /* FI_WAIT_NONE or FI_WAIT_FD */
	int epoll, event;	 /* descriptors, -1 with FI_WAIT_NONE */
	bool watched; /* a thread may sleep, and the eventfd is clear */
	_Atomic bool signalled;	   /* fi_cq_signal(): one sleeper returns */
	struct endpoint **members; /* endpoints that complete here */
	unsigned member_count, member_capacity;
	struct endpoint *single; /* if it is the only one, without locks */
	struct pace pace;	 /* of reads in vain */
};

/* The enabled endpoints of the process: it may wait for any of them. */
extern _Atomic int wait_endpoints;

/* After a period of reads in vain: yields or sleeps, by pace.h. */
bool wait_paced(struct wait *);

/*
 * Counts a read in vain, without the lock. Returns true if the caller has slept
 * since, and something may have arrived.
 */
static inline bool wait_missed(struct wait *w)
{
	return unlikely(pace_missed(&w->pace)) && wait_paced(w);
}

static inline void wait_found(struct wait *w)
{
	pace_found(&w->pace);
}

/* Returns 0, -FI_ENOSYS (not supported) or -FI_EINVAL (no such wait object). */
int wait_object_check(enum fi_wait_obj);
/* Also returns -FI_ENOMEM, -FI_EMFILE and the like. */
int wait_open(struct wait *, struct domain *, enum fi_wait_obj, wait_idle *);
void wait_close(struct wait *);
/* FI_GETWAIT, FI_GETWAITOBJ. */
int wait_control(struct wait *, int command, void *argument);
/* Adds an endpoint that is bound to it, once. Returns 0 or -FI_ENOMEM. */
int wait_add(struct wait *, struct endpoint *);
/*
 * Removes an endpoint. Called before its port is closed: the doorbell would
 * stay in the epoll set, because others hold it, too.
 */
void wait_remove(struct wait *, struct endpoint *);
/* Adds the doorbell of an endpoint that has got its port. */
int wait_enable(struct wait *, struct endpoint *);

/* Wakes the sleepers after a completion. Cheap if there are none. */
void wait_wake(struct wait *);
/* fi_cq_signal(). Without the lock. */
void wait_signal(struct wait *);
/* Returns whether it was signalled, and resets that. */
bool wait_consume_signal(struct wait *);
/* Returns true if the endpoint has work that no doorbell announces. */
bool wait_has_retries(const struct endpoint *);
/* Wakes all threads that sleep on the endpoint's doorbell. */
void wait_wake_sleepers(struct endpoint *);
/* The same if there are retries: after polling, or adding one, while armed. */
void wait_recheck(struct endpoint *);

/* Absolute time from libfabric's milliseconds; negative: never. */
uint64_t wait_deadline(int timeout_ms);

#endif
