/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extension of the libfabric provider: allocates memory in the arena of an
 * endpoint. See fi_cay(7).
 *
 *	struct cay_fabric_memory *memory;
 *	fi_open_ops(&ep->fid, CAY_FABRIC_MEMORY, 0, (void **)&memory, NULL);
 *	word = memory->alloc(ep, sizeof(*word));
 *
 * Peers access registered memory of this kind with loads and stores, and
 * 64-bit fetch-and-add and compare-and-swap on it with atomic instructions. The
 * owner need not make progress.
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
	/*
	 * Allocates zeroed, page-aligned memory. Returns NULL and sets errno as
	 * cay_alloc(3) does.
	 */
	void *(*alloc)(struct fid_ep *, size_t bytes);
	/*
	 * Frees memory. Call it after closing the memory regions on it and
	 * before closing the endpoint.
	 */
	void (*free)(struct fid_ep *, void *);
};

#ifdef __cplusplus
}
#endif

#endif
