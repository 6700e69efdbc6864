/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Co-copy at the origin: see cocopy.h. One message of a port at a time has the
 * ring, until it is complete.
 */
#include "base/bits.h"
#include "base/copy.h"
#include "port/cocopy.h"
#include "port/heap.h"
#include "port/lock.h"

static uint32_t reference_sequence(const struct cay_port *port, uint32_t index)
{
	return (uint32_t)(atomic_load_explicit(&port->origin.refs[index].state,
				  memory_order_relaxed) >>
			  REFERENCE_SEQUENCE_SHIFT);
}

/* ---- messages in flight ---- */

void cocopy_prepare(struct cay_port *port)
{
	struct cocopy_ring *ring = &port->ring;
	int error;
	pthread_mutex_lock(&port->lock);
	if (!ring->tried)
		ring->memory = heap_alloc_source(port->member,
			COCOPY_RING_BYTES, heap_deadline(port->member),
			&ring->block, &error);
	ring->tried = true;
	pthread_mutex_unlock(&port->lock);
}

void cocopy_offer(struct cay_port *port, uint32_t index)
{
	if (!port->ring.memory || !cocopy_chunks(port->pending[index].length))
		return;
	/* Relaxed, as in port_attend(): the lock orders the entry. */
	atomic_fetch_or_explicit(
		&port->ring.helpable, 1ull << index, memory_order_relaxed);
	port_attend(port, PORT_COCOPY);
}

void cocopy_forget(struct cay_port *port, uint32_t index)
{
	uint64_t bit = 1ull << index;
	uint64_t before = atomic_fetch_and_explicit(
		&port->ring.helpable, ~bit, memory_order_relaxed);
	if (port->ring.user == index + 1)
		port->ring.user = 0;
	if (before == bit)
		port_attended(port, PORT_COCOPY);
}

void cocopy_free_ring(struct cay_port *port)
{
	if (port->ring.block)
		heap_free(port->member, port->ring.block);
}

/* ---- help ---- */

/*
 * Returns the claim word of a message that a target copies and of which chunks
 * are left, or 0. Acquire: K2 for the first claim, else a hint.
 */
static uint64_t help_wanted(struct cay_port *port, uint32_t index,
	uint32_t sequence, uint32_t chunks)
{
	struct cocopy *shared = reference_cocopy(port->origin.refs, index);
	uint64_t word =
		atomic_load_explicit(&shared->claim, memory_order_acquire);
	bool open = word >> COCOPY_SEQUENCE_SHIFT == sequence &&
		    word & COCOPY_OPEN &&
		    cocopy_front(word) + cocopy_back(word) < chunks;
	return open ? word : 0;
}

/* Under the lock: lets the message have the ring. False: another one has it. */
static bool ring_take(struct cay_port *port, uint32_t index, uint32_t sequence)
{
	struct cocopy_ring *ring = &port->ring;
	struct cocopy *shared = reference_cocopy(port->origin.refs, index);
	if (ring->user)
		return ring->user == index + 1;
	ring->user = index + 1;
	ring->staged = 0;
	atomic_store_explicit(&shared->ring,
		(uint64_t)(ring->memory - port->member->arena.base),
		memory_order_relaxed);
	/* Release, as K3: the place of the ring. */
	atomic_store_explicit(&shared->staged,
		(uint64_t)sequence << COCOPY_SEQUENCE_SHIFT,
		memory_order_release);
	return true;
}

/* Under the lock: stages the next chunk from the end of the message. */
static bool help_stage(struct cay_port *port, uint32_t index)
{
	const struct pending *pending = &port->pending[index];
	struct cocopy_ring *ring = &port->ring;
	struct cocopy *shared = reference_cocopy(port->origin.refs, index);
	uint32_t sequence = reference_sequence(port, index);
	uint32_t chunks = cocopy_chunks(pending->length);
	uint64_t word = help_wanted(port, index, sequence, chunks);
	if (!word || !ring_take(port, index, sequence))
		return false;
	uint64_t consumed = atomic_load_explicit(
		&shared->consumed, memory_order_acquire); /* K4 */
	/* A place is reused when the target has copied what was there. */
	if (ring->staged >= COCOPY_RING &&
		(consumed >> COCOPY_SEQUENCE_SHIFT != sequence ||
			(uint32_t)consumed + COCOPY_RING <= ring->staged))
		return false;
	/* The target has claimed fewer, or a member has damaged the word. */
	do
		if ((uint32_t)(word >> COCOPY_SEQUENCE_SHIFT) != sequence ||
			!(word & COCOPY_OPEN) ||
			cocopy_back(word) != ring->staged ||
			cocopy_front(word) + ring->staged >= chunks)
			return false;
	while (!atomic_compare_exchange_weak_explicit(&shared->claim, &word,
		word + COCOPY_BACK, memory_order_acquire,
		memory_order_acquire)); /* K2 */
	uint32_t chunk = chunks - 1 - ring->staged;
	struct context *to = atomic_load_explicit(
		&pending->peer->context, memory_order_acquire);
	copy_to_reader(&to->pace,
		ring->memory +
			(uint64_t)(ring->staged % COCOPY_RING) * COCOPY_CHUNK,
		(const unsigned char *)pending->source +
			(uint64_t)chunk * COCOPY_CHUNK,
		cocopy_chunk_bytes(pending->length, chunk));
	ring->staged++;
	atomic_store_explicit(&shared->staged,
		(uint64_t)sequence << COCOPY_SEQUENCE_SHIFT | ring->staged,
		memory_order_release); /* K3 */
	return true;
}

bool cocopy_help(struct cay_port *port)
{
	uint64_t left = atomic_load_explicit(
		&port->ring.helpable, memory_order_relaxed);
	for (; left; left &= left - 1) {
		uint32_t index = (uint32_t)__builtin_ctzll(left);
		/* A hint, so that the usual call takes no lock. */
		if (!help_wanted(port, index, reference_sequence(port, index),
			    COCOPY_CHUNKS_MAX))
			continue;
		struct lock_guard guard;
		bool staged = false;
		lock_guard_begin(&guard);
		if (pthread_mutex_trylock(&port->lock) == 0) {
			/* The message may be complete meanwhile. */
			if (atomic_load_explicit(&port->ring.helpable,
				    memory_order_relaxed) >>
					index &
				1)
				staged = help_stage(port, index);
			pthread_mutex_unlock(&port->lock);
		}
		lock_guard_end(&guard);
		if (staged)
			return true;
	}
	return false;
}
