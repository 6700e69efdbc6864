/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accepting: the conditional store buffer refuses when it is full, for a port
 * and as a whole, with a wait hint; commands and VPIDs are checked; a trigger
 * of VCIs that are not filled in ends with an error.
 */
#include "machine.h"

#define PORTS 4

static int setup(void **state)
{
	return tb_setup_queues(state, PORTS,
		(struct queue_options){ .nq_log2 = 8, .rdr_log2 = 10 });
}

static struct cay_answer trigger(
	struct machines *ms, uint32_t port, unsigned command, unsigned count)
{
	return machine_trigger(
		ms->m[0], fixture_vpid(port), (enum cay_issue)command, count);
}

static void assert_refused(struct cay_answer a, enum cay_error reason)
{
	assert_int_equal(a.accepted, 0);
	assert_int_equal(a.reason, reason);
	assert_int_equal(a.free, 0);
}

/* Port 0 fills its part; the others still have theirs. */
static void a_port_has_a_part_of_the_buffer(void **state)
{
	struct machines ms;
	struct machine_config c = *machine_preset("multi-wait");
	machines_open(&ms, *state, &c, 1);
	for (uint32_t i = 1; i <= c.csb_port_entries; i++) {
		struct cay_answer a = trigger(&ms, 0, CAY_ISSUE_VCI, 2);
		assert_int_equal(a.accepted, 2);
		assert_int_equal(a.reason, CAY_ERROR_NONE);
		assert_int_equal(a.free, c.csb_port_entries - i);
		assert_int_equal(a.wait_ns, 0);
	}
	struct cay_answer a = trigger(&ms, 0, CAY_ISSUE_VCI, 2);
	assert_refused(a, CAY_ERROR_NO_RESOURCES);
	assert_true(a.wait_ns > 0);
	assert_int_equal(trigger(&ms, 1, CAY_ISSUE_VCI, 1).accepted, 1);
	assert_int_equal(machine_counts(ms.m[0])->refused, 1);
	assert_int_equal(
		machine_counts(ms.m[0])->csb_max, c.csb_port_entries + 1);
	machines_close(&ms);
}

