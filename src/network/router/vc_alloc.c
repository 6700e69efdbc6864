/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VC allocation. An input VC whose head flit has been routed requests a channel
 * of a group at an output port. It owns the channel that it is granted until
 * the tail of the packet has left.
 *
 * Round robin is a separable allocator with one iteration: each free channel
 * grants to one request, each input accepts one grant, and the round-robin
 * pointers of both advance.
 *
 * First come, first served grants in the order of request times; within a group
 * no packet overtakes an older one. The smart arbiters do the same, but skip a
 * request while its destination's host tag owns a channel of this port: a
 * second packet would be blocked where the first one is.
 *
 * Ordered delivery: the host tag selects the channel within the group, and the
 * source node selects the network port at the destination, so that all packets
 * between two nodes pass through the same queues.
 */
#include "network/router/input.h"

#define RR_SPAN 4096 /* more than the VCs of a node */

/* An output port for which there are requests. */
struct vc_output {
	struct worker *w;
	struct network *n;
	uint32_t index;
	bool link;
	struct port_state *port;
	struct output_vc *vc; /* of channel 0 */
};

static inline struct vc_output output_of(struct worker *w, uint32_t index)
{
	struct network *n = w->network;
	return (struct vc_output){ .w = w,
		.n = n,
		.index = index,
		.link = port_is_link(n, port_local(n, index)),
		.port = &n->port[index],
		.vc = &n->output[index << n->channel_bits] };
}

/*
 * The network port for a packet that has reached its destination: fixed by the
 * source if delivery is ordered, else the first with a free channel, starting
 * at a port that depends on the input.
 */
static unsigned network_port(
	const struct network *n, const struct input_vc *in, uint32_t vc)
{
	const struct packet_state *packet = flit_packet(n, in->front);
	uint32_t node = vc_node(n, vc);
	unsigned first = n->links + host_port(n, node, packet->to);
	if (n->router.ordered)
		return first + packet->from % n->network_ports;
	const struct port_state *port = &n->port[port_of(n, node, first)];
	for (unsigned i = 0; i < n->network_ports; i++) {
		unsigned p = (vc + i) % n->network_ports;
		if (port[p].free_vcs)
			return first + p;
	}
	return first;
}

/* Cut-through: the channels whose buffer has room for the whole packet. */
static uint32_t channels_fit(
	const struct vc_output *o, uint32_t vc, uint32_t channels)
{
	unsigned length = flit_packet(o->n, o->n->input[vc].front)->length;
	for (uint32_t bits = channels; bits; bits &= bits - 1) {
		unsigned c = (unsigned)__builtin_ctz(bits);
		if (o->vc[c].credits < length)
			channels &= ~(1u << c);
	}
	return channels;
}

/* The channels that the packet of an input VC could use now. */
static inline uint32_t channels_usable(
	const struct vc_output *o, uint32_t vc, uint32_t channels)
{
	if (likely(o->n->router.switching == ROUTER_WORMHOLE || !o->link))
		return channels;
	return channels_fit(o, vc, channels);
}

/* The input VC holds the channel and requests the switch after channel_delay.
 */
static inline void channel_grant(
	const struct vc_output *o, uint32_t vc, unsigned channel)
{
	struct network *n = o->n;
	struct worker *w = o->w;
	struct input_vc *in = &n->input[vc];
	uint32_t out = o->index << n->channel_bits | channel;
	in->state = INPUT_ACTIVE;
	in->port = (uint8_t)port_local(n, o->index);
	in->channel = (uint8_t)channel;
	in->out = out;
	o->port->free_vcs &= (uint16_t) ~(1u << channel);
	if (unlikely(n->output_tag))
		n->output_tag[out] =
			(struct output_tag){ vc, n->input_tag[vc] };
	if (likely(n->router.channel_delay == 1)) {
		in->switch_listed = 1;
		worklist_add(w, &w->switch_worklist[~w->now & 1], vc);
	} else {
		wheel_put(&w->wheel, w->now + n->router.channel_delay, w->index,
			WHEEL_READY, vc, 0);
	}
}

