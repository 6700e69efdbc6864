/* SPDX-License-Identifier: BSD-2-Clause */
/* See packet.h. */
#include "network/packet.h"

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
	return 0;
}

void packet_table_close(struct packet_table *t)
{
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

uint32_t packet_more(struct packet_pool *p)
{
	if (p->fresh == p->until && !block_take(p))
		return PACKET_NONE;
	p->used++;
	return p->fresh++;
}
