/* SPDX-License-Identifier: BSD-2-Clause */
/* See consumer.h. */
#include "port/consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void consumer_init(struct consumer *rx, struct context *own)
{
	uint64_t r = device_returned(own);
	*rx = (struct consumer){ .own = own,
		.next = queue_nq(r),
		.oldest = queue_nq(r),
		.returned = queue_nq(r),
		.ahead = (const unsigned char *)own->nq,
		.rdr = (uint32_t)queue_rdr(r),
		.returned_rdr = (uint32_t)queue_rdr(r) };
}

void consumer_free(struct cay_port *port)
{
	struct consumer *rx = &port->consumer;
	while (rx) {
		struct consumer *former = rx->former;
		for (uint64_t at = rx->oldest; rx->slots && at != rx->next;
			at = (at + 1) & QUEUE_NQ_MASK)
			free(consumer_slot(rx, at)->buffer);
		free(rx->slots);
		if (rx != &port->consumer)
			free(rx);
		rx = former;
	}
}

int consumer_prepare(struct cay_port *port)
{
	struct consumer *rx = &port->consumer;
	if (likely(rx->slots != NULL))
		return 0;
	rx->slots = calloc(1ull << rx->own->nq_log2, sizeof(*rx->slots));
	if (!rx->slots)
		return -ENOMEM;
	/* Best effort: otherwise the first process to touch a page pays. */
	if (port->flags & CAY_PORT_HUGE)
		madvise(rx->own->rdr, (uint64_t)RDR_UNIT << rx->own->rdr_log2,
			MADV_HUGEPAGE);
	madvise(rx->own->nq, (uint64_t)CAY_LINE << rx->own->nq_log2,
		MADV_POPULATE_WRITE);
	return 0;
}

void consumer_return(struct cay_port *port, struct consumer *rx)
{
	/*
	 * Entries first, then completion reservations: an operation that uses
	 * the reservation must find an entry for its completion.
	 */
	rx->returned = rx->oldest;
	rx->returned_rdr = rx->rdr;
	device_return_entries(rx->own, queue_word(rx->oldest, rx->rdr));
	if (rx->completions)
		device_completions_returned(&port->origin, rx->completions);
	rx->completions = 0;
}

void consumer_release(
	struct cay_port *port, struct consumer *rx, uint64_t position)
{
	consumer_slot(rx, position)->released = 1;
	consumer_slot(rx, position)->special = SLOT_OTHER;
	while (rx->oldest != rx->next) {
		struct consumer_slot *slot = consumer_slot(rx, rx->oldest);
		if (!slot->released)
			break;
		if (slot->has_rdr)
			rx->rdr = slot->rdr;
		rx->completions += slot->completion;
		*slot = (struct consumer_slot){ 0 };
		rx->oldest = (rx->oldest + 1) & QUEUE_NQ_MASK;
	}
	if (consumer_return_due(rx))
		consumer_return(port, rx);
}

void consumer_resync_rdr(struct cay_port *port, struct consumer *rx, uint64_t w)
{
	if (rx->oldest != rx->next || queue_nq(w) != rx->next ||
		rx->rdr == queue_rdr(w))
		return;
	rx->rdr = (uint32_t)queue_rdr(w);
	consumer_return(port, rx);
}

/* ---- migration ---- */

void consumer_retire(struct cay_port *port, struct consumer *rx)
{
	if (rx == &port->consumer || rx->oldest != rx->next)
		return;
	consumer_return_all(port, rx);
	device_leave(rx->own);
	for (struct consumer **at = &port->consumer.former; *at;
		at = &(*at)->former)
		if (*at == rx) {
			*at = rx->former;
			break;
		}
	free(rx->slots);
	free(rx);
}

/* Continues with the new set; `former` keeps entries that are not released. */
static bool consumer_migrate(struct cay_port *port)
{
	struct consumer *rx = &port->consumer;
	struct context *own;

	context_follow_migration(&port->origin.device.own, rx->own);
	own = atomic_load_explicit(
		&port->origin.device.own, memory_order_acquire);
	if (own == rx->own)
		return false;
	struct consumer *former = malloc(sizeof(*former));
	if (!former)
		return false;
	consumer_return_all(port, rx);
	*former = *rx;
	consumer_init(rx, own);
	rx->former = former;
	consumer_retire(port, former);
	return consumer_prepare(port) == 0;
}

uint64_t consumer_peek_migrating(struct cay_port *port)
{
	for (;;) {
		struct consumer *rx = &port->consumer;
		uint64_t word = device_peek_inline(rx->own, rx->next);
		/* After the entry; pairs with the stores in node/fence.c. */
		uint32_t migration = device_migration(rx->own);
		if (migration == QUEUE_MIGRATING) {
			if (member_node_alive(port->member))
				return 0;
			device_unfence(rx->own);
			continue;
		}
		bool fenced = device_fenced(rx->own, rx->next);
		if (migration == QUEUE_STABLE || (word && !fenced))
			return word;
		if (fenced) {
			uint64_t position = rx->next;
			consumer_advance(rx);
			consumer_release(port, rx, position);
			port_count(&port->count.voids);
			continue;
		}
		if (queue_nq(device_written(rx->own)) != rx->next ||
			!consumer_migrate(port))
			return 0;
	}
}

struct consumer *consumer_find(struct cay_port *port, uint64_t position)
{
	struct consumer *rx = &port->consumer;
	while (rx && (!rx->slots || queue_ahead(position, rx->oldest) >=
					    queue_ahead(rx->next, rx->oldest)))
		rx = rx->former;
	return rx;
}
