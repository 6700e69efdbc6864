/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. A region is a window of every enabled endpoint of its domain,
 * and has an entry in their key tables.
 */
#ifndef CAY_PROVIDER_MR_H
#define CAY_PROVIDER_MR_H

#include "provider/completion/cntr.h"

struct endpoint;

/* What a peer does with a region, and the counters of it. */
enum mr_access {
	MR_READ,
	MR_WRITE,
	MR_ACCESSES,
};

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
	struct cntr *counters[MR_ACCESSES]; /* of accesses of peers, or NULL */
	bool enabled; /* fi_mr_enable(): counters are not bound any more */
};

/* Returns the region of a key, or NULL. */
struct mr *mr_find(struct domain *, uint64_t key);
/*
 * Finds the memory that a peer accesses. Returns 0, -FI_EKEYREJECTED (no such
 * key), -FI_EACCES (not granted), -FI_EINVAL (out of range).
 */
int mr_resolve(struct domain *, uint64_t key, uint64_t address, size_t length,
	uint64_t access, void **memory);
/*
 * Count an operation of a peer: at the endpoint that it went through, and at a
 * region, whose key may be wrong.
 */
void mr_count_endpoint(const struct endpoint *, enum mr_access);
void mr_count_region(struct domain *, uint64_t key, enum mr_access);
/* Opens (0 or -fi_errno) and closes the windows of an endpoint. */
int mr_enable(struct endpoint *);
void mr_disable(struct endpoint *);

#endif
