/* SPDX-License-Identifier: BSD-2-Clause */
/* See packet.h. */
#include "network/engine/packet.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define BLOCK	      256	   /* numbers that a thread takes at once */
#define PACKETS_CLOSE (1ull << 20) /* these are used most, in large pages */

int packet_table_open(struct packet_table *t)
{
	void *at = mmap(NULL, (uint64_t)PACKET_MAX * sizeof(struct packet),
		PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -ENOMEM;
	madvise(at, PACKETS_CLOSE * sizeof(struct packet), MADV_HUGEPAGE);
	t->packet = at;
	atomic_init(&t->taken, 0);
	pthread_mutex_init(&t->lock, NULL);
	t->chains = PACKET_NONE;
	return 0;
}

void packet_table_close(struct packet_table *t)
{
	if (t->packet)
		pthread_mutex_destroy(&t->lock);
	if (t->packet)
		munmap(t->packet, (uint64_t)PACKET_MAX * sizeof(struct packet));
	t->packet = NULL;
}

/* Relaxed: the number alone is what counts; nothing is published by it. */
static bool block_take(struct packet_pool *p)
{
	uint32_t at =
		atomic_load_explicit(&p->table->taken, memory_order_relaxed);
	do {
		if (at > PACKET_MAX - BLOCK)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&p->table->taken, &at,
		at + BLOCK, memory_order_relaxed, memory_order_relaxed));
	p->fresh = at;
	p->until = at + BLOCK;
	return true;
}

/*
 * Packets end elsewhere than they begin, so a thread may get ever more free
 * numbers while another has to take new ones. Half of what is too many goes to
 * the table, as a chain; the head of a chain has the next chain in `created`.
 */
void packet_return(struct packet_pool *p)
{
	struct packet *all = p->table->packet;
	uint32_t head = p->first, last = head;
	for (unsigned i = 1; i < PACKETS_KEPT / 2; i++)
		last = all[last].next;
	p->first = all[last].next;
	p->free -= PACKETS_KEPT / 2;
	all[last].next = PACKET_NONE;
	pthread_mutex_lock(&p->table->lock);
	all[head].created = p->table->chains;
	p->table->chains = head;
	pthread_mutex_unlock(&p->table->lock);
}

static bool chain_take(struct packet_pool *p)
{
	struct packet_table *t = p->table;
	pthread_mutex_lock(&t->lock);
	uint32_t head = t->chains;
	if (head != PACKET_NONE)
		t->chains = (uint32_t)t->packet[head].created;
	pthread_mutex_unlock(&t->lock);
	p->first = head;
	p->free = head == PACKET_NONE ? 0 : PACKETS_KEPT / 2;
	return head != PACKET_NONE;
}

/* The list of the pool is empty. */
uint32_t packet_more(struct packet_pool *p)
{
	if (p->fresh == p->until && chain_take(p))
		return packet_take(p);
	if (p->fresh == p->until && !block_take(p))
		return PACKET_NONE;
	p->used++;
	return p->fresh++;
}