/* ---- round robin ---- */

/*
 * The input accepts the first grant after the channel that it held last, if
 * that was at this port; otherwise the lowest one.
 */
static inline void grant_accept(
	const struct vc_output *o, uint32_t vc, uint32_t grants)
{
	const struct input_vc *in = &o->n->input[vc];
	bool same_port = in->last_port == port_local(o->n, o->index);
	uint32_t later = grants & ~1u << in->channel & -(uint32_t)same_port;
	unsigned c = (unsigned)__builtin_ctz(later ? later : grants);
	o->vc[c].rr_input = (uint16_t)(vc_local(o->n, vc) + 1);
	channel_grant(o, vc, c);
}

static void round_robin(const struct vc_output *o)
{
	struct vc_request *r;
	/* Each free channel grants to the first request from its pointer on. */
	for (uint32_t bits = o->port->free_vcs; bits; bits &= bits - 1) {
		unsigned c = (unsigned)__builtin_ctz(bits);
		unsigned pointer = o->vc[c].rr_input, least = UINT32_MAX;
		struct vc_request *best = NULL;
		for (uint32_t i = o->port->newest_request; i != NO_REQUEST;
			i = r->next) {
			r = &o->w->vc_request[i];
			unsigned local = vc_local(o->n, r->vc);
			unsigned distance = local >= pointer
						    ? local - pointer
						    : local + RR_SPAN - pointer;
			if (distance < least && r->mask >> c & 1 &&
				channels_usable(o, r->vc, 1u << c)) {
				least = distance;
				best = r;
			}
		}
		if (best)
			best->grants |= (uint16_t)(1u << c);
	}
	/* Each input accepts one grant, or repeats its request. */
	for (uint32_t i = o->port->newest_request; i != NO_REQUEST;
		i = r->next) {
		r = &o->w->vc_request[i];
		if (r->grants)
			grant_accept(o, r->vc, r->grants);
		else
			input_request_vc(o->w, r->vc);
	}
}

/* ---- first come, first served, and smart ---- */

/*
 * Returns true if the host tag of a request owns a channel of this port and
 * group already; ROUTER_SMART_SIMPLE considers owners at the same input port.
 * The other group does not count: a packet must not wait for it.
 */
static bool tag_conflicts(const struct vc_output *o, const struct vc_request *r)
{
	const struct network *n = o->n;
	const struct output_tag *owner =
		&n->output_tag[o->index << n->channel_bits];
	bool any_port = n->router.arbiter == ROUTER_SMART;
	uint32_t used = n->class_mask[n->input[r->vc].class] &
			~(uint32_t)o->port->free_vcs;
	for (; used; used &= used - 1) {
		const struct output_tag *t = &owner[__builtin_ctz(used)];
		if (t->tag == n->input_tag[r->vc] &&
			(any_port || vc_port(n, t->owner) == vc_port(n, r->vc)))
			return true;
	}
	return false;
}

/* Unlinks the oldest request of a port; of two at once, the lower VC index. */
static struct vc_request *oldest_unlink(const struct vc_output *o)
{
	struct vc_request *all = o->w->vc_request;
	const struct input_vc *input = o->n->input;
	uint32_t *best = &o->port->newest_request;
	if (*best == NO_REQUEST)
		return NULL;
	for (uint32_t *i = &all[*best].next; *i != NO_REQUEST;
		i = &all[*i].next) {
		uint32_t a = all[*i].vc, b = all[*best].vc;
		int32_t age = (int32_t)(input[a].request_time -
					input[b].request_time);
		if (age < 0 || (age == 0 && a < b))
			best = i;
	}
	struct vc_request *r = &all[*best];
	*best = r->next;
	return r;
}

