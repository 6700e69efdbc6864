/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of port 0 to a window of port 1, on machines, for tests that close
 * or lock the window at every cycle.
 */
#ifndef CAY_TESTS_DEVICE_MACHINE_ACCESS_H
#define CAY_TESTS_DEVICE_MACHINE_ACCESS_H

#include "machine.h"

#define PORTS 4
#define BYTES 2048u /* of a long transfer */
#define MTU   256u

static inline int access_setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, access_setup, tb_teardown)

/* Accesses of port 0 to the window of port 1. */
enum operation {
	PUT,
	PUT_NOTIFIED,
	SHORT_PUT,
	MASKED_PUT,
	ADD,
	SHORT_GET,
	GET,
	OPERATIONS,
};

struct scene {
	struct testbench *tb;
	struct machines ms;
	struct target window;
	unsigned char *source, *memory; /* of port 0, of port 1 */
	enum operation operation;
};

static inline void scene_windows(struct scene *s)
{
	struct target own = tb_window(s->tb, 0, 1, BYTES, TB_RIGHTS);
	s->source = fixture_at(
		&s->tb->fixture, s->tb->port[0].origin.wdt[own.window].start);
	s->window = tb_window(s->tb, 1, 2, BYTES,
		TB_RIGHTS |
			(s->operation == PUT_NOTIFIED ? CAY_RIGHT_NOTIFY_ACCESS
						      : 0));
	s->memory = tb_memory(s->tb, &s->window);
	s->tb->port[1].origin.wdt[s->window.window].lock = 0;
}

/* Ports 0 and 1 on one machine or on two, the others behind them. */
static inline void scene_open(
	struct scene *s, uint32_t machines, uint32_t delay)
{
	struct machine_config c = *machine_preset("multi-wait");
	c.mtu = MTU;
	machines_open(&s->ms, s->tb, &c, machines);
	if (delay)
		machines_delay(&s->ms, delay, delay + 7);
	memset(s->source, 0x11, BYTES);
	memset(s->memory, 0x22, BYTES);
}

static inline struct cay_vci scene_vci(
	const struct scene *s, uint32_t from, enum operation operation)
{
	static const unsigned commands[OPERATIONS] = {
		[PUT] = CAY_PUT,
		[PUT_NOTIFIED] = CAY_PUT,
		[SHORT_PUT] = CAY_FAST_PUT | 1,
		[MASKED_PUT] = CAY_MISALIGNED_PUT,
		[ADD] = CAY_FAA,
		[SHORT_GET] = CAY_FAST_GET | 1,
		[GET] = CAY_GET,
	};
	bool copy = operation == PUT || operation == PUT_NOTIFIED ||
		    operation == GET;
	struct cay_vci v = vci_copy(&s->ms, from, 1, commands[operation],
		CAY_VCI_NOTIFY, 7, 1, &s->window, BYTES);
	if (copy)
		return v;
	if (operation == SHORT_PUT || operation == SHORT_GET)
		v.word[CAY_VCI_WORD_TARGET] |= 8ull << CAY_VCI_BYTES_SHIFT;
	v.word[CAY_VCI_WORD_OPERAND] = 0x1111111111111111;
	v.word[CAY_VCI_WORD_OPERAND + 1] = operation == MASKED_PUT ? 0xff : 0;
	v.word[CAY_VCI_WORD_OPERAND + 2] = 0;
	return v;
}

/* Returns the error of the access of port 0, which has ended. */
static inline unsigned scene_error(struct scene *s, struct cay_nqe *n)
{
	do
		assert_true(machines_consume(&s->ms, 0, n));
	while ((nqe_command(n) & CAY_COMMAND_MASK) != CAY_NOTIFY_CC);
	return nqe_command(n) >> CAY_COMMAND_ERROR_SHIFT;
}

static inline bool all_bytes(
	const unsigned char *at, unsigned char value, size_t n)
{
	return at[0] == value && memcmp(at, at + 1, n - 1) == 0;
}

static inline struct machine *machine_1(const struct scene *s)
{
	return s->ms.m[machines_of(&s->ms, 1)];
}

#endif
