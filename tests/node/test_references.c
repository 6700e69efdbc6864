/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * References at the node, which runs inside the test, so that anything can
 * happen between two of its steps: GONE follows the completions of references
 * to a dead port; a published reference of a dead port stays; memory that is
 * freed stays while a target reads it.
 */
#include "device/device.h"
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES (16ull << 20)
#define REFERENCES 3

static struct node *node;

static void resolve(const struct vport *by, const struct vport *target)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	struct node_reply reply;
	q.resolve.vpid = by->config.vpid;
	q.resolve.node = node->id;
	q.resolve.target = target->config.vpid;
	assert_int_equal(inside_call(by->process, &q, &reply), 0);
}

/* References of `origin` that `target` has not started to read. */
static void send_references(struct vport *origin, const struct vport *target)
{
	struct node_request q = { .kind = NODE_REFERENCES };
	struct node_reply reply;
	struct reference *refs = vport_table(origin, origin->config.refs_at);
	q.close.vpid = origin->config.vpid;
	assert_int_equal(inside_call(origin->process, &q, &reply), 0);
	for (uint32_t i = 0; i < REFERENCES; i++) {
		refs[i].kind = REFERENCE_ARENA;
		refs[i].address = ARENA_HEAP_OFFSET;
		refs[i].length = 1;
		refs[i].tag = 100 + i;
		refs[i].cookie = 0xc00c1e | (uint64_t)(200 + i)
						    << REFERENCE_API_TAG_SHIFT;
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

/*
 * The queue of the watcher is full when its peer exits. The entries that it
 * returns one by one take the completions, and the last one takes GONE.
 */
static void gone_follows_the_completions(void **state)
{
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *first = inside_join(node, 1, "default"),
		       *second = inside_join(node, 2, "default");
	struct vport *watcher = inside_open(first);
	struct vport *target = inside_open(second);
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
		assert_int_equal(
			n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT,
			200 + i);
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

/* ---- references of a dead port ---- */

/* The last entry of the target's queue announces reference 0. */
static void publish_reference(
	const struct vport *origin, const struct vport *target)
{
	const struct arena *a = &target->realm->arena;
	struct context to;
	assert_int_equal(
		context_load(a, target->config.vpid, target->epoch, &to), 0);
	uint64_t position = queue_nq(atomic_load(&to.control->w));
	/* The entry of another notification is changed. */
	assert_int_equal(device_notify_gone(&to, target->realm->op, node->id,
				 origin->config.vpid),
		0);
	struct cay_nqe *n =
		(struct cay_nqe *)(uintptr_t)device_entry(&to, position);
	n->word[CAY_NQE_WORD_REFERENCE] = 1;
	n->word[CAY_NQE_WORD_START] = 1;
	n->word[CAY_NQE_WORD_VALID] =
		(n->word[CAY_NQE_WORD_VALID] & ~0xffffull) | CAY_NOTIFY_RECV;
}

/* The origin dies between its notification and the state SENT, or before. */
static void origin_dies(bool published, enum reference_state expected)
{
	node = inside_node(HEAP_BYTES);
	struct process *first = inside_join(node, 1, "default");
	struct process *second = inside_join(node, 2, "default");
	struct vport *origin = inside_open(first);
	struct vport *target = inside_open(second);
	send_references(origin, target);
	struct reference *refs = vport_table(origin, origin->config.refs_at);
	for (uint32_t i = 0; i < REFERENCES; i++)
		atomic_store(&refs[i].state,
			1ull << REFERENCE_SEQUENCE_SHIFT |
				(i ? REFERENCE_FREE : REFERENCE_READY));
	if (published)
		publish_reference(origin, target);
	process_exited(first);
	node_tick(node);
	assert_int_equal(
		atomic_load(&refs[0].state) & REFERENCE_STATE_MASK, expected);
	/* The memory of the port stays while the target may read from it. */
	assert_int_equal(node->port_count, published ? 2 : 1);
	process_exited(second);
	inside_check_empty(node);
	node_end(node);
}

static void published_reference_survives_its_origin(void **state)
{
	(void)state;
	origin_dies(true, REFERENCE_SENT);
	origin_dies(false, REFERENCE_FREE);
}

/* ---- freed memory ---- */

static void freed_memory_stays_while_it_is_read(void **state)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *first = inside_join(node, 1, "default");
	struct process *second = inside_join(node, 2, "default");
	struct vport *origin = inside_open(first);
	send_references(origin, inside_open(second));
	struct reference *refs = vport_table(origin, origin->config.refs_at);
	q.alloc.bytes = ARENA_PAGE;
	assert_int_equal(inside_call(first, &q, &reply), 0);
	for (uint32_t i = 0; i < REFERENCES; i++)
		refs[i].address = reply.alloc.offset;
	uint64_t used = first->realm->heap.used;
	q = (struct node_request){ .kind = NODE_FREE };
	q.free.offset = reply.alloc.offset;
	assert_int_equal(inside_call(first, &q, &reply), 0);
	node_tick(node);
	assert_int_equal(first->realm->heap.used, used);
	/* Its owner has no such block any more. */
	assert_int_equal(inside_call(first, &q, &reply), -EINVAL);
	assert_false(list_empty(&node->freed));
	for (uint32_t i = 0; i < REFERENCES; i++)
		atomic_store(&refs[i].state,
			1ull << REFERENCE_SEQUENCE_SHIFT | REFERENCE_FREE);
	node_tick(node);
	assert_int_equal(first->realm->heap.used, used - ARENA_PAGE);
	assert_true(list_empty(&node->freed));
	process_exited(first);
	process_exited(second);
	inside_check_empty(node);
	node_end(node);
}

/* In sum the process allocates more than the heap has. */
static void freed_memory_is_not_charged(void **state)
{
	struct node_request q;
	struct node_reply reply;
	(void)state;
	node = inside_node(HEAP_BYTES);
	struct process *p = inside_join(node, 1, "default");
	for (unsigned i = 0; i < 64; i++) {
		q = (struct node_request){ .kind = NODE_ALLOC };
		q.alloc.bytes = HEAP_BYTES / 32;
		assert_int_equal(inside_call(p, &q, &reply), 0);
		q = (struct node_request){ .kind = NODE_FREE };
		q.free.offset = reply.alloc.offset;
		assert_int_equal(inside_call(p, &q, &reply), 0);
	}
	process_exited(p);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gone_follows_the_completions),
		cmocka_unit_test(published_reference_survives_its_origin),
		cmocka_unit_test(freed_memory_stays_while_it_is_read),
		cmocka_unit_test(freed_memory_is_not_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
