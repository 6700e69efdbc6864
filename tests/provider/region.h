/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions whose keys the processes exchange, for tests of remote access.
 */
#ifndef CAY_TESTS_PROVIDER_REGION_H
#define CAY_TESTS_PROVIDER_REGION_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness.h"

#define CAPS_ACCESS   (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC)
#define ACCESS_REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)

struct region {
	unsigned char *memory;
	size_t bytes;
	struct fid_mr *mr;
};

/* The region of another process. */
struct target {
	fi_addr_t peer;
	uint64_t key, base;
};

static inline void region_open(
	struct stack *s, struct region *r, size_t bytes, uint64_t access)
{
	static uint64_t key = 100;
	r->bytes = bytes;
	r->memory = calloc(1, bytes);
	assert_true(r->memory != NULL);
	assert_int_equal(fi_mr_reg(s->domain, r->memory, bytes, access, 0,
				 key++, 0, &r->mr, r),
		0);
}

static inline void region_close(struct region *r)
{
	assert_int_equal(fi_close(&r->mr->fid), 0);
	free(r->memory);
}

/* Exchanges address and key with the other processes. */
static inline void region_share(struct stack *s, struct process *me,
	const struct region *r, unsigned rank, struct target *t)
{
	bool virtual = s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	atomic_store(process_word(me, 2 * me->rank), fi_mr_key(r->mr));
	atomic_store(process_word(me, 2 * me->rank + 1),
		virtual ? (uintptr_t)r->memory : 0);
	process_barrier(me, s);
	*t = (struct target){ .peer = s->peers[rank],
		.key = atomic_load(process_word(me, 2 * rank)),
		.base = atomic_load(process_word(me, 2 * rank + 1)) };
	process_barrier(me, s);
}

#endif
