/* SPDX-License-Identifier: BSD-2-Clause */
/* See heap.h. */
#include "port/heap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/copy.h"
#include "cay/memory.h"
#include "port/lock.h"

/* Limit of staged bytes per process; a single message may exceed it. */
#define STAGING_BYTES_MAX (64ull << 20)

/* How long a message waits for its memory. */
#define HEAP_WAIT_NS CLOCK_NS_PER_S

/* A staging block, kept for reuse when it is free. Under m->lock. */
struct staging {
	struct staging *next;
	void *block;
	void *memory; /* in the block: see heap_alloc_source() */
	uint64_t bytes;
	bool busy;
};

uint64_t heap_deadline(struct member *m)
{
	return control_slow(m) ? 0 : clock_after_ns(HEAP_WAIT_NS);
}

void *heap_alloc(struct member *m, uint64_t bytes, unsigned flags,
	uint64_t deadline, int *error)
{
	struct node_request request = { .kind = NODE_ALLOC };
	struct node_reply reply;
	request.alloc.bytes = bytes;
	request.alloc.huge = flags & CAY_ALLOC_HUGE ? 1 : 0;
	*error = control_call_until(m, &request, &reply, NULL, deadline);
	if (*error)
		return NULL;
	if (!bits_inside(reply.alloc.offset, bytes, m->arena.bytes)) {
		*error = -EPROTO;
		return NULL;
	}
	return m->arena.base + reply.alloc.offset;
}

void *heap_alloc_source(struct member *m, uint64_t bytes, uint64_t deadline,
	void **block, int *error)
{
	*block = heap_alloc(m, bytes + ARENA_PAGE, 0, deadline, error);
	if (*block)
		return (unsigned char *)*block + COPY_SOURCE_AT;
	/* A block of the largest size has no room for this. */
	if (*error != -ENOTCONN && *error != -ETIMEDOUT)
		*block = heap_alloc(m, bytes, 0, deadline, error);
	return *block;
}

void heap_free(struct member *m, void *memory)
{
	struct node_request request = { .kind = NODE_FREE };
	request.free.offset =
		(uint64_t)((unsigned char *)memory - m->arena.base);
	control_tell(m, &request);
}

/* Under m->lock. */
static void staging_evict_locked(struct member *m)
{
	for (struct staging **at = &m->staging; *at;) {
		struct staging *s = *at;
		if (s->busy) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		heap_free(m, s->block);
		free(s);
	}
}

void staging_evict(struct member *m)
{
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	staging_evict_locked(m);
	lock_drop(&m->lock, &guard);
}

/*
 * Allocates a block of a power of two, or of whole pages if there is none,
 * after freeing idle blocks that did not fit.
 */
static struct staging *staging_new(struct member *m, uint64_t bytes)
{
	staging_evict_locked(m);
	uint64_t deadline = heap_deadline(m);
	struct staging *s = calloc(1, sizeof(*s));
	int error;
	if (!s)
		return NULL;
	s->bytes = 1ull << bits_log2_up(bytes);
	s->memory = heap_alloc_source(m, s->bytes, deadline, &s->block, &error);
	if (!s->memory && error != -ENOTCONN && error != -ETIMEDOUT) {
		s->bytes = bits_round_up(bytes, ARENA_PAGE);
		s->memory = heap_alloc_source(
			m, s->bytes, deadline, &s->block, &error);
	}
	if (!s->memory) {
		free(s);
		return NULL;
	}
	s->next = m->staging;
	m->staging = s;
	return s;
}

void *staging_alloc(struct member *m, uint64_t bytes)
{
	struct staging *best = NULL;
	uint64_t busy = 0;
	pthread_mutex_lock(&m->lock);
	for (struct staging *s = m->staging; s; s = s->next) {
		if (s->busy)
			busy += s->bytes;
		else if (s->bytes >= bytes && (!best || s->bytes < best->bytes))
			best = s;
	}
	if (!best && (busy == 0 || busy + bytes <= STAGING_BYTES_MAX))
		best = staging_new(m, bytes);
	if (best)
		best->busy = true;
	pthread_mutex_unlock(&m->lock);
	return best ? best->memory : NULL;
}

void staging_free(struct member *m, void *memory)
{
	pthread_mutex_lock(&m->lock);
	for (struct staging *s = m->staging; s; s = s->next)
		if (s->memory == memory)
			s->busy = false;
	pthread_mutex_unlock(&m->lock);
}

void staging_disown(struct member *m, void *memory)
{
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	for (struct staging **at = &m->staging; *at; at = &(*at)->next)
		if ((*at)->memory == memory) {
			struct staging *s = *at;
			*at = s->next;
			heap_free(m, s->block);
			free(s);
			break;
		}
	lock_drop(&m->lock, &guard);
}

void staging_discard(struct member *m)
{
	while (m->staging) {
		struct staging *s = m->staging;
		m->staging = s->next;
		free(s);
	}
}
