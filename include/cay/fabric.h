/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For users of the libfabric provider: memory that the device reaches by
 * itself. See fi_cay(7).
 *
 *	struct cay_fabric_memory *memory;
 *	fi_open_ops(&ep->fid, CAY_FABRIC_MEMORY, 0, (void **)&memory, NULL);
 *	word = memory->alloc(ep, sizeof(*word));
 *
 * Registered, it is written and read by peers with loads and stores, and
 * 64-bit additions and compare-and-swaps on it are instructions of their
 * processors, whatever its owner does meanwhile.
 */
#ifndef CAY_FABRIC_H
#define CAY_FABRIC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fid_ep;

#define CAY_FABRIC_MEMORY "cay_memory"

struct cay_fabric_memory {
	size_t size;
	/* Zeroed and page-aligned. NULL and errno as cay_alloc(3). */
	void *(*alloc)(struct fid_ep *, size_t bytes);
	/* Before the endpoint is closed; regions on it are closed before. */
	void (*free)(struct fid_ep *, void *);
};

#ifdef __cplusplus
}
#endif

#endif
