/* SPDX-License-Identifier: BSD-2-Clause */
/* See memory.h and cay_alloc(3). Asks the node; any thread. */
#include "port/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "cay/memory.h"
#include "port/lock.h"
#include "port/port.h"
#include "port/posted.h"
#include "port/window.h"

/* What one process may have staged at a time; one message may always. */
#define STAGING_BYTES_MAX (64ull << 20)

/* A block of staging memory; kept for the next message when it is free. */
struct staging {
	struct staging *next;
	void *memory;
	uint64_t bytes;
	bool busy;
};

static void *heap_take(
	struct member *m, uint64_t bytes, unsigned flags, int *error)
{
	struct node_request request = { .kind = NODE_ALLOC };
	struct node_reply reply;
	request.alloc.bytes = bytes;
	request.alloc.huge = flags & CAY_ALLOC_HUGE ? 1 : 0;
	*error = control_call(m, &request, -1, &reply, NULL);
	if (*error)
		return NULL;
	if (!bits_inside(reply.alloc.offset, bytes, m->arena.bytes)) {
		*error = -EPROTO;
		return NULL;
	}
	return m->arena.base + reply.alloc.offset;
}

/* How much the node has given for it; 0: nothing that is still there. */
static uint64_t heap_bytes(struct member *m, const void *memory)
{
	struct node_request request = { .kind = NODE_FREE };
	struct node_reply reply;
	request.free.offset =
		(uint64_t)((const unsigned char *)memory - m->arena.base);
	request.free.query = 1;
	return control_call(m, &request, -1, &reply, NULL) == 0
		       ? reply.alloc.bytes
		       : 0;
}

static void heap_put(struct member *m, void *memory)
{
	struct node_request request = { .kind = NODE_FREE };
	struct node_reply reply;
	request.free.offset =
		(uint64_t)((unsigned char *)memory - m->arena.base);
	control_call(m, &request, -1, &reply, NULL);
}

void *cay_alloc(struct cay_port *port, size_t bytes, unsigned flags)
{
	int error = port_absent(port);
	void *memory = NULL;
	if (port_here(port)) {
		error = -EINVAL;
		if (!(flags & ~(unsigned)CAY_ALLOC_HUGE) && bytes != 0 &&
			bytes <= SIZE_MAX / 2)
			memory = heap_take(port->member, bytes, flags, &error);
	}
	if (!memory)
		errno = -error;
	/* Advice: without huge pages it is memory like any other. */
	if (memory && flags & CAY_ALLOC_HUGE)
		madvise(memory, bits_round_up(bytes, ARENA_PAGE),
			MADV_HUGEPAGE);
	return memory;
}

void cay_free(struct cay_port *port, void *memory)
{
	if (!memory || !port_here(port))
		return;
	/* Whoever was told of it must be out before it is somebody else's. */
	if (port->windows || posted_used(port)) {
		uint64_t bytes = heap_bytes(port->member, memory);
		int r = windows_close_on(port, memory, bytes);
		posted_cancel_on(port, memory, bytes);
		if (r == 0)
			r = window_wait_quiet(port, 0);
		/* Somebody may still store there: it stays ours. */
		if (r)
			return;
	}
	heap_put(port->member, memory);
}

bool memory_mapped(
	const struct member *m, const void *p, uint64_t bytes, uint64_t *offset)
{
	uint64_t at = (uint64_t)((uintptr_t)p - (uintptr_t)m->arena.base);
	*offset = at;
	return at >= ARENA_HEAP_OFFSET &&
	       bits_inside(at, bytes, m->arena.bytes);
}

static struct staging *staging_find(
	struct member *m, uint64_t bytes, uint64_t *busy)
{
	struct staging *best = NULL;
	*busy = 0;
	for (struct staging *s = m->staging; s; s = s->next) {
		if (s->busy)
			*busy += s->bytes;
		else if (s->bytes >= bytes && (!best || s->bytes < best->bytes))
			best = s;
	}
	return best;
}

/* Gives idle blocks back to the node, so that the next one fits. */
static void staging_trim(struct member *m)
{
	for (struct staging **at = &m->staging; *at;) {
		struct staging *s = *at;
		if (s->busy) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		heap_put(m, s->memory);
		free(s);
	}
}

static struct staging *staging_new(struct member *m, uint64_t bytes)
{
	struct staging *s = calloc(1, sizeof(*s));
	int error;
	if (!s)
		return NULL;
	s->bytes = 1ull << bits_log2_up(bytes);
	s->memory = heap_take(m, s->bytes, 0, &error);
	if (!s->memory) {
		free(s);
		return NULL;
	}
	s->next = m->staging;
	m->staging = s;
	return s;
}

void *staging_take(struct member *m, uint64_t bytes)
{
	uint64_t busy;
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	struct staging *s = staging_find(m, bytes, &busy);
	if (!s && (busy == 0 || busy + bytes <= STAGING_BYTES_MAX)) {
		staging_trim(m);
		s = staging_new(m, bytes);
	}
	if (s)
		s->busy = true;
	lock_drop(&m->lock, &guard);
	return s ? s->memory : NULL;
}

void staging_put(struct member *m, void *memory)
{
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	for (struct staging *s = m->staging; s; s = s->next)
		if (s->memory == memory)
			s->busy = false;
	lock_drop(&m->lock, &guard);
}

void staging_drop(struct member *m, void *memory)
{
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	for (struct staging **at = &m->staging; *at; at = &(*at)->next)
		if ((*at)->memory == memory) {
			struct staging *s = *at;
			*at = s->next;
			heap_put(m, s->memory);
			free(s);
			break;
		}
	lock_drop(&m->lock, &guard);
}

/* The node takes the memory itself back when the process leaves. */
void staging_forget(struct member *m)
{
	while (m->staging) {
		struct staging *s = m->staging;
		m->staging = s->next;
		free(s);
	}
}
