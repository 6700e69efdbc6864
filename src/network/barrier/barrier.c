/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See barrier.h. Why nothing of one round is taken for another:
 *
 * A child sends UP once in a round, and then nothing but RESET_UP before it has
 * heard how the round ended. So an UP for the next round cannot come to the
 * parent before the parent has sent DOWN, that is, has cleared `came`; whether
 * DOWN still travels to other children is all the same to both. And a child has
 * seen DOWN before what follows it, since links keep the order.
 *
 * RESET_DOWN does not wait for anybody's UP, so one may cross it. The child is
 * `deaf` from then until its answer comes, and whatever it says in between is
 * dropped: an UP is of the round that the reset has ended, a RESET_UP has got
 * what it wanted. A node answers when all its children have. Before, it has
 * nothing to say of the new round: it cannot be complete, and a reset is held.
 * So on each link all that comes before the answer is old, and all that comes
 * behind it is new.
 *
 * A node completes no round while a child is deaf, and the top begins no reset
 * then: no second RESET_DOWN comes to a node before its answer has gone.
 */
#include "network/barrier/barrier.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One barrier at one node. */
struct place {
	uint32_t below; /* ports to children with somebody who takes part */
	uint32_t came;	/* of these: have sent UP in this round */
	uint32_t deaf;	/* of these: have not answered RESET_DOWN */
	bool takes_part;
	bool arrived;
	bool reset_sent; /* RESET_UP, and no RESET_DOWN since */
	bool reset_held; /* until no child is deaf */
};

struct barriers {
	const struct tree *tree;
	struct barrier_calls calls;
	struct place *place; /* by barrier and node */
	uint64_t *strays;    /* by node, as each may have a thread of its own */
	uint32_t top[BARRIER_COUNT];
};

/* What a call is about. */
struct spot {
	struct barriers *b;
	void *context;
	struct place *place;
	uint32_t node;
	uint8_t id;
	bool top;
};

static struct place *place_of(
	const struct barriers *b, uint32_t node, unsigned id)
{
	return &b->place[(uint64_t)id * b->tree->topology->nodes + node];
}

static struct spot spot_of(
	struct barriers *b, void *context, uint32_t node, unsigned id)
{
	return (struct spot){ b, context, place_of(b, node, id), node,
		(uint8_t)id, b->top[id] == node };
}

static bool has_part(const struct place *p)
{
	return p->takes_part || p->below;
}

/* Everybody has arrived, here and below. */
static bool complete(const struct place *p)
{
	return p->came == p->below && (p->arrived || !p->takes_part);
}

/* ---- what a node says ---- */

static void send_up(const struct spot *s, enum barrier_kind kind)
{
	s->b->calls.send(s->context, s->node, s->b->tree->up[s->node],
		(struct barrier_message){ s->id, (uint8_t)kind });
}

static void send_down(const struct spot *s, enum barrier_kind kind)
{
	for (uint32_t rest = s->place->below; rest; rest &= rest - 1)
		s->b->calls.send(s->context, s->node,
			(unsigned)__builtin_ctz(rest),
			(struct barrier_message){ s->id, (uint8_t)kind });
}

/* ---- what it does ---- */

/* The host is told last, as it may begin the next round from there. */
static void tell_host(const struct spot *s, bool error)
{
	if (s->place->takes_part)
		s->b->calls.release(s->context, s->node, s->id, error);
}

static void end_well(const struct spot *s)
{
	s->place->came = 0;
	s->place->arrived = false;
	send_down(s, BARRIER_DOWN);
	tell_host(s, false);
}

static void end_badly(const struct spot *s)
{
	struct place *p = s->place;
	p->came = 0;
	p->arrived = false;
	p->reset_sent = false;
	p->deaf = p->below;
	send_down(s, BARRIER_RESET_DOWN);
	if (!p->deaf && !s->top)
		send_up(s, BARRIER_RESET_DONE);
	tell_host(s, true);
}

static void collect(const struct spot *s)
{
	if (!complete(s->place))
		return;
	if (s->top)
		end_well(s);
	else
		send_up(s, BARRIER_UP);
}

static void reset(const struct spot *s)
{
	struct place *p = s->place;
	if (p->deaf) {
		p->reset_held = true;
	} else if (s->top) {
		end_badly(s);
	} else if (!p->reset_sent) {
		p->reset_sent = true;
		send_up(s, BARRIER_RESET_UP);
	}
}

static void all_answered(const struct spot *s)
{
	bool held = s->place->reset_held;
	s->place->reset_held = false;
	if (!s->top)
		send_up(s, BARRIER_RESET_DONE);
	if (held)
		reset(s);
}

/* ---- what it hears: false if this fits nothing ---- */

static bool hear_from_deaf(const struct spot *s, uint32_t child, unsigned kind)
{
	if (kind == BARRIER_UP || kind == BARRIER_RESET_UP)
		return true; /* of the round that is over */
	if (kind != BARRIER_RESET_DONE)
		return false;
	s->place->deaf &= ~child;
	if (!s->place->deaf)
		all_answered(s);
	return true;
}

static bool hear_from_child(const struct spot *s, uint32_t child, unsigned kind)
{
	struct place *p = s->place;
	if (p->deaf & child)
		return hear_from_deaf(s, child, kind);
	if (kind == BARRIER_UP && !(p->came & child)) {
		p->came |= child;
		collect(s);
		return true;
	}
	if (kind == BARRIER_RESET_UP) {
		reset(s);
		return true;
	}
	return false;
}

