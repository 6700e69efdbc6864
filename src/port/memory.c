/* SPDX-License-Identifier: BSD-2-Clause */
/* See cay_alloc(3). Any thread. */
#include "cay/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "port/allocation.h"
#include "port/heap.h"
#include "port/port.h"
#include "port/posted.h"
#include "port/window.h"

void *cay_alloc(struct cay_port *port, size_t bytes, unsigned flags)
{
	int error = 0;
	void *memory = NULL;
	if (!port_usable(port))
		error = port_error(port);
	else if (flags & ~(unsigned)CAY_ALLOC_HUGE || bytes == 0 ||
		 bytes > SIZE_MAX / 2)
		error = -EINVAL;
	else
		memory = heap_alloc(port->member, bytes, flags,
			clock_after_ns(MEMBER_TIMEOUT_NS), &error);
	if (memory) {
		error = allocation_add(port->member, memory, bytes);
		if (error) {
			heap_free(port->member, memory);
			memory = NULL;
		}
	}
	if (!memory)
		errno = -error;
	/* Best effort: without huge pages the memory is usable all the same. */
	if (memory && flags & CAY_ALLOC_HUGE)
		madvise(memory, bits_round_up(bytes, ARENA_PAGE),
			MADV_HUGEPAGE);
	return memory;
}

void cay_free(struct cay_port *port, void *memory)
{
	if (!memory || !port_usable(port))
		return;
	uint64_t bytes = allocation_bytes(port->member, memory);
	if (bytes == 0)
		return;
	/* Peers must have finished with the memory before it is reused. */
	if (port->windows || posted_used(port)) {
		int r = windows_close_on(port, memory, bytes);
		posted_cancel_on(port, memory, bytes);
		if (r == 0)
			r = port_quiesce(port, 0);
		/* An access may still be in progress: do not free. */
		if (r)
			return;
	}
	/* The node may give the memory to another thread at once. */
	allocation_remove(port->member, memory);
	heap_free(port->member, memory);
}
