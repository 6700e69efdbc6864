/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping on completion queues and counters. See wait.h. */
#include "provider/completion/wait.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/endpoint/endpoint.h"
#include "provider/fabric/eq.h"
#include "provider/progress/engine.h"

#define ARM_TRIES 4
#define NAP_NS	  (100 * CLOCK_NS_PER_US)

/* ---- opening and members ---- */

int wait_object_check(enum fi_wait_obj object)
{
	switch (object) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_YIELD:
		return 0;
	case FI_WAIT_SET:
	case FI_WAIT_MUTEX_COND:
	case FI_WAIT_POLLFD:
		return -FI_ENOSYS;
	}
	return -FI_EINVAL;
}

static int epoll_add(int epoll, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0 || errno == EEXIST)
		return 0;
	return -errno;
}

static int descriptors_open(struct wait *w)
{
	int r;
	w->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->event < 0)
		return -errno;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0) {
		r = -errno;
		goto err_event;
	}
	r = epoll_add(w->epoll, w->event);
	if (r)
		goto err_epoll;
	return 0;
err_epoll:
	close(w->epoll);
err_event:
	close(w->event);
	return r;
}

int wait_open(struct wait *w, struct domain *domain, enum fi_wait_obj object,
	wait_idle *idle)
{
	int r = wait_object_check(object);
	if (r)
		return r;
	*w = (struct wait){ .domain = domain,
		.idle = idle,
		.object = object == FI_WAIT_NONE ? FI_WAIT_NONE : FI_WAIT_FD,
		.epoll = -1,
		.event = -1 };
	return w->object == FI_WAIT_NONE ? 0 : descriptors_open(w);
}

void wait_close(struct wait *w)
{
	if (w->object != FI_WAIT_NONE) {
		close(w->epoll);
		close(w->event);
	}
	free(w->members);
}

/* Its position, or the number of members. */
static unsigned member_find(const struct wait *w, const struct endpoint *ep)
{
	unsigned i = 0;
	while (i < w->member_count && w->members[i] != ep)
		i++;
	return i;
}

static int members_grow(struct wait *w)
{
	unsigned room = w->member_room ? 2 * w->member_room : 4;
	struct endpoint **m =
		reallocarray(w->members, room, sizeof(w->members[0]));
	if (!m)
		return -FI_ENOMEM;
	w->members = m;
	w->member_room = room;
	return 0;
}

int wait_add(struct wait *w, struct endpoint *ep)
{
	if (member_find(w, ep) < w->member_count)
		return 0;
	if (w->member_count == w->member_room) {
		int r = members_grow(w);
		if (r)
			return r;
	}
	w->members[w->member_count++] = ep;
	return 0;
}

void wait_remove(struct wait *w, struct endpoint *ep)
{
	unsigned i = member_find(w, ep);
	if (i == w->member_count)
		return;
	if (w->object != FI_WAIT_NONE && ep->port)
		epoll_ctl(w->epoll, EPOLL_CTL_DEL, cay_port_fd(ep->port), NULL);
	w->members[i] = w->members[--w->member_count];
}

int wait_enable(struct wait *w, struct endpoint *ep)
{
	if (w->object == FI_WAIT_NONE)
		return 0;
	int fd = cay_port_fd(ep->port);
	if (fd < 0)
		return provider_error(fd);
	int r = epoll_add(w->epoll, fd);
	if (r)
		return r;
	/* Nobody has armed it yet: who sleeps must. */
	wait_wake(w);
	return 0;
}

int wait_control(struct wait *w, int command, void *argument)
{
	if (!argument)
		return -FI_EINVAL;
	switch (command) {
	case FI_GETWAIT:
		if (w->object == FI_WAIT_NONE)
			return -FI_ENODATA;
		*(int *)argument = w->epoll;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)argument = w->object;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

/* ---- waking ---- */

static void event_ring(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));
	(void)n; /* EAGAIN: it rings already, as loud as can be */
}

static void event_silence(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));
	(void)n; /* EAGAIN: it did not ring */
}

__attribute__((cold)) void wait_wake(struct wait *w)
{
	if (!w->watched)
		return;
	w->watched = false;
	event_ring(w->event);
}

void wait_signal(struct wait *w)
{
	/* Release: pairs with the exchange in wait_taken_signal(). */
	atomic_store_explicit(&w->signalled, true, memory_order_release);
	event_ring(w->event);
}

bool wait_taken_signal(struct wait *w)
{
	/* Relaxed: only a hint that keeps the exchange off the usual way. */
	return atomic_load_explicit(&w->signalled, memory_order_relaxed) &&
	       atomic_exchange_explicit(
		       &w->signalled, false, memory_order_acquire);
}

void wait_alarm(struct endpoint *ep)
{
	ep->armed = false;
	if (ep->tx_cq)
		wait_wake(&ep->tx_cq->wait);
	if (ep->rx_cq)
		wait_wake(&ep->rx_cq->wait);
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (ep->counters[i])
			wait_wake(&ep->counters[i]->wait);
	if (ep->domain->engine)
		engine_wake(ep->domain->engine);
}

