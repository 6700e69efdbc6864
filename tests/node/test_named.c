/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port gets no VPID that an entry in its realm names; and a member that
 * claims to have very many entries, or lets many notifications wait, does not
 * occupy the node or the VPIDs of other realms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "device/queue.h"
#include "inside.h"

static struct node_reply reply;

static int port_open_peers(struct process *p, uint8_t nq_log2, uint32_t peers)
{
	struct node_request q = { .kind = NODE_OPEN };
	q.open.nq_log2 = nq_log2;
	q.open.peers = peers;
	q.open.windows = 1;
	return inside_call(p, &q, &reply);
}

static int port_open(struct process *p, uint8_t nq_log2)
{
	return port_open_peers(p, nq_log2, 1);
}

static void port_close(struct process *p, uint16_t vpid)
{
	struct node_request q = { .kind = NODE_CLOSE };
	q.close.vpid = vpid;
	assert_int_equal(inside_call(p, &q, &reply), 0);
	inside_settle(p->node);
}

static struct process *member_new(struct node *n)
{
	return inside_join(n, 1, "named");
}

/* As if every VPID had had a port before. */
static void vpids_use(struct node *n)
{
	for (uint32_t i = 0; i < CAY_VPIDS; i++)
		n->epochs[i] = 1;
}

static uint16_t next_vpid(const struct node *n)
{
	return n->free_vpids[n->free_first];
}

static struct queue_control *control_of(struct process *p, uint16_t vpid)
{
	return arena_control(
		&p->realm->arena, vpid, p->node->ports[vpid]->epoch);
}

/* Publishes an entry at R that names a VPID. */
static void entry_name(struct process *p, uint16_t holder, uint16_t vpid)
{
	struct queue_control *c = control_of(p, holder);
	uint64_t r = atomic_load(&c->r);
	struct cay_nqe *nq =
		(void *)(p->realm->arena.base + c->config.queues_offset +
			 (uint64_t)c->config.nq_at * CAY_LINE);
	nq[queue_nq(r) & ((1u << c->config.nq_log2) - 1)]
		.word[CAY_NQE_WORD_VALID] = (uint64_t)vpid
					    << CAY_NQE_VPID_SHIFT;
	atomic_store(&c->w, r + 1);
}

static void named_vpid_is_skipped(void **state)
{
	struct node *n = inside_node(64 << 20);
	struct process *p = member_new(n);
	(void)state;
	assert_int_equal(port_open(p, 0), 0);
	uint16_t holder = reply.open.vpid;
	vpids_use(n);
	n->free_count = 3; /* so that they are reused soon */
	uint16_t named = next_vpid(n);
	entry_name(p, holder, named);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(port_open(p, 0), 0);
		assert_int_not_equal(reply.open.vpid, named);
		port_close(p, reply.open.vpid);
	}
	/* The receiver returns the entry: the VPID can be used. */
	struct queue_control *c = control_of(p, holder);
	atomic_store(&c->r, atomic_load(&c->w));
	bool used = false;
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(port_open(p, 0), 0);
		uint16_t vpid = reply.open.vpid;
		used |= vpid == named;
		port_close(p, vpid);
	}
	assert_true(used);
	process_exited(p);
	inside_settle(n);
	node_end(n);
}

static void too_many_entries_are_not_examined(void **state)
{
	struct node *n = inside_node(1ull << 30);
	struct process *p = member_new(n);
	(void)state;
	assert_int_equal(port_open(p, QUEUE_NQ_LOG2_MAX), 0);
	struct queue_control *c = control_of(p, reply.open.vpid);
	uint64_t w = atomic_load(&c->w);
	uint32_t unused = next_vpid(n);
	vpids_use(n);
	atomic_store(&c->w, w + (1u << QUEUE_NQ_LOG2_MAX));
	assert_int_equal(port_open(p, 0), -ENOSPC);
	/* A VPID that had no port needs no search. */
	n->epochs[unused] = 0;
	assert_int_equal(port_open(p, 0), 0);
	assert_int_equal(reply.open.vpid, unused);
	atomic_store(&c->w, w);
	assert_int_equal(port_open(p, 0), 0);
	process_exited(p);
	inside_check_empty(n);
	node_end(n);
}

/*
 * A port with a full queue resolves another one so many times, which then
 * closes. Returns the VPID of the latter.
 */
static uint16_t gone_waits(struct process *p, uint32_t watches)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	assert_int_equal(port_open_peers(p, 4, watches), 0);
	q.resolve.vpid = reply.open.vpid;
	struct queue_control *c = control_of(p, q.resolve.vpid);
	atomic_store(&c->w, atomic_load(&c->r) + 16);
	assert_int_equal(port_open(p, 0), 0);
	q.resolve.target = reply.open.vpid;
	q.resolve.node = p->node->id;
	for (uint32_t i = 0; i < watches; i++)
		assert_int_equal(inside_call(p, &q, &reply), 0);
	port_close(p, q.resolve.target);
	assert_null(p->node->ports[q.resolve.target]);
	return q.resolve.target;
}

static void other_realms_use_vpids_of_waiting_notifications(void **state)
{
	struct node *n = inside_node(64 << 20);
	struct process *p = member_new(n), *other = inside_join(n, 2, "other");
	(void)state;
	uint16_t gone = gone_waits(p, 1);
	/* Only this VPID is left. */
	n->free_first = (n->free_first + n->free_count - 1) % CAY_VPIDS;
	n->free_count = 1;
	assert_int_equal(next_vpid(n), gone);
	assert_int_equal(port_open(p, 0), -ENOSPC);
	assert_int_equal(port_open(other, 0), 0);
	assert_int_equal(reply.open.vpid, gone);
	process_exited(p);
	process_exited(other);
	inside_settle(n);
	node_end(n);
}

/* A tick tries some of many notifications again, in turn. */
static void waiting_notifications_do_not_occupy_the_node(void **state)
{
	const uint32_t watches = 1500, tried = 1024;
	struct node *n = inside_node(64 << 20);
	struct process *p = member_new(n);
	(void)state;
	gone_waits(p, watches);
	const struct list *first = p->realm->gone.next;
	uint32_t before = 0;
	node_tick(n);
	list_for_each (at, &p->realm->gone) {
		if (at == first)
			break;
		before++;
	}
	assert_int_equal(before, watches - tried);
	process_exited(p);
	inside_check_empty(n);
	node_end(n);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_vpid_is_skipped),
		cmocka_unit_test(too_many_entries_are_not_examined),
		cmocka_unit_test(
			other_realms_use_vpids_of_waiting_notifications),
		cmocka_unit_test(waiting_notifications_do_not_occupy_the_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
