/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory in the arena: cay_alloc() and the staging of long messages. */
#ifndef CAY_PORT_MEMORY_H
#define CAY_PORT_MEMORY_H

#include "port/member.h"

/* Is [p, p + bytes) in the arena's heap? Then *offset says where. */
bool memory_mapped(
	const struct member *, const void *p, uint64_t bytes, uint64_t *offset);

/*
 * Room in the arena for a long message that its target cannot read where it
 * is. NULL: too much is under way. Any thread.
 */
void *staging_take(struct member *, uint64_t bytes);
void staging_put(struct member *, void *);

/* It stays with its reader: the node frees it when that is done. */
void staging_drop(struct member *, void *);
void staging_forget(struct member *);

#endif
