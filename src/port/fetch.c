/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Borrowed messages at the target: copying them, also with the help of their
 * origin (cocopy.h), and cay_event_fetch() for messages that were polled
 * without their bytes (CAY_PORT_FETCH).
 *
 * A message that was taken without its bytes keeps its reference in state
 * STARTED, and no queue entry. What is needed to end it is in private memory;
 * an event names it by index and generation. The node completes it if this port
 * closes or its process dies.
 */
#include "port/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/process_memory.h"
#include "port/cocopy.h"
#include "port/reference.h"

/* How long the target waits for a chunk that the origin has claimed. */
#define FETCH_WAIT_NS (20 * CLOCK_NS_PER_US)

/* ---- copying ---- */

int fetch_read(
	const struct reference *copy, uint64_t at, void *to, uint64_t bytes)
{
	struct process_memory origin = { .pid = copy->pid,
		.cookie = (uint32_t)copy->cookie,
		.cookie_address = copy->cookie_address };
	return process_memory_read(&origin, copy->address + at, to, bytes);
}

/* Waits briefly for the origin to stage the chunk that it has claimed. */
static enum cocopy_next fetch_wait(
	struct cocopy_copy *c, uint32_t *chunk, const unsigned char **from)
{
	uint64_t until = clock_after_ns(FETCH_WAIT_NS);
	enum cocopy_next next;
	do {
		clock_relax();
		next = cocopy_next(c, chunk, from);
	} while (next == COCOPY_WAIT && clock_now_ns() < until);
	return next;
}

/* Copies all chunks out of the origin, or from its ring. */
static int fetch_chunks(
	struct cocopy_copy *c, const struct reference *copy, unsigned char *to)
{
	const unsigned char *from = NULL;
	uint32_t chunk = 0;
	int r = 0;
	cocopy_announce(c);
	while (r == 0) {
		enum cocopy_next next = cocopy_next(c, &chunk, &from);
		if (next == COCOPY_WAIT)
			next = fetch_wait(c, &chunk, &from);
		if (next == COCOPY_END)
			break;
		if (next == COCOPY_WAIT)
			chunk = cocopy_steal(c);
		uint64_t at = (uint64_t)chunk * COCOPY_CHUNK;
		uint64_t bytes = cocopy_chunk_bytes(copy->length, chunk);
		if (next == COCOPY_STAGED) {
			copy_bytes(to + at, from, bytes);
			cocopy_consumed(c);
		} else {
			r = fetch_read(copy, at, to + at, bytes);
		}
	}
	/* The ring of a dead origin may belong to another process. */
	return r == 0 && c->staged ? fetch_read(copy, 0, NULL, 0) : r;
}

int fetch_copy(
	struct cay_port *port, const struct fetch *f, void *to, uint64_t bytes)
{
	struct member *m = port->member;
	_Atomic(struct context *) *origin;
	struct reference copy = { 0 }, again;
	uint32_t index = f->reference - 1;
	int r = member_origin(m, f->vpid, &origin);
	if (r)
		return CAY_ERROR_GONE;
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct reference *shared = &c->refs[index];
	if (!device_reference_read(shared, f->sequence, &copy))
		return CAY_ERROR_GONE;
	if (!reference_valid(&copy, m->arena.bytes) || copy.length != f->length)
		return CAY_ERROR_MEMORY;
	uint32_t chunks = bytes == copy.length ? cocopy_chunks(bytes) : 0;
	if (bytes == 0) {
		return CAY_ERROR_NONE;
	} else if (copy.kind != REFERENCE_PROCESS) {
		copy_bytes(to, m->arena.base + copy.address, bytes);
	} else if (chunks && !reference_is_copied(index) && !f->alone) {
		struct cocopy_copy both = { .shared = reference_cocopy(
						    c->refs, index),
			.origin = origin,
			.arena = &m->arena,
			.sequence = f->sequence,
			.chunks = chunks };
		r = fetch_chunks(&both, &copy, to);
	} else {
		r = fetch_read(&copy, 0, to, bytes);
	}
	/* The kernel does not say whose memory it could not access. */
	if (r == -EFAULT && !process_memory_mapped(to, bytes, true))
		return r;
	/*
	 * The copy is valid only if the reference still was after it: the fence
	 * orders the loads of the copy before that of the state.
	 */
	atomic_thread_fence(memory_order_acquire);
	if (!device_reference_read(shared, f->sequence, &again) || r == -ESRCH)
		return CAY_ERROR_GONE;
	return r ? CAY_ERROR_MEMORY : CAY_ERROR_NONE;
}

