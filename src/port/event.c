/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay_poll() and cay_release(). An entry is copied out of shared memory once
 * and checked; only payload stays in place.
 */
#include "port/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "port/intake.h"
#include "port/posted.h"
#include "port/window.h"

static void event_head(struct cay_event *e, const struct cay_nqe *n,
	uint64_t word, uint64_t position)
{
	uint64_t peer = n->word[CAY_NQE_WORD_PEER];
	memset(e, 0, sizeof(*e));
	e->error = (int)((word & CAY_COMMAND_ERROR_MASK) >>
			 CAY_COMMAND_ERROR_SHIFT);
	e->tag = n->word[CAY_NQE_WORD_TAG];
	e->api_tag = (uint32_t)(peer >> CAY_NQE_API_TAG_SHIFT);
	e->peer.node = (uint32_t)peer;
	e->peer.vpid = (uint16_t)(word >> CAY_NQE_VPID_SHIFT);
	e->position = position;
}

/* A payload in the RDR, or a long message. */
static int event_recv(struct cay_port *port, const struct cay_nqe *n,
	struct intake_slot *slot, struct cay_event *e)
{
	const struct context *own = port->intake.own;
	uint64_t bytes = (uint64_t)RDR_UNIT << own->rdr_log2;
	uint64_t start = n->word[CAY_NQE_WORD_START];

	e->kind = CAY_EVENT_MESSAGE;
	e->length = n->word[CAY_NQE_WORD_LENGTH];
	if (n->word[CAY_NQE_WORD_REFERENCE])
		return incoming_fetch(port, n, slot, e);
	if (start < bytes / RDR_UNIT &&
		bits_inside(start * RDR_UNIT, e->length, bytes))
		e->data = own->rdr + start * RDR_UNIT;
	else
		e->error = CAY_ERROR_TARGET_BOUNDS;
	return 0;
}

/* Up to 24 bytes of a FAST_GET lie in the entry itself. */
static void event_got(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	uint64_t bytes = n->word[CAY_NQE_WORD_VALID] >> CAY_NQE_BYTES_SHIFT &
			 0xffff;
	e->length = bits_min(bytes, CAY_FAST_PUT_BYTES);
	e->data = &device_entry(port->intake.own, e->position)
			   ->word[CAY_NQE_WORD_LENGTH];
}

/*
 * What words 2 to 4 mean depends on what has completed. What was refused has no
 * result, but a place.
 */
static void event_completed(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	e->kind = CAY_EVENT_COMPLETE;
	e->command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
	e->length = n->word[CAY_NQE_WORD_LENGTH];
	if (command_is_send(e->command))
		return;
	if (!e->error && command_operation(e->command) == CAY_FAST_GET) {
		event_got(port, n, e);
	} else if (!e->error && command_is_atomic(e->command)) {
		e->result = n->word[CAY_NQE_WORD_RESULT];
		e->previous = n->word[CAY_NQE_WORD_PREVIOUS];
	} else {
		e->offset = n->word[CAY_NQE_WORD_OFFSET];
		e->window = (uint16_t)n->word[CAY_NQE_WORD_WINDOW];
	}
}

/* 1 an event, 0 none; whether room was reserved for it is in the slot. */
static int event_complete(struct cay_port *port, const struct cay_nqe *n,
	struct intake_slot *slot, struct cay_event *e)
{
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	event_completed(port, n, e);
	slot->completion = 1;
	if (reference == 0)
		return 1;
	switch (outgoing_complete(port, reference,
		(uint32_t)(word >> CAY_NQE_SEQUENCE_SHIFT), e)) {
	case OUTGOING_TOLD:
		return 1;
	case OUTGOING_SILENT:
		return 0;
	default:
		slot->completion = 0;
		return 0;
	}
}

/* Somebody accessed a window of ours, or was kept from it. */
static void event_access(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	e->kind = CAY_EVENT_ACCESS;
	e->length = n->word[CAY_NQE_WORD_LENGTH];
	e->offset = n->word[CAY_NQE_WORD_OFFSET];
	e->window = (uint16_t)n->word[CAY_NQE_WORD_WINDOW];
	e->command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
	if (e->error)
		e->result = window_refusals(port, e->window);
}

static void event_status(struct cay_event *e, const struct cay_nqe *n)
{
	e->kind = CAY_EVENT_STATUS;
	e->result = n->word[CAY_NQE_WORD_RESULT];
	e->previous = n->word[CAY_NQE_WORD_PREVIOUS];
	e->length = n->word[CAY_NQE_WORD_LENGTH];
}

/* Everything but FAST_RECV. 1, 0, or -ENOMEM. */
static int event_other(struct cay_port *port, const struct cay_nqe *n,
	struct intake_slot *slot, struct cay_event *e)
{
	unsigned command = n->word[CAY_NQE_WORD_VALID] & CAY_COMMAND_MASK;
	slot->rdr = (uint32_t)(n->word[CAY_NQE_WORD_POINTERS] >>
			       CAY_NQE_RDR_WRITE_SHIFT) &
		    QUEUE_RDR_MASK;
	slot->has_rdr = 1;
	switch (command) {
	case CAY_NOTIFY_RECV: {
		int r = event_recv(port, n, slot, e);
		return r == -ECANCELED ? 0 : r ? r : 1;
	}
	case CAY_NOTIFY_CC:
		return event_complete(port, n, slot, e);
	case CAY_NOTIFY_RMA:
		event_access(port, n, e);
		return 1;
	case CAY_NOTIFY_POSTED_RECV:
		return posted_event(port, n, e);
	case CAY_NOTIFY_STATUS:
		slot->completion = 1;
		event_status(e, n);
		return 1;
	case CAY_NOTIFY_GONE:
		e->kind = CAY_EVENT_GONE;
		return 1;
	case CAY_NQE_INVALID:
		slot->has_rdr = void_has_extent(n->word[CAY_NQE_WORD_VALID]);
		break;
	default:
		if (command_is_access(command))
			return serve_access(port, n, e);
		slot->has_rdr = 0;
	}
	port_count(&port->count.voids);
	return 0;
}

