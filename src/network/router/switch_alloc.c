/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switch allocation. In a cycle the crossbar of a node transfers one flit from
 * each input port and one to each output port. A request without a conflict, at
 * its input and its output, is granted at once. Conflicting requests of a node
 * go through a separable allocator: each output grants to one input, each input
 * accepts one grant, round robin on both sides.
 *
 * VC allocation of the cycle is complete, so a channel that a tail flit frees
 * is available in the next cycle.
 */
#include "network/router/input.h"

/* Repeats a request in the next cycle. */
static void request_repeat(struct worker *w, uint32_t vc)
{
	worklist_add(w, &w->switch_worklist[~w->now & 1], vc);
}

/*
 * A granted flit traverses the crossbar: to the link, or to the host. Credit
 * for its buffer slot returns upstream, and all round-robin pointers advance.
 */
static inline __attribute__((always_inline)) void flit_transfer(
	struct worker *w, uint32_t vc, uint32_t out)
{
	struct network *n = w->network;
	struct input_vc *in = &n->input[vc];
	uint32_t in_port = vc_port(n, vc), out_port = vc_port(n, out);
	struct port_state *from = &n->port[in_port], *to = &n->port[out_port];
	from->rr_output = (uint8_t)(in->port + 1);
	from->rr_channel = (uint8_t)(vc_channel(n, vc) + 1);
	to->rr_input = (uint8_t)(port_local(n, in_port) + 1);
	uint32_t flit = input_pop(n, in, vc);

	if (unlikely(flit & PACKET_RECORDED))
		record_hop(w, flit_packet(n, flit), out);
	if (unlikely(to->peer_vc == NO_VC)) {
		host_eject(w, port_node(n, out_port), port_local(n, out_port),
			flit);
	} else {
		if (likely(n->credits))
			n->output[out].credits--;
		if (unlikely(++to->flits == 0))
			n->link_state[out_port].flits += 1ull << 32;
		uint32_t peer = to->peer_vc + vc_channel(n, out);
		int late = unlikely(n->check_links) ? link_repeat(w, out_port)
						    : 0;
		if (likely(late == 0))
			wheel_add(&w->wheel,
				&w->flits_slot[to->peer_worker * WHEEL_KINDS],
				peer, flit);
		else
			wheel_put(&w->wheel,
				w->now + (unsigned)((int)n->router.link_delay +
						    late),
				to->peer_worker, WHEEL_FLIT, peer, flit);
	}
	input_return_credit(w, vc, from);

	if (unlikely(!(flit & PACKET_TAIL))) {
		if (flit & PACKET_HEAD)
			n->input_packet[vc] = flit & PACKET_NUMBER;
		in->switch_listed = in->count != 0;
		if (in->switch_listed)
			request_repeat(w, vc);
		return;
	}
	to->free_vcs |= (uint16_t)(1u << in->channel);
	in->switch_listed = 0;
	in->state = INPUT_IDLE;
	if (unlikely(in->count))
		input_route(w, vc, w->now + 1);
}

/*
 * Collects the requests that have credit and an idle link, and marks the input
 * and output ports that have more than one. Returns the number of requests.
 */
static uint32_t requests_collect(
	struct worker *w, const struct worklist *waiting)
{
	struct network *n = w->network;
	uint32_t mark = ((uint32_t)w->now + 1) << 1, count = 0;
	for (uint32_t i = 0; i < waiting->count; i++) {
		input_prefetch(n, waiting, i);
		uint32_t vc = waiting->entry[i];
		struct input_vc *in = &n->input[vc];
		uint32_t out = in->out, out_port = vc_port(n, out);
		struct port_state *from = &n->port[vc_port(n, vc)];
		struct port_state *to = &n->port[out_port];
		if (unlikely(n->output[out].credits == 0)) {
			/* A credit that arrives repeats the request. */
			in->switch_listed = 0;
			n->output[out].blocked_input = vc;
			n->link_state[out_port].blocked++;
			continue;
		}
		if (unlikely(n->check_links) &&
			time_ahead(
				w->now, n->link_state[out_port].busy_until)) {
			request_repeat(w, vc);
			continue;
		}
		to->out_mark = mark | ((to->out_mark | 1) == (mark | 1));
		from->in_mark = mark | ((from->in_mark | 1) == (mark | 1));
		w->switch_request[count].vc = vc;
		w->switch_request[count++].out = out;
	}
	return count;
}

