/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlocks: how a router suspects one, and how one is proved.
 *
 * A router suspects an output that somebody asks for while those who have it
 * are stopped. When that has lasted for a countdown, it interrupts its host,
 * which asks the others whether it is true; if so, one packet that asks and has
 * no channel yet leaves by the debug port and is sent on by the host. If not,
 * the alarm was false.
 *
 * The proof: whatever can move, or waits for something that can, is alive. An
 * input with a channel waits for the buffer at its other end; one that asks
 * waits for any of those who have a channel that it could use, or, if it is
 * because of its host tag, for the one who has that. What is never found alive
 * is in a deadlock, or behind one.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/router/input.h"
#include "network/routing/dependency.h"

struct proof {
	struct network *n;
	uint8_t *alive;	 /* by input */
	uint32_t *owner; /* by output: the input that has it */
	struct places blocked;
};

/* ---- suspicion ---- */

/* Is a virtual channel of no use: taken and without credit, or without room? */
static bool channel_stopped(
	const struct network *n, uint32_t out, unsigned length)
{
	const struct port *p = &n->port[place_port(n, out)];
	if (!(p->free >> place_channel(n, out) & 1))
		return n->output[out].waiter != NO_PLACE;
	return n->router.switching == ROUTER_CUT_THROUGH &&
	       n->output[out].credits < length;
}

/* Are all that one asks for? */
static bool asker_stopped(
	const struct network *n, uint32_t port, const struct asker *k)
{
	unsigned length = flit_packet(n, n->input[k->place].front)->length;
	for (uint32_t bits = k->mask; bits; bits &= bits - 1) {
		uint32_t out = port << n->channel_bits |
			       (unsigned)__builtin_ctz(bits);
		if (!channel_stopped(n, out, length))
			return false;
	}
	return true;
}

static bool anybody_stopped(
	const struct worker *w, uint32_t port, uint32_t asker)
{
	const struct network *n = w->network;
	if (!port_is_link(n, port_local(n, port)))
		return false;
	for (; asker != NO_ASKER; asker = w->asker[asker].next)
		if (asker_stopped(n, port, &w->asker[asker]))
			return true;
	return false;
}

void deadlock_watch(struct worker *w, uint32_t port, uint32_t asker)
{
	struct network *n = w->network;
	struct link_count *l = &n->link_count[port];
	uint32_t now = (uint32_t)w->now;
	if (!anybody_stopped(w, port, asker)) {
		l->suspect = 0;
		return;
	}
	l->suspect = l->suspected + 1 == now ? l->suspect + 1 : 1;
	l->suspected = now;
	if (l->suspect < n->router.deadlock_countdown)
		return;
	l->suspect = 0;
	alarm_raise(w, ALARM_DEADLOCK, port);
}

/* ---- what an input waits for ---- */

/* Does the buffer at the other end of an output wait for nothing but itself? */
static uint32_t waits_for_buffer(const struct network *n, uint32_t out)
{
	const struct port *p = &n->port[place_port(n, out)];
	uint32_t there = p->there + place_channel(n, out);
	const struct input *in = &n->input[there];
	if (p->there == NO_PLACE)
		return NO_PLACE;
	bool full = n->credits ? in->count >= n->router.buffer : in->stopped;
	return full ? there : NO_PLACE;
}

static bool place_alive(const struct proof *f, uint32_t place)
{
	return place == NO_PLACE || f->alive[place];
}

static bool active_alive(const struct proof *f, const struct input *in)
{
	const struct network *n = f->n;
	if (in->count == 0 || n->output[in->out].credits)
		return true;
	return place_alive(f, waits_for_buffer(n, in->out));
}

/* The input whose packet has the same tag, if that is what it waits for. */
static uint32_t tag_owner(const struct proof *f, uint32_t place, uint32_t port)
{
	const struct network *n = f->n;
	bool any = n->router.arbiter == ROUTER_SMART;
	uint16_t group = n->group_mask[n->input[place].group];
	for (unsigned c = 0; n->input_tag && c < n->channels; c++) {
		uint32_t out = port << n->channel_bits | c;
		uint32_t owner = f->owner[out];
		if (owner != NO_PLACE && group >> c & 1 &&
			n->output_tag[out].tag == n->input_tag[place] &&
			(any || place_port(n, owner) == place_port(n, place)))
			return owner;
	}
	return NO_PLACE;
}

