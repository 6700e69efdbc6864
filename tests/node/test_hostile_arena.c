/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member that overwrites everything in the arena that only the node decides:
 * header, directory, configurations, epochs, migrations, fenced lists and peer
 * tables. The node, which runs inside the test, has its own copies: it finds
 * the right queues and writes to no other memory.
 */
#include "device/device.h"
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES     (16ull << 20)
#define STOPPED_PID    2
#define ROUNDS	       200
#define DIRECTORY_USED 64 /* entries that are overwritten */
#define VICTIM_BYTES   (1ull << 20)

static struct node *node;
static struct realm *realm;
static struct process *owner, *stopped;
static struct vport *port; /* of the owner */
static uint64_t victim;	   /* memory of the realm that no test may write */
static uint64_t seed;

static uint64_t random_next(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void random_fill(void *to, size_t bytes)
{
	unsigned char *at = to;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)random_next();
}

/* ---- the hostile member ---- */

/*
 * A valid configuration of the same port whose queues and tables are the
 * victim's memory, or random bytes.
 */
static void scribble_config(struct queue_control *c, const struct vport *p)
{
	if (random_next() % 2) {
		random_fill(&c->config, sizeof(c->config));
		return;
	}
	c->config = p->config;
	c->config.queues_offset = c->config.tables_offset = victim;
}

static void scribble_control(struct queue_control *c, const struct vport *p)
{
	scribble_config(c, p);
	atomic_store(&c->epoch,
		random_next() % 2 ? p->epoch : (uint32_t)random_next());
	atomic_store(&c->migration, (uint32_t)(random_next() % 4));
	c->fenced_count = (uint32_t)random_next();
	random_fill(c->fenced, sizeof(c->fenced));
	atomic_store(&c->access_epoch, (uint32_t)random_next());
}

static void scribble_port(const struct vport *p)
{
	const struct arena *a = &p->realm->arena;
	scribble_control(arena_control(a, p->config.vpid, 0), p);
	scribble_control(arena_control(a, p->config.vpid, 1), p);
	random_fill(vport_table(p, p->config.peers_at),
		p->config.peers * sizeof(struct peer_entry));
}

static void scribble(void)
{
	const struct arena *a = &realm->arena;
	random_fill(a->base, sizeof(struct arena_header));
	random_fill(arena_directory(a),
		DIRECTORY_USED * sizeof(struct arena_entry));
	for (uint32_t i = 0; i < CAY_VPIDS; i++)
		if (node->ports[i] && node->ports[i]->realm == realm)
			scribble_port(node->ports[i]);
}

/* The current queue set of a port is replaced, and each entry is void. */
static void scribble_fenced(const struct vport *p)
{
	struct queue_control *c =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	uint64_t w = queue_nq(atomic_load(&c->w));
	c->fenced_count = 1;
	c->fenced[0] = (struct queue_range){ w - 8, w + 8 };
	atomic_store(&c->migration, QUEUE_MIGRATED);
}

/* ---- fixture ---- */

/* The state is the distance between controls. */
static int setup(void **state)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	node = inside_node_stride(HEAP_BYTES, *(const uint32_t *)*state);
	owner = inside_join(node, 1, "default");
	stopped = inside_join(node, STOPPED_PID, "default");
	realm = owner->realm;
	port = inside_open(owner);
	q.alloc.bytes = VICTIM_BYTES;
	assert_int_equal(inside_call(owner, &q, &reply), 0);
	victim = reply.alloc.offset;
	seed = 1;
	return 0;
}

static void assert_victim_untouched(void)
{
	const unsigned char *at = realm->arena.base + victim;
	for (uint64_t i = 0; i < VICTIM_BYTES; i++)
		if (at[i])
			fail_msg("the node wrote at %llu",
				(unsigned long long)i);
}

static int teardown(void **state)
{
	(void)state;
	scribble();
	assert_victim_untouched();
	if (stopped)
		process_exited(stopped);
	if (owner)
		process_exited(owner);
	inside_check_empty(node);
	node_end(node);
	return 0;
}

