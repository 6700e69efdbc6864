/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order: per origin and target, messages arrive and requests complete in the
 * order of issue, whatever the delays; FREE_ORDER releases a message from it,
 * key_type orders each command for itself, and FENCE orders all targets.
 */
#include "machine.h"

#define PORTS	 4
#define FREE_TAG (1ull << 32) /* in the tag of a message with FREE_ORDER */

struct order {
	struct machines ms;
	uint64_t seed;
	uint64_t sent[PORTS][PORTS]; /* origin, target */
	uint64_t message[PORTS][PORTS], completion[PORTS][PORTS];
	uint64_t overtaken;
};

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

static uint32_t roll(struct order *o, uint32_t n)
{
	o->seed = o->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(o->seed >> 33) % n;
}

static void check_next(uint64_t tag, uint64_t *last)
{
	if (tag & FREE_TAG)
		return;
	assert_true(tag > *last);
	*last = tag;
}

static void drain(struct order *o, uint32_t most)
{
	struct cay_nqe n;
	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t i = 0;
			i < most && machines_consume(&o->ms, p, &n); i++) {
			uint64_t tag = n.word[CAY_NQE_WORD_TAG];
			uint32_t peer =
				(uint16_t)(n.word[7] >> CAY_NQE_VPID_SHIFT) - 1;
			if ((nqe_command(&n) & CAY_COMMAND_MASK) ==
				CAY_NOTIFY_CC) {
				check_next(tag, &o->completion[p][peer]);
			} else {
				/* Of a free one, whether it was overtaken. */
				o->overtaken += tag & FREE_TAG &&
						(tag & ~FREE_TAG) <
							o->message[peer][p];
				check_next(tag, &o->message[peer][p]);
			}
		}
}

/* Messages of all lengths with completions, some free, some fenced. */
static void run(
	struct order *o, unsigned free_of_ten, const struct target *window)
{
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t from = roll(o, PORTS), to = roll(o, PORTS);
		uint32_t flags = roll(o, 2) ? CAY_VCI_NOTIFY : 0;
		uint64_t tag = ++o->sent[from][to];
		if (roll(o, 10) < free_of_ten) {
			flags |= CAY_VCI_FREE_ORDER;
			tag |= FREE_TAG;
		}
		if (roll(o, 20) == 0)
			flags |= CAY_VCI_FENCE;
		struct cay_vci v =
			roll(o, 2) ? vci_fast(&o->ms, from, to, flags, tag)
				   : vci_send(&o->ms, from, to, flags, tag,
					     roll(o, 4000));
		if (roll(o, 8) == 0) {
			/* Fails at the origin, at once. */
			v = vci_send(&o->ms, from, to, flags, tag, 1u << 30);
		} else if (roll(o, 2)) {
			/* Only its completion is ordered. */
			v = vci_copy(&o->ms, from, to, CAY_FAA, flags, tag, 0,
				&window[to], 0);
			v.word[CAY_VCI_WORD_OPERAND] = 1;
		}
		while (!machines_issue(&o->ms, from, &v)) {
			machines_step(&o->ms);
			drain(o, 2);
		}
		for (uint32_t k = roll(o, 4); k; k--)
			machines_step(&o->ms);
		if (roll(o, 4) == 0)
			drain(o, 3);
	}
	for (uint32_t idle = 0; idle < 100;) {
		bool busy = machines_step(&o->ms);
		drain(o, UINT32_MAX);
		idle = busy ? 0 : idle + 1;
	}
	for (uint32_t i = 0; i < o->ms.count; i++)
		assert_true(machine_idle(o->ms.m[i]));
}

static uint64_t run_all(struct testbench *tb, unsigned free_of_ten)
{
	struct target window[PORTS];
	uint64_t overtaken = 0;
	for (uint32_t p = 0; p < PORTS; p++)
		window[p] = tb_window(tb, p, 1, 4096, TB_RIGHTS);
	for (unsigned i = 0; i < machine_preset_count; i++)
		for (uint32_t machines = 1; machines <= 2; machines++) {
			struct machine_config c = machine_presets[i].config;
			struct order o = { .seed = 10 * i + machines };
			c.mtu = 1024;
			c.requesters = 4;
			c.completers = 4;
			machines_open(&o.ms, tb, &c, machines);
			machines_delay(&o.ms, 6, i + 1);
			run(&o, free_of_ten, window);
			overtaken += o.overtaken;
			machines_close(&o.ms);
		}
	return overtaken;
}

static void per_origin_and_target(void **state)
{
	run_all(*state, 0);
}

static void free_order_may_be_overtaken(void **state)
{
	assert_true(run_all(*state, 3) > 0);
}

/* With key_type, an atomic does not wait for a message. */
static void each_command_for_itself(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	struct target t = tb_window(tb, 1, 2, 4096, TB_RIGHTS);
	c.key_type = 1;
	machines_open(&ms, tb, &c, 1);
	/* A message waits for room; an atomic of the same origin does not. */
	for (uint64_t i = 0; i <= TB_UNRESERVED; i++) {
		struct cay_vci v = vci_fast(&ms, 0, 1, 0, i);
		assert_true(machines_issue(&ms, 0, &v));
		machines_run(&ms);
	}
	struct cay_vci v = vci_copy(&ms, 0, 1, CAY_FAA, 0, 99, 0, &t, 0);
	assert_true(machines_issue(&ms, 0, &v));
	v = vci_fast(&ms, 0, 1, 0, TB_UNRESERVED + 1);
	assert_true(machines_issue(&ms, 0, &v));
	machines_run(&ms);
	assert_true(machines_consume(&ms, 0, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 99);
	for (uint64_t i = 0; i <= TB_UNRESERVED + 1; i++) {
		assert_true(machines_consume(&ms, 1, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], i);
		machines_run(&ms);
	}
	machines_close(&ms);
}

/* A fenced message to port 2 waits for a message that port 1 cannot take. */
static void a_fence_orders_all_targets(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	for (uint32_t machines = 1; machines <= 3; machines++) {
		machines_open(
			&ms, *state, machine_preset("multi-wait"), machines);
		for (uint64_t i = 0; i <= TB_UNRESERVED; i++) {
			struct cay_vci v = vci_fast(&ms, 0, 1, 0, i);
			assert_true(machines_issue(&ms, 0, &v));
			machines_run(&ms);
		}
		struct cay_vci v = vci_fast(&ms, 0, 2, 0, 1);
		assert_true(machines_issue(&ms, 0, &v));
		v = vci_fast(&ms, 0, 2, CAY_VCI_FENCE, 2);
		assert_true(machines_issue(&ms, 0, &v));
		v = vci_fast(&ms, 0, 3, 0, 3);
		assert_true(machines_issue(&ms, 0, &v));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 2, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], 1);
		assert_false(machines_consume(&ms, 2, &n));
		assert_false(machines_consume(&ms, 3, &n));
		assert_true(machines_consume(&ms, 1, &n)); /* room */
		machines_run(&ms);
		assert_true(machines_consume(&ms, 2, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], 2);
		assert_true(machines_consume(&ms, 3, &n));
		machines_finish(&ms);
		machines_close(&ms);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(per_origin_and_target),
		TEST(free_order_may_be_overtaken),
		TEST(each_command_for_itself),
		TEST(a_fence_orders_all_targets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
