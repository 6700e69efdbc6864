/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node's repair of an entry that a dead and a living thread may have
 * claimed: an entry that a living thread covers is never voided. And records
 * with numbers that no thread stores.
 */
#include "node_fixture.h"
#include "testbench.h"

/* The dead process, and the living one, which sends. */
enum {
	DEAD,
	LIVING,
};

/* An entry of port 1 that is claimed and not published. */
struct open_entry {
	struct testbench *tb;
	struct node_fixture node;
	uint64_t w_old, w_new;
	uint64_t word7; /* as the sender will publish it */
};

static void record_set(const struct open_entry *e, unsigned process,
	enum op_state state, uint64_t w_new)
{
	struct op_record *op = e->node.op[process];
	atomic_store(&op->w_old, e->w_old);
	atomic_store(&op->w_new, w_new);
	atomic_store(&op->state, op_state_word(state, fixture_vpid(1), 1));
}

static _Atomic uint64_t *entry_word7(const struct open_entry *e)
{
	struct cay_nqe *n = tb_entry(e->tb, 1, queue_nq(e->w_old));
	return (_Atomic uint64_t *)&n->word[CAY_NQE_WORD_VALID];
}

/* A send is taken back to the state before its publication. */
static void entry_open(struct open_entry *e, struct testbench *tb)
{
	*e = (struct open_entry){ .tb = tb, .w_old = tb_w(tb, 1) };
	assert_int_equal(node_fixture_open(&e->node, &tb->fixture, 2), 0);
	assert_int_equal(tb_send_fast(tb, 7, 0, 8), 0);
	e->w_new = tb_w(tb, 1);
	e->word7 = atomic_load(entry_word7(e));
	atomic_store(entry_word7(e), 0);
	record_set(e, LIVING, OP_OWN, e->w_new);
}

/* The living thread goes on. Its message must arrive. */
static void entry_publish_and_close(struct open_entry *e)
{
	struct cay_nqe n;
	assert_true(atomic_load(entry_word7(e)) == 0);
	atomic_store(entry_word7(e), e->word7);
	atomic_store(&e->node.op[LIVING]->state, OP_IDLE);
	assert_true(node_fixture_reap(&e->node, DEAD));
	assert_true(tb_receive(e->tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_FAST_RECV);
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 7);
	assert_int_equal(e->node.node->count.voided, 0);
	node_fixture_close(&e->node);
}

/* The dead thread has lost the race for the entry: the node waits. */
static void entry_of_a_living_sender_is_not_voided(void **state)
{
	struct open_entry e;
	entry_open(&e, *state);
	record_set(&e, DEAD, OP_TRY, e.w_new);
	for (unsigned i = 0; i < 3; i++)
		assert_false(node_fixture_reap(&e.node, DEAD));
	entry_publish_and_close(&e);
}

/* Both are dead. */
static void entry_of_dead_senders_is_voided(void **state)
{
	struct open_entry e;
	struct cay_nqe n;
	entry_open(&e, *state);
	record_set(&e, DEAD, OP_TRY, e.w_new);
	e.node.process[LIVING].state = PROCESS_EXITED;
	assert_true(node_fixture_reap(&e.node, DEAD));
	assert_true(node_fixture_reap(&e.node, LIVING));
	assert_int_equal(e.node.node->count.voided, 1);
	assert_true(tb_receive(e.tb, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NQE_INVALID);
	node_fixture_close(&e.node);
}

/* No claim takes more entries than the queue has: the record is damaged. */
static void record_of_too_many_entries_repairs_none(void **state)
{
	struct open_entry e;
	entry_open(&e, *state);
	record_set(&e, DEAD, OP_OWN,
		queue_word(queue_nq(e.w_old) + TB_ENTRIES + 1, 0));
	assert_true(node_fixture_reap(&e.node, DEAD));
	entry_publish_and_close(&e);
}

/* The record names a slot behind the table, which seems to be claimed. */
static void posted_slot_behind_the_table_is_not_written(void **state)
{
	struct testbench *tb = *state;
	struct node_fixture node;
	assert_int_equal(node_fixture_open(&node, &tb->fixture, 1), 0);
	const struct context *own = fixture_own(&tb->fixture, 1);
	struct cay_posted_receive *behind = &own->posted[own->posted_entries];
	struct cay_posted_receive saved = *behind;
	uint64_t claimer =
		(uint64_t)((unsigned char *)node.op[0] - own->arena->base) /
		sizeof(struct op_record);
	uint64_t claimed = claimer << POSTED_CLAIMER_SHIFT | POSTED_CLAIMED;
	behind->state = claimed;
	atomic_store(&node.op[0]->posted,
		(uint64_t)fixture_vpid(1) << 32 | (own->posted_entries + 1ull));
	assert_true(node_fixture_reap(&node, 0));
	assert_true(behind->state == claimed);
	assert_int_equal(own->posted_head->available, 0);
	*behind = saved;
	node_fixture_close(&node);
}

/* The slot was announced and freed: nothing is available again. */
static void announced_receives_are_not_counted(void **state)
{
	struct testbench *tb = *state;
	struct node_fixture node;
	assert_int_equal(node_fixture_open(&node, &tb->fixture, 1), 0);
	const struct context *own = fixture_own(&tb->fixture, 1);
	for (unsigned i = 0; i < 3; i++) {
		atomic_store(&node.op[0]->posted,
			(uint64_t)fixture_vpid(1) << 32 | 1);
		assert_true(node_fixture_reap(&node, 0));
		assert_int_equal(own->posted_head->available, 0);
		assert_int_equal(tb_posted_state(tb, 0), POSTED_FREE);
	}
	node_fixture_close(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(entry_of_a_living_sender_is_not_voided),
		TB_TEST(entry_of_dead_senders_is_voided),
		TB_TEST(record_of_too_many_entries_repairs_none),
		TB_TEST(posted_slot_behind_the_table_is_not_written),
		TB_TEST(announced_receives_are_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
