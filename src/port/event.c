/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay_poll() and cay_release(): notification entries become events. An inline
 * message takes event_inline(); any other entry is copied out of shared memory
 * once and checked. Payload stays in place.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "port/cocopy.h"
#include "port/consumer.h"
#include "port/emulate.h"
#include "port/long_receive.h"
#include "port/pending.h"
#include "port/posted.h"
#include "port/resolve.h"
#include "port/resolved.h"
#include "port/ultra.h"
#include "port/window.h"

/* Only the consumer writes these counters: no read-modify-write is needed. */
static inline void event_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter,
		atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* ---- messages in their entry, or in the RDR ---- */

/*
 * Fills in an event as that of a message. Member by member: compilers clear a
 * whole struct with a slow string instruction.
 */
static inline void event_begin(struct cay_port *port, uint64_t word,
	const struct cay_nqe *n, const void *data, uint64_t length,
	struct cay_event *e)
{
	uint64_t peer = n->word[CAY_NQE_WORD_PEER];

	e->kind = CAY_EVENT_MESSAGE;
	e->error = 0;
	e->peer.node = (uint32_t)peer;
	e->peer.vpid = (uint16_t)(word >> CAY_NQE_VPID_SHIFT);
	e->tag = n->word[CAY_NQE_WORD_TAG];
	e->api_tag = (uint32_t)(peer >> CAY_NQE_API_TAG_SHIFT);
	e->command = 0;
	e->data = data;
	e->length = length;
	e->result = e->previous = 0;
	e->window = 0;
	e->offset = 0;
	e->position = port->consumer.next;
	e->handle = resolved_find(port, e->peer.vpid);
}

/* The event of a message at `data`; advances past its entry. */
static inline int event_received(struct cay_port *port, uint64_t word,
	const struct cay_nqe *n, const void *data, uint64_t length,
	struct cay_event *e)
{
	event_begin(port, word, n, data, length, e);
	consumer_advance(&port->consumer);
	event_count(&port->count.received);
	return 1;
}

static inline int event_inline(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	const struct consumer *rx = &port->consumer;
	const struct cay_nqe *n = device_entry(rx->own, rx->next);
	uint64_t length = (word >> CAY_NQE_BYTES_SHIFT) & 0xffff;
	return event_received(port, word, n, &n->word[CAY_NQE_WORD_DATA],
		bits_min(length, CAY_FAST_SEND_BYTES), e);
}

/* Returns the payload of a message in the RDR; NULL: it is not inside. */
static inline const unsigned char *event_payload(
	const struct context *own, uint64_t start, uint64_t length)
{
	return start < own->rdr_units && length <= (own->rdr_units - start) *
							   (uint64_t)RDR_UNIT
		       ? own->rdr + start * RDR_UNIT
		       : NULL;
}

/* Loads a word of an entry once: a peer may write it at any time. */
static inline uint64_t event_word(const struct cay_nqe *n, unsigned i)
{
	return atomic_load_explicit(
		(const _Atomic uint64_t *)&n->word[i], memory_order_relaxed);
}

/*
 * Returns false if event_slow() must convert the entry: a message by reference,
 * or an invalid one.
 */
static inline bool event_eager(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	const struct consumer *rx = &port->consumer;
	const struct cay_nqe *n = device_entry(rx->own, rx->next);
	struct consumer_slot *slot = consumer_slot(rx, rx->next);
	uint64_t length = event_word(n, CAY_NQE_WORD_LENGTH);
	const unsigned char *data = event_payload(
		rx->own, event_word(n, CAY_NQE_WORD_START), length);
	if (unlikely(!data || event_word(n, CAY_NQE_WORD_REFERENCE) ||
		     word & CAY_COMMAND_ERROR_MASK))
		return false;
	__builtin_prefetch(data);
	slot->rdr = (uint32_t)(event_word(n, CAY_NQE_WORD_POINTERS) >>
			       CAY_NQE_RDR_WRITE_SHIFT) &
		    QUEUE_RDR_MASK;
	consumer_expect(&port->consumer, slot->rdr);
	slot->has_rdr = 1;
	slot->completion = slot->released = 0;
	slot->special = SLOT_PLAIN;
	return event_received(port, word, n, data, length, e);
}

/* ---- other entries ---- */

