/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing: the queue sets on which a stopped process claims entries migrate,
 * with their doorbell. The records of the process name no port of another
 * realm. The node runs inside the test.
 */
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "node/doorbell.h"
#include "node/record.h"

#define HEAP_BYTES  (16ull << 20)
#define STOPPED_PID 2

static struct node *node;

/* The process has claimed the next entry of the port. */
static void claim_entry(const struct process *stopped, const struct vport *p)
{
	struct queue_control *c =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	struct op_record *op = record_at(stopped, 0);
	uint64_t w = atomic_load(&c->w);
	uint64_t next = queue_word(queue_nq(w) + 1, queue_rdr(w));
	atomic_store(&op->w_old, w);
	atomic_store(&op->w_new, next);
	atomic_store(
		&op->state, op_state_word(OP_OWN, p->config.vpid, p->epoch));
	atomic_store(&c->w, next);
}

/*
 * After the node has found an entry unpublished, its sender publishes it and
 * waits for too long, or hostile members do not wait at all.
 */
static struct {
	unsigned times;
	bool publishes;
} impatient;

uint64_t __real_node_device_peek(struct context *, uint64_t position);
uint64_t __wrap_node_device_peek(struct context *to, uint64_t position);
uint64_t __wrap_node_device_peek(struct context *to, uint64_t position)
{
	uint64_t word = __real_node_device_peek(to, position);
	if (impatient.times == 0)
		return word;
	impatient.times--;
	assert_int_equal(
		atomic_exchange(&to->control->migration, QUEUE_UNFENCED),
		QUEUE_MIGRATING);
	if (impatient.publishes)
		atomic_store(queue_valid_word(
				     &to->nq[position & (to->nq_entries - 1)]),
			queue_generation(position, to->nq_log2)
					<< CAY_NQE_GENERATION_SHIFT |
				CAY_NOTIFY_FAST_RECV);
	return word;
}

static uint32_t fence(void)
{
	uint32_t migrated = 0;
	assert_int_equal(fence_process(node, STOPPED_PID, &migrated), 0);
	return migrated;
}

static void migrated_port_keeps_its_doorbell(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *stopped = inside_join(node, STOPPED_PID, "default");
	struct vport *armed = inside_open(owner), *plain = inside_open(owner);
	int reader = -1;
	assert_int_equal(doorbell_make(armed, &reader), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct vport *p = i ? plain : armed;
		uint32_t epoch = p->epoch;
		claim_entry(stopped, p);
		assert_int_equal(fence(), 1);
		assert_int_not_equal(p->epoch, epoch);
		struct queue_control *c = arena_control(
			&p->realm->arena, p->config.vpid, p->epoch);
		assert_int_equal(atomic_load(&c->doorbell), p->doorbell >= 0);
	}
	close(reader);
	process_exited(stopped);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

static void ports_of_other_realms_do_not_migrate(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "other");
	struct process *stopped = inside_join(node, STOPPED_PID, "default");
	struct vport *port = inside_open(owner);
	uint32_t epoch = port->epoch;
	claim_entry(stopped, port);
	assert_int_equal(fence(), 0);
	assert_int_equal(port->epoch, epoch);
	process_exited(stopped);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

/* Records of accesses do not count as claims, but a hostile one looks so. */
static void list_of_fenced_entries_is_bounded(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *stopped = inside_join(node, STOPPED_PID, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *old = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	claim_entry(stopped, port);
	const struct op_record *first = record_at(stopped, 0);
	for (uint32_t i = 1; i <= QUEUE_FENCED_MAX; i++) {
		struct op_record *op = record_at(stopped, i);
		atomic_store(&op->w_old, atomic_load(&first->w_old));
		atomic_store(&op->w_new, atomic_load(&first->w_new));
		atomic_store(
			&op->state, op_state_word(OP_ACCESS, port->config.vpid,
					    port->epoch));
	}
	assert_int_equal(fence(), 1);
	assert_int_equal(old->fenced_count, QUEUE_FENCED_MAX);
	process_exited(stopped);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

/* A sender that has regarded its entry as delivered is not fenced later. */
static void member_decides_before_the_node(void **state)
{
	(void)state;
	for (unsigned publishes = 0; publishes < 2; publishes++) {
		node = inside_node(HEAP_BYTES);
		struct process *owner = inside_join(node, 1, "default");
		struct process *stopped =
			inside_join(node, STOPPED_PID, "default");
		struct vport *port = inside_open(owner);
		struct queue_control *old = arena_control(
			&port->realm->arena, port->config.vpid, port->epoch);
		claim_entry(stopped, port);
		impatient.times = 1;
		impatient.publishes = publishes;
		assert_int_equal(fence(), 1);
		assert_int_equal(impatient.times, 0);
		assert_int_equal(atomic_load(&old->migration), QUEUE_MIGRATED);
		assert_int_equal(old->fenced_count, !publishes);
		assert_int_equal(port->fenced_count, !publishes);
		process_exited(stopped);
		process_exited(owner);
		inside_check_empty(node);
		node_end(node);
	}
}

static void node_ends_if_members_do_not_wait(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *stopped = inside_join(node, STOPPED_PID, "default");
	struct vport *port = inside_open(owner);
	struct queue_control *old = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	uint32_t migrated = 1;
	claim_entry(stopped, port);
	impatient.times = UINT32_MAX;
	impatient.publishes = false;
	assert_int_equal(
		fence_process(node, STOPPED_PID, &migrated), -ECANCELED);
	impatient.times = 0;
	assert_int_equal(migrated, 0);
	assert_int_equal(atomic_load(&old->migration), QUEUE_UNFENCED);
	assert_int_equal(port->fenced_count, 0);
	process_exited(stopped);
	process_exited(owner);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(migrated_port_keeps_its_doorbell),
		cmocka_unit_test(ports_of_other_realms_do_not_migrate),
		cmocka_unit_test(list_of_fenced_entries_is_bounded),
		cmocka_unit_test(member_decides_before_the_node),
		cmocka_unit_test(node_ends_if_members_do_not_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
