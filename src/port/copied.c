/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See copied.h. Each slot has an owner: none (the slot is free), the thread
 * that uses it now, or the target. The owner's word changes by CAS, so that a
 * thread that leaves a call by longjmp, or is cancelled in it, leaves its ID:
 * the next call of the thread, or of any thread after its exit, recovers the
 * slot. Only the owner changes a slot, its block and, before publication and
 * after DONE, its reference.
 *
 *	NONE -> thread      C1: CAS, acquire; pairs with C2
 *	thread -> TARGET    C2: store, release; published
 *	TARGET -> thread    C1, if the reference is DONE
 *	thread -> NONE      C2
 *
 * After TARGET -> thread the reference is checked again: another thread may
 * have reclaimed the slot and sent with it between the check and the CAS.
 */
#include "port/copied.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/heap.h"
#include "port/lock.h"
#include "port/pending.h"
#include "port/record.h"

#define COPIED_SLOTS	((1u << QUEUE_REFS_LOG2) - REFERENCE_COPIED)
#define BLOCK_BYTES_MIN (16ull << 10)
#define OWNER_NONE	0u
#define OWNER_TARGET	UINT32_MAX

struct copied_slot {
	_Atomic uint32_t owner; /* or a thread ID */
	_Atomic uint64_t bytes; /* of the staging block; 0: none */
	void *block;
	unsigned char *memory;	    /* in the block: heap_alloc_source() */
	const struct op_record *op; /* of the thread that used it last */
};

struct copied {
	struct list link;	/* of the member, under its lock */
	_Atomic uint64_t bytes; /* of all blocks */
	_Atomic uint32_t used;	/* slots that have ever had a block */
	struct copied_slot slots[COPIED_SLOTS];
};

static struct reference *copied_reference(struct cay_port *port, uint32_t i)
{
	return &port->origin.refs[REFERENCE_COPIED + i];
}

/* C1. */
static bool owner_take(struct copied_slot *s, uint32_t from, uint32_t me)
{
	return atomic_compare_exchange_strong_explicit(&s->owner, &from, me,
		memory_order_acquire, memory_order_relaxed);
}

/* C2. */
static void owner_give(struct copied_slot *s, uint32_t to)
{
	atomic_store_explicit(&s->owner, to, memory_order_release);
}

static uint64_t block_bytes(const struct copied_slot *s)
{
	/* Relaxed: only a hint, unless the caller owns the slot. */
	return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}

/* ---- recovery: a thread has left its call with the slot ---- */

/*
 * Decides whether a READY reference was published, after the op record of its
 * thread was repaired. Returns REFERENCE_SENT, REFERENCE_FREE, or
 * REFERENCE_READY if it cannot be decided yet.
 */
static enum reference_state recover_ready(struct cay_port *port,
	const struct copied_slot *s, uint32_t i, uint32_t sequence)
{
	const struct reference *ref = copied_reference(port, i);
	const struct arena *arena = &port->member->arena;
	struct context to;
	/* Acquire: what the node has voided. */
	if (s->op && atomic_load_explicit(
			     &s->op->state, memory_order_acquire) != OP_IDLE)
		return REFERENCE_READY;
	if (context_load(arena, ref->target_vpid, ref->target_epoch, &to) == 0)
		return device_reference_published(&to, port->origin.vpid,
			       REFERENCE_COPIED + i, sequence)
			       ? REFERENCE_SENT
			       : REFERENCE_FREE;
	/* A port that has migrated still reads the old queue set. */
	const struct arena_entry *entry =
		&arena_directory(arena)[ref->target_vpid];
	uint32_t first =
		atomic_load_explicit(&entry->first_epoch, memory_order_acquire);
	uint32_t last =
		atomic_load_explicit(&entry->epoch, memory_order_acquire);
	return last && ref->target_epoch - first <= last - first
		       ? REFERENCE_READY
		       : REFERENCE_FREE;
}

/*
 * The caller owns the slot, of which a call was left. Returns true if it
 * is free now.
 */
