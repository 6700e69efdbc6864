/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client side of the control protocol. Set-up path; blocks.
 *
 * A node that does not reply is stopped or short of processor time, but not
 * gone: only the end of its socket tells that. A call that does not wait longer
 * leaves its reply owed. Replies come in the order of requests, so later calls
 * receive those first that earlier ones have left, and undo their effect, or
 * hand them to the caller of control_start().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/client.h"
#include "port/lock.h"
#include "port/member.h"

/* Starts without a known result, after which the program counts as failing. */
#define UNKNOWN_STARTS_MAX 3

/* A call with a deadline repeats its request after this time. */
#define REPLY_NS CLOCK_NS_PER_S

/* ---- replies that are owed ---- */

/*
 * The request that undoes one whose caller did not wait for the reply. Requests
 * that only end something need none. A page of op records stays unused.
 */
static bool request_undo(const struct node_request *q,
	const struct node_reply *reply, struct node_request *undo)
{
	*undo = (struct node_request){ 0 };
	switch (q->kind) {
	case NODE_OPEN:
		undo->kind = NODE_CLOSE;
		undo->close.vpid = reply->open.vpid;
		return true;
	case NODE_RESOLVE:
		undo->kind = NODE_RELEASE;
		undo->release.vpid = q->resolve.vpid;
		undo->release.index = reply->resolve.index;
		return true;
	case NODE_ALLOC:
		undo->kind = NODE_FREE;
		undo->free.offset = reply->alloc.offset;
		return true;
	case NODE_LOCK:
		*undo = *q;
		undo->kind = NODE_UNLOCK;
		return true;
	case NODE_MAP:
		undo->kind = NODE_UNMAP;
		undo->unmap.number = reply->map.number;
		return true;
	case NODE_ULTRA_ACCEPT:
	case NODE_ULTRA_CONNECT:
		undo->kind = NODE_ULTRA_CLOSE;
		undo->ultra_end.upid = reply->ultra.upid;
		return true;
	default:
		return false;
	}
}

/* Under m->control, with room in the list. */
static int request_post(
	struct member *m, const struct node_request *q, uint64_t deadline)
{
	int r = client_send(m->socket, q, deadline);
	if (r == 0)
		m->owed[(m->owed_first + m->owed_count++) % MEMBER_OWED_MAX] =
			(struct control_owed){ .request = *q };
	return r;
}

/*
 * Under m->control: receives the reply to the oldest request. If another call
 * has sent that request, it gets the reply if it wants to know it; else the
 * effect is undone.
 */
static int reply_take(struct member *m, struct node_reply *reply, int *fd_in,
	bool ours, uint64_t deadline)
{
	struct node_request undo;
	const struct node_request *q = &m->owed[m->owed_first].request;
	struct control_pending *pending = ours ? NULL
					       : m->owed[m->owed_first].pending;
	int r = client_receive(
		m->socket, reply, pending ? &pending->fd : fd_in, deadline);
	if (r == -ETIMEDOUT)
		return r;
	m->owed_first = (m->owed_first + 1) % MEMBER_OWED_MAX;
	m->owed_count--;
	if (pending) {
		pending->done = true;
		pending->result = r;
		pending->reply = *reply;
		return r;
	}
	/* A lock is set also while accesses are still in progress. */
	bool done = r == 0 || r == -EINPROGRESS;
	if (!ours && done && request_undo(q, reply, &undo)) {
		int e = request_post(m, &undo, deadline);
		return e ? e : r;
	}
	return r;
}

/*
 * Under m->control: returns true if the list has a NODE_LOCK. A lock that a
 * call has left is undone before the next one is requested, which the node
 * would refuse with -EALREADY.
 */
static bool lock_owed(const struct member *m)
{
	for (uint32_t i = 0; i < m->owed_count; i++)
		if (m->owed[(m->owed_first + i) % MEMBER_OWED_MAX]
				.request.kind == NODE_LOCK)
			return true;
	return false;
}

static bool transport_failed(int r)
{
	return r == -ENOTCONN || r == -EPROTO;
}

/* ---- calls ---- */

int control_call_until(struct member *m, const struct node_request *request,
	struct node_reply *reply, int *fd_in, uint64_t deadline)
{
	struct lock_guard guard;
	struct node_reply late;
	lock_take(&m->control, &guard);
	int r = m->broken ? -ENOTCONN : 0;
	/* Half of the list is for requests that undo others. */
	while (r == 0 &&
		(m->owed_count >= MEMBER_OWED_MAX / 2 ||
			(request->kind == NODE_LOCK && lock_owed(m)))) {
		r = reply_take(m, &late, NULL, false, deadline);
		if (!transport_failed(r) && r != -ETIMEDOUT)
			r = 0;
	}
	uint32_t before = m->owed_count;
	if (r == 0)
		r = request_post(m, request, deadline);
	while (r == 0 && before-- > 0) {
		r = reply_take(m, &late, NULL, false, deadline);
		if (!transport_failed(r) && r != -ETIMEDOUT)
			r = 0;
	}
	if (r == 0)
		r = reply_take(m, reply, fd_in, true, deadline);
	m->broken |= transport_failed(r);
	lock_drop(&m->control, &guard);
	return r;
}

