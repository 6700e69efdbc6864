/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that the whole realm has mapped. See cay_alloc(3). */
#ifndef CAY_MEMORY_H
#define CAY_MEMORY_H

#include <stddef.h>

#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cay_alloc_flag {
	CAY_ALLOC_HUGE = 1 << 0, /* on huge pages, if there are any */
};

/*
 * Zeroed, page-aligned memory in the realm's arena. Long messages from it are
 * not copied on the way: the receiver reads it in place. Asks the node, so
 * blocks for its answer. Any thread. flags are an or of
 * enum cay_alloc_flag. NULL and errno: EINVAL, ENOSPC
 * (the arena is full), ENOTCONN (the node is gone), ECHILD.
 */
CAY_API void *cay_alloc(struct cay_port *, size_t, unsigned flags);

/*
 * Gives it back; what receivers still hold stays until they release it. Windows
 * of this port on it are closed first, which may wait for those who are in the
 * middle of an access, and what is posted on it is taken back. NULL is allowed.
 * Any thread. Belongs to the process: it lasts until the last of
 * its ports in that realm closes.
 */
CAY_API void cay_free(struct cay_port *, void *);

#ifdef __cplusplus
}
#endif

#endif
