/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread of automatic progress. While the application polls by itself, or
 * there is work that no bell announces, the thread looks every millisecond and
 * arms nothing, so that senders need not ring. Else it arms all ports and
 * sleeps on their bells, by the rules of wait.h.
 *
 * It is one more sleeper: `asleep` is its `watched`, and its eventfd rings for
 * what wait_alarm() says, for endpoints that come, and for the end.
 */
#include "provider/progress/engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/endpoint/endpoint.h"

#define NAP_NS CLOCK_NS_PER_MS

struct engine {
	struct domain *domain;
	pthread_t thread;
	int epoll, event;
	bool asleep; /* or about to be; its eventfd does not ring */
	bool deaf;   /* some bell is not among the descriptors: never sleep */
	unsigned polls; /* of all endpoints, at the end of the last look */
	_Atomic bool stop;
};

/* How often anybody has polled; a sum that wraps is as good. */
static unsigned polls_of(const struct domain *domain)
{
	unsigned sum = 0;
	list_for_each (at, &domain->endpoints)
		sum += list_of(at, struct endpoint, link)->polls;
	return sum;
}

static bool all_armed(const struct domain *domain)
{
	list_for_each (at, &domain->endpoints) {
		struct endpoint *ep = list_of(at, struct endpoint, link);
		if (wait_pending(ep) || wait_arm_port(ep))
			return false;
		ep->armed = true;
		wait_rearm(ep);
	}
	return true;
}

/* May it sleep until something rings? */
static bool engine_look(struct engine *e)
{
	eventfd_t count;
	guard_enter(&e->domain->guard);
	bool polled = polls_of(e->domain) != e->polls;
	eventfd_read(e->event, &count);
	e->asleep = !polled;
	domain_progress(e->domain);
	if (!polled && (e->deaf || !all_armed(e->domain)))
		e->asleep = false;
	e->polls = polls_of(e->domain);
	bool sleep = e->asleep;
	guard_leave(&e->domain->guard);
	return sleep;
}

static void *engine_run(void *argument)
{
	struct engine *e = argument;
	struct epoll_event rung;
	/*
	 * Acquire: pairs with engine_stop(), which rings after its store; a
	 * ring that the look has silenced is therefore not needed.
	 */
	while (!atomic_load_explicit(&e->stop, memory_order_acquire)) {
		if (!engine_look(e))
			clock_nap_ns(NAP_NS);
		else if (!atomic_load_explicit(&e->stop, memory_order_acquire))
			epoll_wait(e->epoll, &rung, 1, -1);
	}
	return NULL;
}

void engine_wake(struct engine *e)
{
	if (!e->asleep)
		return;
	e->asleep = false;
	eventfd_write(e->event, 1);
}

static int descriptor_add(struct engine *e, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	return epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void engine_enable(struct domain *domain, struct endpoint *ep)
{
	struct engine *e = domain->engine;
	int fd = cay_port_fd(ep->port);
	if (fd < 0 || descriptor_add(e, fd))
		e->deaf = true;
	engine_wake(e);
}

void engine_disable(struct domain *domain, struct endpoint *ep)
{
	epoll_ctl(domain->engine->epoll, EPOLL_CTL_DEL, cay_port_fd(ep->port),
		NULL);
}

/* Signals are for the application's own threads. */
static int thread_start(struct engine *e)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&e->thread, NULL, engine_run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	pthread_setname_np(e->thread, "cay-progress");
	return 0;
}

static int descriptors_open(struct engine *e)
{
	e->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (e->event < 0 || e->epoll < 0)
		return -errno;
	return descriptor_add(e, e->event);
}

static void engine_free(struct engine *e)
{
	if (e->epoll >= 0)
		close(e->epoll);
	if (e->event >= 0)
		close(e->event);
	free(e);
}

int engine_start(struct domain *domain)
{
	struct engine *e = calloc(1, sizeof(*e));
	if (!e)
		return -FI_ENOMEM;
	e->domain = domain;
	int r = descriptors_open(e);
	if (r)
		goto err_free;
	domain->engine = e;
	r = thread_start(e);
	if (r)
		goto err_free;
	return 0;
err_free:
	domain->engine = NULL;
	engine_free(e);
	return r;
}

void engine_stop(struct domain *domain)
{
	struct engine *e = domain->engine;
	atomic_store_explicit(&e->stop, true, memory_order_release);
	eventfd_write(e->event, 1);
	pthread_join(e->thread, NULL);
	domain->engine = NULL;
	engine_free(e);
}
