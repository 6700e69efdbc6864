/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See network.h. Between cycles the caller does what is on the agenda, and what
 * the workers have left to it.
 */
#include "network/engine/network.h"

#include <errno.h>

#include "network/engine/parts.h"

#define LOOK_PERIOD 2048  /* cycles between two looks for a deadlock */
#define RECOVERY    16ull /* countdowns in which routers help themselves */
#define DRAIN_STEP  16	  /* cycles between two looks whether it is empty */

/* ---- sending ---- */

int network_send(
	struct network *n, uint64_t time, const struct network_packet *p)
{
	bool somewhere = p->to < n->nodes || p->to == NETWORK_EVERYBODY;
	if (p->from >= n->nodes || !somewhere || time < n->now ||
		!router_takes(&n->router, p->length))
		return -EINVAL;
	return agenda_put(&n->agenda,
		&(struct agenda_item){
			.time = time, .kind = AGENDA_SEND, .packet = *p });
}

static void send_now(struct network *n, const struct network_packet *p)
{
	struct worker *w = node_worker(n, p->from);
	uint32_t record = record_open(n, p->cookie);
	uint32_t number = packet_take(&w->pool);
	if (record == PACKET_NONE || number == PACKET_NONE) {
		worker_fail(w, -ENOMEM);
		return;
	}
	bool all = p->to == NETWORK_EVERYBODY;
	*flit_packet(n, number) = (struct packet){ .created = n->now,
		.record = record,
		.from = p->from,
		.to = p->to,
		.length = (uint16_t)p->length,
		.tag = (uint16_t)(p->to & n->tag_mask),
		.came_by = TREE_NO_PORT,
		.flags = all ? PACKET_MULTICAST : 0 };
	flit_packet(n, number)->leg[PACKET_NEXT_NODE] = p->from;
	w->counters.packets_sent++;
	if (n->node[p->from].dead)
		host_report(w, p->from, number, NETWORK_CUT);
	else
		source_queue(w, p->from, number);
}

/* ---- running ---- */

static void agenda_do(struct network *n, const struct agenda_item *i)
{
	switch (i->kind) {
	case AGENDA_SEND:
		send_now(n, &i->packet);
		break;
	case AGENDA_FAULT:
		fault_do(n, i->fault, i->node, i->port);
		break;
	case AGENDA_BARRIER_ARRIVE:
	case AGENDA_BARRIER_RESET:
		level_do(n, i);
		break;
	}
}

static void workers_time(struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++)
		n->worker[i].now = n->now;
}

static int workers_error(const struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		const struct worker *w = &n->worker[i];
		if (w->error || w->wheel.full)
			return w->error ? w->error : -ENOMEM;
	}
	return 0;
}

static uint64_t packets_alive(const struct network *n)
{
	uint64_t alive = 0;
	for (unsigned i = 0; i < n->workers; i++)
		alive += n->worker[i].pool.used - n->worker[i].pool.freed;
	return alive;
}

uint64_t network_inside(const struct network *n)
{
	int64_t outside = 0;
	for (unsigned i = 0; i < n->workers; i++)
		outside += n->worker[i].queued + n->worker[i].hosted;
	return packets_alive(n) - (uint64_t)outside;
}

/* Between two cycles: what the time has come for. */
static int network_serve(struct network *n)
{
	struct agenda_item item;
	workers_time(n);
	while (agenda_take(&n->agenda, n->now, &item))
		agenda_do(n, &item);
	alarm_handle(n);
	if (n->draining)
		fault_drained(n);
	if (n->now - n->looked < LOOK_PERIOD)
		return 0;
	n->looked = n->now;
	if (n->now - n->recovered > RECOVERY * n->router.deadlock_countdown &&
		network_inside(n) && deadlock_exists(n))
		return -EDEADLK;
	return 0;
}

static uint64_t next_stop(const struct network *n, uint64_t until)
{
	uint64_t next = bits_min(until, agenda_next(&n->agenda));
	if (packets_alive(n))
		next = bits_min(next, n->looked + LOOK_PERIOD);
	for (unsigned i = 0; n->load && i < n->workers; i++) {
		uint64_t first = load_next(&n->worker[i]); /* or never */
		if (first < next)
			next = bits_min(next, first + LOOK_PERIOD);
	}
	return n->draining ? bits_min(next, n->now + DRAIN_STEP) : next;
}

int network_run(struct network *n, uint64_t until)
{
	int r = n->failed ? -ENOMEM : 0;
	while (r == 0 && n->now < until) {
		r = network_serve(n);
		if (r == 0) {
			crew_run(n, next_stop(n, until));
			r = workers_error(n);
		}
	}
	if (r == -ENOMEM)
		n->failed = true;
	int collected = record_collect(n);
	if (collected == 0)
		collected = level_collect(n);
	return r ? r : collected;
}

/* ---- looking ---- */

uint64_t network_now(const struct network *n)
{
	return n->now;
}

uint64_t network_busy(const struct network *n)
{
	return packets_alive(n) + n->agenda.count;
}
