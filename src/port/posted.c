/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives, receiver side; see cay_receive(3) and device/posted.c. The
 * slots are in the arena: senders change their states, the receiver writes the
 * other fields while a slot is FREE. Any thread, under the lock of the port.
 */
#include "port/posted.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/futex.h"
#include "base/process_memory.h"
#include "cay/raw.h"
#include "port/allocation.h"
#include "port/heap.h"
#include "port/lock.h"
#include "port/process.h"

static _Atomic uint64_t *slot_state(struct cay_posted_receive *slot)
{
	return (_Atomic uint64_t *)&slot->state;
}

static _Atomic uint64_t *slot_length(struct cay_posted_receive *slot)
{
	return (_Atomic uint64_t *)&slot->length;
}

static bool slot_is(struct cay_posted_receive *slot, enum posted_state state)
{
	/* Acquire pairs with P1 in device/posted.c. */
	return (atomic_load_explicit(slot_state(slot), memory_order_acquire) &
		       POSTED_STATE_MASK) == state;
}

/* Copies all fields but the state, which senders change at any time. */
static struct cay_posted_receive slot_copy(struct cay_posted_receive *slot)
{
	return (struct cay_posted_receive){ .offset = slot->offset,
		.length = atomic_load_explicit(
			slot_length(slot), memory_order_relaxed),
		.cookie = slot->cookie,
		.flags = slot->flags };
}

/* The position in the queue. Relaxed: snapshots only report it. */
static uint32_t posted_next(struct cay_port *port)
{
	return atomic_load_explicit(
		&port->origin.client.posted_write, memory_order_relaxed);
}

static void posted_set_next(struct cay_port *port, uint32_t next)
{
	atomic_store_explicit(
		&port->origin.client.posted_write, next, memory_order_relaxed);
}

/*
 * Wakes refused senders. Sequentially consistent, like the store before it:
 * either this load sees WAITERS, or the sender sees the store.
 */
static void posted_wake(struct context *own)
{
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_seq_cst);
	if (r & R_WAITERS)
		futex_wake_lower(&own->control->r);
}

/*
 * Makes a filled-in slot available to senders. `available` is never less than
 * the number of READY slots; see device/posted.c.
 */
static void slot_post(struct cay_port *port, struct cay_posted_receive *slot)
{
	struct context *own = port_context(port);
	atomic_fetch_add_explicit(
		&own->posted_head->available, 1, memory_order_relaxed);
	atomic_store_explicit(
		slot_state(slot), POSTED_READY, memory_order_seq_cst);
	/* Senders look for posted receives from the first one on. */
	uint32_t none = POSTED_NONE;
	atomic_compare_exchange_strong_explicit(&own->control->posted, &none,
		POSTED_RDR, memory_order_acq_rel, memory_order_acquire);
	posted_wake(own);
}

int cay_receive_mode(struct cay_port *port, enum cay_receive_mode mode)
{
	if (!port_usable(port))
		return port_error(port);
	if (mode != CAY_RECEIVE_RDR && mode != CAY_RECEIVE_POSTED_ONLY)
		return -EINVAL;
	struct context *own = port_context(port);
	atomic_store_explicit(&own->control->posted,
		mode == CAY_RECEIVE_POSTED_ONLY ? POSTED_ONLY : POSTED_RDR,
		memory_order_seq_cst);
	posted_wake(own);
	return 0;
}

/* Under the lock. Returns false unless the slot was READY. */
static bool slot_cancel(struct cay_port *port, struct cay_posted_receive *slot)
{
	uint64_t ready = POSTED_READY;
	if (!atomic_compare_exchange_strong_explicit(slot_state(slot), &ready,
		    POSTED_FREE, memory_order_acq_rel, memory_order_acquire))
		return false;
	atomic_fetch_sub_explicit(&port_context(port)->posted_head->available,
		1, memory_order_relaxed);
	return true;
}

/*
 * Under the lock: returns a free slot, in ring order, or NULL. A READY slot
 * without length is left over from posted_cancel_on().
 */
