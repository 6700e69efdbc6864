/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks on windows of peers; see cay_window(3). The node sets them, because it
 * can detect accesses in progress. Set-up path, any thread.
 */
#include <errno.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/window.h"

#define LOCK_NAP_NS    (50 * CLOCK_NS_PER_US)
#define QUIESCE_NAP_NS (20 * CLOCK_NS_PER_US)

struct node_request window_request(struct cay_port *port,
	const struct cay_peer *peer, struct cay_key key, uint32_t kind)
{
	struct node_request request = { .kind = kind };
	const struct context *to =
		atomic_load_explicit(&peer->context, memory_order_acquire);
	request.lock.vpid = port->origin.vpid;
	request.lock.target = peer->vpid;
	request.lock.epoch = to->epoch;
	request.lock.window = (uint16_t)key.window;
	request.lock.capability = key.capability;
	return request;
}

/* A lock must not be requested twice, so its reply gets all the time. */
static uint64_t lock_reply_deadline(uint64_t deadline)
{
	uint64_t least = control_reply_deadline(deadline);
	return deadline > least ? deadline : least;
}

/*
 * The lock is set, and accesses are still in progress: waits for their end, or
 * releases the lock at the deadline.
 */
static int lock_wait(
	struct cay_port *port, struct node_request *request, uint64_t deadline)
{
	struct node_reply reply;
	int r;
	request->lock.poll = 1;
	while ((r = control_call_until(port->member, request, &reply, NULL,
			lock_reply_deadline(deadline))) == -EINPROGRESS) {
		if (clock_passed(deadline))
			break;
		clock_nap_ns(QUIESCE_NAP_NS);
	}
	if (r == 0)
		return 0;
	request->kind = NODE_UNLOCK;
	control_tell(port->member, request);
	if (r == -EINPROGRESS)
		return deadline ? -ETIMEDOUT : -EAGAIN;
	return r;
}

int cay_window_lock(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, uint64_t deadline)
{
	struct node_reply reply;
	if (!port_usable(port))
		return port_error(port);
	if (!port_has_peer(port, peer) || key.reserved)
		return -EINVAL;
	if (key.window > UINT16_MAX)
		return -ENXIO;
	for (uint64_t nap = LOCK_NAP_NS;;
		nap = bits_min(2 * nap, CLOCK_NS_PER_MS)) {
		struct node_request request =
			window_request(port, peer, key, NODE_LOCK);
		int r = control_call_until(port->member, &request, &reply, NULL,
			lock_reply_deadline(deadline));
		if (r == -EINPROGRESS)
			return lock_wait(port, &request, deadline);
		if (r == -EACCES)
			port_invalid_capability(port);
		if (r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return deadline ? -ETIMEDOUT : -EAGAIN;
		clock_nap_ns(nap);
	}
}

int cay_window_unlock(
	struct cay_port *port, struct cay_peer *peer, struct cay_key key)
{
	struct node_reply reply;
	if (!port_usable(port))
		return port_error(port);
	if (!port_has_peer(port, peer) || key.reserved)
		return -EINVAL;
	if (key.window > UINT16_MAX)
		return -ENXIO;
	/* Stores made under the lock are visible before it is released. */
	atomic_thread_fence(memory_order_seq_cst);
	struct node_request request =
		window_request(port, peer, key, NODE_UNLOCK);
	return control_call(port->member, &request, &reply, NULL);
}