/* Returns 1, 0 (cancelled by the origin), or -ENOMEM. */
static int event_message(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot, struct cay_event *e)
{
	e->kind = CAY_EVENT_MESSAGE;
	e->length = n->word[CAY_NQE_WORD_LENGTH];
	if (n->word[CAY_NQE_WORD_REFERENCE]) {
		int r = long_receive(port, n, slot, e);
		return r == -ECANCELED ? 0 : r ? r : 1;
	}
	e->data = event_payload(
		port->consumer.own, n->word[CAY_NQE_WORD_START], e->length);
	if (!e->data)
		e->error = CAY_ERROR_TARGET_BOUNDS;
	return 1;
}

/*
 * The meaning of words 2 to 4 depends on the completed command; a refused
 * access has no result, but a window and an offset. Returns 1, or 0 if there is
 * nothing to report.
 */
static int event_completion(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot, struct cay_event *e)
{
	e->kind = CAY_EVENT_COMPLETE;
	e->command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
	e->length = n->word[CAY_NQE_WORD_LENGTH];
	if (command_is_send(e->command)) {
		/* The tag and the length say all. */
	} else if (!e->error && command_operation(e->command) == CAY_FAST_GET) {
		/* The bytes are in the entry itself. */
		uint64_t bytes = n->word[CAY_NQE_WORD_VALID] >>
					 CAY_NQE_BYTES_SHIFT &
				 0xffff;
		e->length = bits_min(bytes, CAY_FAST_PUT_BYTES);
		e->data = &device_entry(port->consumer.own, e->position)
				   ->word[CAY_NQE_WORD_LENGTH];
	} else if (!e->error && command_is_atomic(e->command)) {
		e->result = n->word[CAY_NQE_WORD_RESULT];
		e->previous = n->word[CAY_NQE_WORD_PREVIOUS];
	} else if (e->command == CAY_RESOLVE) {
		/* The reservation of a stale one is that of the first. */
		slot->completion = (uint8_t)resolve_event(port, n, e);
		return slot->completion;
	} else {
		e->offset = n->word[CAY_NQE_WORD_OFFSET];
		e->window = (uint16_t)n->word[CAY_NQE_WORD_WINDOW];
	}
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	slot->completion = 1;
	if (reference == 0)
		return 1;
	enum pending_result result = pending_complete(
		port, reference, (uint32_t)(word >> CAY_NQE_SEQUENCE_SHIFT), e);
	/* No completion was reserved for a duplicate. */
	slot->completion = result != PENDING_STALE;
	return result == PENDING_REPORT;
}

#define EVENT_HELD 2 /* its entry is not released */

/* Returns 1 (an event), 0 (none), EVENT_HELD, or -ENOMEM. */
static int event_convert(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot, struct cay_event *e)
{
	unsigned command = n->word[CAY_NQE_WORD_VALID] & CAY_COMMAND_MASK;
	int r;
	slot->rdr = (uint32_t)(n->word[CAY_NQE_WORD_POINTERS] >>
			       CAY_NQE_RDR_WRITE_SHIFT) &
		    QUEUE_RDR_MASK;
	slot->has_rdr = 1;
	switch (command) {
	case CAY_NOTIFY_RECV:
		return event_message(port, n, slot, e);
	case CAY_NOTIFY_CC:
		return event_completion(port, n, slot, e);
	case CAY_NOTIFY_RMA:
		e->kind = CAY_EVENT_ACCESS;
		e->length = n->word[CAY_NQE_WORD_LENGTH];
		e->offset = n->word[CAY_NQE_WORD_OFFSET];
		e->window = (uint16_t)n->word[CAY_NQE_WORD_WINDOW];
		e->command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
		if (e->error)
			e->result = window_refusals(port, e->window);
		return 1;
	case CAY_NOTIFY_POSTED_RECV:
		return posted_event(port, n, e);
	case CAY_NOTIFY_STATUS:
		slot->completion = 1;
		e->kind = CAY_EVENT_STATUS;
		e->result = n->word[CAY_NQE_WORD_RESULT];
		e->previous = n->word[CAY_NQE_WORD_PREVIOUS];
		e->length = n->word[CAY_NQE_WORD_LENGTH];
		return 1;
	case CAY_NOTIFY_ULTRA:
		slot->completion = 1;
		e->kind = CAY_EVENT_ULTRA;
		e->command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED] &
			     CAY_COMMAND_MASK;
		e->length = n->word[CAY_NQE_WORD_LENGTH];
		e->result = n->word[CAY_NQE_WORD_RESULT];
		e->window = (uint16_t)n->word[CAY_NQE_WORD_PREVIOUS];
		return 1;
	case CAY_NOTIFY_GONE:
		slot->special = SLOT_GONE;
		r = ultra_hold_gone(port, e->peer, e->position);
		if (r)
			return r < 0 ? r : EVENT_HELD;
		e->kind = CAY_EVENT_GONE;
		return resolved_gone(
			port, e->peer.vpid, e->position, &e->handle);
	case CAY_NQE_INVALID:
		slot->has_rdr = void_has_extent(n->word[CAY_NQE_WORD_VALID]);
		break;
	default:
		if (command_is_access(command))
			return emulate_execute(port, n, e);
		slot->has_rdr = 0;
	}
	port_count(&port->count.voids);
	return 0;
}