static struct cay_posted_receive *slot_free(struct cay_port *port)
{
	struct context *own = port_context(port);
	uint32_t first = posted_next(port);
	for (uint32_t i = 0; i < own->posted_entries; i++) {
		uint32_t at = (first + i) & (own->posted_entries - 1);
		struct cay_posted_receive *slot = &own->posted[at];
		if (!slot_is(slot, POSTED_FREE) &&
			(slot->length || !slot_cancel(port, slot)))
			continue;
		posted_set_next(port, at + 1);
		return slot;
	}
	return NULL;
}

/*
 * Under the lock: returns 0 if the memory may be posted, or -EFAULT, and what
 * the descriptor says about it. Memory outside of the arena is private; the
 * kernel checks, and populates, what is mapped there.
 */
static int memory_describe(struct cay_port *port, void *memory, uint64_t bytes,
	struct cay_posted_receive *d)
{
	uint64_t at = (uintptr_t)memory, end = at + bytes;
	uint64_t arena = (uintptr_t)port->member->arena.base;
	d->length = bytes;
	if (allocation_contains(port->member, memory, bytes, &d->offset))
		return 0;
	if (end < at ||
		(end > arena &&
			at < arena + port->member->arena.mapped_bytes) ||
		!process_memory_mapped(memory, bytes, true))
		return -EFAULT;
	const uint64_t *cookie = process_cookie();
	d->offset = at;
	d->flags = CAY_POSTED_PRIVATE;
	d->pid = (uint32_t)getpid();
	d->process_cookie = (uint32_t)*cookie;
	d->cookie_address = (uintptr_t)cookie;
	return 0;
}

/*
 * Under the lock: remembers private memory that is posted in a slot, because
 * peers can write the slot. Returns 0 or -ENOMEM.
 */
static int private_remember(struct cay_port *port, uint32_t index,
	const struct cay_posted_receive *d)
{
	struct context *own = port_context(port);
	if (!port->posted_private && d->flags & CAY_POSTED_PRIVATE) {
		port->posted_private = calloc(
			own->posted_entries, sizeof(*port->posted_private));
		if (!port->posted_private)
			return -ENOMEM;
	}
	if (port->posted_private)
		port->posted_private[index] =
			(struct iovec){ d->flags & CAY_POSTED_PRIVATE
						? (void *)(uintptr_t)d->offset
						: NULL,
				d->length };
	return 0;
}

int cay_receive_post(
	struct cay_port *port, void *memory, size_t bytes, uint64_t cookie)
{
	struct cay_posted_receive d = { .cookie = cookie };
	struct lock_guard guard;
	if (!port_usable(port))
		return port_error(port);
	if (bytes == 0)
		return -EINVAL;
	lock_take(&port->lock, &guard);
	struct cay_posted_receive *slot = NULL;
	int r = memory_describe(port, memory, bytes, &d);
	if (r == 0) {
		slot = slot_free(port);
		r = slot ? private_remember(port,
				   (uint32_t)(slot -
					      port_context(port)->posted),
				   &d)
			 : -EAGAIN;
	}
	if (r == 0) {
		slot->offset = d.offset;
		slot->length = d.length;
		slot->cookie = d.cookie;
		atomic_store_explicit((_Atomic uint64_t *)&slot->flags, d.flags,
			memory_order_relaxed);
		slot->pid = d.pid;
		slot->process_cookie = d.process_cookie;
		slot->cookie_address = d.cookie_address;
		slot_post(port, slot);
	}
	lock_drop(&port->lock, &guard);
	return r;
}

bool posted_used(struct cay_port *port)
{
	return atomic_load_explicit(&port_context(port)->control->posted,
		       memory_order_acquire) != POSTED_NONE;
}

