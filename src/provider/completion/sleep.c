/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping on wait objects. See sleep.h, and wait.h for the protocol. */
#include "provider/completion/sleep.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "provider/endpoint/endpoint.h"
#include "provider/progress/progress.h"

#define ARM_TRIES 4
#define NAP_NS	  (100 * CLOCK_NS_PER_US)

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
		ep->path_hot = 0; /* what there is may be in the queue */
		endpoint_progress(ep);
	}
	wait_wake_sleepers(ep);
	return r == -EAGAIN ? -FI_EAGAIN : provider_error(r);
}

/* Returns true if no thread may sleep: there is a completion, or a retry. */
static bool wait_busy(const struct wait *w)
{
	if (!w->idle(w))
		return true;
	for (unsigned i = 0; i < w->member_count; i++)
		if (w->members[i]->port && wait_has_retries(w->members[i]))
			return true;
	return false;
}

/* Returns 0, -FI_EBUSY (completions arrived), or as wait_arm_port(). */
static int wait_arm(struct wait *w)
{
	eventfd_t count;
	eventfd_read(w->event, &count); /* EAGAIN: it was clear */
	w->watched = true;
	for (unsigned i = 0; i < w->member_count; i++) {
		struct endpoint *ep = w->members[i];
		if (!ep->port)
			continue;
		int r = wait_arm_port(ep);
		if (r)
			return r;
		ep->armed = true;
		wait_recheck(ep);
	}
	return w->watched ? 0 : -FI_EBUSY;
}

int wait_try(struct wait *w)
{
	if (w->object == FI_WAIT_NONE)
		return -FI_EINVAL;
	if (wait_busy(w))
		return -FI_EAGAIN;
	int r = wait_arm(w);
	return r == -FI_EBUSY ? -FI_EAGAIN : r;
}

static int wait_sleep(struct wait *w, uint64_t deadline_ns)
{
	int r = wait_busy(w) ? -FI_EAGAIN : wait_arm(w);
	if (r == -FI_EBUSY)
		return 0;
	if (r == -FI_EAGAIN) {
		/* There are retries, or a sender is between two stores. */
		uint64_t now = clock_now_ns();
		if (now >= deadline_ns)
			return 0;
		domain_unlock(w->domain);
		clock_nap_ns(bits_min(NAP_NS, deadline_ns - now));
		domain_lock(w->domain);
		return 0;
	}
	if (r)
		return r;
	/* After the eventfd was cleared: see wait.h. */
	if (atomic_load_explicit(&w->signalled, memory_order_acquire))
		return 0;

	struct pollfd p = { .fd = w->epoll, .events = POLLIN };
	struct timespec left;
	if (deadline_ns != UINT64_MAX) {
		uint64_t now = clock_now_ns();
		left = clock_timespec(
			now < deadline_ns ? deadline_ns - now : 0);
	}
	domain_unlock(w->domain);
	int n = ppoll(&p, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
	r = n < 0 ? -errno : 0;
	domain_lock(w->domain);
	return r;
}

int wait_turn(struct wait *w, uint64_t spin_ns, uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();
	if (now >= deadline_ns)
		return -FI_ETIMEDOUT;
	if (now >= spin_ns)
		return wait_sleep(w, deadline_ns);
	domain_unlock(w->domain);
	clock_relax();
	domain_lock(w->domain);
	return 0;
}

uint64_t wait_spin_end(void)
{
	return clock_after_ns(settings.spin_us * CLOCK_NS_PER_US);
}
