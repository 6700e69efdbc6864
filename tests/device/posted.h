/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of posted receives ask and expect; port 0 sends to port 1. */
#ifndef CAY_TESTS_DEVICE_POSTED_H
#define CAY_TESTS_DEVICE_POSTED_H

#include "bench.h"

static inline void assert_posted(const struct cay_nqe *n, uint64_t length,
	uint64_t cookie, unsigned error)
{
	assert_true(nqe_valid(n));
	assert_int_equal(nqe_command(n),
		CAY_NOTIFY_POSTED_RECV | error << CAY_COMMAND_ERROR_SHIFT);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], length);
	assert_int_equal(n->word[CAY_NQE_WORD_COOKIE], cookie);
}

/* The next entry of port 1 tells of this cookie; its slot is given back. */
static inline void expect_posted(
	struct bench *b, uint64_t length, uint64_t cookie, unsigned error)
{
	struct cay_nqe n;
	assert_true(bench_take(b, 1, &n));
	assert_posted(&n, length, cookie, error);
	bench_posted_free(b, &n);
}

static inline uint64_t available(const struct bench *b)
{
	return atomic_load(&fixture_own(&b->w, 1)->posted_head->available);
}

static inline uint32_t count_in(const struct bench *b, enum posted_state state)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < fixture_own(&b->w, 1)->posted_entries; i++)
		count += bench_posted_state(b, i) == state;
	return count;
}

static inline struct op_record *op_of(struct bench *b)
{
	return b->w.port[0].op;
}

#endif
