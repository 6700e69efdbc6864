/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair of entries that a dead thread may have claimed. The node runs inside
 * the test.
 */
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "node/record.h"

#define HEAP_BYTES (16ull << 20)
#define ENTRIES	   16 /* of the queue that inside_open() makes */

static struct op_record *record_set(const struct process *by,
	enum op_state state, const struct vport *on, uint64_t position,
	uint64_t entries)
{
	struct op_record *op = record_at(by, 0);
	atomic_store(&op->w_old, queue_word(position, 0));
	atomic_store(&op->w_new, queue_word(position + entries, 0));
	atomic_store(
		&op->state, op_state_word(state, on->config.vpid, on->epoch));
	return op;
}

/* Only the entries of the last lap can be claimed and not published. */
static void repair_waits_for_entries_of_the_last_lap(void **state)
{
	(void)state;
	struct node *node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *dead = inside_join(node, 2, "default");
	struct process *live = inside_join(node, 3, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *c = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	uint64_t from = queue_nq(atomic_load(&c->w));
	atomic_store(&c->w, queue_word(from + 2 * ENTRIES, 0));
	atomic_store(&c->r, queue_word(from + ENTRIES, 0));
	for (uint64_t i = 0; i < 2 * ENTRIES; i++) {
		struct op_record *op =
			record_set(dead, OP_TRY, port, from + i, 1);
		struct op_record *other =
			record_set(live, OP_TRY, port, from + i, 1);
		assert_int_equal(repair_record(port->realm, op),
			i < ENTRIES ? 0 : -EAGAIN);
		atomic_store(&other->state, OP_IDLE);
		assert_int_equal(repair_record(port->realm, op), 0);
		assert_int_equal(atomic_load(&op->state), OP_IDLE);
	}
	/* The entries of the last lap, once no live thread has a record. */
	assert_int_equal(node->count.voided, ENTRIES);
	process_exited(dead);
	process_exited(live);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

static void entry_publish(struct context *to, uint64_t position)
{
	atomic_store(queue_valid_word(&to->nq[position % ENTRIES]),
		queue_generation(position, to->nq_log2)
				<< CAY_NQE_GENERATION_SHIFT |
			CAY_NOTIFY_FAST_RECV);
}

static bool entry_is_void(struct context *to, uint64_t position)
{
	uint64_t word = node_device_peek(to, position);
	return word && (word & CAY_COMMAND_MASK) == CAY_NQE_INVALID;
}

#define CLAIM 4

/* Of a claim of several entries, those that are not published are voided. */
static void unpublished_entries_of_a_claim_are_voided(void **state)
{
	(void)state;
	for (uint64_t published = 0; published <= CLAIM; published++) {
		struct node *node = inside_node(HEAP_BYTES);
		struct process *owner = inside_join(node, 1, "default");
		struct process *dead = inside_join(node, 2, "default");
		struct vport *port = inside_open(owner);
		struct context to;
		assert_int_equal(vport_context(port, port->epoch, &to), 0);
		uint64_t from = queue_nq(atomic_load(&to.control->w));
		/* Two more entries, of others, follow. */
		atomic_store(&to.control->w, queue_word(from + CLAIM + 2, 9));
		struct op_record *op =
			record_set(dead, OP_OWN, port, from, CLAIM);
		for (uint64_t i = 0; i < published; i++)
			entry_publish(&to, from + i);
		assert_int_equal(repair_record(port->realm, op), 0);
		assert_int_equal(node->count.voided, CLAIM - published);
		for (uint64_t i = 0; i < CLAIM + 2; i++)
			assert_int_equal(entry_is_void(&to, from + i),
				i >= published && i < CLAIM);
		process_exited(dead);
		process_exited(owner);
		inside_check_empty(node);
		node_end(node);
	}
}

/*
 * Dead in TRY, after another claim of one entry has succeeded: its entries may
 * be those of a living thread, which covers a part of them.
 */
static void claim_waits_for_a_living_record(void **state)
{
	(void)state;
	for (uint64_t offset = 0; offset < CLAIM; offset++) {
		struct node *node = inside_node(HEAP_BYTES);
		struct process *owner = inside_join(node, 1, "default");
		struct process *dead = inside_join(node, 2, "default");
		struct process *live = inside_join(node, 3, "default");
		struct vport *port = inside_open(owner);
		struct context to;
		assert_int_equal(vport_context(port, port->epoch, &to), 0);
		uint64_t from = queue_nq(atomic_load(&to.control->w));
		atomic_store(&to.control->w, queue_word(from + CLAIM, 0));
		struct op_record *op =
			record_set(dead, OP_TRY, port, from, CLAIM);
		struct op_record *other =
			record_set(live, OP_OWN, port, from + offset, 2);
		assert_int_equal(repair_record(port->realm, op), -EAGAIN);
		assert_int_equal(node->count.voided, 0);
		entry_publish(&to, from + offset);
		if (offset + 1 < CLAIM)
			entry_publish(&to, from + offset + 1);
		atomic_store(&other->state, OP_IDLE);
		assert_int_equal(repair_record(port->realm, op), 0);
		assert_int_equal(node->count.voided,
			offset + 1 < CLAIM ? CLAIM - 2 : CLAIM - 1);
		process_exited(live);
		process_exited(dead);
		process_exited(owner);
		inside_check_empty(node);
		node_end(node);
	}
}

/* No claim has so many entries: the record is damaged, and claims none. */
static void record_of_too_many_entries_claims_none(void **state)
{
	(void)state;
	static const uint64_t counts[] = { ENTRIES + 1, QUEUE_CLAIM_MAX,
		QUEUE_CLAIM_MAX + 1, QUEUE_NQ_MASK };
	struct node *node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *dead = inside_join(node, 2, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *c = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	uint64_t from = queue_nq(atomic_load(&c->w));
	atomic_store(&c->w, queue_word(from + 4, 0));
	for (unsigned i = 0; i < ARRAY_COUNT(counts); i++) {
		struct op_record *op =
			record_set(dead, OP_OWN, port, from, counts[i]);
		assert_int_equal(repair_record(port->realm, op), 0);
		assert_int_equal(node->count.voided, 0);
	}
	process_exited(dead);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

/* Nor does it keep the node from repairing the record of a dead thread. */
static void record_of_too_many_entries_covers_none(void **state)
{
	(void)state;
	struct node *node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *dead = inside_join(node, 2, "default");
	struct process *live = inside_join(node, 3, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *c = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	uint64_t from = queue_nq(atomic_load(&c->w));
	atomic_store(&c->w, queue_word(from + 1, 0));
	struct op_record *op = record_set(dead, OP_TRY, port, from, 1);
	record_set(live, OP_OWN, port, from - 1, QUEUE_CLAIM_MAX + 1);
	assert_int_equal(repair_record(port->realm, op), 0);
	assert_int_equal(node->count.voided, 1);
	process_exited(live);
	process_exited(dead);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repair_waits_for_entries_of_the_last_lap),
		cmocka_unit_test(unpublished_entries_of_a_claim_are_voided),
		cmocka_unit_test(claim_waits_for_a_living_record),
		cmocka_unit_test(record_of_too_many_entries_claims_none),
		cmocka_unit_test(record_of_too_many_entries_covers_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