/* Returns 1 (an event), 0 (none), or -ENOMEM: the entry stays. */
static int event_slow(struct cay_port *port, uint64_t word, struct cay_event *e)
{
	struct consumer *rx = &port->consumer;
	uint64_t position = rx->next;
	struct consumer_slot *slot = consumer_slot(rx, position);
	struct cay_nqe copy = *device_entry(rx->own, position);

	copy.word[CAY_NQE_WORD_VALID] = word;
	event_begin(port, word, &copy, NULL, 0, e);
	e->error = (int)((word & CAY_COMMAND_ERROR_MASK) >>
			 CAY_COMMAND_ERROR_SHIFT);
	slot->special = SLOT_OTHER;
	int r = event_convert(port, &copy, slot, e);
	if (r < 0) {
		*slot = (struct consumer_slot){ 0 };
		return r;
	}
	consumer_advance(rx);
	if (r == EVENT_HELD)
		return 0;
	if (r == 0) {
		consumer_release(port, rx, position);
		return 0;
	}
	if (e->kind == CAY_EVENT_MESSAGE || e->kind == CAY_EVENT_POSTED)
		event_count(&port->count.received);
	if (e->kind == CAY_EVENT_COMPLETE) {
		event_count(&port->count.completed);
		slot->special = SLOT_PLAIN;
	}
	return 1;
}

/* Any entry but an inline message; returns as event_slow(). */
__attribute__((noinline)) static int event_other(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	if ((word & CAY_COMMAND_MASK) == CAY_NOTIFY_RECV &&
		likely(event_eager(port, word, e)))
		return 1;
	return event_slow(port, word, e);
}

/* ---- poll ---- */