static struct queue_control *control_of(const struct vport *p)
{
	return arena_control(&p->realm->arena, p->config.vpid, p->epoch);
}

static uint64_t position_of(const struct vport *p)
{
	return queue_nq(atomic_load(&control_of(p)->w));
}

/* Returns word 7 of an entry in the port's real queue. */
static uint64_t word_at(const struct vport *p, uint64_t position)
{
	struct context c;
	context_from_config(&p->realm->arena, &p->config, &c);
	return device_peek(&c, position);
}

static unsigned command_at(const struct vport *p, uint64_t position)
{
	return word_at(p, position) & CAY_COMMAND_MASK;
}

/* The first thread of a process owns the next entry of the port. */
static struct op_record *claim_entry(
	const struct process *by, const struct vport *p)
{
	struct op_record *op = record_at(by, 0);
	uint64_t w = atomic_load(&control_of(p)->w);
	uint64_t next = queue_word(queue_nq(w) + 1, queue_rdr(w));
	atomic_store(&op->w_old, w);
	atomic_store(&op->w_new, next);
	atomic_store(
		&op->state, op_state_word(OP_OWN, p->config.vpid, p->epoch));
	atomic_store(&control_of(p)->w, next);
	return op;
}

static int resolve(
	const struct vport *by, const struct vport *target, uint32_t kind)
{
	struct node_request q = { .kind = kind };
	struct node_reply reply;
	q.resolve.vpid = by->config.vpid;
	q.resolve.node = node->id;
	q.resolve.target = target->config.vpid;
	return inside_call(by->process, &q, &reply);
}

/* ---- tests ---- */

static void notifications_reach_their_queue(void **state)
{
	struct vport *target = inside_open(stopped);
	uint64_t at = position_of(port);
	(void)state;
	scribble();
	assert_int_equal(resolve(port, target, NODE_RESOLVE_START), 0);
	assert_int_equal(command_at(port, at), CAY_NOTIFY_CC);
	scribble();
	process_exited(stopped);
	stopped = NULL;
	scribble();
	scribble_fenced(port);
	inside_settle(node);
	assert_int_equal(command_at(port, at + 1), CAY_NOTIFY_GONE);
	assert_int_equal(node->count.gone_sent, 1);
	assert_int_equal(position_of(port), at + 2);
}

static void dead_sender_is_repaired(void **state)
{
	uint64_t at = position_of(port);
	(void)state;
	claim_entry(stopped, port);
	scribble();
	process_exited(stopped);
	stopped = NULL;
	scribble();
	inside_settle(node);
	assert_int_equal(node->count.voided, 1);
	assert_int_not_equal(word_at(port, at), 0);
	assert_int_equal(command_at(port, at), CAY_NQE_INVALID);
	assert_int_equal(node->process_count, 1);
}

/* The completion of a message by reference to a port that is gone. */
static void references_are_completed(void **state)
{
	struct vport *target = inside_open(stopped);
	struct reference *ref = vport_table(port, port->config.refs_at);
	uint64_t at = position_of(port);
	struct node_request q = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	(void)state;
	q.close.vpid = port->config.vpid;
	assert_int_equal(inside_call(owner, &q, &reply), 0);
	ref->target_vpid = target->config.vpid;
	ref->target_epoch = target->epoch;
	atomic_store(
		&ref->state, 1ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_SENT);
	scribble();
	process_exited(stopped);
	stopped = NULL;
	scribble();
	inside_settle(node);
	assert_int_equal(command_at(port, at), CAY_NOTIFY_CC);
	assert_int_equal(atomic_load(&ref->state) & REFERENCE_STATE_MASK,
		REFERENCE_FREE);
}

static uint32_t fence(void)
{
	uint32_t migrated = 0;
	assert_int_equal(fence_process(node, STOPPED_PID, &migrated), 0);
	return migrated;
}

