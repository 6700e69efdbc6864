/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that fails all checks, and the checks in the order of the contract.
 */
#ifndef CAY_TESTS_DEVICE_BROKEN_REQUEST_H
#define CAY_TESTS_DEVICE_BROKEN_REQUEST_H

#include "testbench.h"

#define FOREIGN_LOCK (0x77 | 1ull << 32) /* of no port of the fixture */

/* A window of port 1. */
static inline struct cay_window_descriptor *descriptor(
	struct testbench *tb, uint16_t id)
{
	return &tb->port[1].origin.wdt[id];
}

/*
 * A request that fails all checks. Fixing the property of the first failing
 * check makes the next check of the contract's order fail.
 */
struct broken_request {
	struct testbench *tb;
	struct target t;
	struct cay_vci v;
};

static inline void break_everything(struct broken_request *w)
{
	struct testbench *tb = w->tb;
	uint64_t own = fixture_memory(&tb->fixture, 4096), key;
	w->t = tb_window(tb, 1, 1, 4096, CAY_RIGHT_READ);
	assert_int_equal(fixture_window(&tb->fixture, 0, 0, own, 4096,
				 CAY_RIGHT_READ, &key),
		0);
	tb->port[0].origin.word_mode = WORD_MODE_VCI;
	tb->port[0].origin.wdt[0].lock = FOREIGN_LOCK;
	descriptor(tb, 1)->lock = FOREIGN_LOCK;
	w->v = (struct cay_vci){ {
		(CAY_PUT | 1) | CAY_VCI_ROUTE_LOCAL |
			2ull << 32,		      /* command, route */
		fixture_vpid(0),		      /* target */
		3, 999 | (w->t.capability ^ 1) << 16, /* window, capability */
		4093,				      /* outside, misaligned */
		900,				      /* origin window */
		4095,				      /* outside, misaligned */
		7,				      /* misaligned */
	} };
}

static inline void fix_command(struct broken_request *w)
{
	w->v.word[0] &= ~1ull;
}
static inline void fix_route(struct broken_request *w)
{
	w->v.word[0] = CAY_PUT | CAY_VCI_ROUTE_LOCAL | 1ull << 32;
}
static inline void fix_origin_window(struct broken_request *w)
{
	w->v.word[5] = 0;
}
static inline void fix_origin_lock(struct broken_request *w)
{
	w->tb->port[0].origin.wdt[0].lock = w->tb->port[0].origin.lock_word;
}
static inline void fix_origin_bounds(struct broken_request *w)
{
	w->v.word[6] = 3;
}
static inline void fix_origin_offset(struct broken_request *w)
{
	w->v.word[6] = 8;
}
static inline void fix_origin_length(struct broken_request *w)
{
	w->v.word[7] = 8;
}
static inline void fix_target(struct broken_request *w)
{
	w->v.word[1] = fixture_vpid(1);
}
static inline void fix_window(struct broken_request *w)
{
	w->v.word[3] = (w->v.word[3] & ~0xffffull) | 1;
}
static inline void fix_capability(struct broken_request *w)
{
	w->v.word[3] ^= 1 << 16;
}
static inline void fix_rights(struct broken_request *w)
{
	descriptor(w->tb, 1)->rights = CAY_RIGHT_WRITE;
}
static inline void fix_lock(struct broken_request *w)
{
	descriptor(w->tb, 1)->lock = w->tb->port[0].origin.lock_word;
}
static inline void fix_bounds(struct broken_request *w)
{
	w->v.word[4] = 4083;
}
static inline void fix_target_offset(struct broken_request *w)
{
	w->v.word[4] = 4088;
}

static const struct {
	enum cay_error error;
	void (*fix)(struct broken_request *);
} checks[] = {
	{ CAY_ERROR_COMMAND, fix_command },
	{ CAY_ERROR_ROUTE, fix_route },
	{ CAY_ERROR_ORIGIN_WINDOW, fix_origin_window },
	{ CAY_ERROR_ORIGIN_LOCKED, fix_origin_lock },
	{ CAY_ERROR_ORIGIN_BOUNDS, fix_origin_bounds },
	{ CAY_ERROR_ORIGIN_OFFSET_ALIGN, fix_origin_offset },
	{ CAY_ERROR_ORIGIN_LENGTH_ALIGN, fix_origin_length },
	{ CAY_ERROR_TARGET_VPID, fix_target },
	{ CAY_ERROR_TARGET_WINDOW, fix_window },
	{ CAY_ERROR_CAPABILITY, fix_capability },
	{ CAY_ERROR_RIGHTS, fix_rights },
	{ CAY_ERROR_TARGET_LOCKED, fix_lock },
	{ CAY_ERROR_TARGET_BOUNDS, fix_bounds },
	{ CAY_ERROR_TARGET_OFFSET_ALIGN, fix_target_offset },
};

#endif