static bool copied_recover(
	struct cay_port *port, struct copied_slot *s, uint32_t i)
{
	struct reference *ref = copied_reference(port, i);
	uint64_t word = atomic_load_explicit(&ref->state, memory_order_acquire);
	unsigned state = word & REFERENCE_STATE_MASK;
	if (state == REFERENCE_READY) {
		unsigned now = recover_ready(port, s, i,
			(uint32_t)(word >> REFERENCE_SEQUENCE_SHIFT));
		/* The CAS fails if the target has started to read it. */
		if (now != REFERENCE_READY &&
			atomic_compare_exchange_strong_explicit(&ref->state,
				&word, (word & ~REFERENCE_STATE_MASK) | now,
				memory_order_acq_rel, memory_order_acquire))
			state = now;
		else
			state = word & REFERENCE_STATE_MASK;
	}
	if (state == REFERENCE_READY)
		return false; /* keeps its owner: tried again later */
	if (state == REFERENCE_FREE || device_reference_reclaim(ref)) {
		owner_give(s, OWNER_NONE);
		return true;
	}
	owner_give(s, OWNER_TARGET);
	return false;
}

/* Returns true if the thread has exited. Enters the kernel. */
static bool thread_exited(uint32_t thread)
{
	return tgkill(getpid(), (pid_t)thread, 0) != 0 && errno == ESRCH;
}

/*
 * Reclaims a slot in use, if its message is DONE or its thread has left.
 * Returns true if it is free now.
 */
static bool copied_reclaim(struct cay_port *port, struct copied_slot *s,
	uint32_t i, uint32_t owner, uint32_t me)
{
	struct reference *ref = copied_reference(port, i);
	if (owner == me)
		return copied_recover(port, s, i);
	/* Relaxed: device_reference_reclaim() loads it again. */
	if (owner != OWNER_TARGET ||
		(atomic_load_explicit(&ref->state, memory_order_relaxed) &
			REFERENCE_STATE_MASK) != REFERENCE_DONE ||
		!owner_take(s, OWNER_TARGET, me))
		return false;
	bool done = device_reference_reclaim(ref);
	owner_give(s, done ? OWNER_NONE : OWNER_TARGET);
	return done;
}

/* Reclaims all slots, also of threads that have exited. */
static void copied_sweep(struct cay_port *port, struct copied *c, uint32_t me)
{
	for (uint32_t i = 0; i < COPIED_SLOTS; i++) {
		struct copied_slot *s = &c->slots[i];
		uint32_t owner =
			atomic_load_explicit(&s->owner, memory_order_acquire);
		if (owner == OWNER_NONE ||
			copied_reclaim(port, s, i, owner, me))
			continue;
		if (owner != OWNER_TARGET && owner != me &&
			thread_exited(owner) && owner_take(s, owner, me))
			copied_recover(port, s, i);
	}
}

/* ---- claim: no lock, no system call ---- */

/*
 * Claims a slot with a block of about this length, and reclaims slots on the
 * way. Prefers low slots, whose blocks are in the cache. Returns its index, or
 * -1. Repeats only if another thread was faster.
 */
static int copied_claim(
	struct cay_port *port, struct copied *c, uint64_t length, uint32_t me)
{
	for (;;) {
		int best = -1;
		uint64_t least = 4 * length + 1;
		uint32_t used =
			atomic_load_explicit(&c->used, memory_order_relaxed);
		for (uint32_t i = 0; i < used && least >= 2 * length; i++) {
			struct copied_slot *s = &c->slots[i];
			uint32_t owner = atomic_load_explicit(
				&s->owner, memory_order_acquire);
			uint64_t bytes = block_bytes(s);
			if ((owner != OWNER_NONE &&
				    !copied_reclaim(port, s, i, owner, me)) ||
				bytes < length || bytes >= least)
				continue;
			best = (int)i;
			least = bytes;
		}
		if (best < 0)
			return -1;
		struct copied_slot *s = &c->slots[best];
		if (!owner_take(s, OWNER_NONE, me))
			continue;
		if (block_bytes(s) >= length)
			return best;
		owner_give(s, OWNER_NONE); /* replaced meanwhile */
	}
}

/* ---- blocks: requests to the node, with signals blocked ---- */

/* Powers of two, so that blocks are reused; above the limit, whole pages. */
static uint64_t block_size(uint64_t length)
{
	if (length <= BLOCK_BYTES_MIN)
		return BLOCK_BYTES_MIN;
	return length <= COPIED_BYTES_MAX ? 1ull << bits_log2_up(length)
					  : bits_round_up(length, ARENA_PAGE);
}