/* Members find the new queue set: the node stores all of it. */
static void assert_announced(const struct vport *p)
{
	const struct arena_entry *entry =
		&arena_directory(&realm->arena)[p->config.vpid];
	struct context c;
	assert_int_equal(
		context_load(&realm->arena, p->config.vpid, p->epoch, &c), 0);
	assert_memory_equal(&c.control->config, &p->config, sizeof(p->config));
	assert_int_equal(atomic_load(&c.control->migration), QUEUE_STABLE);
	assert_int_equal(atomic_load(&c.control->access_epoch), p->epoch);
	assert_int_equal(atomic_load(&entry->epoch), p->epoch);
	assert_int_equal(atomic_load(&entry->first_epoch), p->first_epoch);
}

/*
 * The queue set migrates, and the stopped process publishes its entry late and
 * dies. The entry is fenced, so the receive that it names is posted again.
 */
static void fenced_entries_stay_fenced(void **state)
{
	struct op_record *op = claim_entry(stopped, port);
	struct queue_control *old = control_of(port);
	uint64_t at = queue_nq(atomic_load(&op->w_old));
	uint32_t epoch = port->epoch;
	struct posted_head *head = vport_table(port, port->config.posted_at);
	_Atomic uint64_t *slot =
		(void *)&((struct cay_posted_receive *)(head + 1))->state;
	uint64_t claimer = (uint64_t)((unsigned char *)op - realm->arena.base) /
				   sizeof(*op)
			   << POSTED_CLAIMER_SHIFT;
	struct context before;
	(void)state;
	context_from_config(&realm->arena, &port->config, &before);
	atomic_store(slot, claimer | POSTED_FILLED);
	atomic_store(&op->posted, 1 | (uint64_t)port->config.vpid << 32);
	scribble();
	assert_int_equal(fence(), 1);
	assert_int_equal(port->epoch, epoch + 1);
	assert_announced(port);
	assert_int_equal(atomic_load(&old->migration), QUEUE_MIGRATED);
	assert_int_equal(old->fenced_count, 1);
	assert_int_equal(old->fenced[0].from, at);
	assert_int_equal(old->fenced[0].to, at + 1);
	before.nq[at & (before.nq_entries - 1)].word[CAY_NQE_WORD_VALID] =
		CAY_NOTIFY_POSTED_RECV | queue_generation(at, before.nq_log2)
						 << CAY_NQE_GENERATION_SHIFT;
	scribble();
	/* No entry is fenced, says the arena. */
	atomic_store(&old->migration, QUEUE_STABLE);
	old->fenced_count = 0;
	process_exited(stopped);
	stopped = NULL;
	inside_settle(node);
	assert_int_equal(atomic_load(slot), POSTED_READY);
}

/* The path of a peer and the ports of a realm, as the node reports them. */
static void status_is_the_nodes_own(void **state)
{
	struct vport *target = inside_open(stopped);
	struct node_status head;
	struct node_status_port out;
	struct node_request q = { .kind = NODE_STATUS };
	struct node_reply reply;
	int fd = -1;
	(void)state;
	assert_int_equal(resolve(port, target, NODE_RESOLVE), 0);
	scribble();
	assert_true(request_execute(owner, &q, &reply, &fd));
	assert_int_equal(reply.error, 0);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(head.ports, 2);
	off_t at = (off_t)(sizeof(head) +
			   head.processes * sizeof(struct node_status_process));
	assert_int_equal(pread(fd, &out, sizeof(out), at), sizeof(out));
	assert_int_equal(out.vpid, port->config.vpid);
	assert_int_equal(out.epoch, port->epoch);
	assert_int_equal(out.peers, 1);
	assert_int_equal(out.paths[PATH_DIRECT], 1);
	assert_int_equal(out.nq_entries, 1u << port->config.nq_log2);
	close(fd);
}

/* ---- random steps ---- */

/* Two ports of another realm that have resolved each other. */
struct others {
	struct process *process;
	struct vport *port[2];
	unsigned char *copy; /* of what the node decides there */
};

static size_t arena_copy_bytes(void)
{
	return ARENA_PAGE + DIRECTORY_USED * sizeof(struct arena_entry);
}

