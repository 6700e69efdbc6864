/* SPDX-License-Identifier: BSD-2-Clause */
/* Co-copy at the target: see cocopy.h. The thread that fetches the message. */
#include "base/bits.h"
#include "port/cocopy.h"

/* K5: an origin that sleeps is to stage chunks. */
static void cocopy_wake(const struct cocopy_copy *c)
{
	const struct context *to =
		atomic_load_explicit(c->origin, memory_order_acquire);
	atomic_thread_fence(memory_order_seq_cst);
	if (device_written(to) & W_SLEEP)
		device_wake_peer(c->origin, false);
}

void cocopy_announce(struct cocopy_copy *c)
{
	uint64_t sequence = (uint64_t)c->sequence << COCOPY_SEQUENCE_SHIFT;
	/* Relaxed: K1 publishes it. */
	atomic_store_explicit(
		&c->shared->consumed, sequence, memory_order_relaxed);
	atomic_store_explicit(&c->shared->claim, sequence | COCOPY_OPEN,
		memory_order_release); /* K1 */
	cocopy_wake(c);
}

/* Returns how many chunks are staged, and where the ring is. */
static uint32_t cocopy_staged(struct cocopy_copy *c, const unsigned char **ring)
{
	uint64_t word = atomic_load_explicit(
		&c->shared->staged, memory_order_acquire); /* K3 */
	uint64_t at =
		atomic_load_explicit(&c->shared->ring, memory_order_relaxed);
	uint32_t staged = (uint32_t)word;
	/* Members write these words: a wrong one counts as nothing staged. */
	if (word >> COCOPY_SEQUENCE_SHIFT != c->sequence ||
		staged > c->chunks - c->claimed || at < ARENA_HEAP_OFFSET ||
		!bits_inside(at, COCOPY_RING_BYTES, c->arena->bytes))
		return 0;
	*ring = c->arena->base + at;
	return staged;
}

/* Claims the next chunk from the front; returns false if none is left. */
static bool cocopy_claim(struct cocopy_copy *c)
{
	uint64_t own = (uint64_t)c->sequence << COCOPY_SEQUENCE_SHIFT |
		       COCOPY_OPEN | c->claimed;
	/* Relaxed: K2 loads it again. */
	uint64_t word =
		atomic_load_explicit(&c->shared->claim, memory_order_relaxed);
	/* It ends: each failure is a claim of the origin, or damage. */
	while (!c->alone) {
		uint32_t back = cocopy_back(word);
		if ((word & ~COCOPY_BACK_MASK) != own ||
			back > c->chunks - c->claimed || back < c->consumed) {
			c->alone = true;
			break;
		}
		if (c->claimed + back >= c->chunks)
			return false;
		if (atomic_compare_exchange_strong_explicit(&c->shared->claim,
			    &word, word + 1, memory_order_acquire,
			    memory_order_acquire)) { /* K2 */
			c->claimed++;
			return true;
		}
	}
	if (c->claimed + c->consumed >= c->chunks)
		return false;
	c->claimed++;
	return true;
}

enum cocopy_next cocopy_next(
	struct cocopy_copy *c, uint32_t *chunk, const unsigned char **from)
{
	const unsigned char *ring;
	if (c->claimed + c->consumed >= c->chunks)
		return COCOPY_END;
	if (!c->alone && cocopy_staged(c, &ring) > c->consumed) {
		*chunk = c->chunks - 1 - c->consumed;
		*from = ring +
			(uint64_t)(c->consumed % COCOPY_RING) * COCOPY_CHUNK;
		c->staged = true;
		return COCOPY_STAGED;
	}
	if (!cocopy_claim(c))
		return COCOPY_WAIT;
	*chunk = c->claimed - 1;
	return COCOPY_READ;
}

void cocopy_consumed(struct cocopy_copy *c)
{
	c->consumed++;
	atomic_store_explicit(&c->shared->consumed,
		(uint64_t)c->sequence << COCOPY_SEQUENCE_SHIFT | c->consumed,
		memory_order_release); /* K4 */
	cocopy_wake(c);
}

uint32_t cocopy_steal(struct cocopy_copy *c)
{
	return c->chunks - ++c->consumed;
}
