/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlock detection and recovery.
 *
 * A router suspects an output port while a packet requests it and all channels
 * that the packet could use are blocked. After a countdown of such cycles the
 * router interrupts its host, which has the state of all nodes analysed. If the
 * deadlock is confirmed, one packet that requests the port leaves by the debug
 * port and is sent on by the host; otherwise a false alarm is counted.
 *
 * Analysis: an input VC is live if it can proceed, or waits for one that is
 * live. An input that holds a channel waits for the buffer at the other end. An
 * input that requests a channel waits for any of the owners of the channels it
 * could use; or, if the arbiter skips it because of its host tag, for the owner
 * with this tag. Inputs that are not live are in a deadlock, or behind one.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/router/input.h"
#include "network/routing/dependency.h"

/* ---- suspicion ---- */

/*
 * Returns true if a channel is owned and blocked for lack of credit, or has no
 * room for a packet of this length.
 */
static bool channel_blocked(
	const struct network *n, uint32_t out, unsigned length)
{
	const struct port_state *p = &n->port[vc_port(n, out)];
	if (!(p->free_vcs >> vc_channel(n, out) & 1))
		return n->output[out].blocked_input != NO_VC;
	return n->router.switching == ROUTER_CUT_THROUGH &&
	       n->output[out].credits < length;
}

/* Returns true if all channels of some request for a port are blocked. */
static bool any_request_blocked(
	const struct worker *w, uint32_t port, uint32_t request)
{
	const struct network *n = w->network;
	if (!port_is_link(n, port_local(n, port)))
		return false;
	for (; request != NO_REQUEST; request = w->vc_request[request].next) {
		const struct vc_request *r = &w->vc_request[request];
		unsigned length = flit_packet(n, n->input[r->vc].front)->length;
		uint32_t bits = r->mask;
		while (bits && channel_blocked(n,
				       port << n->channel_bits |
					       (unsigned)__builtin_ctz(bits),
				       length))
			bits &= bits - 1;
		if (!bits)
			return true;
	}
	return false;
}

void deadlock_suspect(struct worker *w, uint32_t port, uint32_t request)
{
	struct network *n = w->network;
	struct link_state *l = &n->link_state[port];
	uint32_t now = (uint32_t)w->now;
	if (!any_request_blocked(w, port, request)) {
		l->suspect_cycles = 0;
		return;
	}
	l->suspect_cycles = l->suspect_last + 1 == now ? l->suspect_cycles + 1
						       : 1;
	l->suspect_last = now;
	if (l->suspect_cycles < n->router.deadlock_countdown)
		return;
	l->suspect_cycles = 0;
	interrupt_raise(w, INTERRUPT_DEADLOCK, port);
}

/* ---- liveness of an input VC ---- */

struct analysis {
	struct network *n;
	uint8_t *live;		 /* by input VC */
	uint32_t *owner;	 /* by output VC: its input VC, or NO_VC */
	struct worklist blocked; /* input VCs that are not live */
};

/* The input VC at the other end of an output VC, or NO_VC. */
static uint32_t peer_of(const struct network *n, uint32_t out)
{
	uint32_t peer = n->port[vc_port(n, out)].peer_vc;
	return peer == NO_VC ? NO_VC : peer + vc_channel(n, out);
}

/* An input VC that holds a channel waits for credit. */
static bool active_live(const struct analysis *a, const struct input_vc *in)
{
	const struct network *n = a->n;
	if (in->count == 0 || n->output[in->out].credits)
		return true;
	uint32_t peer = peer_of(n, in->out);
	if (peer == NO_VC)
		return true;
	const struct input_vc *next = &n->input[peer];
	bool full = n->credits ? next->count >= n->router.buffer
			       : next->xoff_sent;
	return !full || a->live[peer];
}

/* The owner because of whose host tag the arbiter skips a request. */
static uint32_t tag_owner(const struct analysis *a, uint32_t vc, uint32_t port)
{
	const struct network *n = a->n;
	bool any_port = n->router.arbiter == ROUTER_SMART;
	uint16_t class = n->class_mask[n->input[vc].class];
	for (unsigned c = 0; n->input_tag && c < n->channels; c++) {
		uint32_t out = port << n->channel_bits | c;
		uint32_t owner = a->owner[out];
		if (owner != NO_VC && class >> c & 1 &&
			n->output_tag[out].tag == n->input_tag[vc] &&
			(any_port || vc_port(n, owner) == vc_port(n, vc)))
			return owner;
	}
	return NO_VC;
}

