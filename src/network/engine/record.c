/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of packets that were sent by hand: their cookie and their way.
 * The table is reserved once and does not move, because the way of a packet is
 * written by whoever has its head. Numbers are taken between cycles, or by a
 * host that copies a multicast, and given back where packets end: by a lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "network/engine/parts.h"

#define RECORDS_MAX (1u << 26)

static uint64_t table_bytes(void)
{
	return (uint64_t)RECORDS_MAX * sizeof(struct record);
}

int record_table_open(struct network *n)
{
	void *at = mmap(NULL, table_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	n->record = at;
	n->record_free = PACKET_NONE;
	pthread_mutex_init(&n->record_lock, NULL);
	return 0;
}

void record_table_close(struct network *n)
{
	if (!n->record)
		return;
	for (uint32_t i = 0; i < n->records; i++)
		free(n->record[i].hop);
	munmap(n->record, table_bytes());
	pthread_mutex_destroy(&n->record_lock);
}

static uint32_t record_number(struct network *n)
{
	uint32_t number = n->record_free;
	if (number != PACKET_NONE)
		n->record_free = n->record[number].next;
	else if (n->records < RECORDS_MAX)
		number = n->records++;
	return number;
}

uint32_t record_open(struct network *n, uint64_t cookie)
{
	pthread_mutex_lock(&n->record_lock);
	uint32_t number = record_number(n);
	pthread_mutex_unlock(&n->record_lock);
	if (number != PACKET_NONE)
		n->record[number] = (struct record){ .cookie = cookie };
	return number;
}

static void record_close(struct network *n, uint32_t number)
{
	n->record[number].hop = NULL;
	pthread_mutex_lock(&n->record_lock);
	n->record[number].next = n->record_free;
	n->record_free = number;
	pthread_mutex_unlock(&n->record_lock);
}

/* ---- ways ---- */

static bool record_grow(struct record *r)
{
	uint32_t room = r->room ? 2 * r->room : 16;
	struct network_hop *more = realloc(r->hop, room * sizeof(*more));
	if (!more)
		return false;
	r->hop = more;
	r->room = room;
	return true;
}

void record_hop(struct worker *w, const struct packet *p, uint32_t out)
{
	const struct network *n = w->network;
	struct record *r = &n->record[p->record];
	uint32_t port = place_port(n, out);
	if (!n->options.record)
		return;
	if (r->count == r->room && !record_grow(r)) {
		worker_fail(w, -ENOMEM);
		return;
	}
	r->hop[r->count++] = (struct network_hop){ .time = w->now,
		.node = port_node(n, port),
		.port = (uint8_t)port_local(n, port),
		.channel = (uint8_t)place_channel(n, out) };
}

/* ---- deliveries ---- */

static bool deliveries_room(struct deliveries *d, uint64_t count)
{
	uint64_t room = d->room ? d->room : 64;
	while (room < count)
		room *= 2;
	if (room == d->room)
		return true;
	void *more = realloc(d->of, room * sizeof(*d->of));
	if (!more)
		return false;
	d->of = more;
	d->room = room;
	return true;
}

static void delivery_add(struct worker *w, const struct network_delivery *d)
{
	struct deliveries *l = &w->deliveries;
	if (!deliveries_room(l, l->count + 1))
		worker_fail(w, -ENOMEM);
	else
		l->of[l->count++] = *d;
}

void record_note(struct worker *w, const struct packet *p, uint32_t node,
	uint64_t when, enum network_fate fate)
{
	const struct record *r = &w->network->record[p->record];
	delivery_add(
		w, &(struct network_delivery){ .packet = { .cookie = r->cookie,
						       .from = p->from,
						       .to = p->to,
						       .length = p->length },
			   .fate = fate,
			   .node = node,
			   .sent = p->created,
			   .entered = p->created + p->entered,
			   .arrived = when,
			   .hops = p->hops });
}

void record_deliver(struct worker *w, const struct packet *p, uint32_t node,
	uint64_t when, enum network_fate fate)
{
	struct record *r = &w->network->record[p->record];
	struct deliveries *l = &w->deliveries;
	uint64_t before = l->count;
	record_note(w, p, node, when, fate);
	if (l->count == before)
		return; /* and the network has failed */
	l->of[before].way = r->hop;
	l->of[before].way_count = r->count;
	record_close(w->network, p->record);
}

static int delivery_order(const void *a, const void *b)
{
	const struct network_delivery *x = a, *y = b;
	if (x->arrived != y->arrived)
		return x->arrived < y->arrived ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->packet.cookie != y->packet.cookie)
		return x->packet.cookie < y->packet.cookie ? -1 : 1;
	if (x->packet.from != y->packet.from)
		return x->packet.from < y->packet.from ? -1 : 1;
	if (x->sent != y->sent)
		return x->sent < y->sent ? -1 : 1;
	if (x->entered != y->entered)
		return x->entered < y->entered ? -1 : 1;
	return (x->packet.length > y->packet.length) -
	       (x->packet.length < y->packet.length);
}

/* Room first: what has moved must not be left behind too. */
int record_collect(struct network *n)
{
	struct deliveries *all = &n->deliveries;
	uint64_t count = all->count;
	for (unsigned i = 0; i < n->workers; i++)
		count += n->worker[i].deliveries.count;
	if (!deliveries_room(all, count))
		return -ENOMEM;
	for (unsigned i = 0; i < n->workers; i++) {
		struct deliveries *d = &n->worker[i].deliveries;
		for (uint64_t k = 0; k < d->count; k++)
			all->of[all->count++] = d->of[k];
		d->count = 0;
	}
	if (all->count > all->taken)
		qsort(&all->of[all->taken], all->count - all->taken,
			sizeof(*all->of), delivery_order);
	return 0;
}

/* The way of what was taken last is the caller's until now. */
static void deliveries_shrink(struct deliveries *d)
{
	if (d->taken && d->way_given) {
		free((void *)d->of[d->taken - 1].way);
		d->way_given = false;
	}
	if (d->taken == d->count)
		d->taken = d->count = 0;
}

bool network_take(struct network *n, struct network_delivery *delivery)
{
	struct deliveries *d = &n->deliveries;
	deliveries_shrink(d);
	if (d->taken == d->count || d->of[d->taken].arrived > n->now)
		return false;
	*delivery = d->of[d->taken++];
	d->way_given = true;
	return true;
}

void record_drop(struct deliveries *d)
{
	uint64_t from = d->taken - (d->taken && d->way_given ? 1 : 0);
	for (uint64_t i = from; i < d->count; i++)
		free((void *)d->of[i].way);
	free(d->of);
}