/* One consumer at a time, so no read-modify-write is needed. */
static inline void event_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* NOTIFY_FAST_RECV: the notification is the message. */
static inline int event_fast(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	struct intake *in = &port->intake;
	const struct cay_nqe *n = device_entry(in->own, in->next);
	uint64_t peer = n->word[CAY_NQE_WORD_PEER];
	uint64_t length = (word >> CAY_NQE_BYTES_SHIFT) & 0xffff;

	/* One by one: as a whole it would be cleared by a string instruction.
	 */
	e->kind = CAY_EVENT_MESSAGE;
	e->error = 0;
	e->peer.node = (uint32_t)peer;
	e->peer.vpid = (uint16_t)(word >> CAY_NQE_VPID_SHIFT);
	e->tag = n->word[CAY_NQE_WORD_TAG];
	e->api_tag = (uint32_t)(peer >> CAY_NQE_API_TAG_SHIFT);
	e->command = 0;
	e->data = &n->word[CAY_NQE_WORD_DATA];
	e->length = bits_min(length, CAY_FAST_SEND_BYTES);
	e->result = e->previous = 0;
	e->window = 0;
	e->offset = 0;
	e->position = in->next;
	intake_take(in);
	event_count(&port->count.received);
	return 1;
}

/* Everything else, copied first. 1, 0, or -ENOMEM: not taken. */
static int event_slow(struct cay_port *port, uint64_t word, struct cay_event *e)
{
	struct intake *in = &port->intake;
	uint64_t position = in->next;
	struct intake_slot *slot = intake_slot(in, position);
	struct cay_nqe copy = *device_entry(in->own, position);

	copy.word[CAY_NQE_WORD_VALID] = word;
	event_head(e, &copy, word, position);
	slot->special = 1;
	int taken = event_other(port, &copy, slot, e);
	if (taken < 0) {
		*slot = (struct intake_slot){ 0 };
		return taken;
	}
	intake_take(in);
	if (taken == 0)
		intake_release(port, in, position);
	else if (e->kind == CAY_EVENT_MESSAGE || e->kind == CAY_EVENT_POSTED)
		event_count(&port->count.received);
	else if (e->kind == CAY_EVENT_COMPLETE)
		event_count(&port->count.completed);
	return taken;
}

/*
 * 1 an event, 0 nothing for the application yet, -EAGAIN nothing there,
 * -ENOMEM.
 */
static inline int event_next(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	if (likely((word & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV))
		return event_fast(port, word, e);
	return word ? event_slow(port, word, e) : -EAGAIN;
}

/* `word` is what intake_peek() has said. */
static int poll_some(
	struct cay_port *port, uint64_t word, struct cay_event *events, int max)
{
	int n = 0, r;
	for (;; word = intake_peek(port)) {
		r = event_next(port, word, &events[n]);
		if (r < 0)
			break;
		n += r;
		if (n == max)
			break;
	}
	if (n == 0)
		intake_idle(port, &port->intake);
	return n == 0 && r == -ENOMEM ? r : n;
}

/* The first poll, wrong arguments, several consumers. */
__attribute__((cold, noinline)) static int poll_cold(
	struct cay_port *port, struct cay_event *events, int max)
{
	if (!port_here(port))
		return port_absent(port);
	if (max < 0 || (max > 0 && !events))
		return -EINVAL;
	port_consume_begin(port);
	int n = intake_ready(port);
	if (n == 0 && max > 0)
		n = poll_some(port, intake_peek(port), events, max);
	port_consume_end(port);
	return n;
}

int cay_poll(struct cay_port *port, struct cay_event *events, int max)
{
	if (unlikely(!port_here(port) || max <= 0 || !events ||
		     port->flags & CAY_PORT_SHARED || !port->intake.slots))
		return poll_cold(port, events, max);
	uint64_t word = intake_peek(port);
	if (word == 0 && port->intake.oldest == port->intake.returned)
		return 0;
	if (max == 1 && (word & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV)
		return event_fast(port, word, events);
	return poll_some(port, word, events, max);
}

/* Long messages, out of order, several consumers. */
__attribute__((noinline)) static void release_slow(
	struct cay_port *port, const struct cay_event *e)
{
	port_consume_begin(port);
	struct intake *in = intake_at(port, e->position);
	if (in) {
		struct intake_slot *slot = intake_slot(in, e->position);
		if (slot->reference)
			incoming_finish(port, in, e->position);
		free(slot->buffer);
		slot->buffer = NULL;
		if (!slot->released)
			intake_release(port, in, e->position);
		intake_retire(port, in);
	}
	port_consume_end(port);
}

void cay_release(struct cay_port *port, const struct cay_event *e)
{
	struct intake *in = &port->intake;
	if (unlikely(!port_here(port)))
		return;
	if (unlikely(port->flags & CAY_PORT_SHARED ||
		     e->position != in->oldest || in->oldest == in->next ||
		     !intake_release_oldest(port, in)))
		release_slow(port, e);
}
