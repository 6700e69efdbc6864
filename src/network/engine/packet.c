/* SPDX-License-Identifier: BSD-2-Clause */
/* See packet.h. */
#include "network/engine/packet.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define BLOCK	      256	   /* numbers that a pool takes at once */
#define PACKETS_DENSE (1ull << 20) /* the most used ones: large pages */

int packet_table_open(struct packet_table *t)
{
	void *at = mmap(NULL,
		(uint64_t)PACKET_MAX * sizeof(struct packet_state),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	madvise(at, PACKETS_DENSE * sizeof(struct packet_state), MADV_HUGEPAGE);
	t->packet = at;
	atomic_init(&t->allocated, 0);
	pthread_mutex_init(&t->lock, NULL);
	t->chains = PACKET_NONE;
	return 0;
}

void packet_table_close(struct packet_table *t)
{
	if (!t->packet)
		return;
	pthread_mutex_destroy(&t->lock);
	munmap(t->packet, (uint64_t)PACKET_MAX * sizeof(struct packet_state));
	t->packet = NULL;
}

/*
 * Packets end at other nodes than they begin, so one pool may collect free
 * numbers while another takes new ones. Half of a full free list moves to the
 * table as a chain; `created` of its head links to the next chain.
 */
void packet_spill(struct packet_pool *p)
{
	struct packet_state *all = p->table->packet;
	uint32_t head = p->free, last = head;
	for (unsigned i = 1; i < PACKETS_CACHED / 2; i++)
		last = all[last].next;
	p->free = all[last].next;
	p->free_count -= PACKETS_CACHED / 2;
	all[last].next = PACKET_NONE;
	pthread_mutex_lock(&p->table->lock);
	all[head].created = p->table->chains;
	p->table->chains = head;
	pthread_mutex_unlock(&p->table->lock);
}

/*
 * Takes a block of new numbers when a chain of free ones is not available.
 * Relaxed: the counter publishes nothing else.
 */
uint32_t packet_alloc_slow(struct packet_pool *p)
{
	struct packet_table *t = p->table;
	if (p->fresh == p->fresh_end) {
		pthread_mutex_lock(&t->lock);
		uint32_t head = t->chains;
		if (head != PACKET_NONE)
			t->chains = (uint32_t)t->packet[head].created;
		pthread_mutex_unlock(&t->lock);
		p->free = head;
		p->free_count = head == PACKET_NONE ? 0 : PACKETS_CACHED / 2;
		if (head != PACKET_NONE)
			return packet_alloc(p);
		uint32_t at = atomic_load_explicit(
			&t->allocated, memory_order_relaxed);
		do {
			if (at > PACKET_MAX - BLOCK)
				return PACKET_NONE;
		} while (!atomic_compare_exchange_weak_explicit(&t->allocated,
			&at, at + BLOCK, memory_order_relaxed,
			memory_order_relaxed));
		p->fresh = at;
		p->fresh_end = at + BLOCK;
	}
	p->used++;
	return p->fresh++;
}
