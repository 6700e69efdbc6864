/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: peers access it, also with atomics, while its owner makes no
 * calls.
 */
#include <cay/fabric.h>
#include <errno.h>
#include <string.h>

#include "region.h"

#define ROUNDS 1000

static struct cay_fabric_memory *memory_of(struct stack *s)
{
	struct cay_fabric_memory *m = NULL;
	assert_int_equal(fi_open_ops(&s->ep->fid, CAY_FABRIC_MEMORY, 0,
				 (void **)&m, NULL),
		0);
	assert_int_equal(m->size, sizeof(*m));
	return m;
}

/* The owner makes no progress until all others have finished. */
static void owner_waits(struct process *me)
{
	uint64_t deadline = soon();
	while (atomic_load(process_word(me, 30)) < me->count - 1) {
		nap_ns(NS_PER_MS);
		assert_true(now_ns() < deadline);
	}
}

static void count_up(struct stack *s, const struct target *t)
{
	const uint64_t one = 1;
	uint64_t before, last = 0;
	for (int i = 0; i < ROUNDS; i++) {
		MUST(s, fi_fetch_atomic(s->ep, &one, 1, NULL, &before, NULL,
				t->peer, t->base, t->key, FI_UINT64, FI_SUM,
				s));
		cq_expect(s->txcq, s);
		assert_true(i == 0 || before > last);
		last = before;
	}
}

static void take_turns(struct stack *s, const struct target *t)
{
	for (int done = 0; done < ROUNDS;) {
		uint64_t seen = 0, found;
		MUST(s, fi_read(s->ep, &seen, 8, NULL, t->peer, t->base + 8,
				t->key, s));
		cq_expect(s->txcq, s);
		const uint64_t next = seen + 1;
		MUST(s, fi_compare_atomic(s->ep, &next, 1, NULL, &seen, NULL,
				&found, NULL, t->peer, t->base + 8, t->key,
				FI_UINT64, FI_CSWAP, s));
		cq_expect(s->txcq, s);
		done += found == seen;
	}
}

static void share(struct process *me, const struct region *r)
{
	atomic_store(process_word(me, 0), fi_mr_key(r->mr));
}

static void alone_body(struct process *me, void *argument)
{
	struct stack s;
	struct region r = { .bytes = 4096 };
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	stack_join(&s, me);
	struct cay_fabric_memory *m = memory_of(&s);
	if (me->rank == 0) {
		r.memory = m->alloc(s.ep, r.bytes);
		assert_true(r.memory != NULL);
		assert_int_equal(fi_mr_reg(s.domain, r.memory, r.bytes,
					 ACCESS_REMOTE, 0, 7, 0, &r.mr, NULL),
			0);
		share(me, &r);
	}
	process_barrier(me, &s);
	if (me->rank == 0) {
		const uint64_t *word = (const void *)r.memory;
		owner_waits(me);
		assert_int_equal(word[0], ROUNDS * (me->count - 1));
		assert_int_equal(word[1], ROUNDS * (me->count - 1));
		assert_int_equal(fi_close(&r.mr->fid), 0);
		m->free(s.ep, r.memory);
	} else {
		const struct target t = { .peer = s.peers[0],
			.key = atomic_load(process_word(me, 0)) };
		count_up(&s, &t);
		take_turns(&s, &t);
		atomic_fetch_add(process_word(me, 30), 1);
	}
	stack_leave(&s, me);
}

static void atomics_need_no_help_of_the_owner(void **state)
{
	(void)state;
	group_run(3, alone_body, NULL);
}

/* Misaligned words: their owner executes the operations. */
static void odd_access(struct stack *s, const struct target *t)
{
	const uint64_t one = 1;
	uint64_t before = 9;
	for (uint64_t i = 0; i < 10; i++) {
		MUST(s, fi_fetch_atomic(s->ep, &one, 1, NULL, &before, NULL,
				t->peer, t->base + 8, t->key, FI_UINT64, FI_SUM,
				s));
		cq_expect(s->txcq, s);
		assert_int_equal(before, i);
	}
}

static void odd_body(struct process *me, void *argument)
{
	struct stack s;
	struct fid_mr *mr;
	struct target t;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	stack_join(&s, me);
	struct cay_fabric_memory *m = memory_of(&s);
	unsigned char *memory = m->alloc(s.ep, 4096);
	assert_true(memory != NULL);
	assert_int_equal(fi_mr_reg(s.domain, memory + 4, 100, ACCESS_REMOTE, 0,
				 7, 0, &mr, NULL),
		0);
	region_share(
		&s, me, &(struct region){ .memory = memory, .mr = mr }, 1, &t);
	if (me->rank == 0)
		odd_access(&s, &t);
	process_barrier(me, &s);
	assert_int_equal(fi_close(&mr->fid), 0);
	m->free(s.ep, memory);
	stack_leave(&s, me);
}

static void a_region_may_begin_anywhere(void **state)
{
	(void)state;
	group_run(2, odd_body, NULL);
}

static void refused_body(struct process *me, void *argument)
{
	struct stack s;
	void *ops;
	(void)argument;
	stack_open(&s, &(struct options){ .disabled = true });
	struct cay_fabric_memory *m = memory_of(&s);
	assert_true(m->alloc(s.ep, 100) == NULL && errno == ENOTCONN);
	assert_int_equal(
		fi_open_ops(&s.ep->fid, "other", 0, &ops, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_open_ops(&s.ep->fid, CAY_FABRIC_MEMORY, 1, &ops, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_enable(s.ep), 0);
	assert_true(m->alloc(s.ep, 0) == NULL && errno == EINVAL);
	m->free(s.ep, NULL);
	stack_leave(&s, me);
}

static void invalid_calls_are_refused(void **state)
{
	(void)state;
	group_run(1, refused_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(atomics_need_no_help_of_the_owner),
		TEST(a_region_may_begin_anywhere),
		TEST(invalid_calls_are_refused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