void fetch_complete(struct cay_port *port, const struct fetch *f, int error)
{
	struct completion done = { .tag = f->tag,
		.api_tag = f->api_tag,
		.command = f->command,
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = f->length,
		.reference = (uint16_t)f->reference,
		.sequence = f->sequence };
	_Atomic(struct context *) *origin;
	/* No -ENOMEM: the table of origins exists since the message came. */
	if (member_origin(port->member, f->vpid, &origin) == 0)
		reference_complete(port, origin, f->reference, &done);
}

/* ---- messages without their bytes ---- */

enum taken_state {
	TAKEN_FREE,
	TAKEN_KEPT,
	TAKEN_BUSY, /* a thread fetches it */
};

struct taken {
	struct fetch fetch;
	uint32_t generation; /* counts the uses of the entry */
	uint32_t next;	     /* free: 1 + next free entry */
	enum taken_state state;
};

#define TAKEN_GENERATION_SHIFT 32

/* Doubles the table. */
static int taken_grow(struct taken_table *t, uint16_t vpid)
{
	uint32_t capacity = t->capacity ? 2 * t->capacity : 16;
	struct taken *entries =
		realloc(t->entries, capacity * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	for (uint32_t i = capacity; i-- > t->capacity; t->free = i + 1)
		/* Different on each port: an event of another is not found. */
		entries[i] = (struct taken){ .next = t->free,
			.generation = (uint32_t)vpid << 16 };
	t->capacity = capacity;
	return 0;
}

int fetch_take(
	struct cay_port *port, const struct fetch *f, struct cay_event *e)
{
	struct taken_table *t = &port->taken;
	if (!t->free && taken_grow(t, port->origin.vpid))
		return -ENOMEM;
	struct taken *kept = &t->entries[t->free - 1];
	kept->generation++;
	e->result = (uint64_t)kept->generation << TAKEN_GENERATION_SHIFT |
		    t->free;
	t->free = kept->next;
	kept->fetch = *f;
	kept->state = TAKEN_KEPT;
	return 0;
}

/* Returns the message that the event names, or NULL: it names none. */
static struct taken *taken_find(
	struct cay_port *port, const struct cay_event *e)
{
	uint32_t index = (uint32_t)e->result;
	if (index == 0 || index > port->taken.capacity)
		return NULL;
	struct taken *kept = &port->taken.entries[index - 1];
	bool named = kept->state == TAKEN_KEPT &&
		     kept->generation == e->result >> TAKEN_GENERATION_SHIFT &&
		     kept->fetch.vpid == e->peer.vpid;
	return named ? kept : NULL;
}

int cay_event_fetch(struct cay_port *port, const struct cay_event *e,
	void *buffer, size_t size)
{
	if (!port_usable(port))
		return port_error(port);
	if (!e || e->kind != CAY_EVENT_MESSAGE || e->error)
		return -EINVAL;
	if (size && !buffer)
		return -EFAULT;
	uint64_t bytes = bits_min(size, e->length);
	if (e->data) {
		if (bytes)
			copy_bytes(buffer, e->data, bytes);
		return 0;
	}
	port_consume_begin(port);
	struct taken *kept = taken_find(port, e);
	if (kept)
		kept->state = TAKEN_BUSY;
	const struct fetch f = kept ? kept->fetch : (struct fetch){ 0 };
	port_consume_end(port);
	if (!kept)
		return -EINVAL;
	/* Without the mutex: other consumers may poll, and fetch others. */
	int error = fetch_copy(port, &f, buffer, bits_min(size, f.length));
	if (error >= 0)
		fetch_complete(port, &f, error);
	port_consume_begin(port);
	/* The table may have moved. */
	kept = &port->taken.entries[(uint32_t)e->result - 1];
	kept->state = error < 0 ? TAKEN_KEPT : TAKEN_FREE;
	/* Some chunks of the failed attempt are claimed, and some staged. */
	kept->fetch.alone = error < 0;
	if (error >= 0) {
		kept->next = port->taken.free;
		port->taken.free = (uint32_t)e->result;
	}
	port_consume_end(port);
	return error == CAY_ERROR_NONE	 ? 0
	       : error == CAY_ERROR_GONE ? -EPIPE
	       : error > 0		 ? -EREMOTEIO
					 : error;
}
