/* SPDX-License-Identifier: BSD-2-Clause */
/* ULTRA paths for tests: wrappers that assert success. */
#ifndef CAY_TESTS_PORT_ULTRA_H
#define CAY_TESTS_PORT_ULTRA_H

#include <errno.h>

#include "harness.h"

#define ANY ((struct cay_addr){ 0 })

static inline struct cay_ultra *ultra_accept(
	struct cay_port *port, struct cay_addr from, size_t slice)
{
	struct cay_ultra *u;
	assert_int_equal(cay_ultra_accept(port, from, slice, &u), 0);
	return u;
}

static inline struct cay_ultra *ultra_connect(
	struct cay_port *port, struct cay_addr to)
{
	struct cay_ultra *u;
	assert_int_equal(cay_ultra_connect(port, to, soon(), &u), 0);
	return u;
}

static inline struct cay_ultra_status ultra_status(const struct cay_ultra *u)
{
	struct cay_ultra_status s = { .size = sizeof(s) };
	assert_int_equal(cay_ultra_status(u, &s), 0);
	return s;
}

/* Sends a message whose length and contents follow from its number. */
static inline int ultra_send_number(
	struct cay_ultra *u, uint64_t number, size_t length, unsigned flags)
{
	unsigned char data[4096];
	content_fill(data, length, number);
	return cay_ultra_send(u, number, data, length, flags);
}

/* Receives the next message and checks it. Returns its length or -errno. */
static inline int ultra_recv_number(struct cay_ultra *u, uint64_t number)
{
	unsigned char data[4096];
	uint64_t tag = ~0ull;
	int r = cay_ultra_recv(u, &tag, data, sizeof(data));
	if (r >= 0) {
		assert_int_equal(tag, number);
		assert_true(content_fits(data, (size_t)r, number));
	}
	return r;
}

/* Waits for an event of a path, and releases it. */
static inline void expect_ultra(struct cay_port *port, uint64_t tag,
	unsigned flag, int error, uint64_t position)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_ULTRA);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.command, flag);
	assert_int_equal(e.error, error);
	assert_int_equal(e.result, position);
	cay_release(port, &e);
}

#endif
