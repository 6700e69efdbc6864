/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the packets that the caller has sent: cookie and path. The table
 * is reserved once and does not move, because any worker may append to the path
 * of a packet. A lock protects the free list: records are opened between
 * cycles, or by a host that copies a multicast, and closed where packets end.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "network/engine/parts.h"

#define RECORDS_MAX (1u << 26)

static uint64_t table_bytes(void)
{
	return (uint64_t)RECORDS_MAX * sizeof(struct packet_record);
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

uint32_t record_open(struct network *n, uint64_t cookie)
{
	pthread_mutex_lock(&n->record_lock);
	uint32_t number = n->record_free;
	if (number != PACKET_NONE)
		n->record_free = n->record[number].next;
	else if (n->records < RECORDS_MAX)
		number = n->records++;
	pthread_mutex_unlock(&n->record_lock);
	if (number != PACKET_NONE)
		n->record[number] = (struct packet_record){ .cookie = cookie };
	return number;
}

/* ---- paths ---- */

void record_hop(struct worker *w, const struct packet_state *p, uint32_t out)
{
	const struct network *n = w->network;
	struct packet_record *r = &n->record[p->record];
	uint32_t port = vc_port(n, out);
	if (!n->options.record)
		return;
	if (r->count == r->capacity) {
		uint32_t capacity = r->capacity ? 2 * r->capacity : 16;
		struct network_hop *more =
			realloc(r->hop, capacity * sizeof(*more));
		if (!more) {
			worker_fail(w, -ENOMEM);
			return;
		}
		r->hop = more;
		r->capacity = capacity;
	}
	r->hop[r->count++] = (struct network_hop){ .time = w->now,
		.node = port_node(n, port),
		.port = (uint8_t)port_local(n, port),
		.channel = (uint8_t)vc_channel(n, out) };
}

/* ---- deliveries ---- */

static bool deliveries_reserve(struct deliveries *d, uint64_t count)
{
	uint64_t capacity = d->capacity ? d->capacity : 64;
	while (capacity < count)
		capacity *= 2;
	if (capacity == d->capacity)
		return true;
	void *more = realloc(d->entry, capacity * sizeof(*d->entry));
	if (!more)
		return false;
	d->entry = more;
	d->capacity = capacity;
	return true;
}

void record_report(struct worker *w, const struct packet_state *p,
	uint32_t node, uint64_t when, enum network_fate fate)
{
	struct deliveries *d = &w->deliveries;
	if (!deliveries_reserve(d, d->count + 1)) {
		worker_fail(w, -ENOMEM);
		return;
	}
	d->entry[d->count++] = (struct network_delivery){
		.packet = { .cookie = w->network->record[p->record].cookie,
			.from = p->from,
			.to = p->to,
			.length = p->length },
		.fate = fate,
		.node = node,
		.sent = p->created,
		.entered = p->created + p->entered,
		.arrived = when,
		.hops = p->hops
	};
}

void record_deliver(struct worker *w, const struct packet_state *p,
	uint32_t node, uint64_t when, enum network_fate fate)
{
	struct network *n = w->network;
	struct packet_record *r = &n->record[p->record];
	struct deliveries *d = &w->deliveries;
	uint64_t before = d->count;
	record_report(w, p, node, when, fate);
	if (d->count == before)
		return; /* no memory: the network has failed */
	d->entry[before].path = r->hop;
	d->entry[before].path_count = r->count;
	r->hop = NULL;
	pthread_mutex_lock(&n->record_lock);
	r->next = n->record_free;
	n->record_free = p->record;
	pthread_mutex_unlock(&n->record_lock);
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

/* Reserves first, so that a failure leaves no delivery in both places. */
int record_collect(struct network *n)
{
	struct deliveries *all = &n->deliveries;
	uint64_t count = all->count;
	for (unsigned i = 0; i < n->workers; i++)
		count += n->worker[i].deliveries.count;
	if (!deliveries_reserve(all, count))
		return -ENOMEM;
	for (unsigned i = 0; i < n->workers; i++) {
		struct deliveries *d = &n->worker[i].deliveries;
		for (uint64_t k = 0; k < d->count; k++)
			all->entry[all->count++] = d->entry[k];
		d->count = 0;
	}
	if (all->count > all->polled)
		qsort(&all->entry[all->polled], all->count - all->polled,
			sizeof(*all->entry), delivery_order);
	return 0;
}

bool network_poll(struct network *n, struct network_delivery *delivery)
{
	struct deliveries *d = &n->deliveries;
	/* The caller had the path of the previous delivery until now. */
	if (d->polled && d->path_lent) {
		free((void *)d->entry[d->polled - 1].path);
		d->path_lent = false;
	}
	if (d->polled == d->count)
		d->polled = d->count = 0;
	if (d->polled == d->count || d->entry[d->polled].arrived > n->now)
		return false;
	*delivery = d->entry[d->polled++];
	d->path_lent = true;
	return true;
}

void deliveries_free(struct deliveries *d)
{
	uint64_t from = d->polled - (d->polled && d->path_lent ? 1 : 0);
	for (uint64_t i = from; i < d->count; i++)
		free((void *)d->entry[i].path);
	free(d->entry);
}
