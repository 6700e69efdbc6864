/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers for tests of posted receives: port 0 sends to port 1. */
#ifndef CAY_TESTS_DEVICE_POSTED_H
#define CAY_TESTS_DEVICE_POSTED_H

#include "inject.h"

static inline void assert_posted(const struct cay_nqe *n, uint64_t length,
	uint64_t cookie, unsigned error)
{
	assert_true(nqe_valid(n));
	assert_int_equal(nqe_command(n),
		CAY_NOTIFY_POSTED_RECV | error << CAY_COMMAND_ERROR_SHIFT);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], length);
	assert_int_equal(n->word[CAY_NQE_WORD_COOKIE], cookie);
}

/* Receives a POSTED_RECV with these properties and frees its slot. */
static inline void expect_posted(
	struct testbench *tb, uint64_t length, uint64_t cookie, unsigned error)
{
	struct cay_nqe n;
	assert_true(tb_receive(tb, 1, &n));
	assert_posted(&n, length, cookie, error);
	tb_posted_free(tb, &n);
}

/* The counter that senders read: an upper bound of the READY slots. */
static inline uint64_t posted_available(const struct testbench *tb)
{
	return atomic_load(
		&fixture_own(&tb->fixture, 1)->posted_head->available);
}

static inline uint32_t slots_in_state(
	const struct testbench *tb, enum posted_state state)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < fixture_own(&tb->fixture, 1)->posted_entries;
		i++)
		count += tb_posted_state(tb, i) == state;
	return count;
}

static inline struct op_record *sender_op(struct testbench *tb)
{
	return tb->port[0].op;
}

/* ---- races for one posted receive of 128 bytes with the cookie 42 ---- */

static void *buffers[2];

static inline void prepare_one_buffer(struct testbench *tb)
{
	buffers[0] = tb_post_receive(tb, 128, 42);
}

static inline int send_100(struct testbench *tb)
{
	return tb_send(tb, 42, 100, 0);
}

static inline int send_100_from_2(struct testbench *tb)
{
	static unsigned char other[100];
	memset(other, 0x22, sizeof(other));
	const struct iovec payload = { other, sizeof(other) };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = fixture_vpid(2),
		.tag = 2,
		.pieces = 1,
		.length = sizeof(other),
		.payload = &payload };
	return counting_send(&tb->port[2].origin, tb->port[2].op,
		fixture_route(&tb->fixture, 2, 1), &p);
}

static inline void fill_queue(struct testbench *tb)
{
	while (send_from_2(tb, 1) == 0)
		continue;
}

#endif