/* Returns true if a channel is usable for a request, or will be. */
static bool channel_live(const struct analysis *a, uint32_t vc, uint32_t out)
{
	const struct network *n = a->n;
	if (a->owner[out] != NO_VC)
		return a->live[a->owner[out]];
	unsigned length = flit_packet(n, n->input[vc].front)->length;
	if (n->router.switching == ROUTER_WORMHOLE ||
		n->output[out].credits >= length)
		return true;
	/* Cut-through waits for room in the next buffer. */
	uint32_t peer = peer_of(n, out);
	return peer == NO_VC || n->input[peer].count == 0 || a->live[peer];
}

/*
 * First come, first served with cut-through: an older packet that does not fit
 * closes the channels that it could use to younger packets that would fit.
 */
static bool older_live(const struct analysis *a, uint32_t vc)
{
	const struct network *n = a->n;
	const struct input_vc *in = &n->input[vc];
	uint32_t first = vc & ~n->local_mask;
	if (n->round_robin || n->router.switching == ROUTER_WORMHOLE)
		return true;
	for (uint32_t i = first; i <= (first | n->local_mask); i++) {
		const struct input_vc *other = &n->input[i];
		int32_t age = (int32_t)(other->request_time - in->request_time);
		if (other->state != INPUT_VC_ALLOC || other->port != in->port ||
			a->live[i] || age > 0 || (age == 0 && i >= vc))
			continue;
		uint32_t port = port_of(n, vc_node(n, i), other->port);
		if (tag_owner(a, i, port) == NO_VC &&
			vc_candidates(n, other) & vc_candidates(n, in))
			return false;
	}
	return true;
}

/* An input VC that requests a channel waits for the owners. */
static bool request_live(const struct analysis *a, uint32_t vc)
{
	const struct network *n = a->n;
	const struct input_vc *in = &n->input[vc];
	if (!port_is_link(n, in->port))
		return true;
	uint32_t port = port_of(n, vc_node(n, vc), in->port);
	uint32_t owner = tag_owner(a, vc, port);
	if (owner != NO_VC)
		return a->live[owner];
	if (!older_live(a, vc))
		return false;
	for (uint32_t bits = vc_candidates(n, in); bits; bits &= bits - 1)
		if (channel_live(a, vc,
			    port << n->channel_bits |
				    (unsigned)__builtin_ctz(bits)))
			return true;
	return false;
}

/* ---- analysis ---- */

static void analysis_free(struct analysis *a)
{
	free(a->live);
	free(a->owner);
	free(a->blocked.entry);
}

/* Returns false without memory. */
static bool analysis_run(struct analysis *a, struct network *n)
{
	uint32_t vcs = n->nodes << n->node_shift, before;
	*a = (struct analysis){ .n = n,
		.live = malloc(vcs),
		.owner = malloc((uint64_t)vcs * sizeof(*a->owner)) };
	if (!a->live || !a->owner) {
		analysis_free(a);
		return false;
	}
	for (uint32_t vc = 0; vc < vcs; vc++)
		a->owner[vc] = NO_VC;
	for (uint32_t vc = 0; vc < vcs; vc++) {
		a->live[vc] = n->input[vc].state == INPUT_IDLE;
		if (!a->live[vc])
			worklist_add(&n->worker[0], &a->blocked, vc);
		if (n->input[vc].state == INPUT_ACTIVE)
			a->owner[n->input[vc].out] = vc;
	}
	/* Live inputs leave the list, until none is found. */
	struct worklist *b = &a->blocked;
	do {
		uint32_t kept = 0;
		before = b->count;
		for (uint32_t i = 0; i < b->count; i++) {
			uint32_t vc = b->entry[i];
			const struct input_vc *in = &n->input[vc];
			a->live[vc] = in->state == INPUT_ACTIVE
					      ? active_live(a, in)
					      : request_live(a, vc);
			if (!a->live[vc])
				b->entry[kept++] = vc;
		}
		b->count = kept;
	} while (b->count < before);
	return true;
}

/* Every deadlock soon contains a request that is older than DEADLOCK_WAIT. */
static bool any_old_request(const struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		const struct worklist *l =
			&n->worker[i].vc_worklist[n->now & 1];
		for (uint32_t k = 0; k < l->count; k++)
			if (time_reached(
				    n->now, n->input[l->entry[k]].request_time +
						    DEADLOCK_WAIT))
				return true;
	}
	return false;
}