bool wait_pending(const struct endpoint *ep)
{
	return !list_empty(&ep->pending) || !list_empty(&ep->fetching) ||
	       !list_empty(&ep->rma_waiting) ||
	       ep->event_next < ep->event_count;
}

void wait_rearm(struct endpoint *ep)
{
	if (wait_pending(ep))
		wait_alarm(ep);
}

/* ---- sleeping ---- */

void wait_progress(struct wait *w)
{
	for (unsigned i = 0; i < w->member_count; i++)
		endpoint_progress(w->members[i]);
}

int wait_arm_port(struct endpoint *ep)
{
	int r;
	for (int i = 0; i < ARM_TRIES; i++) {
		r = cay_port_arm(ep->port);
		if (r == 0)
			return 0;
		if (r != -EAGAIN)
			break;
		endpoint_progress(ep);
	}
	wait_alarm(ep);
	return r == -EAGAIN ? -FI_EAGAIN : provider_error(r);
}

static bool members_pending(const struct wait *w)
{
	for (unsigned i = 0; i < w->member_count; i++)
		if (w->members[i]->port && wait_pending(w->members[i]))
			return true;
	return false;
}

/* 0, -FI_EBUSY (there may be something: look), or as wait_arm_port(). */
static int wait_arm(struct wait *w)
{
	event_silence(w->event);
	w->watched = true;
	for (unsigned i = 0; i < w->member_count; i++) {
		struct endpoint *ep = w->members[i];
		if (!ep->port)
			continue;
		int r = wait_arm_port(ep);
		if (r)
			return r;
		ep->armed = true;
		if (wait_pending(ep))
			wait_alarm(ep);
	}
	return w->watched ? 0 : -FI_EBUSY;
}

int wait_try(struct wait *w)
{
	if (w->object == FI_WAIT_NONE)
		return -FI_EINVAL;
	if (!w->idle(w) || members_pending(w))
		return -FI_EAGAIN;
	int r = wait_arm(w);
	return r == -FI_EBUSY ? -FI_EAGAIN : r;
}

static void nap(struct wait *w, uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();
	if (now >= deadline_ns)
		return;
	guard_leave(&w->domain->guard);
	clock_nap_ns(bits_min(NAP_NS, deadline_ns - now));
	guard_enter(&w->domain->guard);
}

static int descriptor_sleep(int fd, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec left;
	if (deadline_ns != UINT64_MAX) {
		uint64_t now = clock_now_ns();
		left = clock_timespec(
			now < deadline_ns ? deadline_ns - now : 0);
	}
	int n = ppoll(&p, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
	return n < 0 ? -errno : 0;
}

static int wait_sleep(struct wait *w, uint64_t deadline_ns)
{
	if (!w->idle(w) || members_pending(w)) {
		nap(w, deadline_ns);
		return 0;
	}
	int r = wait_arm(w);
	if (r == -FI_EAGAIN) {
		/* A sender is between two stores, or does not run. */
		nap(w, deadline_ns);
		return 0;
	}
	if (r)
		return r == -FI_EBUSY ? 0 : r;
	/* After the eventfd was silenced: see wait.h. */
	if (atomic_load_explicit(&w->signalled, memory_order_acquire))
		return 0;
	guard_leave(&w->domain->guard);
	r = descriptor_sleep(w->epoll, deadline_ns);
	guard_enter(&w->domain->guard);
	return r;
}

int wait_turn(struct wait *w, uint64_t spin_ns, uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();
	if (now >= deadline_ns)
		return -FI_ETIMEDOUT;
	if (now >= spin_ns)
		return wait_sleep(w, deadline_ns);
	guard_leave(&w->domain->guard);
	clock_relax();
	guard_enter(&w->domain->guard);
	return 0;
}

uint64_t wait_deadline(int timeout_ms)
{
	return timeout_ms < 0
		       ? UINT64_MAX
		       : clock_after_ns((uint64_t)timeout_ms * CLOCK_NS_PER_MS);
}

uint64_t wait_spin_end(void)
{
	return clock_after_ns(settings.spin_us * CLOCK_NS_PER_US);
}

/* ---- fi_trywait() ---- */

static int try_one(struct fid *fid)
{
	if (!fid)
		return -FI_EINVAL;
	switch (fid->fclass) {
	case FI_CLASS_CQ:
		return cq_try((struct cq *)(void *)fid);
	case FI_CLASS_CNTR:
		return cntr_try((struct cntr *)(void *)fid);
	case FI_CLASS_EQ:
		return eq_try((struct eq *)(void *)fid);
	default:
		return -FI_EINVAL;
	}
}

int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	if (!fabric || count < 0 || (count && !fids))
		return -FI_EINVAL;
	for (int i = 0; i < count; i++) {
		int r = try_one(fids[i]);
		if (r)
			return r;
	}
	return 0;
}
