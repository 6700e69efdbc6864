/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. A region is a window of every enabled endpoint of its domain,
 * and has an entry in their key tables.
 */
#ifndef CAY_PROVIDER_MR_H
#define CAY_PROVIDER_MR_H

#include "provider/fabric/domain.h"

struct endpoint;

struct mr {
	struct fid_mr fid; /* .key: the remote key */
	struct domain *domain;
	struct list link; /* domain->regions */
	struct mr *next;  /* in its chain of domain->keys */
	unsigned char *memory;
	size_t length;
	uint64_t access;
	uint64_t base; /* address of memory for origins: virtual, or 0 */
	struct mr_window *windows; /* one for each endpoint */
	unsigned window_count;
};

/* Returns the region of a key, or NULL. */
struct mr *mr_find(struct domain *, uint64_t key);
/*
 * Finds the memory that a peer accesses. Returns 0, -FI_EKEYREJECTED (no such
 * key), -FI_EACCES (not granted), -FI_EINVAL (out of range).
 */
int mr_resolve(struct domain *, uint64_t key, uint64_t address, size_t length,
	uint64_t access, void **memory);
/* Opens (0 or -fi_errno) and closes the windows of an endpoint. */
int mr_enable(struct endpoint *);
void mr_disable(struct endpoint *);

#endif
