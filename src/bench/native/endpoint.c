/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cay's latency. Every process opens a port of its own after fork, leaves its
 * address in the group's page and resolves the next rank.
 */
#include "bench/native/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native/payload.h"

/* ---- set-up ---- */

int endpoint_open(struct side *s, struct endpoint *c)
{
	struct group_member *member = s->group->page->member;
	int r;

	struct cay_port_options options = { .nq_entries = 1u
							  << WORKLOAD_NQ_LOG2 };
	c->port = cay_port_open(&options);
	if (!c->port)
		return -errno;
	member[s->rank].addr = cay_port_addr(c->port);
	if ((r = group_barrier(s->group, s->rank)))
		return r;
	unsigned next = (s->rank + 1) % s->group->ranks;
	return cay_peer_resolve(c->port, member[next].addr, &c->next);
}

static int endpoint_buffers(struct side *s, struct endpoint *c, bool alloc)
{
	size_t bytes = bits_round_up(s->bytes + 1, PAYLOAD_LINE);

	c->allocated = alloc;
	c->source = alloc ? cay_alloc(c->port, bytes, 0) : malloc(bytes);
	if (!c->source)
		return -errno;
	c->copy = malloc(bytes);
	if (!c->copy)
		return -ENOMEM;
	memset(c->source, 1, bytes);
	memset(c->copy, 1, bytes);
	return 0;
}

static int endpoint_make(struct side *s, bool alloc)
{
	struct endpoint *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	s->state = c;
	r = endpoint_open(s, c);
	return r ? r : endpoint_buffers(s, c, alloc);
}

int endpoint_setup(struct side *s)
{
	return endpoint_make(s, false);
}

static int endpoint_alloc_setup(struct side *s)
{
	return endpoint_make(s, true);
}

void endpoint_teardown(struct side *s)
{
	struct endpoint *c = s->state;

	if (!c)
		return;
	if (c->allocated)
		cay_free(c->port, c->source);
	else
		free(c->source);
	free(c->copy);
	cay_peer_release(c->next);
	if (c->port)
		cay_port_close(c->port);
	free(c);
	s->state = NULL;
}

/* ---- short messages ---- */

/* Out of the way: no room is rare, because one message is under way. */
__attribute__((cold, noinline)) static int endpoint_send_again(struct side *s)
{
	struct endpoint *c = s->state;
	uint32_t looks = 0;
	int r, spent;

	while ((r = cay_send(c->port, c->next, c->sent, c->source, s->bytes,
			0)) == -EAGAIN)
		if ((spent = group_spin(s->group, &looks)))
			return spent;
	return r;
}

int endpoint_send(struct side *s)
{
	struct endpoint *c = s->state;

	payload_stamp(c->source, s->bytes, c->sent);
	int r = cay_send(c->port, c->next, c->sent, c->source, s->bytes, 0);
	if (unlikely(r == -EAGAIN))
		r = endpoint_send_again(s);
	c->sent++;
	return r;
}

int endpoint_accept(struct side *s, const struct cay_event *e)
{
	struct endpoint *c = s->state;
	int r = -EPROTO;

	if (likely(e->kind == CAY_EVENT_MESSAGE))
		r = payload_verify(e->data, e->length, s->bytes, c->received++);
	cay_release(c->port, e);
	return r;
}

int endpoint_next(struct side *s, struct cay_event *e)
{
	struct endpoint *c = s->state;
	uint32_t looks = 0;
	int count, r;

	while ((count = cay_poll(c->port, e, 1)) == 0)
		if (unlikely(r = group_spin(s->group, &looks)))
			return r;
	return count < 0 ? count : 0;
}

int endpoint_receive(struct side *s)
{
	struct cay_event e;
	int r = endpoint_next(s, &e);

	return r ? r : endpoint_accept(s, &e);
}

int endpoint_receive_asleep(struct side *s)
{
	struct endpoint *c = s->state;
	struct cay_event e;
	int count, r;

	while ((count = cay_poll(c->port, &e, 1)) == 0) {
		r = cay_wait(c->port, s->group->deadline);
		if (r && r != -EINTR)
			return r;
	}
	return count < 0 ? count : endpoint_accept(s, &e);
}

static int endpoint_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_send, endpoint_receive);
}

static int endpoint_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_receive, endpoint_send);
}

/* ---- long messages ---- */

static int long_prepare(struct side *s)
{
	struct endpoint *c = s->state;

	if (s->fresh)
		payload_refresh(c->source, s->bytes, c->sent);
	return 0;
}

/* What cay_alloc() memory holds is in place; the others are copies already. */
static int long_take(struct side *s, struct cay_event *e)
{
	struct endpoint *c = s->state;

	if (c->allocated && e->kind == CAY_EVENT_MESSAGE &&
		e->length <= s->bytes) {
		memcpy(c->copy, e->data, e->length);
		e->data = c->copy;
	}
	return endpoint_accept(s, e);
}

/* Until a message is there, or (no message) until all of ours are complete. */
static int long_await(struct side *s, bool message)
{
	struct endpoint *c = s->state;
	struct cay_event e;
	int r = 0;

	while (!r && (message || c->pending)) {
		if ((r = endpoint_next(s, &e)))
			break;
		if (e.kind != CAY_EVENT_COMPLETE)
			return message ? long_take(s, &e) : -EPROTO;
		c->pending--;
		r = e.error ? -EIO : 0;
		cay_release(c->port, &e);
	}
	return r;
}

static int long_send(struct side *s)
{
	struct endpoint *c = s->state;

	c->pending++;
	return endpoint_send(s);
}

static int long_ping(struct side *s, uint32_t trips)
{
	int r = 0;

	while (!r && trips--) {
		r = long_send(s);
		if (!r)
			r = long_await(s, true);
		if (!r)
			r = long_await(s, false);
	}
	return r;
}

/* Its own completion comes while the other side is at the next message. */
static int long_pong(struct side *s, uint32_t trips)
{
	int r = 0;

	while (!r && trips--) {
		r = long_await(s, true);
		if (!r)
			r = long_send(s);
		if (!r)
			r = long_await(s, false);
	}
	return r;
}

const struct workload cay_message_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = workload_nothing,
	.ping = endpoint_ping,
	.pong = endpoint_pong,
	.teardown = endpoint_teardown,
};

const struct workload cay_malloc_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = long_prepare,
	.ping = long_ping,
	.pong = long_pong,
	.teardown = endpoint_teardown,
};

const struct workload cay_alloc_workload = {
	.name = "Cay",
	.setup = endpoint_alloc_setup,
	.prepare = long_prepare,
	.ping = long_ping,
	.pong = long_pong,
	.teardown = endpoint_teardown,
};
