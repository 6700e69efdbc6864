/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See network.h. Between cycles the caller's thread runs the scheduled events
 * and handles the interrupts of the workers.
 */
#include "network/engine/network.h"

#include <errno.h>
#include <stdlib.h>

#include "network/engine/parts.h"

#define DEADLOCK_PERIOD 2048  /* cycles between two searches for a deadlock */
#define RECOVERY	16ull /* countdowns that routers have to recover */
#define DRAIN_PERIOD	16 /* cycles between two checks for an empty network */

int network_send(
	struct network *n, uint64_t time, const struct network_packet *p)
{
	bool multicast = p->to == NETWORK_MULTICAST && !n->host_node;
	bool target = p->to < n->hosts || multicast;
	if (p->from >= n->hosts || !target || time < n->now ||
		!router_accepts(&n->router, p->length))
		return -EINVAL;
	return schedule_add(&n->schedule,
		&(struct scheduled_event){
			.time = time, .kind = EVENT_SEND, .packet = *p });
}

static void packet_send(struct network *n, const struct network_packet *p)
{
	uint32_t node = host_node(n, p->from);
	struct worker *w = node_worker(n, node);
	uint32_t record = record_open(n, p->cookie);
	uint32_t number = packet_alloc(&w->pool);
	if (record == PACKET_NONE || number == PACKET_NONE) {
		worker_fail(w, -ENOMEM);
		return;
	}
	bool multicast = p->to == NETWORK_MULTICAST;
	*flit_packet(n, number) = (struct packet_state){ .created = n->now,
		.record = record,
		.from = p->from,
		.to = p->to,
		.length = (uint16_t)p->length,
		.tag = (uint16_t)(p->to & n->tag_mask),
		.tree_port = TREE_NO_PORT,
		.flags = multicast ? PACKET_MULTICAST : 0 };
	flit_packet(n, number)->leg[PACKET_NEXT_NODE] = p->from;
	w->counters.packets_sent++;
	if (n->node[node].dead)
		packet_report(w, p->from, number, NETWORK_LOST);
	else
		source_enqueue(w, p->from, number);
}

static int interrupt_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* In the order of ports, so that the number of workers has no effect. */
static void interrupts_handle(struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		struct worklist *l = &n->worker[i].interrupts;
		if (l->count)
			qsort(l->entry, l->count, sizeof(*l->entry),
				interrupt_order);
		for (uint32_t k = 0; k < l->count; k++) {
			uint32_t port = l->entry[k] >> 1;
			if ((l->entry[k] & 1) == INTERRUPT_DEADLOCK) {
				deadlock_recover(n, port);
				continue;
			}
			n->worker[i].counters.links_failed +=
				n->port[port].peer_vc != NO_VC;
			fault_apply(n, NETWORK_LINK_FAILS, port_node(n, port),
				port_local(n, port));
		}
		l->count = 0;
	}
}

/* Returns 0, or -EDEADLK. */
static int between_cycles(struct network *n)
{
	struct scheduled_event e;
	for (unsigned i = 0; i < n->workers; i++)
		n->worker[i].now = n->now;
	while (schedule_pop(&n->schedule, n->now, &e)) {
		switch (e.kind) {
		case EVENT_SEND:
			packet_send(n, &e.packet);
			break;
		case EVENT_FAULT:
			fault_apply(n, e.fault, e.node, e.port);
			break;
		case EVENT_BARRIER_ARRIVE:
		case EVENT_BARRIER_RESET:
			transport_event(n, &e);
			break;
		}
	}
	interrupts_handle(n);
	if (n->draining)
		fault_reroute_if_drained(n);
	if (n->now - n->deadlock_checked < DEADLOCK_PERIOD)
		return 0;
	n->deadlock_checked = n->now;
	if (n->now - n->deadlock_recovered >
			RECOVERY * n->router.deadlock_countdown &&
		packets_in_flight(n) && deadlock_exists(n))
		return -EDEADLK;
	return 0;
}

/* The time up to which workers may run before between_cycles() is due. */
static uint64_t run_limit(const struct network *n, uint64_t until)
{
	uint64_t limit = bits_min(until, schedule_next(&n->schedule));
	if (packets_in_use(n))
		limit = bits_min(limit, n->deadlock_checked + DEADLOCK_PERIOD);
	for (unsigned i = 0; n->load && i < n->workers; i++) {
		uint64_t first = load_next(&n->worker[i]); /* or UINT64_MAX */
		if (first < limit)
			limit = bits_min(limit, first + DEADLOCK_PERIOD);
	}
	return n->draining ? bits_min(limit, n->now + DRAIN_PERIOD) : limit;
}

int network_run(struct network *n, uint64_t until)
{
	int r = n->failed ? -ENOMEM : 0;
	while (r == 0 && n->now < until) {
		r = between_cycles(n);
		if (r)
			break;
		thread_pool_run(n, run_limit(n, until));
		for (unsigned i = 0; r == 0 && i < n->workers; i++) {
			const struct worker *w = &n->worker[i];
			r = w->error || !w->wheel.full ? w->error : -ENOMEM;
		}
	}
	if (r == -ENOMEM)
		n->failed = true;
	int collected = record_collect(n);
	if (collected == 0)
		collected = transport_collect(n);
	return r ? r : collected;
}

uint64_t network_now(const struct network *n)
{
	return n->now;
}

uint64_t network_busy(const struct network *n)
{
	return packets_in_use(n) + n->schedule.count;
}