/* The caller owns the slot, or the port closes. */
static void block_detach(
	struct member *m, struct copied *c, struct copied_slot *s)
{
	if (block_bytes(s) == 0)
		return;
	heap_free(m, s->block);
	atomic_fetch_sub_explicit(
		&c->bytes, block_bytes(s), memory_order_relaxed);
	atomic_store_explicit(&s->bytes, 0, memory_order_relaxed);
}

/* Frees the block of a free slot; false: no free slot has one. */
static bool block_evict(struct member *m, struct copied *c, uint32_t me)
{
	for (uint32_t i = 0; i < COPIED_SLOTS; i++) {
		struct copied_slot *s = &c->slots[i];
		if (block_bytes(s) == 0 || !owner_take(s, OWNER_NONE, me))
			continue;
		block_detach(m, c, s);
		owner_give(s, OWNER_NONE);
		return true;
	}
	return false;
}

/* Frees the idle blocks of all ports of the process. */
static void blocks_evict_all(struct member *m, uint32_t me)
{
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	list_for_each (at, &m->copied)
		while (block_evict(m, list_of(at, struct copied, link), me))
			;
	lock_drop(&m->lock, &guard);
}

void copied_evict(struct cay_port *port)
{
	struct copied *c =
		atomic_load_explicit(&port->copied, memory_order_acquire);
	uint32_t me = (uint32_t)gettid();
	/* The caller is in no call that owns a slot. */
	if (c)
		copied_sweep(port, c, me);
	blocks_evict_all(port->member, me);
}

