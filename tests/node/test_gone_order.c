/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GONE follows the last completion, also if the queue of the watcher is full
 * when its peer exits: the entries that the watcher returns one by one take the
 * completions of its references to that peer, and the last one takes GONE. The
 * node runs inside the test, so that entries are returned between any two of
 * its steps.
 */
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES (16ull << 20)
#define REFERENCES 3

static struct node *node;

static struct process *join(pid_t pid)
{
	struct node_request q = inside_hello("default");
	struct node_reply reply;
	struct process *p = inside_connect(node, pid);
	assert_non_null(p);
	assert_int_equal(inside_call(p, &q, -1, &reply), 0);
	return p;
}

static struct vport *open_port(struct process *p)
{
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	q.open.nq_log2 = 4;
	q.open.rdr_log2 = 10;
	q.open.peers = 4;
	assert_int_equal(inside_call(p, &q, -1, &reply), 0);
	return node->ports[reply.open.vpid];
}

static void resolve(const struct vport *by, const struct vport *target)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	struct node_reply reply;
	q.resolve.vpid = by->config.vpid;
	q.resolve.node = node->id;
	q.resolve.target = target->config.vpid;
	assert_int_equal(inside_call(by->process, &q, -1, &reply), 0);
}

/* References of `origin` that `target` has not started to read. */
static void send_references(struct vport *origin, const struct vport *target)
{
	struct node_request q = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	struct reference *refs = vport_table(origin, origin->config.refs_at);
	q.close.vpid = origin->config.vpid;
	assert_int_equal(inside_call(origin->process, &q, -1, &reply), 0);
	for (uint32_t i = 0; i < REFERENCES; i++) {
		refs[i].kind = REFERENCE_ARENA;
		refs[i].address = ARENA_HEAP_OFFSET;
		refs[i].length = 1;
		refs[i].tag = 100 + i;
		refs[i].target_vpid = target->config.vpid;
		refs[i].target_epoch = target->epoch;
		atomic_store(&refs[i].state,
			1ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_SENT);
	}
}

/* The watcher's side of its queue. */
static struct context own;
static uint64_t next; /* entry */

/* Entries that were sent before: any notification will do. */
static void fill_queue(struct vport *watcher)
{
	assert_int_equal(context_load(&watcher->realm->arena,
				 watcher->config.vpid, watcher->epoch, &own),
		0);
	while (device_notify_gone(&own, watcher->realm->op, node->id, 1) == 0)
		continue;
	next = queue_nq(atomic_load(&own.control->r));
}

/* Returns one entry, which must be published. Its word 7. */
static uint64_t return_entry(void)
{
	uint64_t word = device_peek(&own, next);
	assert_true(word != 0);
	next++;
	device_return_entries(&own,
		queue_word(next, queue_rdr(atomic_load(&own.control->r))));
	return word;
}

static uint64_t claimed(void)
{
	return queue_nq(atomic_load(&own.control->w));
}

static unsigned command_of(uint64_t word)
{
	return word & CAY_COMMAND_MASK;
}

static void gone_follows_the_completions(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *first = join(1), *second = join(2);
	struct vport *watcher = open_port(first);
	struct vport *target = open_port(second);
	uint16_t vpid = target->config.vpid;
	resolve(watcher, target);
	send_references(watcher, target);
	fill_queue(watcher);
	uint64_t filled = claimed();

	process_exited(second);
	assert_true(node_tick(node));
	assert_int_equal(claimed(), filled);

	/* An entry is returned before the node retries what found no room. */
	for (uint64_t i = 1; i <= REFERENCES; i++) {
		return_entry();
		watch_retry_gone(node);
		assert_int_equal(claimed(), filled + i - 1);
		node_tick(node);
		assert_int_equal(claimed(), filled + i);
	}
	return_entry();
	inside_settle(node);

	/* The first entries are those of fill_queue(). */
	while (next < filled)
		return_entry();
	for (uint64_t i = 0; i < REFERENCES; i++) {
		const struct cay_nqe *n = device_entry(&own, next);
		assert_int_equal(n->word[CAY_NQE_WORD_TAG], 100 + i);
		assert_int_equal(command_of(return_entry()), CAY_NOTIFY_CC);
	}
	uint64_t gone = return_entry();
	assert_int_equal(command_of(gone), CAY_NOTIFY_GONE);
	assert_int_equal((uint16_t)(gone >> CAY_NQE_VPID_SHIFT), vpid);
	assert_int_equal(claimed(), next);

	process_exited(first);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_follows_the_completions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
