/* SPDX-License-Identifier: BSD-2-Clause */
/* Wait objects: descriptors, members and wake-ups. See wait.h. */
#include "provider/completion/wait.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/endpoint/endpoint.h"
#include "provider/progress/progress_thread.h"

/* ---- descriptors and members ---- */

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
	pace_init(&w->pace);
	if (w->object == FI_WAIT_NONE)
		return 0;

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

void wait_close(struct wait *w)
{
	if (w->object != FI_WAIT_NONE) {
		close(w->epoll);
		close(w->event);
	}
	free(w->members);
}

/* Returns its position, or the number of members. */
static unsigned member_find(const struct wait *w, const struct endpoint *ep)
{
	unsigned i = 0;
	while (i < w->member_count && w->members[i] != ep)
		i++;
	return i;
}

static void single_set(struct wait *w)
{
	w->single = w->member_count == 1 && !w->domain->locks ? w->members[0]
							      : NULL;
}

int wait_add(struct wait *w, struct endpoint *ep)
{
	if (member_find(w, ep) < w->member_count)
		return 0;
	if (w->member_count == w->member_capacity) {
		unsigned n = w->member_capacity ? 2 * w->member_capacity : 4;
		struct endpoint **members =
			reallocarray(w->members, n, sizeof(members[0]));
		if (!members)
			return -FI_ENOMEM;
		w->members = members;
		w->member_capacity = n;
	}
	w->members[w->member_count++] = ep;
	single_set(w);
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
	single_set(w);
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
	/* The port is not armed yet: sleepers must arm it. */
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

/* ---- reads in vain ---- */

_Atomic int wait_endpoints;

/*
 * Returns the port on which the only thread may sleep that uses it, or NULL.
 * Nothing that the thread may look at besides must arrive at another port or be
 * in another queue.
 */
static struct cay_port *port_to_sleep_on(const struct wait *w)
{
	const struct endpoint *ep = w->single;
	if (!ep ||
		atomic_load_explicit(&wait_endpoints, memory_order_relaxed) !=
			1 ||
		wait_has_retries(ep))
		return NULL;
	if ((ep->tx_cq && !ep->tx_cq->wait.idle(&ep->tx_cq->wait)) ||
		(ep->rx_cq && !ep->rx_cq->wait.idle(&ep->rx_cq->wait)))
		return NULL;
	return ep->port;
}

static uint64_t cpu_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

__attribute__((cold)) bool wait_paced(struct wait *w)
{
	uint64_t now = clock_now_ns(), then;
	struct cay_port *port;
	switch (pace_expired(&w->pace, now, cpu_now_ns)) {
	case PACE_YIELD:
		sched_yield();
		then = clock_now_ns();
		pace_yielded(&w->pace, then, then - now);
		return false;
	case PACE_SLEEP:
		port = port_to_sleep_on(w);
		if (!port)
			return false;
		then = now + atomic_load_explicit(
				     &w->pace.sleep_ns, memory_order_relaxed);
		bool found = cay_wait(port, then) == 0;
		pace_slept(&w->pace, clock_now_ns(), cpu_now_ns());
		return found;
	default:
		return false;
	}
}

/* ---- wake-ups ---- */

__attribute__((cold)) void wait_wake(struct wait *w)
{
	if (!w->watched)
		return;
	w->watched = false;
	eventfd_write(w->event, 1); /* EAGAIN: it is set already */
}

void wait_signal(struct wait *w)
{
	/* Release: pairs with the exchange in wait_consume_signal(). */
	atomic_store_explicit(&w->signalled, true, memory_order_release);
	eventfd_write(w->event, 1);
}

bool wait_consume_signal(struct wait *w)
{
	/* Relaxed: only a hint that avoids the exchange in the usual case. */
	return atomic_load_explicit(&w->signalled, memory_order_relaxed) &&
	       atomic_exchange_explicit(
		       &w->signalled, false, memory_order_acquire);
}

void wait_wake_sleepers(struct endpoint *ep)
{
	ep->armed = false;
	if (ep->tx_cq)
		wait_wake(&ep->tx_cq->wait);
	if (ep->rx_cq)
		wait_wake(&ep->rx_cq->wait);
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (ep->counters[i])
			wait_wake(&ep->counters[i]->wait);
	list_for_each (at, &ep->domain->event_counters)
		wait_wake(&list_of(at, struct cntr, link)->wait);
	if (ep->domain->thread)
		progress_thread_wake(ep->domain->thread);
}

bool wait_has_retries(const struct endpoint *ep)
{
	return !list_empty(&ep->contacts) ||
	       !list_empty(&ep->control_retries) ||
	       !list_empty(&ep->rendezvous_retries) ||
	       !list_empty(&ep->rma_retries) ||
	       !list_empty(&ep->path_retries) || ep->path_full ||
	       ep->event_next < ep->event_count;
}

void wait_recheck(struct endpoint *ep)
{
	if (wait_has_retries(ep))
		wait_wake_sleepers(ep);
}

uint64_t wait_deadline(int timeout_ms)
{
	return timeout_ms < 0
		       ? UINT64_MAX
		       : clock_after_ns((uint64_t)timeout_ms * CLOCK_NS_PER_MS);
}
