/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who gets a virtual channel. Inputs whose packet has read its route ask for
 * one of a group at an output; a channel belongs to an input until the tail of
 * the packet has left by it.
 *
 * Round robin is separable: every free channel offers itself to one of those
 * who ask, every input takes one of its offers, and both go on from there the
 * next time. First come first served grants in the order of asking, and no
 * younger packet passes an older one of its group. The smart ones do so too,
 * but a packet waits, and lets others pass, while its destination's host tag
 * has a channel at this output: a second one would only be blocked where the
 * first is.
 *
 * Ordered delivery: the tag says which channel of a group a packet takes, and
 * its source where it leaves the network, so packets between two nodes are in
 * one queue all the way.
 */
#include "network/router/input.h"

/* An output that is asked for. */
struct wanted {
	struct worker *w;
	struct network *n;
	uint32_t number;
	bool link;
	struct port *port;
	struct output *channel; /* its first */
};

/* ---- who asks ---- */

/* Of the network ports, one with a free channel; not the same for all. */
static unsigned host_port(const struct network *n, uint32_t place)
{
	const struct port *port =
		&n->port[port_of(n, place_node(n, place), n->links)];
	for (unsigned i = 0; i < n->network_ports; i++) {
		unsigned p = (place + i) % n->network_ports;
		if (port[p].free)
			return n->links + p;
	}
	return n->links;
}

static unsigned any_port(
	const struct network *n, const struct input *in, uint32_t place)
{
	if (n->router.ordered)
		return n->links +
		       flit_packet(n, in->front)->from % n->network_ports;
	return host_port(n, place);
}

uint16_t channel_of_order(uint16_t mask, uint32_t by)
{
	unsigned skip = by % (unsigned)__builtin_popcount(mask);
	for (; skip; skip--)
		mask &= (uint16_t)(mask - 1);
	return (uint16_t)(mask & -mask);
}

uint16_t channel_asked(const struct network *n, const struct input *in)
{
	uint16_t mask = n->group_mask[in->group];
	if (likely(!n->router.ordered))
		return mask;
	const struct packet *p = flit_packet(n, in->front);
	uint32_t by = in->group == GROUP_ANY ? p->from / n->network_ports
					     : p->tag;
	return channel_of_order(mask, by);
}

/* ---- what is open ---- */

/* Those of a packet's channels into which all of it fits. */
static uint32_t channels_fit(
	const struct wanted *o, uint32_t place, uint32_t open)
{
	unsigned length = flit_packet(o->n, o->n->input[place].front)->length;
	for (uint32_t bits = open; bits; bits &= bits - 1) {
		unsigned c = (unsigned)__builtin_ctz(bits);
		if (o->channel[c].credits < length)
			open &= ~(1u << c);
	}
	return open;
}

/* Channels of an output that this packet could use now. */
static inline uint32_t channels_open(
	const struct wanted *o, uint32_t place, uint32_t open)
{
	if (likely(o->n->router.switching == ROUTER_WORMHOLE || !o->link))
		return open;
	return channels_fit(o, place, open);
}

/* It moves from then on. */
static inline void channel_starts(
	struct worker *w, struct input *in, uint32_t place)
{
	const struct network *n = w->network;
	if (likely(n->router.channel_delay == 1)) {
		in->moving = 1;
		places_put(w, &w->moving[~w->now & 1], place);
		return;
	}
	wheel_put(&w->wheel, w->now + n->router.channel_delay, w->index,
		WHEEL_READY, place, 0);
}

static inline void channel_give(
	const struct wanted *o, uint32_t place, unsigned channel)
{
	struct network *n = o->n;
	struct input *in = &n->input[place];
	uint32_t out = o->number << n->channel_bits | channel;
	in->state = INPUT_ACTIVE;
	in->port = (uint8_t)port_local(n, o->number);
	in->channel = (uint8_t)channel;
	in->out = out;
	o->port->free &= (uint16_t) ~(1u << channel);
	if (unlikely(n->output_tag))
		n->output_tag[out] =
			(struct output_tag){ place, n->input_tag[place] };
	channel_starts(o->w, in, place);
}