static void the_buffer_is_full(void **state)
{
	struct machines ms;
	struct machine_config c = *machine_preset("multi-wait");
	c.csb_entries = 6;
	c.csb_port_entries = 5;
	machines_open(&ms, *state, &c, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(trigger(&ms, 0, CAY_ISSUE_VCI, 1).free, 4 - i);
	/* Of the whole, 2 entries are free. */
	assert_int_equal(trigger(&ms, 1, CAY_ISSUE_VCI, 1).free, 1);
	assert_int_equal(trigger(&ms, 1, CAY_ISSUE_VCI, 1).free, 0);
	struct cay_answer a = trigger(&ms, 2, CAY_ISSUE_VCI, 1);
	assert_refused(a, CAY_ERROR_NO_RESOURCES);
	assert_true(a.wait_ns > 0);
	/* Once an entry is fetched there is room. */
	machine_step(ms.m[0]);
	assert_int_equal(trigger(&ms, 2, CAY_ISSUE_VCI, 1).accepted, 1);
	machines_close(&ms);
}

/* Returns the hint to port 0, whose part of the buffer is full. */
static uint32_t hint(struct machines *ms)
{
	while (trigger(ms, 0, CAY_ISSUE_VCI, 1).accepted)
		;
	struct cay_answer a = trigger(ms, 0, CAY_ISSUE_VCI, 1);
	assert_refused(a, CAY_ERROR_NO_RESOURCES);
	return a.wait_ns;
}

static void the_hint_grows_with_the_occupancy(void **state)
{
	struct machines ms;
	struct machine_config c = *machine_preset("multi-wait");
	machines_open(&ms, *state, &c, 1);
	uint32_t alone = hint(&ms);
	assert_int_equal(alone, c.service_ns / c.requesters);
	uint32_t before = alone;
	for (uint32_t port = 1; port < PORTS; port++) {
		trigger(&ms, port, CAY_ISSUE_VCI, 1);
		uint32_t now = hint(&ms);
		assert_true(now > before);
		before = now;
	}
	machines_close(&ms);
	/* An entry of 32 VCIs takes longer. */
	machines_open(&ms, *state, &c, 1);
	trigger(&ms, 0, CAY_ISSUE_VCI, 0);
	uint32_t burst = hint(&ms);
	assert_int_equal(burst, CAY_ISSUE_PARAMETER_MAX * alone);
	/* What waits for a requester counts as well. */
	machines_close(&ms);
	c.policy = MACHINE_SINGLE_ISSUE;
	c.requesters = 1;
	c.wait_entries = 0;
	machines_open(&ms, *state, &c, 1);
	struct cay_vci v = vci_send(&ms, 0, 1, 0, 1, 65536);
	machine_post(ms.m[0], 1, &v);
	for (uint64_t tag = 2; tag < 10; tag++) {
		v = vci_fast(&ms, 0, 1, 0, tag);
		machine_post(ms.m[0], 1, &v);
	}
	alone = hint(&ms);
	for (uint32_t i = 0; i < 20; i++)
		machine_step(ms.m[0]);
	assert_true(hint(&ms) > alone);
	machines_close(&ms);
}

static void only_commands_of_the_contract(void **state)
{
	struct machines ms;
	machines_open(&ms, *state, machine_preset("single"), 1);
	static const unsigned wrong[] = { 4, 6, 7, 12, 14, 15, 16, 17, 24, 255,
		1u << 31 };
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		assert_refused(trigger(&ms, 0, wrong[i], 1), CAY_ERROR_COMMAND);
	assert_refused(
		trigger(&ms, PORTS, CAY_ISSUE_VCI, 1), CAY_ERROR_ORIGIN_VPID);
	assert_refused(
		machine_trigger(ms.m[0], CAY_VPID_NODE, CAY_ISSUE_VCI, 1),
		CAY_ERROR_ORIGIN_VPID);
	assert_int_equal(trigger(&ms, 0, CAY_ISSUE_VCI, 0).accepted, 32);
	assert_int_equal(trigger(&ms, 0, CAY_ISSUE_VCI, 33).accepted, 32);
	assert_int_equal(trigger(&ms, 0, CAY_ISSUE_SNAPSHOT, 7).accepted, 1);
	machines_close(&ms);
}

/* Counts the NOTIFY_STATUS that port 0 receives, and keeps the last. */
static unsigned statuses(struct machines *ms, struct cay_nqe *last)
{
	unsigned count = 0;
	struct cay_nqe n;
	machines_run(ms);
	while (machines_consume(ms, 0, &n))
		if (nqe_command(&n) == CAY_NOTIFY_STATUS) {
			*last = n;
			count++;
		}
	return count;
}

/* Commands 8 to 13 are 0 to 5, followed by one NOTIFY_STATUS. */
static void commands_with_status(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	machines_open(&ms, tb, machine_preset("multi-wait"), 1);
	for (unsigned command = 0; command <= 5; command++) {
		if (command == CAY_ISSUE_BARRIER)
			continue;
		/* A message to port 0, for the commands that return. */
		struct cay_vci v = vci_fast(&ms, 1, 0, 0, command);
		assert_true(machines_issue(&ms, 1, &v));
		machines_run(&ms);
		uint64_t r = queue_nq(tb_r(tb, 0));
		if (command == CAY_ISSUE_VCI) {
			v = vci_fast(&ms, 0, 1, 0, 77);
			assert_true(machine_post(ms.m[0], 1, &v));
		}
		assert_int_equal(trigger(&ms, 0, command | 8, 1).accepted, 1);
		machines_run(&ms);
		bool returns = command == CAY_ISSUE_NQ ||
			       command == CAY_ISSUE_RDR;
		assert_int_equal(queue_nq(tb_r(tb, 0)), r + returns);
		assert_int_equal(statuses(&ms, &n), 1);
		/* The status is written after the command. */
		assert_int_equal(
			queue_nq(n.word[CAY_NQE_WORD_PREVIOUS]), r + returns);
		assert_int_equal(
			(uint32_t)n.word[CAY_NQE_WORD_POINTERS] & 0xffff,
			machine_origin(ms.m[0], 1)->device.wq_read & 0xffff);
		/* Without 8 there is none, but for the snapshot. */
		if (command == CAY_ISSUE_VCI) {
			v = vci_fast(&ms, 0, 1, 0, 78);
			assert_true(machine_post(ms.m[0], 1, &v));
		}
		assert_int_equal(trigger(&ms, 0, command, 1).accepted, 1);
		assert_int_equal(
			statuses(&ms, &n), command == CAY_ISSUE_SNAPSHOT);
	}
	assert_true(machine_idle(ms.m[0]));
	machines_close(&ms);
}

/* The VCI stays; when it is filled in, another trigger executes it. */
static void a_vci_that_is_not_filled_in(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	machines_open(&ms, *state, machine_preset("multi-wait"), 1);
	struct cay_vci v = vci_fast(&ms, 0, 1, 0, 1);
	assert_true(machine_post(ms.m[0], 1, &v));
	assert_int_equal(trigger(&ms, 0, CAY_ISSUE_VCI, 5).accepted, 5);
	machines_run(&ms);
	assert_int_equal(machine_origin(ms.m[0], 1)->device.wq_read, 1);
	assert_true(machines_consume(&ms, 1, &n));
	assert_false(machines_consume(&ms, 1, &n));
	assert_true(machines_consume(&ms, 0, &n));
	assert_int_equal(nqe_command(&n),
		CAY_NOTIFY_CC | CAY_ERROR_COMMAND << CAY_COMMAND_ERROR_SHIFT);
	assert_false(machines_consume(&ms, 0, &n)); /* once per trigger */
	for (uint64_t tag = 2; tag < 5; tag++) {
		v = vci_fast(&ms, 0, 1, 0, tag);
		assert_true(machine_post(ms.m[0], 1, &v));
	}
	assert_int_equal(trigger(&ms, 0, CAY_ISSUE_VCI, 3).accepted, 3);
	machines_run(&ms);
	for (uint64_t tag = 2; tag < 5; tag++) {
		assert_true(machines_consume(&ms, 1, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], tag);
	}
	assert_true(machine_idle(ms.m[0]));
	machines_close(&ms);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_port_has_a_part_of_the_buffer),
		TEST(the_buffer_is_full),
		TEST(the_hint_grows_with_the_occupancy),
		TEST(only_commands_of_the_contract),
		TEST(commands_with_status),
		TEST(a_vci_that_is_not_filled_in),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
