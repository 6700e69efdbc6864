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

/* A record of more than one entry is damaged: it claims none of them. */
static void a_claim_is_one_entry(void **state)
{
	(void)state;
	struct node *node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *dead = inside_join(node, 2, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *c = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	uint64_t from = queue_nq(atomic_load(&c->w));
	atomic_store(&c->w, queue_word(from + 4, 0));
	for (uint64_t entries = 4; entries > 0; entries--) {
		struct op_record *op =
			record_set(dead, OP_OWN, port, from, entries);
		assert_int_equal(repair_record(port->realm, op), 0);
		assert_int_equal(node->count.voided, entries == 1);
	}
	process_exited(dead);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repair_waits_for_entries_of_the_last_lap),
		cmocka_unit_test(a_claim_is_one_entry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
