/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic on W, R and generations; the format is in contract/arena.h. */
#ifndef CAY_DEVICE_QUEUE_H
#define CAY_DEVICE_QUEUE_H

#include "contract/arena.h"

static inline uint64_t queue_nq(uint64_t word)
{
	return word & QUEUE_NQ_MASK;
}

static inline uint64_t queue_rdr(uint64_t word)
{
	return (word >> QUEUE_NQ_BITS) & QUEUE_RDR_MASK;
}

static inline uint64_t queue_word(uint64_t nq, uint64_t rdr)
{
	return (nq & QUEUE_NQ_MASK) | (rdr & QUEUE_RDR_MASK) << QUEUE_NQ_BITS;
}

/* Returns how far `to` is ahead of `from`; both are nq counts. */
static inline uint64_t queue_ahead(uint64_t to, uint64_t from)
{
	return (to - from) & QUEUE_NQ_MASK;
}

static inline uint64_t queue_rdr_ahead(uint64_t to, uint64_t from)
{
	return (to - from) & QUEUE_RDR_MASK;
}

/* Returns true if `nq` is in the range; all are nq counts. */
static inline bool queue_in_range(uint64_t nq, uint64_t from, uint64_t to)
{
	return queue_ahead(nq, from) < queue_ahead(to, from);
}

/*
 * Returns the generation in word 7 of entry `nq` when it is published. 16 bits
 * suffice, because every entry is published or voided in every lap; a fresh
 * page (all zeros) is unpublished because a queue set never starts in a lap of
 * generation 0.
 */
static inline uint64_t queue_generation(uint64_t nq, unsigned nq_log2)
{
	return ((nq >> nq_log2) + 1) & 0xffff;
}

/* Returns the first count of a queue set whose predecessor ended at `nq`. */
static inline uint64_t queue_restart(uint64_t nq, unsigned nq_log2)
{
	uint64_t entries = 1ull << nq_log2;
	uint64_t start = ((nq & ~(entries - 1)) + 2 * entries) & QUEUE_NQ_MASK;
	if (queue_generation(start, nq_log2) == 0)
		start = (start + entries) & QUEUE_NQ_MASK;
	return start;
}

static inline _Atomic uint64_t *queue_valid_word(struct cay_nqe *nqe)
{
	return (_Atomic uint64_t *)&nqe->word[CAY_NQE_WORD_VALID];
}

static inline uint64_t op_state_word(
	enum op_state state, uint16_t vpid, uint32_t epoch)
{
	return (uint64_t)state | (uint64_t)vpid << OP_VPID_SHIFT |
	       (uint64_t)epoch << OP_EPOCH_SHIFT;
}

/* Returns the word that identifies a port in the lock of a window. */
static inline uint64_t window_lock_word(uint16_t vpid, uint32_t first_epoch)
{
	return vpid | (uint64_t)first_epoch << 32;
}

/* Returns true if the slot holds a copied message. */
static inline bool reference_is_copied(uint32_t index)
{
	return index >= REFERENCE_COPIED;
}

#endif