static void others_open(struct others *o)
{
	o->process = inside_join(node, 7, "other");
	o->port[0] = inside_open(o->process);
	o->port[1] = inside_open(o->process);
	assert_int_equal(resolve(o->port[0], o->port[1], NODE_RESOLVE), 0);
	o->copy = malloc(arena_copy_bytes());
	assert_non_null(o->copy);
	memcpy(o->copy, o->process->realm->arena.base, arena_copy_bytes());
}

static void others_check(const struct others *o)
{
	const struct arena *a = &o->process->realm->arena;
	struct context c;
	assert_memory_equal(o->copy, a->base, arena_copy_bytes());
	for (unsigned i = 0; i < 2; i++) {
		const struct queue_config *config = &o->port[i]->config;
		assert_int_equal(
			context_load(a, config->vpid, config->epoch, &c), 0);
		assert_memory_equal(
			&c.control->config, config, sizeof(*config));
		assert_int_equal(
			atomic_load(&c.control->migration), QUEUE_STABLE);
	}
}

static void random_step(void)
{
	uint16_t vpid;
	switch (random_next() % 8) {
	case 0:
	case 1:
		/* More ports than the quota allows are refused. */
		if (inside_port_open(random_next() % 2 ? owner : stopped, 4, 0,
			    &vpid) == 0)
			assert_announced(node->ports[vpid]);
		break;
	case 2:
		vpid = (uint16_t)(random_next() % DIRECTORY_USED);
		if (node->ports[vpid] && node->ports[vpid]->realm == realm &&
			node->ports[vpid] != port &&
			node->ports[vpid]->state == VPORT_OPEN) {
			vport_close(node->ports[vpid]);
			vport_reclaim_soon(node->ports[vpid]);
		}
		break;
	case 3:
		vpid = (uint16_t)(random_next() % DIRECTORY_USED);
		if (node->ports[vpid] && node->ports[vpid]->realm == realm &&
			node->ports[vpid]->state == VPORT_OPEN)
			resolve(port, node->ports[vpid],
				random_next() % 2 ? NODE_RESOLVE
						  : NODE_RESOLVE_START);
		break;
	case 4:
		claim_entry(stopped, port);
		break;
	case 5: {
		uint32_t epoch = port->epoch, migrated;
		fence_process(node, STOPPED_PID, &migrated);
		assert_int_equal(port->epoch, epoch + migrated);
		break;
	}
	case 6:
		/* The receiver has read everything, also in the former set. */
		atomic_store(&control_of(port)->r, position_of(port));
		atomic_fetch_or(&arena_control(&realm->arena, port->config.vpid,
					port->epoch + 1)
					 ->r,
			R_DONE);
		break;
	default:
		process_exited(stopped);
		inside_settle(node);
		stopped = inside_join(node, STOPPED_PID, "default");
	}
}

static void random_steps_lead_nowhere(void **state)
{
	struct others others;
	(void)state;
	others_open(&others);
	for (unsigned round = 0; round < ROUNDS; round++) {
		seed = round;
		for (unsigned i = 0; i < 16; i++) {
			scribble();
			random_step();
			scribble();
			node_tick(node);
		}
		others_check(&others);
	}
	assert_victim_untouched();
	free(others.copy);
	process_exited(others.process);
}

static uint32_t packed = ARENA_STRIDE_PACKED, paged = ARENA_STRIDE_PAGE;

#define ARENA_TEST(test)                                  \
	cmocka_unit_test_prestate_setup_teardown(         \
		test, setup, teardown, &packed),          \
		cmocka_unit_test_prestate_setup_teardown( \
			test, setup, teardown, &paged)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARENA_TEST(notifications_reach_their_queue),
		ARENA_TEST(dead_sender_is_repaired),
		ARENA_TEST(references_are_completed),
		ARENA_TEST(fenced_entries_stay_fenced),
		ARENA_TEST(status_is_the_nodes_own),
		ARENA_TEST(random_steps_lead_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
