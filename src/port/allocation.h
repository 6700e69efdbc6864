/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks that cay_alloc() has given to this process in a realm. Memory that
 * peers access must lie in one of them: neither the node nor a peer could tell
 * it from memory of another process.
 */
#ifndef CAY_PORT_ALLOCATION_H
#define CAY_PORT_ALLOCATION_H

#include "port/member.h"

/* Adds a block. Returns 0 or -ENOMEM. Any thread. */
int allocation_add(struct member *, const void *, uint64_t bytes);
/* Removes a block. Any thread. */
void allocation_remove(struct member *, const void *);
/* Returns the size of a block that starts here, or 0. Any thread. */
uint64_t allocation_bytes(struct member *, const void *);

/*
 * Returns true, and the arena offset, if one block contains [p, p + bytes).
 * Makes no system call; the caller's lock_guard covers the lock that it takes.
 * Any thread.
 */
bool allocation_contains(
	struct member *, const void *p, uint64_t bytes, uint64_t *offset);

/* Frees the records; the process leaves the realm. */
void allocations_free(struct member *);

#endif
