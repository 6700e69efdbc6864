/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A round of the node has limited work, whatever members have prepared: many
 * origins of references, watchers, closed ports, op records of the dead. What
 * is left is done in the next rounds. The node runs inside the test.
 */
#include "cay/port.h"
#include "device/device.h"
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES   (4ull << 30)
#define TABLE	     (1u << QUEUE_REFS_LOG2)
#define ROUNDS_MAX   1000u
#define CLOSED	     300u /* more than a round reclaims */
#define RECLAIMS_MAX 256u

static struct vport *origin_open(struct process *p)
{
	struct node_request q = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	struct vport *port = inside_open(p);
	q.close.vpid = port->config.vpid;
	assert_int_equal(inside_call(p, &q, &reply), 0);
	return port;
}

static struct reference *reference_to(struct vport *origin, uint32_t index,
	const struct vport *target, enum reference_state state)
{
	struct reference *refs = vport_table(origin, origin->config.refs_at);
	refs[index].kind = REFERENCE_ARENA;
	refs[index].address = ARENA_HEAP_OFFSET;
	refs[index].length = 1;
	refs[index].target_vpid = target->config.vpid;
	refs[index].target_epoch = target->epoch;
	atomic_store(
		&refs[index].state, 1ull << REFERENCE_SEQUENCE_SHIFT | state);
	return &refs[index];
}

static void reference_free(struct reference *ref)
{
	atomic_store(
		&ref->state, 1ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_FREE);
}

static enum reference_state state_of(const struct reference *ref)
{
	return (enum reference_state)(
		atomic_load(&ref->state) & REFERENCE_STATE_MASK);
}

static void port_close(struct vport *p)
{
	struct node_request q = { .kind = NODE_CLOSE };
	struct node_reply reply;
	q.close.vpid = p->config.vpid;
	assert_int_equal(inside_call(p->process, &q, &reply), 0);
}

static void end(struct node *n, struct process **processes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		process_exited(processes[i]);
	for (unsigned i = 0; i < ROUNDS_MAX && node_tick(n); i++)
		continue;
	inside_check_empty(n);
	node_end(n);
}

/* ---- references ---- */