/* A channel that it could use: is it free, or will it be? */
static bool channel_alive(const struct proof *f, uint32_t place, uint32_t out)
{
	const struct network *n = f->n;
	if (f->owner[out] != NO_PLACE)
		return f->alive[f->owner[out]];
	unsigned length = flit_packet(n, n->input[place].front)->length;
	if (n->router.switching == ROUTER_WORMHOLE ||
		n->output[out].credits >= length)
		return true;
	/* Cut-through waits for room. */
	uint32_t there = n->port[place_port(n, out)].there;
	return there == NO_PLACE ||
	       n->input[there + place_channel(n, out)].count == 0 ||
	       f->alive[there + place_channel(n, out)];
}

/*
 * First come first served with cut-through: an older packet that does not fit
 * keeps a younger one, which would, from the channels that both could have.
 */
static bool older_alive(const struct proof *f, uint32_t place)
{
	const struct network *n = f->n;
	const struct input *in = &n->input[place];
	uint32_t first = place & ~n->local_mask;
	if (n->round_robin || n->router.switching == ROUTER_WORMHOLE)
		return true;
	for (uint32_t p = first; p <= (first | n->local_mask); p++) {
		const struct input *other = &n->input[p];
		int32_t later = (int32_t)(other->since - in->since);
		if (other->state != INPUT_ASKING || other->port != in->port ||
			f->alive[p] || later > 0 || (later == 0 && p >= place))
			continue;
		uint32_t port = port_of(n, place_node(n, p), other->port);
		if (tag_owner(f, p, port) == NO_PLACE &&
			channel_asked(n, other) & channel_asked(n, in))
			return false;
	}
	return true;
}

static bool asking_alive(const struct proof *f, uint32_t place)
{
	const struct network *n = f->n;
	const struct input *in = &n->input[place];
	if (!port_is_link(n, in->port))
		return true;
	uint32_t port = port_of(n, place_node(n, place), in->port);
	uint32_t owner = tag_owner(f, place, port);
	if (owner != NO_PLACE)
		return f->alive[owner];
	if (!older_alive(f, place))
		return false;
	for (uint32_t bits = channel_asked(n, in); bits; bits &= bits - 1)
		if (channel_alive(f, place,
			    port << n->channel_bits |
				    (unsigned)__builtin_ctz(bits)))
			return true;
	return false;
}

static bool input_alive(const struct proof *f, uint32_t place)
{
	const struct input *in = &f->n->input[place];
	if (in->state == INPUT_IDLE)
		return true;
	return in->state == INPUT_ACTIVE ? active_alive(f, in)
					 : asking_alive(f, place);
}

/* ---- the proof ---- */

static void proof_close(struct proof *f)
{
	free(f->alive);
	free(f->owner);
	free(f->blocked.of);
}

static bool proof_open(struct proof *f, struct network *n)
{
	uint64_t places = (uint64_t)n->nodes << n->node_shift;
	*f = (struct proof){ .n = n,
		.alive = malloc(places),
		.owner = malloc(places * sizeof(*f->owner)) };
	if (f->alive && f->owner)
		return true;
	proof_close(f);
	return false;
}

static void proof_gather(struct proof *f)
{
	struct network *n = f->n;
	uint32_t places = n->nodes << n->node_shift;
	for (uint32_t p = 0; p < places; p++)
		f->owner[p] = NO_PLACE;
	for (uint32_t p = 0; p < places; p++) {
		f->alive[p] = n->input[p].state == INPUT_IDLE;
		if (!f->alive[p])
			places_put(&n->worker[0], &f->blocked, p);
		if (n->input[p].state == INPUT_ACTIVE)
			f->owner[n->input[p].out] = p;
	}
}

/* Those who are found alive leave the list, until nobody is. */
static void proof_spread(struct proof *f)
{
	struct places *b = &f->blocked;
	uint32_t before;
	do {
		uint32_t left = 0;
		before = b->count;
		for (uint32_t i = 0; i < b->count; i++) {
			uint32_t place = b->of[i];
			f->alive[place] = input_alive(f, place);
			if (!f->alive[place])
				b->of[left++] = place;
		}
		b->count = left;
	} while (b->count < before);
}

static bool proof_make(struct proof *f, struct network *n)
{
	if (!proof_open(f, n))
		return false;
	proof_gather(f);
	proof_spread(f);
	return true;
}

/* ---- asking for it ---- */

/* Whoever is in a deadlock has asked for longer than this, or soon will. */
static bool anybody_waits(const struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		const struct places *l = &n->worker[i].asking[n->now & 1];
		for (uint32_t k = 0; k < l->count; k++)
			if (time_reached(n->now,
				    n->input[l->of[k]].since + DEADLOCK_WAIT))
				return true;
	}
	return false;
}

bool deadlock_exists(struct network *n)
{
	struct proof f;
	if (!anybody_waits(n) || !proof_make(&f, n))
		return false;
	bool exists = f.blocked.count;
	proof_close(&f);
	return exists;
}

