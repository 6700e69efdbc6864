/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory in the arena, mapped by all processes of a realm. See cay_alloc(3). */
#ifndef CAY_MEMORY_H
#define CAY_MEMORY_H

#include <stddef.h>

#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cay_alloc_flag {
	CAY_ALLOC_HUGE = 1 << 0, /* use huge pages if available */
};

/*
 * Allocates zeroed, page-aligned memory in the arena of the port's realm. The
 * receiver of a long message that is borrowed (CAY_BORROW) from this memory
 * reads it in place, without a copy. The memory belongs to the process and
 * lasts until cay_free(), or until the process closes its last port in the
 * realm. flags is a bitwise OR of enum cay_alloc_flag.
 *
 * Returns NULL and sets errno: EINVAL (size or flags), ENOSPC (the arena is
 * full), EDQUOT (a quota is exhausted; see cay(7)), ENOMEM, ENOTCONN (the node
 * has exited), EACCES (the port is disabled), ECHILD. Blocks for a reply of the
 * node. Thread-safe.
 */
CAY_API void *cay_alloc(struct cay_port *, size_t bytes, unsigned flags);

/*
 * Frees memory of cay_alloc(). Closes the windows of this port on it first,
 * which waits until no access to them is in progress, and cancels receives
 * posted on it. Messages that receivers have not released stay valid until they
 * are, and windows that peers have mapped until they unmap them. NULL is
 * allowed. Blocks for a reply of the node. Thread-safe.
 */
CAY_API void cay_free(struct cay_port *, void *);

#ifdef __cplusplus
}
#endif

#endif