/* Allocates the block of a slot without one. Returns 0 or -errno. */
static int block_attach(struct member *m, struct copied *c,
	struct copied_slot *s, uint64_t length, uint32_t me)
{
	int error;
	uint64_t bytes = block_size(length);
	uint64_t deadline = heap_deadline(m);
	void *memory = heap_alloc_source(m, bytes, deadline, &s->block, &error);
	/* The node will free it again. */
	if (!memory && error == -ETIMEDOUT)
		return -EAGAIN;
	if (!memory && error != -ENOTCONN) {
		blocks_evict_all(m, me);
		staging_evict(m);
		memory = heap_alloc_source(
			m, bytes, deadline, &s->block, &error);
	}
	if (!memory && error != -ENOTCONN) {
		/* Without the reserve for longer messages. */
		bytes = bits_round_up(length, ARENA_PAGE);
		memory = heap_alloc_source(
			m, bytes, deadline, &s->block, &error);
	}
	if (!memory) {
		if (error == -ENOTCONN)
			return error;
		/* Messages in flight will give their blocks back. */
		return atomic_load_explicit(&c->bytes, memory_order_relaxed)
			       ? -EAGAIN
			       : -ENOMEM;
	}
	s->memory = memory;
	atomic_store_explicit(&s->bytes, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
	return 0;
}

/* Claims the free slot with the smallest block, or without one. */
static int copied_claim_smallest(struct copied *c, uint32_t me)
{
	int best = -1;
	for (uint32_t i = 0; i < COPIED_SLOTS; i++) {
		struct copied_slot *s = &c->slots[i];
		if (atomic_load_explicit(&s->owner, memory_order_relaxed) ==
				OWNER_NONE &&
			(best < 0 ||
				block_bytes(s) < block_bytes(&c->slots[best])))
			best = (int)i;
	}
	if (best < 0 || !owner_take(&c->slots[best], OWNER_NONE, me))
		return -1;
	return best;
}

/*
 * Claims a slot and gives it a block, for which idle blocks are freed if the
 * limit requires it. Under port->lock. Returns the index, -EAGAIN, -ENOMEM or
 * -ENOTCONN.
 */
static int copied_grow(
	struct cay_port *port, struct copied *c, uint64_t length, uint32_t me)
{
	uint64_t bytes = block_size(length);
	copied_sweep(port, c, me);
	int index = copied_claim_smallest(c, me);
	if (index < 0)
		return -EAGAIN;
	struct copied_slot *s = &c->slots[index];
	block_detach(port->member, c, s);
	uint64_t others;
	while ((others = atomic_load_explicit(
			&c->bytes, memory_order_relaxed)) != 0 &&
		others + bytes > COPIED_BYTES_MAX)
		if (!block_evict(port->member, c, me))
			break;
	int r = -EAGAIN;
	if (others == 0 || others + bytes <= COPIED_BYTES_MAX)
		r = block_attach(port->member, c, s, length, me);
	if (r) {
		owner_give(s, OWNER_NONE);
		return r;
	}
	if (atomic_load_explicit(&c->used, memory_order_relaxed) <=
		(uint32_t)index)
		atomic_store_explicit(
			&c->used, (uint32_t)index + 1, memory_order_relaxed);
	return index;
}

/* ---- a port ---- */

/* Announces that the port sends by reference, and allocates its slots. */
static struct copied *copied_prepare(struct cay_port *port, int *error)
{
	struct lock_guard guard;
	*error = pending_announce(port);
	if (*error)
		return NULL;
	*error = -ENOMEM;
	lock_take(&port->lock, &guard);
	struct copied *c =
		atomic_load_explicit(&port->copied, memory_order_relaxed);
	if (!c && (c = calloc(1, sizeof(*c)))) {
		pthread_mutex_lock(&port->member->lock);
		list_append(&port->member->copied, &c->link);
		pthread_mutex_unlock(&port->member->lock);
		/* Release pairs with the acquire in copied_send(). */
		atomic_store_explicit(&port->copied, c, memory_order_release);
	}
	lock_drop(&port->lock, &guard);
	return c;
}

/* Another process could have overwritten the thread ID in the record. */
static uint32_t copied_me(const struct op_record *op)
{
	uint32_t me = atomic_load_explicit(&op->thread, memory_order_relaxed);
	return me == OWNER_NONE || me == OWNER_TARGET ? (uint32_t)gettid() : me;
}

int copied_send(struct cay_port *port, struct op_record *op,
	struct cay_peer *peer, const struct packet *p)
{
	const struct arena *arena = &port->member->arena;
	uint32_t me = copied_me(op);
	if (p->length > port->member->block_bytes_max)
		return -EMSGSIZE;
	struct copied *c =
		atomic_load_explicit(&port->copied, memory_order_acquire);
	int r;
	if (unlikely(!c) && !(c = copied_prepare(port, &r)))
		return r;
	int index = copied_claim(port, c, p->length, me);
	if (unlikely(index < 0)) {
		struct lock_guard guard;
		lock_take(&port->lock, &guard);
		index = copied_grow(port, c, p->length, me);
		lock_drop(&port->lock, &guard);
		if (index < 0)
			return index;
	}
	struct copied_slot *s = &c->slots[index];
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = (uint64_t)(s->memory - arena->base),
		.length = p->length };
	s->op = op;
	r = device_send_copied(&port->origin, op, &peer->context, p, &source,
		s->memory, REFERENCE_COPIED + (uint32_t)index);
	owner_give(s, r ? OWNER_NONE : OWNER_TARGET);
	if (r == 0)
		port_count(&port->count.copied);
	return r;
}

uint32_t copied_in_flight(struct cay_port *port, uint64_t *bytes)
{
	struct copied *c =
		atomic_load_explicit(&port->copied, memory_order_acquire);
	uint32_t count = 0;
	*bytes = 0;
	if (!c)
		return 0;
	struct lock_guard guard;
	lock_guard_begin(&guard);
	copied_sweep(port, c, (uint32_t)gettid());
	lock_guard_end(&guard);
	for (uint32_t i = 0; i < COPIED_SLOTS; i++)
		if (atomic_load_explicit(&c->slots[i].owner,
			    memory_order_relaxed) != OWNER_NONE) {
			count++;
			*bytes += block_bytes(&c->slots[i]);
		}
	return count;
}

void copied_close(struct cay_port *port)
{
	struct member *m = port->member;
	struct copied *c =
		atomic_load_explicit(&port->copied, memory_order_acquire);
	struct lock_guard guard;
	if (!c)
		return;
	lock_take(&m->lock, &guard);
	list_remove(&c->link);
	lock_drop(&m->lock, &guard);
	/* The node frees the block of a message in flight when it is read. */
	for (uint32_t i = 0; i < COPIED_SLOTS; i++)
		block_detach(m, c, &c->slots[i]);
	/* port_delete() frees the slots. */
}
