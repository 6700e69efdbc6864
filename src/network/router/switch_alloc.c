/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The crossbars in one cycle. Each input of a node sends one flit at most, each
 * output takes one: every output offers itself to an input that asks, every
 * input takes one offer, round robin on both sides. Where no two flits want the
 * same input or output, all go.
 *
 * Virtual channels were granted before: what a tail frees in this cycle is for
 * the next.
 */
#include "network/router/input.h"

#define NO_MOVER UINT32_MAX

/* ---- who asks ---- */

/* Asks again in the next cycle. */
static void mover_stays(struct worker *w, uint32_t place)
{
	places_put(w, &w->moving[~w->now & 1], place);
}

/* No credit: it asks again when one comes. */
static void mover_stalls(struct network *n, struct input *in, uint32_t place)
{
	in->moving = 0;
	n->output[in->out].waiter = place;
	n->link_count[place_port(n, in->out)].blocked++;
}

/* Those who can move; how many. Ports that two of them want are marked. */
static uint32_t movers_check(struct worker *w, const struct places *moving)
{
	struct network *n = w->network;
	uint32_t now = ((uint32_t)w->now + 1) << 1, count = 0;
	for (uint32_t i = 0; i < moving->count; i++) {
		input_expect(n, moving, i);
		uint32_t place = moving->of[i];
		struct input *in = &n->input[place];
		uint32_t out = in->out;
		struct port *from = &n->port[place_port(n, place)];
		struct port *to = &n->port[place_port(n, out)];
		if (unlikely(n->output[out].credits == 0)) {
			mover_stalls(n, in, place);
			continue;
		}
		if (unlikely(n->patient) &&
			time_ahead(w->now,
				n->link_count[place_port(n, out)].busy)) {
			mover_stays(w, place);
			continue;
		}
		to->used_out = now | ((to->used_out | 1) == (now | 1));
		from->used_in = now | ((from->used_in | 1) == (now | 1));
		w->mover[count].place = place;
		w->mover[count++].out = out;
	}
	return count;
}

/* All flits of a node that have rivals are decided on together. */
static void rival_add(struct worker *w, uint32_t i, struct places *nodes)
{
	struct network *n = w->network;
	struct mover *m = &w->mover[i];
	uint32_t node = place_node(n, m->place);
	struct node *at = &n->node[node];
	bool first = at->rivals != w->now + 1;
	m->next = first ? NO_MOVER : at->first;
	if (first)
		nodes->of[nodes->count++] = node;
	at->rivals = w->now + 1;
	at->first = i;
}

/* ---- who goes ---- */

/* More of its packet follows. */
static void packet_leaves(
	struct worker *w, struct input *in, uint32_t place, uint32_t flit)
{
	if (flit & PACKET_HEAD)
		w->network->input_packet[place] = flit & PACKET_NUMBER;
	in->moving = in->count != 0;
	if (in->moving)
		mover_stays(w, place);
}

static inline void flit_leaves(
	struct worker *w, uint32_t out, struct port *to, uint32_t flit)
{
	struct network *n = w->network;
	uint32_t port = place_port(n, out);
	if (unlikely(flit & PACKET_WATCHED))
		record_hop(w, flit_packet(n, flit), out);
	if (unlikely(to->there == NO_PLACE)) {
		host_take(w, port_node(n, port), port_local(n, port), flit);
		return;
	}
	if (likely(n->credits))
		n->output[out].credits--;
	if (unlikely(++to->flits == 0))
		n->link_count[port].flits += 1ull << 32;
	uint32_t there = to->there + place_channel(n, out);
	unsigned late = unlikely(n->patient) ? link_repeat(w, port) : 0;
	if (likely(late == 0))
		wheel_add(&w->wheel, &w->flits_slot[to->worker * WHEEL_KINDS],
			there, flit);
	else
		wheel_put(&w->wheel, w->now + n->router.link_delay + late,
			to->worker, WHEEL_FLIT, there, flit);
}