bool deadlock_exists(struct network *n)
{
	struct analysis a;
	if (!any_old_request(n) || !analysis_run(&a, n))
		return false;
	bool exists = a.blocked.count;
	analysis_free(&a);
	return exists;
}

void deadlock_recover(struct network *n, uint32_t port)
{
	struct network_counters *c =
		&node_worker(n, port_node(n, port))->counters;
	struct analysis a;
	c->deadlock_alarms++;
	if (!analysis_run(&a, n))
		return;
	/* The victim: the oldest request for the port. */
	uint32_t victim = NO_VC;
	for (uint32_t i = 0; i < a.blocked.count; i++) {
		uint32_t vc = a.blocked.entry[i];
		const struct input_vc *in = &n->input[vc];
		if (in->state == INPUT_VC_ALLOC &&
			vc_node(n, vc) == port_node(n, port) &&
			in->port == port_local(n, port) &&
			(victim == NO_VC ||
				(int32_t)(in->request_time -
					  n->input[victim].request_time) < 0))
			victim = vc;
	}
	analysis_free(&a);
	if (victim == NO_VC) {
		c->deadlock_false++;
		return;
	}
	c->deadlock_removed++;
	n->deadlock_recovered = n->now;
	struct input_vc *in = &n->input[victim];
	struct packet_state *p = flit_packet(n, in->front);
	p->hops = (uint16_t)(p->hops - packet_hops_left(p) - 1);
	in->port = (uint8_t)n->port_debug;
	in->class = CLASS_ANY;
}

/* ---- the cycle of channels ---- */

/* The input VC at the other end of an output VC, if it is blocked. */
static uint32_t peer_blocked(const struct analysis *a, uint32_t out)
{
	uint32_t peer = peer_of(a->n, out);
	return peer == NO_VC || a->live[peer] ? NO_VC : peer;
}

/* A blocked input VC that a blocked one waits for. */
static uint32_t blocker_of(const struct analysis *a, uint32_t vc)
{
	const struct network *n = a->n;
	const struct input_vc *in = &n->input[vc];
	if (in->state == INPUT_ACTIVE)
		return peer_blocked(a, in->out);
	uint32_t port = port_of(n, vc_node(n, vc), in->port);
	uint32_t by = tag_owner(a, vc, port);
	uint32_t bits = vc_candidates(n, in);
	for (; by == NO_VC && bits; bits &= bits - 1) {
		uint32_t out = port << n->channel_bits |
			       (unsigned)__builtin_ctz(bits);
		by = a->owner[out];
		if (by == NO_VC || a->live[by])
			by = peer_blocked(a, out);
	}
	return by;
}

int network_deadlock(struct network *n, struct channel **cycle, uint32_t *count)
{
	struct analysis a;
	*cycle = NULL;
	*count = 0;
	if (!analysis_run(&a, n))
		return -ENOMEM;
	uint32_t blocked = a.blocked.count;
	if (blocked)
		*cycle = malloc((blocked + 1ull) * sizeof(**cycle));
	if (!*cycle) {
		analysis_free(&a);
		return blocked ? -ENOMEM : 0;
	}
	/* After as many steps as there are blocked inputs, it is in a cycle. */
	uint32_t start = a.blocked.entry[0];
	for (uint32_t i = 0; i < blocked && start != NO_VC; i++)
		start = blocker_of(&a, start);
	uint32_t vc = start;
	while (vc != NO_VC && *count < blocked) {
		/* The channel that fills this input VC. */
		uint32_t peer = n->port[vc_port(n, vc)].peer_vc;
		unsigned channel = vc_channel(n, vc), class = 0;
		while (class + 1 < routing_classes(n->routing) &&
			!(n->class_mask[class] >> channel & 1))
			class ++;
		if (peer != NO_VC)
			(*cycle)[(*count)++] =
				(struct channel){ .node = vc_node(n, peer),
					.port = (uint8_t)port_local(
						n, vc_port(n, peer)),
					.class = (uint8_t) class,
					.vc = (uint8_t)channel };
		vc = blocker_of(&a, vc);
		if (vc == start)
			break;
	}
	analysis_free(&a);
	return 0;
}