/* `word` is the result of consumer_peek(). */
static int poll_burst(
	struct cay_port *port, uint64_t word, struct cay_event *events, int max)
{
	int n = 0;
	for (;; word = consumer_peek(port)) {
		if (likely((word & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV)) {
			event_inline(port, word, &events[n++]);
		} else {
			int r = word ? event_other(port, word, &events[n])
				     : -EAGAIN;
			if (r < 0 && n)
				return n;
			if (r < 0) {
				consumer_return_all(port, &port->consumer);
				return r == -ENOMEM ? r : 0;
			}
			n += r;
		}
		if (n == max)
			return n;
	}
}

/*
 * CAY_PORT_TELL_GONE: polls one event at a time, so that a sender counts as
 * heard before its NOTIFY_GONE is converted.
 */
static int poll_told(struct cay_port *port, struct cay_event *events, int max)
{
	int n = 0, r = 1;
	for (; n < max && r == 1; n += r == 1) {
		struct cay_event *e = &events[n];
		r = poll_burst(port, consumer_peek(port), e, 1);
		if (r == 1 && (e->kind == CAY_EVENT_MESSAGE ||
				      e->kind == CAY_EVENT_POSTED))
			resolved_heard(port, e->peer.vpid);
	}
	return n ? n : r;
}

/* Returns 1 and a CAY_EVENT_GONE that was held, or 0. */
static int event_held(struct cay_port *port, struct cay_event *e)
{
	struct cay_addr peer;
	uint64_t position;
	while (ultra_take_held(port, &peer, &position)) {
		*e = (struct cay_event){ .kind = CAY_EVENT_GONE,
			.error = CAY_ERROR_GONE,
			.peer = peer,
			.position = position };
		if (resolved_gone(port, peer.vpid, position, &e->handle))
			return 1;
		struct consumer *rx = consumer_find(port, position);
		if (rx)
			consumer_release(port, rx, position);
	}
	return 0;
}

/* The first poll, invalid arguments, or an enum port_attention. */
__attribute__((cold, noinline)) static int poll_cold(
	struct cay_port *port, struct cay_event *events, int max)
{
	if (!port_valid(port))
		return port_error(port);
	if (max < 0 || (max > 0 && !events))
		return -EINVAL;
	port_consume_begin(port);
	int n = consumer_prepare(port);
	if (n == 0 && max > 0 && port_attends(port, PORT_ULTRA_ACKS))
		ultra_acknowledge(port);
	if (n == 0 && max > 0 && port_attends(port, PORT_ULTRA_HELD))
		n = event_held(port, events);
	if (n == 0 && max > 0)
		n = port->heard ? poll_told(port, events, max)
				: poll_burst(port, consumer_peek(port), events,
					  max);
	port_consume_end(port);
	if (n == 0 && port_attends(port, PORT_COCOPY))
		cocopy_help(port);
	return n;
}

/* After -ENOMEM it is tried once more. */
__attribute__((noinline)) static int poll_slow(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	return likely(event_slow(port, word, e) == 1)
		       ? 1
		       : poll_burst(port, consumer_peek(port), e, 1);
}

/* One event of an entry that is not an inline message. */
__attribute__((noinline)) static int poll_other(
	struct cay_port *port, uint64_t word, struct cay_event *e)
{
	if ((word & CAY_COMMAND_MASK) == CAY_NOTIFY_RECV &&
		likely(event_eager(port, word, e)))
		return 1;
	return poll_slow(port, word, e);
}

/*
 * Calls on the path of an empty queue and of an inline message would make all
 * polls save registers; these are jumps.
 */
__attribute__((noinline)) static int poll_return(struct cay_port *port)
{
	consumer_return(port, &port->consumer);
	return 0;
}

__attribute__((cold, noinline)) static int poll_migrating(
	struct cay_port *port, struct cay_event *events, int max)
{
	return poll_burst(port, consumer_peek_migrating(port), events, max);
}

int cay_poll(struct cay_port *port, struct cay_event *events, int max)
{
	if (unlikely(!port_plain(port) || max <= 0 || !events ||
		     !port->consumer.slots))
		return poll_cold(port, events, max);
	struct consumer *rx = &port->consumer;
	uint64_t word = device_peek_inline(rx->own, rx->next);
	/* After the entry, as in consumer_peek(). */
	if (unlikely(device_migration(rx->own)))
		return poll_migrating(port, events, max);
	if (word == 0) {
		consumer_look_ahead(rx);
		return rx->oldest == rx->returned ? 0 : poll_return(port);
	}
	if (max > 1)
		return poll_burst(port, word, events, max);
	if (likely((word & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV))
		return event_inline(port, word, events);
	return poll_other(port, word, events);
}

/* ---- release ---- */

/* Long messages, out of order, or several consumers. */
__attribute__((noinline)) static void release_slow(
	struct cay_port *port, const struct cay_event *e)
{
	port_consume_begin(port);
	struct consumer *rx = consumer_find(port, e->position);
	if (rx) {
		struct consumer_slot *slot = consumer_slot(rx, e->position);
		bool gone = slot->special == SLOT_GONE;
		if (slot->reference)
			long_receive_finish(port, rx, e->position);
		free(slot->buffer);
		slot->buffer = NULL;
		if (!slot->released)
			consumer_release(port, rx, e->position);
		if (gone) {
			resolved_gone_released(port, e->position);
			/* The node may reuse the VPID then. */
			consumer_return_all(port, rx);
		}
		consumer_retire(port, rx);
	}
	port_consume_end(port);
}

/* The oldest entry, which is not an inline message. */
__attribute__((noinline)) static void release_other(
	struct cay_port *port, const struct cay_event *e)
{
	if (unlikely(!consumer_release_plain(port, &port->consumer)))
		release_slow(port, e);
}

void cay_release(struct cay_port *port, const struct cay_event *e)
{
	struct consumer *rx = &port->consumer;
	if (unlikely(!port_valid(port)))
		return;
	if (unlikely(port->flags & CAY_PORT_SHARED ||
		     e->position != rx->oldest || rx->oldest == rx->next))
		release_slow(port, e);
	else if (!consumer_release_oldest(port, rx))
		release_other(port, e);
}

void cay_release_burst(
	struct cay_port *port, const struct cay_event *events, int count)
{
	struct consumer *rx = &port->consumer;
	if (unlikely(!port_valid(port)))
		return;
	for (int i = 0, n; i < count; i += n) {
		n = port->flags & CAY_PORT_SHARED || !rx->slots
			    ? 0
			    : consumer_pass(rx, &events[i], count - i);
		if (n && consumer_return_due_nq(rx))
			consumer_return(port, rx);
		if (!n) {
			cay_release(port, &events[i]);
			n = 1;
		}
	}
}
