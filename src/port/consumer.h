/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer of a queue set: which entries are polled, released and returned.
 * Private to the process; one consuming thread at a time.
 */
#ifndef CAY_PORT_CONSUMER_H
#define CAY_PORT_CONSUMER_H

#include "base/bits.h"
#include "port/port.h"

void consumer_init(struct consumer *, struct context *own);

/* Frees the state, without returning entries to senders. */
void consumer_free(struct cay_port *);

/*
 * Prepares the queues for use, once, so that this process is charged for their
 * pages. Returns 0 or -ENOMEM.
 */
int consumer_prepare(struct cay_port *);

static inline struct consumer_slot *consumer_slot(
	const struct consumer *rx, uint64_t position)
{
	return &rx->slots[position & (rx->own->nq_entries - 1)];
}

/* Returns true if word 5 of a void entry with this word 7 is valid. */
static inline bool void_has_extent(uint64_t word)
{
	return (word >> CAY_NQE_BYTES_SHIFT & 0xffff) == CAY_VOID_EXTENT;
}

/* Advances to the next entry after polling the one at `next`. */
static inline void consumer_advance(struct consumer *rx)
{
	rx->next = (rx->next + 1) & QUEUE_NQ_MASK;
}

#define CONSUMER_LOOK_AHEAD 4 /* lines */

/*
 * Gets the lines of the next payload in the background while the queue is
 * empty: once it is stored, they arrive together with its entry instead of
 * after it. Senders have to take them from this core in any case, because it
 * has read them in the previous lap.
 */
static inline void consumer_look_ahead(const struct consumer *rx)
{
	const unsigned char *at = rx->ahead;
	for (unsigned i = 0; i < CONSUMER_LOOK_AHEAD; i++)
		__builtin_prefetch(at + i * CAY_LINE);
}

/* The entry that is polled ends at this position of the RDR. */
static inline void consumer_expect(struct consumer *rx, uint32_t rdr)
{
	rx->ahead = rx->own->rdr +
		    (uint64_t)(rdr & (rx->own->rdr_units - 1)) * RDR_UNIT;
}

/* Releases an entry; returns entries to senders when they are due. */
void consumer_release(struct cay_port *, struct consumer *, uint64_t position);

/* Returns released entries and their reservations by advancing R. */
void consumer_return(struct cay_port *, struct consumer *);

/*
 * Returning is worth a swap of R after a quarter of either ring, or if a sender
 * waits.
 */
static inline bool consumer_return_due_nq(const struct consumer *rx)
{
	/* A hint; the swap finds WAITERS in any case. */
	bool wanted = device_senders_wait(rx->own);
	return queue_ahead(rx->oldest, rx->returned) >=
		       rx->own->nq_entries / 4 ||
	       wanted;
}

static inline bool consumer_return_due(const struct consumer *rx)
{
	return consumer_return_due_nq(rx) ||
	       queue_rdr_ahead(rx->rdr, rx->returned_rdr) >=
		       rx->own->rdr_units / 4;
}

/*
 * consumer_release() for the oldest entry, if it is an inline message and the
 * entry after it is not released yet. Returns false if nothing was done.
 */
static inline bool consumer_release_oldest(
	struct cay_port *port, struct consumer *rx)
{
	uint64_t after = (rx->oldest + 1) & QUEUE_NQ_MASK;
	if (consumer_slot(rx, rx->oldest)->special ||
		(after != rx->next && consumer_slot(rx, after)->released))
		return false;
	rx->oldest = after;
	/* It has no payload in the RDR. */
	if (unlikely(consumer_return_due_nq(rx)))
		consumer_return(port, rx);
	return true;
}

/*
 * Passes up to `count` inline messages from the oldest on, whose events have
 * these positions, until returning is due. Returns how many; the caller returns
 * the entries.
 */
static inline int consumer_pass(
	struct consumer *rx, const struct cay_event *e, int count)
{
	uint64_t mask = rx->own->nq_entries - 1, at = rx->oldest;
	uint64_t due = queue_ahead(rx->returned + rx->own->nq_entries / 4, at);
	int n = 0, max = (int)bits_min((uint64_t)count, due);
	while (n < max && at != rx->next && e[n].position == at &&
		!rx->slots[at & mask].special) {
		uint64_t after = (at + 1) & QUEUE_NQ_MASK;
		if (after != rx->next && rx->slots[after & mask].released)
			break;
		at = after;
		n++;
	}
	rx->oldest = at;
	return n;
}

/* The same for an entry that is SLOT_PLAIN. */
static inline bool consumer_release_plain(
	struct cay_port *port, struct consumer *rx)
{
	uint64_t after = (rx->oldest + 1) & QUEUE_NQ_MASK;
	struct consumer_slot *slot = consumer_slot(rx, rx->oldest);
	if (slot->special != SLOT_PLAIN ||
		(after != rx->next && consumer_slot(rx, after)->released))
		return false;
	rx->rdr = slot->rdr;
	rx->completions += slot->completion;
	slot->has_rdr = slot->completion = slot->released = 0;
	slot->special = SLOT_INLINE;
	rx->oldest = after;
	if (unlikely(consumer_return_due(rx)))
		consumer_return(port, rx);
	return true;
}

/* consumer_return() if any entry is released: the queue is empty. */
static inline void consumer_return_all(
	struct cay_port *port, struct consumer *rx)
{
	if (rx->oldest != rx->returned)
		consumer_return(port, rx);
}

/*
 * If all entries up to `w` are released, the RDR is empty at the position of
 * `w`. Corrects the position after a repair that did not know the extent of a
 * dead sender's payload.
 */
void consumer_resync_rdr(struct cay_port *, struct consumer *, uint64_t w);

/*
 * consumer_peek() while the queue set migrates: skips fenced entries, and
 * continues with the new set once all others are polled.
 */
uint64_t consumer_peek_migrating(struct cay_port *);

/*
 * Returns word 7 of the next entry, or 0. `migration` is loaded after the
 * entry; see node/fence.c.
 */
static inline uint64_t consumer_peek(struct cay_port *port)
{
	struct context *own = port->consumer.own;
	uint64_t word = device_peek_inline(own, port->consumer.next);
	if (unlikely(device_migration(own)))
		return consumer_peek_migrating(port);
	return word;
}

/* Frees the consumer of a migrated set once all its entries are released. */
void consumer_retire(struct cay_port *, struct consumer *);

/* Returns the consumer that holds the entry at a position, or NULL. */
struct consumer *consumer_find(struct cay_port *, uint64_t position);

#endif