/* One of those who ask for an output and have none: the oldest. */
static uint32_t victim_of(const struct proof *f, uint32_t port)
{
	const struct network *n = f->n;
	uint32_t best = NO_PLACE;
	for (uint32_t i = 0; i < f->blocked.count; i++) {
		uint32_t p = f->blocked.of[i];
		const struct input *in = &n->input[p];
		if (in->state == INPUT_ASKING &&
			place_node(n, p) == port_node(n, port) &&
			in->port == port_local(n, port) &&
			(best == NO_PLACE ||
				(int32_t)(in->since - n->input[best].since) <
					0))
			best = p;
	}
	return best;
}

static void victim_leaves(struct network *n, uint32_t place)
{
	struct input *in = &n->input[place];
	struct packet *p = flit_packet(n, in->front);
	p->hops = (uint16_t)(p->hops - packet_hops_left(p) - 1);
	in->port = (uint8_t)n->port_debug;
	in->group = GROUP_ANY;
}

void deadlock_recover(struct network *n, uint32_t port)
{
	struct network_counters *c =
		&node_worker(n, port_node(n, port))->counters;
	struct proof f;
	c->deadlock_alarms++;
	if (!proof_make(&f, n))
		return;
	uint32_t victim = victim_of(&f, port);
	proof_close(&f);
	if (victim == NO_PLACE) {
		c->deadlock_false++;
		return;
	}
	c->deadlock_removed++;
	n->recovered = n->now;
	victim_leaves(n, victim);
}

/* ---- showing it ---- */

/* The buffer at the other end of an output, if something in it is blocked. */
static uint32_t buffer_blocked(const struct proof *f, uint32_t out)
{
	uint32_t there = f->n->port[place_port(f->n, out)].there;
	if (there == NO_PLACE)
		return NO_PLACE;
	there += place_channel(f->n, out);
	return f->alive[there] ? NO_PLACE : there;
}

/* Of the channels that it could have: whoever has one, or stands behind it. */
static uint32_t channel_blocker(
	const struct proof *f, uint32_t place, uint32_t port)
{
	const struct network *n = f->n;
	uint32_t by = NO_PLACE;
	uint32_t bits = channel_asked(n, &n->input[place]);
	for (; by == NO_PLACE && bits; bits &= bits - 1) {
		uint32_t out = port << n->channel_bits |
			       (unsigned)__builtin_ctz(bits);
		by = f->owner[out];
		if (by == NO_PLACE || f->alive[by])
			by = buffer_blocked(f, out);
	}
	return by;
}

/* The one that a blocked input waits for; it is blocked too. */
static uint32_t blocker_of(const struct proof *f, uint32_t place)
{
	const struct network *n = f->n;
	const struct input *in = &n->input[place];
	if (in->state == INPUT_ACTIVE)
		return buffer_blocked(f, in->out);
	uint32_t port = port_of(n, place_node(n, place), in->port);
	uint32_t owner = tag_owner(f, place, port);
	return owner != NO_PLACE ? owner : channel_blocker(f, place, port);
}

/* After as many steps as there are blocked ones, it goes round in a cycle. */
static uint32_t cycle_start(const struct proof *f)
{
	uint32_t at = f->blocked.of[0];
	for (uint32_t i = 0; i < f->blocked.count && at != NO_PLACE; i++)
		at = blocker_of(f, at);
	return at;
}

/* The channel that has filled an input: it leaves from the other end. */
static struct channel channel_into(const struct network *n, uint32_t place)
{
	uint32_t from = place_port(n, n->port[place_port(n, place)].there);
	uint32_t bit = 1u << place_channel(n, place);
	return (struct channel){ .node = port_node(n, from),
		.port = (uint8_t)port_local(n, from),
		.group = !(n->group_mask[PATH_LOW] & bit) };
}

static int cycle_walk(
	const struct proof *f, struct channel **cycle, uint32_t *count)
{
	const struct network *n = f->n;
	uint32_t start = cycle_start(f), at = start;
	*cycle = malloc((f->blocked.count + 1ull) * sizeof(**cycle));
	if (!*cycle)
		return -ENOMEM;
	while (at != NO_PLACE && *count < f->blocked.count) {
		if (n->port[place_port(n, at)].there != NO_PLACE)
			(*cycle)[(*count)++] = channel_into(n, at);
		at = blocker_of(f, at);
		if (at == start)
			break;
	}
	return 0;
}

int network_deadlock(struct network *n, struct channel **cycle, uint32_t *count)
{
	struct proof f;
	int r = 0;
	*cycle = NULL;
	*count = 0;
	if (!proof_make(&f, n))
		return -ENOMEM;
	if (f.blocked.count)
		r = cycle_walk(&f, cycle, count);
	proof_close(&f);
	return r;
}
