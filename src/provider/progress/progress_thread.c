/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread of automatic progress. While the application polls by itself, or
 * there are retries, which no doorbell announces, the thread polls every
 * millisecond and arms nothing, so that senders need not ring. Otherwise it
 * arms all ports and sleeps on their doorbells, by the rules of wait.h.
 *
 * It is one more sleeper: `asleep` is its `watched`, and its eventfd is set by
 * wait_wake_sleepers(), for endpoints that are added, and at the end.
 */
#include "provider/progress/progress_thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/completion/sleep.h"
#include "provider/endpoint/endpoint.h"
#include "provider/progress/progress.h"

#define NAP_NS CLOCK_NS_PER_MS

/* Number of polls by any thread; the sum may wrap. */
static unsigned polls_of(const struct domain *domain)
{
	unsigned sum = 0;
	list_for_each (at, &domain->endpoints)
		sum += list_of(at, struct endpoint, link)->polls;
	return sum;
}

static bool arm_all(const struct domain *domain)
{
	list_for_each (at, &domain->endpoints) {
		struct endpoint *ep = list_of(at, struct endpoint, link);
		if (wait_has_retries(ep) || wait_arm_port(ep))
			return false;
		ep->armed = true;
		wait_recheck(ep);
	}
	return true;
}

/* Makes progress. Returns whether to sleep until a descriptor is readable. */
static bool progress_thread_turn(struct progress_thread *t)
{
	eventfd_t count;
	domain_lock(t->domain);
	bool polled = polls_of(t->domain) != t->polls;
	eventfd_read(t->event, &count);
	t->asleep = !polled;
	domain_progress(t->domain);
	if (!polled && (t->must_poll || !arm_all(t->domain)))
		t->asleep = false;
	t->polls = polls_of(t->domain);
	bool sleep = t->asleep;
	domain_unlock(t->domain);
	return sleep;
}

static void *progress_thread_run(void *argument)
{
	struct progress_thread *t = argument;
	struct epoll_event ready;
	/*
	 * Acquire: pairs with progress_thread_stop(), which sets the eventfd
	 * after its store; so a turn that cleared the eventfd sees the store.
	 */
	while (!atomic_load_explicit(&t->stop, memory_order_acquire)) {
		if (!progress_thread_turn(t))
			clock_nap_ns(NAP_NS);
		else if (!atomic_load_explicit(&t->stop, memory_order_acquire))
			epoll_wait(t->epoll, &ready, 1, -1);
	}
	return NULL;
}

static int descriptor_add(struct progress_thread *t, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void progress_thread_add(struct domain *domain, struct endpoint *ep)
{
	struct progress_thread *t = domain->thread;
	int fd = cay_port_fd(ep->port);
	if (fd < 0 || descriptor_add(t, fd))
		t->must_poll = true;
	progress_thread_wake(t);
}

void progress_thread_remove(struct domain *domain, struct endpoint *ep)
{
	epoll_ctl(domain->thread->epoll, EPOLL_CTL_DEL, cay_port_fd(ep->port),
		NULL);
}

static void progress_thread_free(struct progress_thread *t)
{
	if (t->epoll >= 0)
		close(t->epoll);
	if (t->event >= 0)
		close(t->event);
	free(t);
}

int progress_thread_start(struct domain *domain)
{
	sigset_t all, before;
	struct progress_thread *t = calloc(1, sizeof(*t));
	if (!t)
		return -FI_ENOMEM;
	t->domain = domain;
	t->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	int r = t->event < 0 || t->epoll < 0 ? -errno
					     : descriptor_add(t, t->event);
	if (r)
		goto err_free;
	domain->thread = t;
	/* Signals are for the application's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&t->thread, NULL, progress_thread_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		goto err_free;
	pthread_setname_np(t->thread, "cay-progress");
	return 0;
err_free:
	domain->thread = NULL;
	progress_thread_free(t);
	return r;
}

void progress_thread_stop(struct domain *domain)
{
	struct progress_thread *t = domain->thread;
	/* Release: pairs with the loads in progress_thread_run(). */
	atomic_store_explicit(&t->stop, true, memory_order_release);
	eventfd_write(t->event, 1);
	pthread_join(t->thread, NULL);
	domain->thread = NULL;
	progress_thread_free(t);
}