int cay_receive_cancel(struct cay_port *port, uint64_t cookie)
{
	struct lock_guard guard;
	int count = 0;
	if (!port_usable(port))
		return port_error(port);
	if (!posted_used(port))
		return 0;
	lock_take(&port->lock, &guard);
	struct context *own = port_context(port);
	for (uint32_t i = 0; i < own->posted_entries; i++)
		if (own->posted[i].cookie == cookie)
			count += slot_cancel(port, &own->posted[i]);
	lock_drop(&port->lock, &guard);
	return count;
}

/*
 * A slot that a sender has claimed is set to length 0: if the sender returns it
 * or dies, no other sender claims it and no event reports it. The caller then
 * waits for senders that have read the length before.
 */
void posted_cancel_on(struct cay_port *port, const void *memory, uint64_t bytes)
{
	struct lock_guard guard;
	uint64_t from;
	if (!posted_used(port) ||
		!heap_contains(port->member, memory, bytes, &from))
		return;
	lock_take(&port->lock, &guard);
	struct context *own = port_context(port);
	for (uint32_t i = 0; i < own->posted_entries; i++)
		if (own->posted[i].offset - from < bytes &&
			!slot_cancel(port, &own->posted[i]))
			atomic_store_explicit(slot_length(&own->posted[i]), 0,
				memory_order_relaxed);
	lock_drop(&port->lock, &guard);
}

/* The slot was written by this process, the entry by the sender. */
int posted_event(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	struct context *own = port->consumer.own;
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	if (index >= own->posted_entries ||
		!slot_is(&own->posted[index], POSTED_FILLED))
		return 0;
	struct cay_posted_receive slot = slot_copy(&own->posted[index]);
	struct iovec private = { 0 };
	if (port->posted_private)
	private = port->posted_private[index];
	/* From here on another thread may post in the slot. */
	atomic_store_explicit(slot_state(&own->posted[index]), POSTED_FREE,
		memory_order_release);
	if (private.iov_base) {
		/* What the slot says about it, a peer may have changed. */
		slot.length = private.iov_len;
		e->data = private.iov_base;
	} else if (slot.flags == 0 &&
		   posted_valid(&slot, port->member->arena.bytes)) {
		e->data = port->member->arena.base + slot.offset;
	} else {
		return 0;
	}
	e->kind = CAY_EVENT_POSTED;
	e->previous = n->word[CAY_NQE_WORD_LENGTH];
	e->length = bits_min(e->previous, slot.length);
	e->result = slot.cookie;
	port_count(&port->count.posted);
	return 1;
}

/* ---- raw API ---- */

struct cay_posted_receive *cay_posted(struct cay_port *port, uint32_t *entries)
{
	if (!port_usable(port))
		return NULL;
	struct context *own = port_context(port);
	if (entries)
		*entries = own->posted_entries;
	return own->posted;
}

struct cay_answer posted_trigger(struct cay_port *port, unsigned count)
{
	struct cay_answer answer = { 0 };
	struct lock_guard guard;
	uint64_t offset;
	lock_take(&port->lock, &guard);
	struct context *own = port_context(port);
	while (answer.accepted < count && !answer.reason) {
		struct cay_posted_receive *slot =
			&own->posted[posted_next(port) &
				     (own->posted_entries - 1)];
		/* The application has written the descriptor. */
		struct cay_posted_receive copy = slot_copy(slot);
		if (!slot_is(slot, POSTED_FREE))
			answer.reason = CAY_ERROR_NO_RESOURCES;
		else if (copy.flags & CAY_POSTED_PHYSICAL)
			answer.reason = CAY_ERROR_POSTED_PHYSICAL;
		else if (!posted_valid(&copy, port->member->arena.bytes) ||
			 !allocation_contains(port->member,
				 port->member->arena.base + copy.offset,
				 copy.length, &offset))
			answer.reason = CAY_ERROR_POSTED_ADDRESS;
		if (answer.reason)
			break;
		slot_post(port, slot);
		posted_set_next(port, posted_next(port) + 1);
		answer.accepted++;
	}
	for (uint32_t i = 0; i < own->posted_entries; i++)
		answer.free += slot_is(&own->posted[i], POSTED_FREE);
	lock_drop(&port->lock, &guard);
	return answer;
}