static bool hear_from_parent(const struct spot *s, unsigned kind)
{
	if (kind == BARRIER_DOWN && complete(s->place)) {
		end_well(s);
		return true;
	}
	if (kind == BARRIER_RESET_DOWN && !s->place->deaf) {
		end_badly(s);
		return true;
	}
	return false;
}

static bool hear(const struct spot *s, unsigned port, unsigned kind)
{
	const struct tree *tree = s->b->tree;
	if (port >= tree->topology->ports || !has_part(s->place))
		return false;
	if (s->place->below >> port & 1)
		return hear_from_child(s, 1u << port, kind);
	return port == tree->up[s->node] && !s->top &&
	       hear_from_parent(s, kind);
}

void barrier_receive(struct barriers *b, void *context, uint32_t node,
	unsigned port, struct barrier_message m)
{
	assert(node < b->tree->topology->nodes);
	bool fits = false;
	if (m.id < BARRIER_COUNT) {
		struct spot s = spot_of(b, context, node, m.id);
		fits = hear(&s, port, m.kind);
	}
	b->strays[node] += !fits;
}

/* ---- what the host says ---- */

int barrier_arrive(
	struct barriers *b, void *context, uint32_t node, unsigned id)
{
	if (node >= b->tree->topology->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	struct spot s = spot_of(b, context, node, id);
	if (!s.place->takes_part)
		return -ENOTCONN;
	if (s.place->arrived)
		return -EALREADY;
	s.place->arrived = true;
	collect(&s);
	return 0;
}

int barrier_reset(struct barriers *b, void *context, uint32_t node, unsigned id)
{
	if (node >= b->tree->topology->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	struct spot s = spot_of(b, context, node, id);
	if (!has_part(s.place))
		return -ENOTCONN;
	reset(&s);
	return 0;
}

/* ---- who takes part ---- */

/*
 * While a message is on its way, its sender remembers it: UP by being complete,
 * DOWN at whom it has not come to yet, the others as `reset_sent` and `deaf`.
 */
static bool barrier_busy(const struct barriers *b, unsigned id)
{
	for (uint32_t i = 0; i < b->tree->reached; i++) {
		const struct place *p = place_of(b, b->tree->order[i], id);
		if (p->came || p->deaf || p->arrived || p->reset_sent)
			return true;
	}
	return false;
}

/* 0, or why these cannot take part. */
static int barrier_members(const struct tree *t, const bool *takes_part)
{
	uint32_t all = 0, reached = 0;
	for (uint32_t node = 0; node < t->topology->nodes; node++)
		all += takes_part[node];
	for (uint32_t i = 0; i < t->reached; i++) {
		uint32_t node = t->order[i];
		reached += takes_part[node];
		if (i && topology_next(t->topology, node, t->up[node]) ==
				 TOPOLOGY_NOWHERE)
			return -EHOSTUNREACH;
	}
	if (all == 0)
		return -EINVAL;
	return reached < all ? -EHOSTUNREACH : 0;
}

/* Children before their parents: who has somebody below? */
static void barrier_mark(
	struct barriers *b, unsigned id, const bool *takes_part)
{
	const struct tree *t = b->tree;
	const struct topology *net = t->topology;
	memset(place_of(b, 0, id), 0, net->nodes * sizeof(*b->place));
	for (uint32_t i = t->reached; i-- > 0;) {
		uint32_t node = t->order[i];
		struct place *p = place_of(b, node, id);
		p->takes_part = takes_part[node];
		if (i == 0 || !has_part(p))
			continue;
		uint64_t up = (uint64_t)node * net->ports + t->up[node];
		place_of(b, net->neighbour[up], id)->below |=
			1u << net->entrance[up];
	}
}

/* From the root down while there is but one way to go. */
static uint32_t barrier_top(struct barriers *b, unsigned id)
{
	uint32_t node = b->tree->root;
	struct place *p = place_of(b, node, id);
	while (!p->takes_part && (p->below & (p->below - 1)) == 0) {
		unsigned port = (unsigned)__builtin_ctz(p->below);
		p->below = 0;
		node = topology_next(b->tree->topology, node, port);
		p = place_of(b, node, id);
	}
	return node;
}

int barrier_set(struct barriers *b, unsigned id, const bool *takes_part)
{
	if (id >= BARRIER_COUNT)
		return -EINVAL;
	int e = barrier_members(b->tree, takes_part);
	if (e)
		return e;
	if (barrier_busy(b, id))
		return -EBUSY;
	barrier_mark(b, id, takes_part);
	b->top[id] = barrier_top(b, id);
	return 0;
}

/* ---- all of them ---- */

int barrier_open(struct barriers **out, const struct tree *tree,
	const struct barrier_calls *calls)
{
	uint64_t nodes = tree->topology->nodes;
	struct barriers *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->tree = tree;
	b->calls = *calls;
	b->place = calloc(nodes * BARRIER_COUNT, sizeof(*b->place));
	b->strays = calloc(nodes, sizeof(*b->strays));
	if (!b->place || !b->strays) {
		barrier_close(b);
		return -ENOMEM;
	}
	*out = b;
	return 0;
}

void barrier_close(struct barriers *b)
{
	if (!b)
		return;
	free(b->place);
	free(b->strays);
	free(b);
}

uint64_t barrier_strays(const struct barriers *b)
{
	uint64_t n = 0;
	for (uint32_t node = 0; node < b->tree->topology->nodes; node++)
		n += b->strays[node];
	return n;
}