/* One pass serves all ports that were closed before it, and takes rounds. */
static void references_are_completed_in_steps(void **state)
{
	struct node *n = inside_node(HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	const unsigned origins = 2 * NODE_READS_MAX / TABLE + 10;
	struct vport *target[10], *last = NULL;
	struct reference *ref[10];
	unsigned rounds = 0;
	(void)state;
	for (unsigned i = 0; i < origins; i++)
		last = origin_open(p[0]);
	for (unsigned i = 0; i < ARRAY_COUNT(target); i++) {
		target[i] = inside_open(p[1]);
		ref[i] = reference_to(
			last, TABLE / 2 + i, target[i], REFERENCE_SENT);
	}
	uint64_t pass = p[0]->realm->pass;
	for (unsigned i = 0; i < ARRAY_COUNT(target); i++)
		port_close(target[i]);
	while (!list_empty(&n->closing)) {
		for (unsigned i = 0; rounds < 2 && i < ARRAY_COUNT(ref); i++)
			assert_int_equal(state_of(ref[i]), REFERENCE_SENT);
		node_tick(n);
		assert_true(++rounds < ROUNDS_MAX);
	}
	print_message("%u rounds\n", rounds);
	assert_in_range(p[0]->realm->pass - pass, 1, 2);
	for (unsigned i = 0; i < ARRAY_COUNT(ref); i++)
		assert_int_equal(state_of(ref[i]), REFERENCE_DONE);
	end(n, p, ARRAY_COUNT(p));
}

/* The origin that a pass would visit next is freed. */
static void origins_end_during_a_pass(void **state)
{
	struct node *n = inside_node(HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	const unsigned origins = NODE_READS_MAX / TABLE + 10;
	struct vport *target = inside_open(p[1]), *next = NULL;
	uint16_t vpid = target->config.vpid;
	(void)state;
	for (unsigned i = 0; i < origins; i++) {
		struct vport *origin = origin_open(p[0]);
		if (i == NODE_READS_MAX / TABLE)
			next = origin;
	}
	/* It is closed, but a thread uses its queue set. */
	struct op_record *op = record_at(p[1], 0);
	atomic_store(&op->state,
		op_state_word(OP_OWN, next->config.vpid, next->epoch));
	port_close(next);
	for (unsigned i = 0; i < 10; i++)
		assert_true(node_tick(n));
	assert_int_equal(next->state, VPORT_ANNOUNCED);
	port_close(target);
	assert_ptr_equal(p[0]->realm->pass_next, &next->origin_link);
	atomic_store(&op->state, OP_IDLE);
	n->round++;
	assert_true(vport_reclaim(next));
	for (unsigned i = 0; i < ROUNDS_MAX && node_tick(n); i++)
		continue;
	assert_null(n->ports[vpid]);
	assert_int_equal(n->port_count, origins - 1);
	end(n, p, ARRAY_COUNT(p));
}

/* ---- closed ports ---- */

static unsigned closing(const struct node *n)
{
	unsigned count = 0;
	list_for_each (at, &n->closing)
		count++;
	return count;
}

static void closed_ports_are_reclaimed_in_steps(void **state)
{
	struct node *n = inside_node(HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	struct vport *origin = NULL;
	struct reference *ref[CLOSED];
	(void)state;
	/* A thread of a live process is about to publish to each. */
	for (unsigned i = 0; i < CLOSED; i++) {
		if (i % TABLE == 0)
			origin = origin_open(p[0]);
		struct vport *target = inside_open(p[1]);
		ref[i] = reference_to(
			origin, i % TABLE, target, REFERENCE_READY);
		port_close(target);
	}
	assert_int_equal(closing(n), CLOSED);
	assert_true(node_tick(n));
	assert_int_equal(closing(n), CLOSED);
	for (unsigned i = 0; i < CLOSED; i++)
		reference_free(ref[i]);
	assert_true(node_tick(n));
	assert_int_equal(closing(n), CLOSED - RECLAIMS_MAX);
	/* One scan of the op records served them all. */
	uint64_t scan = p[0]->realm->scan;
	assert_false(node_tick(n));
	assert_int_equal(closing(n), 0);
	assert_int_equal(p[0]->realm->scan, scan + 1);
	end(n, p, ARRAY_COUNT(p));
}

static void watchers_are_notified_in_steps(void **state)
{
	struct node *n = inside_node(HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a"),
		inside_join(n, 2, "a") };
	const unsigned watchers = NODE_NOTIFY_MAX + 100;
	struct vport *target[2] = { inside_open(p[1]), inside_open(p[1]) };
	(void)state;
	for (unsigned i = 0; i < watchers; i++) {
		struct node_request q = { .kind = NODE_RESOLVE };
		struct node_reply reply;
		q.resolve.vpid = inside_open(p[0])->config.vpid;
		q.resolve.node = n->id;
		for (unsigned k = 0; k < ARRAY_COUNT(target); k++) {
			q.resolve.target = target[k]->config.vpid;
			assert_int_equal(inside_call(p[0], &q, &reply), 0);
		}
	}
	port_close(target[0]);
	assert_in_range(n->count.gone_sent, 1, NODE_NOTIFY_MAX);
	assert_false(node_tick(n));
	assert_int_equal(n->count.gone_sent, watchers);
	/* The same for a port that is disabled, and stays. */
	struct node_request q = { .kind = NODE_DISABLE };
	struct node_reply reply;
	q.close.vpid = target[1]->config.vpid;
	assert_int_equal(inside_call(p[1], &q, &reply), 0);
	assert_in_range(n->count.gone_sent - watchers, 1, NODE_NOTIFY_MAX);
	assert_false(node_tick(n));
	assert_int_equal(n->count.gone_sent, 2 * watchers);
	assert_ptr_equal(n->ports[q.close.vpid], target[1]);
	port_close(target[1]);
	assert_null(n->ports[q.close.vpid]);
	end(n, p, ARRAY_COUNT(p));
}

/* ---- op records ---- */

static void records_add(struct process *p, unsigned pages)
{
	struct node_request q = { .kind = NODE_RECORDS };
	struct node_reply reply;
	for (unsigned i = 0; i < pages; i++)
		assert_int_equal(inside_call(p, &q, &reply), 0);
}

/* Each repair of an entry reads all records of the living. */
static void dead_records_are_repaired_in_steps(void **state)
{
	struct node *n = inside_node(HEAP_BYTES);
	struct process *p[] = { inside_join(n, 1, "a") };
	struct process *dead = inside_join(n, 2, "a");
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	const unsigned entries = 1024;
	unsigned rounds = 0;
	(void)state;
	records_add(p[0], 100);
	records_add(dead, 100);
	q.open.nq_log2 = 10;
	q.open.rdr_log2 = 10;
	q.open.sdr_log2 = 6;
	q.open.peers = q.open.windows = q.open.posted_log2 = 1;
	assert_int_equal(inside_call(p[0], &q, &reply), 0);
	struct vport *target = n->ports[reply.open.vpid];
	struct queue_control *c = arena_control(
		&target->realm->arena, target->config.vpid, target->epoch);
	uint64_t w = atomic_load(&c->w);
	atomic_store(&c->w, queue_word(queue_nq(w) + entries, queue_rdr(w)));
	for (uint32_t i = 0; i < entries; i++) {
		struct op_record *op = record_at(dead, i);
		op->w_old = queue_word(queue_nq(w) + i, queue_rdr(w));
		op->w_new = queue_word(queue_nq(w) + i + 1, queue_rdr(w));
		op->state = op_state_word(
			OP_TRY, target->config.vpid, target->epoch);
	}
	process_exited(dead);
	uint64_t before = n->count.voided;
	/* A round reads at most one set of records beyond the limit. */
	const uint64_t round_max =
		NODE_READS_MAX / (100 * OP_RECORDS_PER_PAGE) + 1;
	while (node_tick(n)) {
		assert_in_range(n->count.voided - before, 1, round_max);
		before = n->count.voided;
		assert_true(++rounds < ROUNDS_MAX);
	}
	assert_int_equal(n->count.voided, entries);
	end(n, p, ARRAY_COUNT(p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_are_completed_in_steps),
		cmocka_unit_test(origins_end_during_a_pass),
		cmocka_unit_test(closed_ports_are_reclaimed_in_steps),
		cmocka_unit_test(watchers_are_notified_in_steps),
		cmocka_unit_test(dead_records_are_repaired_in_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
