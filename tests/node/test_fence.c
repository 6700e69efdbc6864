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

/* The process has claimed the next entries of the port. */
static void claim_entries(const struct process *stopped, const struct vport *p,
	enum op_state state, uint64_t entries)
{
	struct queue_control *c =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	struct op_record *op = record_at(stopped, 0);
	uint64_t w = atomic_load(&c->w);
	uint64_t next = queue_word(queue_nq(w) + entries, queue_rdr(w));
	atomic_store(&op->w_old, w);
	atomic_store(&op->w_new, next);
	atomic_store(
		&op->state, op_state_word(state, p->config.vpid, p->epoch));
	atomic_store(&c->w, next);
}

static void claim_entry(const struct process *stopped, const struct vport *p)
{
	claim_entries(stopped, p, OP_OWN, 1);
}

static void entry_publish(struct context *to, uint64_t position)
{
	atomic_store(queue_valid_word(&to->nq[position & (to->nq_entries - 1)]),
		queue_generation(position, to->nq_log2)
				<< CAY_NQE_GENERATION_SHIFT |
			CAY_NOTIFY_FAST_RECV);
}

/*
 * After the node has found an entry unpublished, its sender publishes it and
 * waits for too long, or hostile members do not wait at all.
 */
static struct {
	unsigned times;
	bool publishes;
} impatient;

/* Entries that are published after the next one was examined. */
static struct queue_range racing;

uint64_t __real_node_device_peek(struct context *, uint64_t position);
uint64_t __wrap_node_device_peek(struct context *to, uint64_t position);
uint64_t __wrap_node_device_peek(struct context *to, uint64_t position)
{
	uint64_t word = __real_node_device_peek(to, position);
	/* A sender that is not stopped publishes all that it has claimed. */
	while (racing.from != racing.to)
		entry_publish(to, racing.from++);
	if (impatient.times == 0)
		return word;
	impatient.times--;
	assert_int_equal(
		atomic_exchange(&to->control->migration, QUEUE_UNFENCED),
		QUEUE_MIGRATING);
	if (impatient.publishes)
		entry_publish(to, position);
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

#define CLAIM 4

static bool fenced(const struct vport *p, uint64_t position)
{
	return vport_fenced(p, p->previous.epoch, position);
}

/*
 * The stopped process has published some entries of its claim. Those of others
 * that follow are published, or follow at once.
 */
static void unpublished_entries_of_a_claim_are_fenced(void **state)
{
	(void)state;
	for (uint64_t published = 0; published <= CLAIM; published++) {
		node = inside_node(HEAP_BYTES);
		struct process *owner = inside_join(node, 1, "default");
		struct process *stopped =
			inside_join(node, STOPPED_PID, "default");
		struct vport *port = inside_open(owner);
		struct context to;
		assert_int_equal(vport_context(port, port->epoch, &to), 0);
		uint64_t from = queue_nq(atomic_load(&to.control->w));
		claim_entries(stopped, port, OP_OWN, CLAIM);
		/* CLAIM + 1 is published, the entries around it are not. */
		atomic_fetch_add(&to.control->w, 3);
		entry_publish(&to, from + CLAIM + 1);
		for (uint64_t i = 0; i < published; i++)
			entry_publish(&to, from + i);
		assert_int_equal(fence(), 1);
		for (uint64_t i = 0; i < CLAIM; i++)
			assert_int_equal(
				fenced(port, from + i), i >= published);
		assert_int_equal(fenced(port, from + CLAIM), published < CLAIM);
		assert_false(fenced(port, from + CLAIM + 1));
		assert_false(fenced(port, from + CLAIM + 2));
		process_exited(stopped);
		process_exited(owner);
		inside_check_empty(node);
		node_end(node);
	}
}

/*
 * The process is not stopped: it publishes its claim while the node examines
 * it. No entry is delivered after one that is fenced.
 */
static void fenced_entries_are_the_last_of_a_claim(void **state)
{
	(void)state;
	for (uint64_t others = 0; others < 3; others++) {
		node = inside_node(HEAP_BYTES);
		struct process *owner = inside_join(node, 1, "default");
		struct process *stopped =
			inside_join(node, STOPPED_PID, "default");
		struct vport *port = inside_open(owner);
		struct context to;
		assert_int_equal(vport_context(port, port->epoch, &to), 0);
		uint64_t from = queue_nq(atomic_load(&to.control->w));
		claim_entries(stopped, port, OP_OWN, CLAIM);
		atomic_fetch_add(&to.control->w, others);
		racing = (struct queue_range){ from, from + CLAIM + others };
		assert_int_equal(fence(), 1);
		for (uint64_t i = 0; i + 1 < CLAIM; i++)
			assert_true(!fenced(port, from + i) ||
				    fenced(port, from + i + 1));
		process_exited(stopped);
		process_exited(owner);
		inside_check_empty(node);
		node_end(node);
	}
}

/*
 * The stopped process has lost the race for an entry in state TRY, and the
 * winner, a living thread, has claimed several: all of them are fenced, or its
 * first message would be delivered after the others.
 */
static void claim_of_a_winner_is_fenced_as_a_whole(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *owner = inside_join(node, 1, "default");
	struct process *stopped = inside_join(node, STOPPED_PID, "default");
	struct vport *port = inside_open(owner);
	struct context to;
	assert_int_equal(vport_context(port, port->epoch, &to), 0);
	uint64_t from = queue_nq(atomic_load(&to.control->w));
	claim_entries(stopped, port, OP_TRY, 1);
	atomic_fetch_add(&to.control->w, CLAIM - 1);
	assert_int_equal(fence(), 1);
	for (uint64_t i = 0; i < CLAIM; i++)
		assert_true(fenced(port, from + i));
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
		cmocka_unit_test(unpublished_entries_of_a_claim_are_fenced),
		cmocka_unit_test(fenced_entries_are_the_last_of_a_claim),
		cmocka_unit_test(claim_of_a_winner_is_fenced_as_a_whole),
		cmocka_unit_test(list_of_fenced_entries_is_bounded),
		cmocka_unit_test(member_decides_before_the_node),
		cmocka_unit_test(node_ends_if_members_do_not_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