static void first_come(const struct vc_output *o)
{
	bool smart = o->n->input_tag && o->link;
	uint32_t closed = 0; /* channels of groups with an older request */
	struct vc_request *r;
	while ((r = oldest_unlink(o))) {
		uint32_t open = 0;
		if (!(smart && tag_conflicts(o, r))) {
			open = o->port->free_vcs & r->mask & ~closed;
			open = channels_usable(o, r->vc, open);
			closed |= open ? 0 : r->mask;
		}
		if (!open) {
			input_request_vc(o->w, r->vc);
			continue;
		}
		/* The channel with the emptiest buffer, so that all are used.
		 */
		unsigned best = (unsigned)__builtin_ctz(open);
		for (open &= open - 1; open; open &= open - 1) {
			unsigned c = (unsigned)__builtin_ctz(open);
			if (o->vc[c].credits > o->vc[best].credits)
				best = c;
		}
		channel_grant(o, r->vc, best);
	}
}

/* ---- allocation ---- */

/*
 * Collects the requests whose time has come and marks output ports with more
 * than one. With deadlock detection or an arbiter other than round robin, all
 * ports are marked. Returns the number of requests.
 */
static uint32_t requests_collect(
	struct worker *w, const struct worklist *waiting)
{
	struct network *n = w->network;
	uint32_t mark = ((uint32_t)w->now + 1) << 2, count = 0;
	uint32_t always = n->round_robin && !n->router.deadlock_countdown ? 0
									  : 1;
	for (uint32_t i = 0; i < waiting->count; i++) {
		input_prefetch(n, waiting, i);
		uint32_t vc = waiting->entry[i];
		const struct input_vc *in = &n->input[vc];
		if (unlikely(!time_reached(w->now, in->request_time))) {
			input_request_vc(w, vc);
			continue;
		}
		unsigned local = in->port;
		if (unlikely(local == PORT_ANY))
			local = network_port(n, in, vc);
		uint32_t port = port_of(n, vc_node(n, vc), local);
		struct port_state *p = &n->port[port];
		p->vc_mark = mark | always | ((p->vc_mark | 3) == (mark | 3));
		__builtin_prefetch(&n->output[port << n->channel_bits], 1);
		w->vc_request[count].vc = vc;
		w->vc_request[count++].port = port;
	}
	return count;
}

void vc_allocate(struct worker *w)
{
	struct network *n = w->network;
	struct worklist *waiting = &w->vc_worklist[w->now & 1];
	if (waiting->count == 0 ||
		!vc_requests_reserve(w, waiting->count + INPUT_AHEAD))
		return;
	uint32_t conflicts = 0, count = requests_collect(w, waiting);
	waiting->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct vc_request *r = &w->vc_request[i];
		__builtin_prefetch(&n->input[r[INPUT_AHEAD].vc], 1);
		struct port_state *p = &n->port[r->port];
		if (likely(!(p->vc_mark & 1))) {
			struct vc_output o = output_of(w, r->port);
			uint32_t open = o.port->free_vcs &
					vc_candidates(n, &n->input[r->vc]);
			open = channels_usable(&o, r->vc, open);
			if (likely(open))
				grant_accept(&o, r->vc, open);
			else
				input_request_vc(w, r->vc);
			continue;
		}
		/* A conflict: link all requests for the port. */
		bool first = !(p->vc_mark & 2);
		r->mask = vc_candidates(n, &n->input[r->vc]);
		r->grants = 0;
		r->next = first ? NO_REQUEST : p->newest_request;
		if (first)
			w->conflicts[conflicts++] = r->port;
		p->vc_mark |= 2;
		p->newest_request = i;
	}
	for (uint32_t i = 0; i < conflicts; i++) {
		struct vc_output o = output_of(w, w->conflicts[i]);
		if (unlikely(n->router.deadlock_countdown))
			deadlock_suspect(w, o.index, o.port->newest_request);
		if (n->round_robin)
			round_robin(&o);
		else
			first_come(&o);
	}
}
