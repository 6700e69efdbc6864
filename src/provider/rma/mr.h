/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory: a window of every enabled endpoint of its domain, and an
 * entry in the key tables of these.
 */
#ifndef CAY_PROVIDER_MR_H
#define CAY_PROVIDER_MR_H

#include "provider/fabric/domain.h"

struct endpoint;

struct mr {
	struct fid_mr fid; /* .key is the key */
	struct domain *domain;
	struct list link; /* domain->regions */
	struct mr *next;  /* in its hash chain */
	unsigned char *memory;
	size_t length;
	uint64_t access;
	uint64_t base; /* of memory, as initiators say it: 0, or the address */
	struct mr_window *windows; /* one for each endpoint that has it */
	unsigned window_count;
};

/* The region of that key, or NULL. */
struct mr *mr_find(struct domain *, uint64_t key);
/*
 * The memory that a peer means, if the key is right, the range inside and the
 * access granted: 0, -FI_EKEYREJECTED, -FI_EACCES, -FI_EINVAL (out of range).
 */
int mr_reach(struct domain *, uint64_t key, uint64_t address, size_t length,
	uint64_t access, void **memory);
/* An endpoint has come (0 or -fi_errno), or goes. */
int mr_enable(struct endpoint *);
void mr_disable(struct endpoint *);

#endif
