/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See barrier.h. Why a message of one round is never mistaken for one of
 * another:
 *
 * A child sends UP once per round, and then nothing but RESET_UP until it has
 * received the end of the round. So the UP of the next round cannot reach the
 * parent before the parent has sent DOWN and cleared `up_received`; DOWN may
 * still be on the way to other children. And since links preserve order, a
 * child receives DOWN before all that follows it.
 *
 * RESET_DOWN does not wait for UP, so the two may cross. From then on the child
 * is in `resetting` until its RESET_DONE arrives, and other messages from it
 * are dropped: an UP belongs to the round that the reset has ended, a RESET_UP
 * has had its effect. A node sends RESET_DONE when all its children have.
 * Before that it sends nothing of the new round: the round cannot be complete,
 * and a reset is held back. So on each link all messages before RESET_DONE are
 * old, and all after it are new.
 *
 * A node completes no round while a child is resetting, and the top starts no
 * reset then: no second RESET_DOWN reaches a node before its RESET_DONE has
 * gone.
 */
#include "network/barrier/barrier.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* State of one barrier at one node. */
struct barrier_node {
	uint32_t children;    /* ports to subtrees with participants */
	uint32_t up_received; /* of these: UP in this round */
	uint32_t resetting;   /* of these: RESET_DOWN sent, no RESET_DONE yet */
	bool participates;
	bool arrived;
	bool reset_sent; /* RESET_UP, and no RESET_DOWN since */
	bool reset_held; /* until no child is resetting */
};

struct barriers {
	const struct tree *tree;
	struct barrier_calls calls;
	struct barrier_node *node; /* by barrier and node */
	uint64_t *strays; /* by node: nodes may belong to different threads */
	uint32_t top[BARRIER_COUNT];
};

/* The arguments of a call: one barrier at one node. */
struct module {
	struct barriers *b;
	void *context;
	struct barrier_node *state;
	uint32_t node;
	uint8_t id;
	bool top;
};

static struct barrier_node *node_of(
	const struct barriers *b, uint32_t node, unsigned id)
{
	return &b->node[(uint64_t)id * b->tree->topology->nodes + node];
}

static struct module module_of(
	struct barriers *b, void *context, uint32_t node, unsigned id)
{
	return (struct module){ b, context, node_of(b, node, id), node,
		(uint8_t)id, b->top[id] == node };
}

static bool is_involved(const struct barrier_node *s)
{
	return s->participates || s->children;
}

/* Returns true if all participants of the subtree have arrived. */
static bool is_complete(const struct barrier_node *s)
{
	return s->up_received == s->children &&
	       (s->arrived || !s->participates);
}

/* ---- actions of a node ---- */

static void send_up(const struct module *m, enum barrier_kind kind)
{
	m->b->calls.send(m->context, m->node, m->b->tree->up[m->node],
		(struct barrier_message){ m->id, (uint8_t)kind });
}

static void send_down(const struct module *m, enum barrier_kind kind)
{
	for (uint32_t rest = m->state->children; rest; rest &= rest - 1)
		m->b->calls.send(m->context, m->node,
			(unsigned)__builtin_ctz(rest),
			(struct barrier_message){ m->id, (uint8_t)kind });
}

/* The release of the host is last: it may start the next round from there. */
static void round_release(const struct module *m)
{
	m->state->up_received = 0;
	m->state->arrived = false;
	send_down(m, BARRIER_DOWN);
	if (m->state->participates)
		m->b->calls.release(m->context, m->node, m->id, false);
}

static void round_fail(const struct module *m)
{
	struct barrier_node *s = m->state;
	s->up_received = 0;
	s->arrived = false;
	s->reset_sent = false;
	s->resetting = s->children;
	send_down(m, BARRIER_RESET_DOWN);
	if (!s->resetting && !m->top)
		send_up(m, BARRIER_RESET_DONE);
	if (s->participates)
		m->b->calls.release(m->context, m->node, m->id, true);
}

/* Reports a complete subtree to the parent; the top ends the round. */
static void round_advance(const struct module *m)
{
	if (!is_complete(m->state))
		return;
	if (m->top)
		round_release(m);
	else
		send_up(m, BARRIER_UP);
}

static void reset(const struct module *m)
{
	struct barrier_node *s = m->state;
	if (s->resetting) {
		s->reset_held = true;
	} else if (m->top) {
		round_fail(m);
	} else if (!s->reset_sent) {
		s->reset_sent = true;
		send_up(m, BARRIER_RESET_UP);
	}
}

/* ---- messages: false for a stray ---- */

static bool receive_from_child(
	const struct module *m, uint32_t child, unsigned kind)
{
	struct barrier_node *s = m->state;
	if (s->resetting & child) {
		if (kind == BARRIER_UP || kind == BARRIER_RESET_UP)
			return true; /* of the round that has ended */
		if (kind != BARRIER_RESET_DONE)
			return false;
		s->resetting &= ~child;
		if (s->resetting)
			return true;
		bool held = s->reset_held;
		s->reset_held = false;
		if (!m->top)
			send_up(m, BARRIER_RESET_DONE);
		if (held)
			reset(m);
		return true;
	}
	if (kind == BARRIER_UP && !(s->up_received & child)) {
		s->up_received |= child;
		round_advance(m);
		return true;
	}
	if (kind == BARRIER_RESET_UP) {
		reset(m);
		return true;
	}
	return false;
}

