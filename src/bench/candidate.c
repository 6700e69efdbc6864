/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cay's latency. Every process opens a port of its own after fork, leaves its
 * address in the party's page and resolves the next rank.
 */
#include "bench/candidate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/payload.h"

/* ---- set-up ---- */

int candidate_open(struct side *s, struct candidate *c)
{
	struct party_member *member = s->party->page->member;
	int r;

	struct cay_port_options options = { .nq_entries = 1u
							  << FLAVOUR_NQ_LOG2 };
	c->port = cay_port_open(&options);
	if (!c->port)
		return -errno;
	member[s->rank].addr = cay_port_addr(c->port);
	if ((r = party_barrier(s->party, s->rank)))
		return r;
	unsigned next = (s->rank + 1) % s->party->ranks;
	return cay_peer_resolve(c->port, member[next].addr, &c->next);
}

static int candidate_buffers(struct side *s, struct candidate *c, bool alloc)
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

static int candidate_make(struct side *s, bool alloc)
{
	struct candidate *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	s->state = c;
	r = candidate_open(s, c);
	return r ? r : candidate_buffers(s, c, alloc);
}

int candidate_setup(struct side *s)
{
	return candidate_make(s, false);
}

static int candidate_alloc_setup(struct side *s)
{
	return candidate_make(s, true);
}

void candidate_teardown(struct side *s)
{
	struct candidate *c = s->state;

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
__attribute__((cold, noinline)) static int candidate_send_again(struct side *s)
{
	struct candidate *c = s->state;
	uint32_t looks = 0;
	int r, spent;

	while ((r = cay_send(c->port, c->next, c->sent, c->source, s->bytes,
			0)) == -EAGAIN)
		if ((spent = party_spin(s->party, &looks)))
			return spent;
	return r;
}

int candidate_send(struct side *s)
{
	struct candidate *c = s->state;

	payload_stamp(c->source, s->bytes, c->sent);
	int r = cay_send(c->port, c->next, c->sent, c->source, s->bytes, 0);
	if (unlikely(r == -EAGAIN))
		r = candidate_send_again(s);
	c->sent++;
	return r;
}

int candidate_accept(struct side *s, const struct cay_event *e)
{
	struct candidate *c = s->state;
	int r = -EPROTO;

	if (likely(e->kind == CAY_EVENT_MESSAGE))
		r = payload_verify(e->data, e->length, s->bytes, c->received++);
	cay_release(c->port, e);
	return r;
}

int candidate_next(struct side *s, struct cay_event *e)
{
	struct candidate *c = s->state;
	uint32_t looks = 0;
	int count, r;

	while ((count = cay_poll(c->port, e, 1)) == 0)
		if (unlikely(r = party_spin(s->party, &looks)))
			return r;
	return count < 0 ? count : 0;
}

int candidate_receive(struct side *s)
{
	struct cay_event e;
	int r = candidate_next(s, &e);

	return r ? r : candidate_accept(s, &e);
}

int candidate_receive_asleep(struct side *s)
{
	struct candidate *c = s->state;
	struct cay_event e;
	int count, r;

	while ((count = cay_poll(c->port, &e, 1)) == 0) {
		r = cay_wait(c->port, s->party->deadline);
		if (r && r != -EINTR)
			return r;
	}
	return count < 0 ? count : candidate_accept(s, &e);
}

static int candidate_ping(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, candidate_send, candidate_receive);
}

static int candidate_pong(struct side *s, uint32_t trips)
{
	return flavour_turns(s, trips, candidate_receive, candidate_send);
}

/* ---- long messages ---- */

static int long_prepare(struct side *s)
{
	struct candidate *c = s->state;

	if (s->fresh)
		payload_refresh(c->source, s->bytes, c->sent);
	return 0;
}

/* What cay_alloc() memory holds is in place; the others are copies already. */
static int long_take(struct side *s, struct cay_event *e)
{
	struct candidate *c = s->state;

	if (c->allocated && e->kind == CAY_EVENT_MESSAGE &&
		e->length <= s->bytes) {
		memcpy(c->copy, e->data, e->length);
		e->data = c->copy;
	}
	return candidate_accept(s, e);
}

/* Until a message is there, or (no message) until all of ours are complete. */
static int long_await(struct side *s, bool message)
{
	struct candidate *c = s->state;
	struct cay_event e;
	int r = 0;

	while (!r && (message || c->pending)) {
		if ((r = candidate_next(s, &e)))
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
	struct candidate *c = s->state;

	c->pending++;
	return candidate_send(s);
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

const struct flavour candidate_flavour = {
	.name = "Cay",
	.setup = candidate_setup,
	.prepare = flavour_nothing,
	.ping = candidate_ping,
	.pong = candidate_pong,
	.teardown = candidate_teardown,
};

const struct flavour candidate_malloc_flavour = {
	.name = "Cay",
	.setup = candidate_setup,
	.prepare = long_prepare,
	.ping = long_ping,
	.pong = long_pong,
	.teardown = candidate_teardown,
};

const struct flavour candidate_alloc_flavour = {
	.name = "Cay",
	.setup = candidate_alloc_setup,
	.prepare = long_prepare,
	.ping = long_ping,
	.pong = long_pong,
	.teardown = candidate_teardown,
};