/* ---- round robin ---- */

/*
 * Of its offers, the first behind the channel that it had last: of this port,
 * or else before or behind all of them.
 */
static inline void offer_take(
	const struct wanted *o, uint32_t place, uint32_t offers)
{
	const struct input *in = &o->n->input[place];
	bool again = in->turn == port_local(o->n, o->number);
	uint32_t later = offers & ~1u << in->channel & -(uint32_t)again;
	unsigned c = (unsigned)__builtin_ctz(later ? later : offers);
	o->channel[c].turn = (uint16_t)(place_local(o->n, place) + 1);
	channel_give(o, place, c);
}

/* Of those who can use a channel, the first from its turn on. */
static struct asker *offer_to(const struct wanted *o, unsigned channel)
{
	unsigned turn = o->channel[channel].turn, least = UINT32_MAX;
	struct asker *k, *best = NULL;
	for (uint32_t i = o->port->first; i != NO_ASKER; i = k->next) {
		k = &o->w->asker[i];
		unsigned local = place_local(o->n, k->place);
		unsigned far = local >= turn ? local - turn
					     : local + 4096 - turn;
		if (far < least && k->mask >> channel & 1 &&
			channels_open(o, k->place, 1u << channel)) {
			least = far;
			best = k;
		}
	}
	return best;
}

static void offers_make(const struct wanted *o)
{
	for (uint32_t bits = o->port->free; bits; bits &= bits - 1) {
		unsigned c = (unsigned)__builtin_ctz(bits);
		struct asker *k = offer_to(o, c);
		if (k)
			k->offers |= (uint16_t)(1u << c);
	}
}

static void round_robin(const struct wanted *o)
{
	const struct asker *k;
	offers_make(o);
	for (uint32_t i = o->port->first; i != NO_ASKER; i = k->next) {
		k = &o->w->asker[i];
		if (k->offers)
			offer_take(o, k->place, k->offers);
		else
			input_asks(o->w, k->place);
	}
}

/* Nobody else asks for this output. */
static inline void round_robin_alone(const struct wanted *o, uint32_t place)
{
	const struct input *in = &o->n->input[place];
	uint32_t open = o->port->free & channel_asked(o->n, in);
	open = channels_open(o, place, open);
	if (likely(open))
		offer_take(o, place, open);
	else
		input_asks(o->w, place);
}

/* ---- first come first served, and smart ---- */

/* Does this tag have a channel here already? For the simple one: of my port. */
static bool tag_waits(const struct wanted *o, const struct asker *k)
{
	const struct network *n = o->n;
	const struct output_tag *taken =
		&n->output_tag[o->number << n->channel_bits];
	bool any = n->router.arbiter == ROUTER_SMART;
	/* Of my group: what one group waits for must not be the other. */
	uint32_t used = n->group_mask[n->input[k->place].group] &
			~(uint32_t)o->port->free;
	for (; used; used &= used - 1) {
		const struct output_tag *t = &taken[__builtin_ctz(used)];
		if (t->tag == n->input_tag[k->place] &&
			(any || place_port(n, t->owner) ==
					place_port(n, k->place)))
			return true;
	}
	return false;
}

/* Who asked first comes first; of two at once, the lower place. */
static bool older(const struct network *n, uint32_t a, uint32_t b)
{
	int32_t before = (int32_t)(n->input[a].since - n->input[b].since);
	return before < 0 || (before == 0 && a < b);
}

/* Takes the one that has asked longest off the list. */
static struct asker *oldest(const struct wanted *o)
{
	struct asker *all = o->w->asker;
	uint32_t *best = &o->port->first;
	if (*best == NO_ASKER)
		return NULL;
	for (uint32_t *i = &all[*best].next; *i != NO_ASKER; i = &all[*i].next)
		if (older(o->n, all[*i].place, all[*best].place))
			best = i;
	struct asker *k = &all[*best];
	*best = k->next;
	return k;
}

