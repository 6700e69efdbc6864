/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What waits for what: fences, free order, and accesses that their targets must
 * carry out.
 */
#include "testbench.h"

static int send_flags(struct testbench *tb, size_t length, unsigned flags)
{
	return tb_send(tb, 1, length, flags);
}

static const struct reference long_message = {
	.kind = REFERENCE_ARENA, .address = ARENA_HEAP_OFFSET, .length = 1 << 20
};

/* A fenced request waits until the long message before it was taken. */
static void fence_waits_for_references(void **state)
{
	struct testbench *tb = *state;
	struct target t = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct cay_nqe n;
	assert_int_equal(send_flags(tb, 8, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_send_reference(tb, 2, &long_message), 0);

	assert_int_equal(send_flags(tb, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(send_flags(tb, 800, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(
		tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(tb_access(tb, CAY_FAA, &t, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_int_equal(tb->port[0].origin.completions, 1);
	/* What is not fenced does not wait. */
	assert_int_equal(send_flags(tb, 8, 0), 0);
	assert_int_equal(tb_put(tb, &t, 8), 0);

	/* The target has taken it; the origin need not have looked. */
	while (tb_receive(tb, 1, &n) && n.word[0] != 2)
		continue;
	struct reference *ref = &tb->port[0].origin.refs[0];
	assert_true(counting_reference_begin(ref, 1));
	assert_int_equal(send_flags(tb, 8, CAY_VCI_FENCE), -EAGAIN);
	assert_true(counting_reference_done(ref, 1));
	assert_int_equal(send_flags(tb, 8, CAY_VCI_FENCE), 0);
	assert_int_equal(tb_access(tb, CAY_PUT, &t, 64, CAY_VCI_FENCE), 0);
}

/* In the work queue nothing passes it. */
static void fenced_work_requests_keep_the_others_back(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct cay_nqe n;
	struct cay_vci v = { { CAY_FAST_SEND | 1 | 4ull << 24 | 1ull << 32,
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

/* ---- accesses that their target must carry out ---- */

static unsigned carried;

/* As port/emulate.c: a reference to something staged, under its command. */
static int carry(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	const struct reference source = { .kind = REFERENCE_ACCESS,
		.address = ARENA_HEAP_OFFSET,
		.length = sizeof(struct emulated_access) };
	uint32_t index;
	atomic_fetch_add(&o->emulated_in_flight, 1);
	carried++;
	return counting_send_reference(o, op, to, p, &source, &index);
}

static void carried_accesses_are_not_overtaken(void **state)
{
	struct testbench *tb = *state;
	struct origin *o = &tb->port[0].origin;
	struct target own = tb_window(tb, 1, 0, 4096, TB_RIGHTS);
	struct target arena = tb_window(tb, 1, 1, 4096, TB_RIGHTS);
	struct cay_nqe n;
	carried = 0;
	o->send_emulated = carry;
	o->wdt = tb->port[0].origin.wdt;
	tb->port[1].origin.wdt[0].pid = 1; /* memory of a process */
	atomic_store(
		&(*fixture_route(&tb->fixture, 0, 1))->process_memory_denied,
		true);

	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(carried, 0);
	assert_int_equal(tb_put(tb, &own, 8), 0);
	assert_int_equal(carried, 1);
	/* Behind it goes what could have gone straight; and a message. */
	uint64_t before = tb_word(tb, &arena);
	tb->data[0]++;
	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(carried, 2);
	assert_true(tb_word(tb, &arena) == before);
	assert_int_equal(tb_access(tb, CAY_FAA, &arena, 8, 0), 0);
	assert_int_equal(carried, 3);
	assert_int_equal(tb_get(tb, &arena, tb->got, 8), 0);
	assert_int_equal(carried, 4);
	assert_int_equal(tb_send_fast(tb, 77, 0, 8), 0);
	/* Unless it says that order is of no matter. */
	assert_int_equal(
		tb_access(tb, CAY_FAST_PUT | 1, &arena, 8, CAY_VCI_FREE_ORDER),
		0);
	assert_int_equal(carried, 4);
	assert_true(tb_word(tb, &arena) != before);

	static const unsigned order[] = { CAY_FAST_PUT | 1, CAY_FAST_PUT | 1,
		CAY_FAA, CAY_GET, CAY_NOTIFY_FAST_RECV };
	for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
		assert_true(tb_receive(tb, 1, &n));
		assert_int_equal(nqe_command(&n), order[i]);
	}
	/* Carried out, though the origin has not looked: straight again. */
	for (uint32_t i = 0; i < 4; i++)
		assert_true(counting_reference_done(&o->refs[i], 1));
	tb->data[0]++;
	assert_int_equal(tb_put(tb, &arena, 8), 0);
	assert_int_equal(carried, 4);
	assert_memory_equal(tb_memory(tb, &arena), tb->data, 8);
}

/* What is under way to one peer holds nothing up that goes to another. */
static void other_targets_do_not_wait(void **state)
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
	carried = 0;
	tb->port[0].origin.send_emulated = carry;
	tb->port[1].origin.wdt[0].pid = 1;
	atomic_store(
		&(*fixture_route(&tb->fixture, 0, 1))->process_memory_denied,
		true);
	assert_int_equal(tb_put(tb, &own, 8), 0);
	assert_int_equal(carried, 1);
	assert_int_equal(
		counting_put(&tb->port[0].origin, tb->port[0].op,
			fixture_route(&tb->fixture, 0, 2), &t, tb->data, 8, 0),
		0);
	assert_int_equal(carried, 1);
	assert_memory_equal(fixture_at(&tb->fixture, at), tb->data, 8);
	tb_teardown(&three);
}

/* Without anybody to carry it there, memory of a process is out of reach. */
static void nobody_carries(void **state)
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
		TB_TEST(fenced_work_requests_keep_the_others_back),
		TB_TEST(carried_accesses_are_not_overtaken),
		cmocka_unit_test(other_targets_do_not_wait),
		TB_TEST(nobody_carries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
