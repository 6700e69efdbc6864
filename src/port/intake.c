/* SPDX-License-Identifier: BSD-2-Clause */
/* See intake.h. */
#include "port/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void intake_begin(struct intake *in, struct context *own)
{
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_acquire);
	*in = (struct intake){ .own = own,
		.next = queue_nq(r),
		.oldest = queue_nq(r),
		.returned = queue_nq(r),
		.rdr = (uint32_t)queue_rdr(r),
		.returned_rdr = (uint32_t)queue_rdr(r) };
}

static void intake_discard(struct intake *in)
{
	for (uint64_t at = in->oldest; in->slots && at != in->next;
		at = (at + 1) & QUEUE_NQ_MASK)
		free(intake_slot(in, at)->buffer);
	free(in->slots);
}

void intake_end(struct cay_port *port)
{
	intake_discard(&port->intake);
	while (port->intake.former) {
		struct intake *former = port->intake.former;
		port->intake.former = former->former;
		intake_discard(former);
		free(former);
	}
}

/* Best effort: without it the pages come one by one, from whoever is first. */
static void intake_populate(struct cay_port *port, const struct intake *in)
{
	uint64_t nq = (uint64_t)CAY_LINE << in->own->nq_log2;
	if (port->flags & CAY_PORT_HUGE) {
		uint64_t rdr = (uint64_t)RDR_UNIT << in->own->rdr_log2;
		madvise(in->own->rdr, rdr, MADV_HUGEPAGE);
	}
	madvise(in->own->nq, nq, MADV_POPULATE_WRITE);
}

int intake_ready(struct cay_port *port)
{
	struct intake *in = &port->intake;
	if (likely(in->slots != NULL))
		return 0;
	in->slots = calloc(1ull << in->own->nq_log2, sizeof(*in->slots));
	if (!in->slots)
		return -ENOMEM;
	intake_populate(port, in);
	return 0;
}

void intake_return(struct cay_port *port, struct intake *in)
{
	/*
	 * The room first: a completion that is issued because it was counted
	 * back must find it.
	 */
	in->returned = in->oldest;
	in->returned_rdr = in->rdr;
	device_return_entries(in->own, queue_word(in->oldest, in->rdr));
	if (in->completions)
		device_completions_returned(&port->origin, in->completions);
	in->completions = 0;
}

void intake_release(struct cay_port *port, struct intake *in, uint64_t position)
{
	intake_slot(in, position)->released = 1;
	intake_slot(in, position)->special = 1;
	while (in->oldest != in->next) {
		struct intake_slot *slot = intake_slot(in, in->oldest);
		if (!slot->released)
			break;
		if (slot->has_rdr)
			in->rdr = slot->rdr;
		in->completions += slot->completion;
		*slot = (struct intake_slot){ 0 };
		in->oldest = (in->oldest + 1) & QUEUE_NQ_MASK;
	}
	if (intake_due(in))
		intake_return(port, in);
}

void intake_idle(struct cay_port *port, struct intake *in)
{
	if (in->oldest != in->returned)
		intake_return(port, in);
}

void intake_settle(struct cay_port *port, struct intake *in, uint64_t w)
{
	if (in->oldest != in->next || queue_nq(w) != in->next ||
		in->rdr == queue_rdr(w))
		return;
	in->rdr = (uint32_t)queue_rdr(w);
	intake_return(port, in);
}

void intake_retire(struct cay_port *port, struct intake *in)
{
	if (in == &port->intake || in->oldest != in->next)
		return;
	intake_idle(port, in);
	/* The node may reuse the set; after the last swap of its R. */
	atomic_fetch_or_explicit(
		&in->own->control->r, R_DONE, memory_order_release);
	for (struct intake **at = &port->intake.former; *at;
		at = &(*at)->former)
		if (*at == in) {
			*at = in->former;
			break;
		}
	free(in->slots);
	free(in);
}

/* Entries that are still held keep the old intake alive. */
static bool intake_switch(struct cay_port *port)
{
	struct intake *in = &port->intake;
	struct context *own;

	context_follow_migration(&port->origin.own, in->own);
	own = atomic_load_explicit(&port->origin.own, memory_order_acquire);
	if (own == in->own)
		return false;
	struct intake *former = malloc(sizeof(*former));
	if (!former)
		return false;
	intake_idle(port, in);
	*former = *in;
	intake_begin(in, own);
	in->former = former;
	intake_retire(port, former);
	return intake_ready(port) == 0;
}

/* True if there is another entry to look at now. */
static bool intake_pass(struct cay_port *port)
{
	struct intake *in = &port->intake;
	if (queue_fenced(in->own->control, in->next)) {
		uint64_t position = in->next;
		intake_take(in);
		intake_release(port, in, position);
		port_count(&port->count.voids);
		return true;
	}
	uint64_t w = atomic_load_explicit(
		&in->own->control->w, memory_order_acquire);
	return queue_nq(w) == in->next && intake_switch(port);
}

uint64_t intake_peek_moving(struct cay_port *port)
{
	for (;;) {
		struct intake *in = &port->intake;
		uint64_t word = device_peek_inline(in->own, in->next);
		/* After the entry; pairs with the stores in node/fence.c. */
		uint32_t moving = atomic_load_explicit(
			&in->own->control->migration, memory_order_acquire);
		if (moving == QUEUE_MIGRATING)
			/* Not decided yet, or nobody left to decide. */
			return member_node_alive(port->member) ? 0 : word;
		if (moving == QUEUE_STABLE ||
			(word && !queue_fenced(in->own->control, in->next)))
			return word;
		if (!intake_pass(port))
			return 0;
	}
}

struct intake *intake_at(struct cay_port *port, uint64_t position)
{
	struct intake *in = &port->intake;
	while (in && (!in->slots || queue_ahead(position, in->oldest) >=
					    queue_ahead(in->next, in->oldest)))
		in = in->former;
	return in;
}
