/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Baselines: Cay's message mechanisms without everything else: no names, no
 * epochs, no op records, no repair, no sleeping.
 *
 * Each direction has a queue as large as that of Cay's ports here. A sender
 * claims an entry by a CAS on W. An entry is one cache line whose last word is
 * stored last and carries the generation; the receiver polls that word.
 */
#ifndef CAY_BENCH_NATIVE_BASELINE_H
#define CAY_BENCH_NATIVE_BASELINE_H

#include <stdatomic.h>
#include <string.h>

#include "bench/native/workloads.h"
#include "contract/arena.h"

#define BASELINE_ENTRIES      (1u << WORKLOAD_NQ_LOG2)
#define BASELINE_RETURN	      (BASELINE_ENTRIES / 4) /* entries per store of R */
#define BASELINE_DATA_BYTES   (RDR_UNIT << QUEUE_RDR_LOG2_DEFAULT)
#define BASELINE_SOURCE_BYTES (4u << 20)

struct baseline_entry {
	uint64_t word[7];
	_Atomic uint64_t valid; /* length 31:0, generation 63:32 */
};

struct baseline_queue {
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t w; /* senders, by CAS */
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t r; /* receiver */
	/* Receiver: messages by reference that it has copied. */
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t copied;
	_Alignas(4096) struct baseline_entry entry[BASELINE_ENTRIES];
	_Alignas(4096) unsigned char data[BASELINE_DATA_BYTES];
	_Alignas(4096) unsigned char source[BASELINE_SOURCE_BYTES]; /* sender */
};

/* A rank's state. */
struct baseline {
	struct baseline_queue *in, *out;
	uint64_t r_seen; /* R of `out` */
	uint64_t next;	 /* entry of `in` to poll */
	uint64_t sent;	 /* messages */
	uint64_t data_at;
	unsigned char *copy; /* destination of messages by reference */
	unsigned char private_source[8192];
};

static inline uint64_t baseline_generation(uint64_t position)
{
	return (position >> WORKLOAD_NQ_LOG2) + 1;
}

static inline struct baseline_entry *baseline_entry(
	struct baseline_queue *q, uint64_t position)
{
	return &q->entry[position % BASELINE_ENTRIES];
}

/* Returns false if the queue is full. */
static inline bool baseline_claim(struct baseline *b, uint64_t *position)
{
	uint64_t w = atomic_load_explicit(&b->out->w, memory_order_acquire);

	do {
		if (unlikely(w - b->r_seen >= BASELINE_ENTRIES)) {
			b->r_seen = atomic_load_explicit(
				&b->out->r, memory_order_acquire);
			if (w - b->r_seen >= BASELINE_ENTRIES)
				return false;
		}
	} while (unlikely(!atomic_compare_exchange_weak_explicit(&b->out->w, &w,
		w + 1, memory_order_acq_rel, memory_order_acquire)));
	*position = w;
	return true;
}

static inline void baseline_publish(
	struct baseline_entry *e, uint64_t position, size_t length)
{
	atomic_store_explicit(&e->valid,
		length | baseline_generation(position) << 32,
		memory_order_release);
}

/* Returns the next entry, or NULL. */
static inline struct baseline_entry *baseline_poll(struct baseline *b)
{
	struct baseline_entry *e = baseline_entry(b->in, b->next);
	uint64_t valid = atomic_load_explicit(&e->valid, memory_order_acquire);

	return valid >> 32 == baseline_generation(b->next) ? e : NULL;
}

static inline size_t baseline_length(struct baseline_entry *e)
{
	return (uint32_t)atomic_load_explicit(&e->valid, memory_order_relaxed);
}

static inline void baseline_release(struct baseline *b)
{
	if (++b->next % BASELINE_RETURN == 0)
		atomic_store_explicit(&b->in->r, b->next, memory_order_release);
}

/* Sends a message inside the entry. Returns false if the queue is full. */
static inline bool baseline_send_fast(
	struct baseline *b, const void *data, size_t bytes)
{
	const unsigned char *from = data;
	uint64_t position;

	if (!baseline_claim(b, &position))
		return false;
	struct baseline_entry *e = baseline_entry(b->out, position);
	e->word[0] = position;
	for (size_t i = 0; i < (bytes + 7) / 8; i++)
		memcpy(&e->word[2 + i], from + 8 * i, 8);
	baseline_publish(e, position, bytes);
	return true;
}

int baseline_setup(struct side *);
void baseline_teardown(struct side *);

#endif