int control_call(struct member *m, const struct node_request *request,
	struct node_reply *reply, int *fd_in)
{
	return control_call_until(
		m, request, reply, fd_in, clock_after_ns(MEMBER_TIMEOUT_NS));
}

uint64_t control_reply_deadline(uint64_t deadline)
{
	return clock_after_ns(deadline ? REPLY_NS : MEMBER_TIMEOUT_NS);
}

void control_tell(struct member *m, const struct node_request *request)
{
	struct node_reply reply;
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	bool slow = m->owed_count > 0;
	lock_drop(&m->control, &guard);
	control_call_until(m, request, &reply, NULL,
		slow ? 0 : clock_after_ns(MEMBER_TIMEOUT_NS));
}

void control_post(struct member *m, const struct node_request *request)
{
	int r = client_post(m->socket, request);
	if (r == -EAGAIN)
		client_send(
			m->socket, request, clock_after_ns(MEMBER_TIMEOUT_NS));
}

/* Under m->control: receives the replies that are there. */
static void replies_take(struct member *m)
{
	struct node_reply late;
	int r = 0;
	while (!m->broken && m->owed_count && r != -ETIMEDOUT) {
		r = reply_take(m, &late, NULL, false, 0);
		m->broken |= transport_failed(r);
	}
}

bool control_slow(struct member *m)
{
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	replies_take(m);
	bool slow = !m->broken && m->owed_count;
	lock_drop(&m->control, &guard);
	return slow;
}

/* ---- requests whose caller does not wait ---- */

int control_start(struct member *m, const struct node_request *request,
	struct control_pending *pending)
{
	struct lock_guard guard;
	if (pending)
		*pending = (struct control_pending){ .fd = -1 };
	if (!lock_try(&m->control, &guard))
		return -EAGAIN;
	replies_take(m);
	int r = -EAGAIN;
	if (m->broken)
		r = -ENOTCONN;
	else if (m->owed_count < MEMBER_OWED_MAX / 2)
		r = request_post(m, request, 0);
	if (r == 0) {
		uint32_t last = m->owed_first + m->owed_count - 1;
		m->owed[last % MEMBER_OWED_MAX].pending = pending;
	}
	m->broken |= transport_failed(r);
	lock_drop(&m->control, &guard);
	return r == -ETIMEDOUT ? -EAGAIN : r;
}

int control_result(struct member *m, struct control_pending *pending)
{
	struct lock_guard guard;
	if (!lock_try(&m->control, &guard))
		return -EINPROGRESS;
	replies_take(m);
	int r = pending->done ? pending->result
		: m->broken   ? -ENOTCONN
			      : -EINPROGRESS;
	lock_drop(&m->control, &guard);
	return r;
}

bool control_abandon(struct member *m, struct control_pending *pending)
{
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	for (uint32_t i = 0; i < m->owed_count; i++) {
		struct control_owed *o =
			&m->owed[(m->owed_first + i) % MEMBER_OWED_MAX];
		if (o->pending == pending)
			o->pending = NULL;
	}
	lock_drop(&m->control, &guard);
	if (pending->fd >= 0)
		close(pending->fd);
	pending->fd = -1;
	return pending->done && pending->result == 0;
}

int control_connect(
	const char *node, char name[NODE_NAME_MAX], uint64_t deadline)
{
	struct node_address a;
	int r = node_address(node, &a);
	if (r)
		return r;
	snprintf(name, NODE_NAME_MAX, "%s", a.name);
	unsigned unknown = 0;
	for (uint64_t nap = CLOCK_NS_PER_MS;; nap += nap / 2) {
		r = client_connect(&a);
		if (r != -ECONNREFUSED && r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (r == -ECONNREFUSED) {
			/*
			 * A failure of the program is final. After its success
			 * the node may have exited already, or have been an
			 * older one that was exiting: then another is started.
			 */
			int started = spawn_node(a.name);
			if (started < 0)
				return started;
			r = client_connect(&a);
			if (r >= 0 || r == -EPERM)
				return r;
			unknown += started > 0;
			if (unknown == UNKNOWN_STARTS_MAX)
				return -ENOEXEC;
		}
		clock_nap_ns(nap);
	}
}