static bool receive_from_parent(const struct module *m, unsigned kind)
{
	if (kind == BARRIER_DOWN && is_complete(m->state)) {
		round_release(m);
		return true;
	}
	if (kind == BARRIER_RESET_DOWN && !m->state->resetting) {
		round_fail(m);
		return true;
	}
	return false;
}

void barrier_receive(struct barriers *b, void *context, uint32_t node,
	unsigned port, struct barrier_message message)
{
	const struct tree *tree = b->tree;
	bool valid = false;
	assert(node < tree->topology->nodes);
	if (message.id < BARRIER_COUNT && port < tree->topology->ports) {
		struct module m = module_of(b, context, node, message.id);
		if (m.state->children >> port & 1)
			valid = receive_from_child(
				&m, 1u << port, message.kind);
		else if (is_involved(m.state) && port == tree->up[node] &&
			 !m.top)
			valid = receive_from_parent(&m, message.kind);
	}
	b->strays[node] += !valid;
}

/* ---- calls of the host ---- */

int barrier_arrive(
	struct barriers *b, void *context, uint32_t node, unsigned id)
{
	if (node >= b->tree->topology->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	struct module m = module_of(b, context, node, id);
	if (!m.state->participates)
		return -ENOTCONN;
	if (m.state->arrived)
		return -EALREADY;
	m.state->arrived = true;
	round_advance(&m);
	return 0;
}

int barrier_reset(struct barriers *b, void *context, uint32_t node, unsigned id)
{
	if (node >= b->tree->topology->nodes || id >= BARRIER_COUNT)
		return -EINVAL;
	struct module m = module_of(b, context, node, id);
	if (!is_involved(m.state))
		return -ENOTCONN;
	reset(&m);
	return 0;
}

/* ---- participants ---- */

/*
 * Returns true while a round is in progress. The state of a node shows every
 * message in flight: UP, as its sender is complete; DOWN, at the nodes that it
 * has not reached; the others as `reset_sent` and `resetting`.
 */
static bool is_busy(const struct barriers *b, unsigned id)
{
	for (uint32_t i = 0; i < b->tree->reached; i++) {
		const struct barrier_node *s =
			node_of(b, b->tree->order[i], id);
		if (s->up_received || s->resetting || s->arrived ||
			s->reset_sent)
			return true;
	}
	return false;
}

/* Returns 0, or -errno of barrier_set(). */
static int participants_check(const struct tree *t, const bool *participates)
{
	uint32_t all = 0, reached = 0;
	for (uint32_t node = 0; node < t->topology->nodes; node++)
		all += participates[node];
	for (uint32_t i = 0; i < t->reached; i++) {
		uint32_t node = t->order[i];
		reached += participates[node];
		if (i && topology_next(t->topology, node, t->up[node]) ==
				 TOPOLOGY_NOWHERE)
			return -EHOSTUNREACH;
	}
	if (all == 0)
		return -EINVAL;
	return reached < all ? -EHOSTUNREACH : 0;
}

int barrier_set(struct barriers *b, unsigned id, const bool *participates)
{
	const struct tree *t = b->tree;
	const struct topology *net = t->topology;
	if (id >= BARRIER_COUNT)
		return -EINVAL;
	int e = participants_check(t, participates);
	if (e)
		return e;
	if (is_busy(b, id))
		return -EBUSY;
	/* Mark the ports to subtrees with participants, children first. */
	memset(node_of(b, 0, id), 0, net->nodes * sizeof(*b->node));
	for (uint32_t i = t->reached; i-- > 0;) {
		uint32_t node = t->order[i];
		struct barrier_node *s = node_of(b, node, id);
		s->participates = participates[node];
		if (i == 0 || !is_involved(s))
			continue;
		uint64_t up = (uint64_t)node * net->ports + t->up[node];
		node_of(b, net->neighbour[up], id)->children |=
			1u << net->peer_port[up];
	}
	/* The top: from the root down while there is a single child. */
	uint32_t top = t->root;
	struct barrier_node *s = node_of(b, top, id);
	while (!s->participates && (s->children & (s->children - 1)) == 0) {
		unsigned port = (unsigned)__builtin_ctz(s->children);
		s->children = 0;
		top = topology_next(net, top, port);
		s = node_of(b, top, id);
	}
	b->top[id] = top;
	return 0;
}

/* ---- opening ---- */

int barrier_open(struct barriers **out, const struct tree *tree,
	const struct barrier_calls *calls)
{
	uint64_t nodes = tree->topology->nodes;
	struct barriers *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->tree = tree;
	b->calls = *calls;
	b->node = calloc(nodes * BARRIER_COUNT, sizeof(*b->node));
	b->strays = calloc(nodes, sizeof(*b->strays));
	if (!b->node || !b->strays) {
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
	free(b->node);
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
