/* SPDX-License-Identifier: BSD-2-Clause */
/* Hazards: fences, free order and emulated accesses. */
#include "testbench.h"

static const struct reference long_message = {
	.kind = REFERENCE_ARENA, .address = ARENA_HEAP_OFFSET, .length = 1 << 20
};

/* A fenced request waits for an earlier message by reference. */
static void fence_waits_for_references(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct cay_nqe n;
	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_send_reference(tb, 2, &long_message), 0);

	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(tb_send(tb, 1, 800, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(
		tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(tb->port[0].origin.device.completions, 1);
	/* Requests without a fence do not wait. */
	assert_int_equal(tb_send(tb, 1, 8, 0), 0);
	assert_int_equal(tb_put(tb, &t, 8), 0);

	/* DONE by the target suffices; the origin has not polled. */
	while (tb_receive(tb, 1, &n) && n.word[0] != 2)
		continue;
	struct reference *ref = &tb->port[0].origin.refs[0];
	assert_true(counting_reference_begin(ref, 1));
	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_true(counting_reference_done(ref, 1));
	assert_int_equal(tb_send(tb, 1, 8, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), 0);
}

static void fenced_work_request_delays_later_ones(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	struct cay_vci v = { { CAY_FAST_SEND | 1 | 4ull << 24 |
				       CAY_VCI_ROUTE_LOCAL | 1ull << 32,
		fixture_vpid(1) | 8 << 16, 10 } };
	assert_int_equal(tb_send_reference(tb, 2, &long_message), 0);
	assert_true(counting_post(o, &v));
	v.word[0] &= ~(4ull << 24);
	v.word[2] = 11;
	assert_true(counting_post(o, &v));
	struct cay_answer a =
		counting_trigger(o, tb->port[0].op, CAY_ISSUE_VCI, 2);
	assert_int_equal(a.accepted, 0);
	assert_int_equal(a.reason, CAY_ERROR_NO_RESOURCES);
	assert_int_equal(a.free, (1u << o->wq_log2) - 2);
	assert_true(counting_reference_done(&o->refs[0], 1));
	a = counting_trigger(o, tb->port[0].op, CAY_ISSUE_VCI, 2);
	assert_int_equal(a.accepted, 2);
	for (uint64_t tag = 2; tag < 12; tag = tag == 2 ? 10 : tag + 1) {
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(n.word[0], tag);
	}
}

/* Neither the slot nor the reservation of its completion is lost. */
static void refused_reference_frees_its_slot(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	while (tb_send_fast(tb, 1, 2, 8) == 0)
		continue;
	for (unsigned i = 0; i < 2u << QUEUE_REFS_LOG2; i++) {
		assert_int_equal(
			tb_send_reference(tb, 2, &long_message), -EAGAIN);
		assert_true(o->device.references == 0);
		assert_int_equal(o->device.completions, 0);
	}
	assert_true(tb_receive(tb, 1, &n));
	assert_int_equal(tb_send_reference(tb, 2, &long_message), 0);
	assert_true(o->device.references == 1);
}

/* Until its target has started to read it. */
static void reference_can_be_withdrawn(void **state)
{
	struct testbench *tb = *state;
	struct reference *refs = tb->port[0].origin.refs;
	assert_false(counting_reference_withdraw(&refs[0]));
	assert_int_equal(tb_send_reference(tb, 1, &long_message), 0);
	assert_int_equal(tb_send_reference(tb, 2, &long_message), 0);
	assert_true(counting_reference_withdraw(&refs[0]));
	assert_false(counting_reference_withdraw(&refs[0]));
	assert_false(counting_reference_begin(&refs[0], 1));
	assert_true(counting_reference_begin(&refs[1], 1));
	assert_false(counting_reference_withdraw(&refs[1]));
	assert_true(counting_reference_done(&refs[1], 1));
	assert_false(counting_reference_withdraw(&refs[1]));
}

/* ---- emulated accesses ---- */

static unsigned emulated; /* number of emulated accesses */

/* Sends a reference to a staged access, as port/emulate.c does. */
static int send_emulated_stub(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	const struct reference source = { .kind = REFERENCE_ACCESS,
		.address = ARENA_HEAP_OFFSET,
		.length = sizeof(struct emulated_access) };
	uint32_t index;
	atomic_fetch_add(&o->device.emulated_in_flight, 1);
	emulated++;
	return counting_send_reference(o, op, to, p, &source, &index);
}

static void emulated_accesses_keep_order(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct target own = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct target arena = tb_window(tb, 1, 1, 4096, TB_RIGHTS);
	struct cay_nqe n;
	emulated = 0;
	o->send_emulated = send_emulated_stub;
	o->wdt = tb->port[0].origin.wdt;
	tb->port[1].origin.wdt[0].pid = 1; /* memory of a process */
	atomic_store(
		&(*fixture_route(&tb->fixture, 0, 1))->process_memory_denied,
		true);

	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(emulated, 0);
	assert_int_equal(tb_put(tb, &own, 8), 0);
	assert_int_equal(emulated, 1);
	/* Later accesses to arena memory are emulated too, to keep order. */
	uint64_t before = tb_word(tb, &arena);
	tb->data[0]++;
	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(emulated, 2);
	assert_true(tb_word(tb, &arena) == before);
	assert_int_equal(tb_access(tb, CAY_FAA, &arena, 8, 0), 0);
	assert_int_equal(emulated, 3);
	assert_int_equal(tb_get(tb, &arena, tb->got, 8), 0);
	assert_int_equal(emulated, 4);
	assert_int_equal(tb_send_fast(tb, 77, 0, 8), 0);
	/* Free order allows the direct access. */
	assert_int_equal(
		tb_access(tb, CAY_FAST_PUT | 1, &arena, 8, CAY_VCI_FREE_ORDER),
		0);
	assert_int_equal(emulated, 4);
	assert_true(tb_word(tb, &arena) != before);

	static const unsigned order[] = { CAY_FAST_PUT | 1, CAY_FAST_PUT | 1,
		CAY_FAA, CAY_GET, CAY_NOTIFY_FAST_RECV };
	for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(nqe_command(&n), order[i]);
	}
	/* All are DONE, although the origin has not polled: direct again. */
	for (uint32_t i = 0; i < 4; i++)
		assert_true(counting_reference_done(&o->refs[i], 1));
	tb->data[0]++;
	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(emulated, 4);
	assert_memory_equal(tb_memory(tb, &arena), tb->data, 8);
}

static void emulated_access_delays_no_other_target(void **state)
{
	void *three = NULL;
	(void)state;
	assert_int_equal(tb_setup_ports(&three, 3), 0);
	struct testbench *tb = three;
	struct target own = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct target t = { .window = 0 };
	uint64_t at = fixture_memory(&tb->fixture, 4096);
	assert_int_equal(fixture_window(&tb->fixture, 2, 0, at, 4096,
				 CAY_RIGHT_WRITE, &t.capability),
		0);
	emulated = 0;
	tb->port[0].origin.send_emulated = send_emulated_stub;
	tb->port[1].origin.wdt[0].pid = 1;
	atomic_store(
		&(*fixture_route(&tb->fixture, 0, 1))->process_memory_denied,
		true);
	assert_int_equal(tb_put(tb, &own, 8), 0);
	assert_int_equal(emulated, 1);
	assert_int_equal(
		counting_put(&tb->port[0].origin,
			fixture_route(&tb->fixture, 0, 2), target_key(&t),
			t.offset, tb->data, 8, 0, tb->port[0].op),
		0);
	assert_int_equal(emulated, 1);
	assert_memory_equal(fixture_at(&tb->fixture, at), tb->data, 8);
	tb_teardown(&three);
}

static void without_emulation_process_memory_is_refused(void **state)
{
	struct testbench *tb = *state;
	struct target own = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct cay_nqe n;
	tb->port[1].origin.wdt[0].pid = 1;
	atomic_store(
		&(*fixture_route(&tb->fixture, 0, 1))->process_memory_denied,
		true);
	assert_int_equal(tb_put(tb, &own, 8), 1);
	assert_true(tb_receive(tb, 0, &n));
	assert_int_equal(nqe_command(&n),
		CAY_NOTIFY_CC | CAY_ERROR_MEMORY << CAY_COMMAND_ERROR_SHIFT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(fence_waits_for_references),
		TB_TEST(fenced_work_request_delays_later_ones),
		TB_TEST(refused_reference_frees_its_slot),
		TB_TEST(reference_can_be_withdrawn),
		TB_TEST(emulated_accesses_keep_order),
		cmocka_unit_test(emulated_access_delays_no_other_target),
		TB_TEST(without_emulation_process_memory_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