/* Steps from a round-robin pointer to a port or channel. */
static unsigned rr_distance(unsigned at, unsigned pointer)
{
	return at >= pointer ? at - pointer : at + 256 - pointer;
}

/* Orders two requests for an output: by input port, then by channel. */
static bool request_precedes(const struct network *n,
	const struct switch_request *a, const struct switch_request *b)
{
	uint32_t port_a = vc_port(n, a->vc), port_b = vc_port(n, b->vc);
	unsigned pointer = n->port[vc_port(n, a->out)].rr_input;
	if (port_a != port_b)
		return rr_distance(port_local(n, port_a), pointer) <
		       rr_distance(port_local(n, port_b), pointer);
	pointer = n->port[port_a].rr_channel;
	return rr_distance(vc_channel(n, a->vc), pointer) <
	       rr_distance(vc_channel(n, b->vc), pointer);
}

/* Grants the switch to some of the conflicting requests of a node. */
static void conflict_resolve(struct worker *w, uint32_t node)
{
	struct network *n = w->network;
	uint32_t newest = n->node[node].newest_request;
	uint64_t outputs = 0, inputs = 0; /* bits: have a grant */
	const struct switch_request *r;
	const struct switch_request *grant[64];	   /* by output port */
	const struct switch_request *accepted[64]; /* by input port */
	unsigned accepted_distance[64];

	/* Each output grants to one request. */
	for (uint32_t i = newest; i != NO_REQUEST; i = r->next) {
		r = &w->switch_request[i];
		unsigned o = port_local(n, vc_port(n, r->out));
		if (!(outputs >> o & 1) || request_precedes(n, r, grant[o]))
			grant[o] = r;
		outputs |= 1ull << o;
	}
	/* Each input accepts one grant. */
	for (uint64_t bits = outputs; bits; bits &= bits - 1) {
		unsigned o = (unsigned)__builtin_ctzll(bits);
		uint32_t in_port = vc_port(n, grant[o]->vc);
		unsigned i = port_local(n, in_port);
		unsigned distance = rr_distance(o, n->port[in_port].rr_output);
		if (!(inputs >> i & 1) || distance < accepted_distance[i]) {
			accepted[i] = grant[o];
			accepted_distance[i] = distance;
		}
		inputs |= 1ull << i;
	}
	for (uint32_t i = newest; i != NO_REQUEST; i = r->next) {
		r = &w->switch_request[i];
		unsigned port = port_local(n, vc_port(n, r->vc));
		if (inputs >> port & 1 && accepted[port] == r)
			flit_transfer(w, r->vc, r->out);
		else
			request_repeat(w, r->vc);
	}
}

void switch_allocate(struct worker *w)
{
	struct network *n = w->network;
	struct worklist *waiting = &w->switch_worklist[w->now & 1];
	if (waiting->count == 0 ||
		!switch_requests_reserve(w, waiting->count + INPUT_AHEAD))
		return;
	uint32_t conflicts = 0, count = requests_collect(w, waiting);
	waiting->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct switch_request *r = &w->switch_request[i];
		__builtin_prefetch(&n->input[r[INPUT_AHEAD].vc], 1);
		const struct port_state *from = &n->port[vc_port(n, r->vc)];
		const struct port_state *to = &n->port[vc_port(n, r->out)];
		if (likely(!((from->in_mark | to->out_mark) & 1))) {
			flit_transfer(w, r->vc, r->out);
			continue;
		}
		/* A conflict: link all such requests of the node. */
		uint32_t node = vc_node(n, r->vc);
		struct node_state *at = &n->node[node];
		bool first = at->conflict_mark != w->now + 1;
		r->next = first ? NO_REQUEST : at->newest_request;
		if (first)
			w->conflicts[conflicts++] = node;
		at->conflict_mark = w->now + 1;
		at->newest_request = i;
	}
	for (uint32_t i = 0; i < conflicts; i++)
		conflict_resolve(w, w->conflicts[i]);
}