/* Of open channels the emptiest, so that packets do not wait in one queue. */
static unsigned channel_emptiest(const struct wanted *o, uint32_t open)
{
	unsigned best = (unsigned)__builtin_ctz(open);
	for (open &= open - 1; open; open &= open - 1) {
		unsigned c = (unsigned)__builtin_ctz(open);
		if (o->channel[c].credits > o->channel[best].credits)
			best = c;
	}
	return best;
}

static void first_come(const struct wanted *o)
{
	bool smart = o->n->input_tag && o->link;
	uint32_t closed = 0; /* channels of groups whose oldest waits */
	struct asker *k;
	while ((k = oldest(o))) {
		uint32_t open = 0;
		if (!(smart && tag_waits(o, k))) {
			open = o->port->free & k->mask & ~closed;
			open = channels_open(o, k->place, open);
			closed |= open ? 0 : k->mask;
		}
		if (open)
			channel_give(o, k->place, channel_emptiest(o, open));
		else
			input_asks(o->w, k->place);
	}
}

/* ---- */

static inline struct wanted wanted_of(struct worker *w, uint32_t number)
{
	struct network *n = w->network;
	return (struct wanted){ .w = w,
		.n = n,
		.number = number,
		.link = port_is_link(n, port_local(n, number)),
		.port = &n->port[number],
		.channel = &n->output[number << n->channel_bits] };
}

/* Those whose time has come; how many. Ports that two want are marked. */
static uint32_t askers_check(struct worker *w, const struct places *asking)
{
	struct network *n = w->network;
	uint32_t now = ((uint32_t)w->now + 1) << 2, count = 0;
	uint32_t alone = n->round_robin && !n->router.deadlock_countdown ? 0
									 : 1;
	for (uint32_t i = 0; i < asking->count; i++) {
		input_expect(n, asking, i);
		uint32_t place = asking->of[i];
		const struct input *in = &n->input[place];
		if (unlikely(!time_reached(w->now, in->since))) {
			input_asks(w, place);
			continue;
		}
		unsigned local = in->port;
		if (unlikely(local == PORT_ANY))
			local = any_port(n, in, place);
		uint32_t number = port_of(n, place_node(n, place), local);
		struct port *p = &n->port[number];
		p->asked = now | alone | ((p->asked | 3) == (now | 3));
		__builtin_prefetch(&n->output[number << n->channel_bits], 1);
		w->asker[count].place = place;
		w->asker[count++].port = number;
	}
	return count;
}

/* All who ask for an output are decided on together. */
static void rival_add(struct worker *w, uint32_t i, struct places *ports)
{
	struct network *n = w->network;
	struct asker *k = &w->asker[i];
	struct port *p = &n->port[k->port];
	bool first = !(p->asked & 2);
	k->mask = channel_asked(n, &n->input[k->place]);
	k->offers = 0;
	k->next = first ? NO_ASKER : p->first;
	if (first)
		ports->of[ports->count++] = k->port;
	p->asked |= 2;
	p->first = i;
}

static void rivals_decide(const struct wanted *o)
{
	if (unlikely(o->n->router.deadlock_countdown))
		deadlock_watch(o->w, o->number, o->port->first);
	if (o->n->round_robin)
		round_robin(o);
	else
		first_come(o);
}

void channel_allocate(struct worker *w)
{
	struct places *asking = &w->asking[w->now & 1];
	if (!places_askers(w, asking->count + INPUT_AHEAD))
		return;
	struct places ports = { .of = w->contested };
	uint32_t count = askers_check(w, asking);
	asking->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct asker *k = &w->asker[i];
		__builtin_prefetch(&w->network->input[k[INPUT_AHEAD].place], 1);
		struct wanted o = wanted_of(w, k->port);
		if (likely(!(o.port->asked & 1)))
			round_robin_alone(&o, k->place);
		else
			rival_add(w, i, &ports);
	}
	for (uint32_t i = 0; i < ports.count; i++) {
		struct wanted o = wanted_of(w, ports.of[i]);
		rivals_decide(&o);
	}
}