/* Everybody's turn is behind this one from now on. */
static inline __attribute__((always_inline)) void mover_goes(
	struct worker *w, uint32_t place, uint32_t out)
{
	struct network *n = w->network;
	struct input *in = &n->input[place];
	uint32_t port = place_port(n, place);
	struct port *from = &n->port[port];
	struct port *to = &n->port[place_port(n, out)];
	from->turn_in = (uint8_t)(in->port + 1);
	from->next = (uint8_t)(place_channel(n, place) + 1);
	to->turn_out = (uint8_t)(port_local(n, port) + 1);
	uint32_t flit = input_pop(n, in, place);
	flit_leaves(w, out, to, flit);
	input_credit(w, place, from);
	if (unlikely(!(flit & PACKET_TAIL))) {
		packet_leaves(w, in, place, flit);
		return;
	}
	/* Its channels are free. */
	to->free |= (uint16_t)(1u << in->channel);
	in->moving = 0;
	in->state = INPUT_IDLE;
	if (unlikely(in->count))
		arrive_route(w, place, w->now + 1);
}

/* ---- rivals ---- */

/* How far something is behind the one whose turn it is. */
static unsigned turns(unsigned at, unsigned turn)
{
	return at >= turn ? at - turn : at + 256 - turn;
}

/* Of two flits for an output: whose input, or else channel, is sooner. */
static bool mover_sooner(
	const struct network *n, const struct mover *a, const struct mover *b)
{
	uint32_t ports[2] = { place_port(n, a->place),
		place_port(n, b->place) };
	unsigned turn = n->port[place_port(n, a->out)].turn_out;
	if (ports[0] != ports[1])
		return turns(port_local(n, ports[0]), turn) <
		       turns(port_local(n, ports[1]), turn);
	unsigned next = n->port[ports[0]].next;
	return turns(place_channel(n, a->place), next) <
	       turns(place_channel(n, b->place), next);
}

struct contest {
	uint64_t outputs, inputs;
	const struct mover *offer[64]; /* by output */
	const struct mover *taken[64]; /* by input */
};

static void outputs_offer(
	const struct worker *w, uint32_t first, struct contest *c)
{
	const struct network *n = w->network;
	const struct mover *m;
	for (uint32_t i = first; i != NO_MOVER; i = m->next) {
		m = &w->mover[i];
		unsigned o = port_local(n, place_port(n, m->out));
		bool other = c->outputs >> o & 1;
		if (!other || mover_sooner(n, m, c->offer[o]))
			c->offer[o] = m;
		c->outputs |= 1ull << o;
	}
}

static void inputs_take(const struct network *n, struct contest *c)
{
	for (uint64_t bits = c->outputs; bits; bits &= bits - 1) {
		unsigned o = (unsigned)__builtin_ctzll(bits);
		const struct mover *m = c->offer[o];
		uint32_t port = place_port(n, m->place);
		unsigned i = port_local(n, port), turn = n->port[port].turn_in;
		unsigned old =
			c->inputs >> i & 1
				? turns(port_local(
						n, place_port(n,
							   c->taken[i]->out)),
					  turn)
				: UINT32_MAX;
		if (turns(o, turn) < old)
			c->taken[i] = m;
		c->inputs |= 1ull << i;
	}
}

static void rivals_go(struct worker *w, uint32_t node)
{
	struct network *n = w->network;
	uint32_t first = n->node[node].first;
	struct contest c;
	const struct mover *m;
	c.outputs = c.inputs = 0;
	outputs_offer(w, first, &c);
	inputs_take(n, &c);
	for (uint32_t i = first; i != NO_MOVER; i = m->next) {
		m = &w->mover[i];
		unsigned port = port_local(n, place_port(n, m->place));
		if (c.inputs >> port & 1 && c.taken[port] == m)
			mover_goes(w, m->place, m->out);
		else
			mover_stays(w, m->place);
	}
}

/* ---- */

void crossbar_move(struct worker *w)
{
	const struct network *n = w->network;
	struct places *moving = &w->moving[w->now & 1];
	if (!places_movers(w, moving->count + INPUT_AHEAD))
		return;
	struct places nodes = { .of = w->contested };
	uint32_t count = movers_check(w, moving);
	moving->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct mover *m = &w->mover[i];
		__builtin_prefetch(&n->input[m[INPUT_AHEAD].place], 1);
		const struct port *from = &n->port[place_port(n, m->place)];
		const struct port *to = &n->port[place_port(n, m->out)];
		if (likely(!((from->used_in | to->used_out) & 1)))
			mover_goes(w, m->place, m->out);
		else
			rival_add(w, i, &nodes);
	}
	for (uint32_t i = 0; i < nodes.count; i++)
		rivals_go(w, nodes.of[i]);
}
