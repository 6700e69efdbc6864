/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena's heap: single cases, then random ones against a bitmap that is
 * too simple to be wrong.
 */
#include "base/bits.h"
#include "contract/arena.h"
#include "harness.h"
#include "node/extent.h"

#define PAGE ((uint64_t)ARENA_PAGE)
#define BASE (16 * PAGE)

#define MODEL_PAGES 512
#define MODEL_HELD  256
#define MODEL_STEPS 200000

static struct extents heap_of(uint64_t pages)
{
	struct extents e;
	assert_int_equal(extents_init(&e, BASE, pages * PAGE), 0);
	return e;
}

/* Sorted, apart, inside, and adding up: what extent.h promises. */
static void extents_check(const struct extents *e)
{
	uint64_t free_bytes = 0, end = BASE;
	for (uint32_t i = 0; i < e->count; i++) {
		assert_true(e->free[i].bytes > 0);
		assert_int_equal(e->free[i].offset % PAGE, 0);
		assert_int_equal(e->free[i].bytes % PAGE, 0);
		assert_true(e->free[i].offset >= end);
		assert_true(i == 0 || e->free[i].offset > end);
		end = e->free[i].offset + e->free[i].bytes;
		free_bytes += e->free[i].bytes;
	}
	assert_true(end <= BASE + e->total);
	assert_true(e->count <= e->room);
	assert_int_equal(free_bytes + e->used, e->total);
}

static void all_is_one_extent_again(const struct extents *e)
{
	extents_check(e);
	assert_int_equal(e->count, 1);
	assert_int_equal(e->used, 0);
	assert_int_equal(e->free[0].offset, BASE);
	assert_int_equal(e->free[0].bytes, e->total);
}

/* ---- single cases ---- */

static void sizes_are_rounded_up_to_pages(void **state)
{
	(void)state;
	struct extents e = heap_of(8);
	assert_int_equal(extents_allocate(&e, 1, PAGE), BASE);
	assert_int_equal(extents_allocate(&e, PAGE, PAGE), BASE + PAGE);
	assert_int_equal(extents_allocate(&e, PAGE + 1, PAGE), BASE + 2 * PAGE);
	assert_int_equal(extents_allocate(&e, 1, PAGE), BASE + 4 * PAGE);
	assert_int_equal(e.used, 5 * PAGE);
	assert_int_equal(extents_free(&e, BASE + 2 * PAGE, PAGE + 1), 0);
	assert_int_equal(e.used, 3 * PAGE);
	extents_check(&e);
	extents_end(&e);
}

static void impossible_sizes_give_nothing(void **state)
{
	(void)state;
	struct extents e = heap_of(8);
	assert_int_equal(extents_allocate(&e, 0, PAGE), 0);
	assert_int_equal(extents_allocate(&e, 8 * PAGE + 1, PAGE), 0);
	assert_int_equal(extents_allocate(&e, UINT64_MAX, PAGE), 0);
	assert_int_equal(extents_allocate(&e, UINT64_MAX - PAGE + 2, PAGE), 0);
	assert_int_equal(extents_allocate(&e, 1ull << 63, PAGE), 0);
	all_is_one_extent_again(&e);
	extents_end(&e);
}

static void a_full_heap_gives_nothing(void **state)
{
	(void)state;
	struct extents e = heap_of(8);
	assert_int_equal(extents_allocate(&e, 8 * PAGE, PAGE), BASE);
	assert_int_equal(e.count, 0);
	assert_int_equal(extents_allocate(&e, 1, PAGE), 0);
	assert_int_equal(extents_free(&e, BASE, 8 * PAGE), 0);
	all_is_one_extent_again(&e);
	extents_end(&e);
}

/* Enough in sum, but not in one piece. */
static void a_hole_must_be_large_enough(void **state)
{
	(void)state;
	struct extents e = heap_of(4);
	for (int i = 0; i < 4; i++)
		assert_int_not_equal(extents_allocate(&e, PAGE, PAGE), 0);
	extents_free(&e, BASE, PAGE);
	extents_free(&e, BASE + 2 * PAGE, PAGE);
	assert_int_equal(e.count, 2);
	assert_int_equal(extents_allocate(&e, 2 * PAGE, PAGE), 0);
	assert_int_equal(extents_allocate(&e, PAGE, PAGE), BASE);
	assert_int_equal(extents_allocate(&e, PAGE, PAGE), BASE + 2 * PAGE);
	extents_check(&e);
	extents_end(&e);
}

/* The page given back last lies alone, or touches one or both neighbours. */
static void neighbours_are_joined(void **state)
{
	static const struct {
		uint8_t order[4];
		uint8_t counts[4];
	} cases[] = {
		{ { 0, 1, 2, 3 }, { 1, 1, 1, 1 } },
		{ { 3, 2, 1, 0 }, { 1, 1, 1, 1 } },
		{ { 0, 2, 1, 3 }, { 1, 2, 1, 1 } },
		{ { 0, 3, 1, 2 }, { 1, 2, 2, 1 } },
		{ { 1, 3, 0, 2 }, { 1, 2, 2, 1 } },
		{ { 3, 0, 2, 1 }, { 1, 2, 2, 1 } },
	};
	(void)state;
	for (unsigned c = 0; c < ARRAY_COUNT(cases); c++) {
		struct extents e = heap_of(4);
		for (int i = 0; i < 4; i++)
			extents_allocate(&e, PAGE, PAGE);
		for (int i = 0; i < 4; i++) {
			uint64_t at = BASE + cases[c].order[i] * PAGE;
			assert_int_equal(extents_free(&e, at, PAGE), 0);
			assert_int_equal(e.count, cases[c].counts[i]);
			extents_check(&e);
		}
		all_is_one_extent_again(&e);
		extents_end(&e);
	}
}

/* More holes than the list has room for at first. */
static void the_list_of_holes_grows(void **state)
{
	enum {
		PAGES = 1000
	};
	(void)state;
	struct extents e = heap_of(PAGES);
	for (int i = 0; i < PAGES; i++)
		assert_int_equal(
			extents_allocate(&e, PAGE, PAGE), BASE + i * PAGE);
	for (int i = 0; i < PAGES; i += 2)
		assert_int_equal(extents_free(&e, BASE + i * PAGE, PAGE), 0);
	extents_check(&e);
	assert_int_equal(e.count, PAGES / 2);
	for (int i = 1; i < PAGES; i += 2)
		assert_int_equal(extents_free(&e, BASE + i * PAGE, PAGE), 0);
	all_is_one_extent_again(&e);
	extents_end(&e);
}

/* ---- random ones ---- */

struct held {
	uint64_t offset, bytes;
};

struct model {
	bool used[MODEL_PAGES];
	struct held held[MODEL_HELD];
	unsigned count;
};

static uint64_t pages_of(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE;
}

/* First fit, the slow way: the offset, or 0. */
static uint64_t model_take(struct model *m, uint64_t bytes)
{
	uint64_t run = 0, wanted = pages_of(bytes);
	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		run = m->used[i] ? 0 : run + 1;
		if (run < wanted)
			continue;
		uint64_t first = i + 1 - wanted;
		memset(&m->used[first], true, wanted);
		return BASE + first * PAGE;
	}
	return 0;
}

static void model_put(struct model *m, uint64_t offset, uint64_t bytes)
{
	uint64_t first = (offset - BASE) / PAGE;
	for (uint64_t i = 0; i < pages_of(bytes); i++) {
		assert_true(m->used[first + i]);
		m->used[first + i] = false;
	}
}

/* Exactly the pages that the bitmap has free are in the list of holes. */
static void model_compare(const struct model *m, const struct extents *e)
{
	bool listed[MODEL_PAGES] = { false };
	extents_check(e);
	for (uint32_t i = 0; i < e->count; i++)
		for (uint64_t at = 0; at < e->free[i].bytes; at += PAGE)
			listed[(e->free[i].offset + at - BASE) / PAGE] = true;
	for (uint32_t i = 0; i < MODEL_PAGES; i++)
		assert_int_equal(listed[i], !m->used[i]);
}

static uint64_t size_choose(uint64_t *seed)
{
	uint64_t most = chance_below(seed, 8) == 0 ? 64 : 6;
	return 1 + chance_below(seed, most * PAGE);
}

static void step_take(struct model *m, struct extents *e, uint64_t *seed)
{
	uint64_t bytes = size_choose(seed);
	uint64_t offset = extents_allocate(e, bytes, PAGE);
	assert_int_equal(offset, model_take(m, bytes));
	if (offset)
		m->held[m->count++] = (struct held){ offset, bytes };
}

static void step_put(struct model *m, struct extents *e, uint64_t index)
{
	struct held h = m->held[index];
	m->held[index] = m->held[--m->count];
	assert_int_equal(extents_free(e, h.offset, h.bytes), 0);
	model_put(m, h.offset, h.bytes);
}

static void it_does_what_a_bitmap_does(void **state)
{
	static struct model m;
	uint64_t seed = chance_seed();
	struct extents e = heap_of(MODEL_PAGES);
	(void)state;
	for (unsigned i = 0; i < MODEL_STEPS; i++) {
		/* Long times of growing and of shrinking. */
		bool grow = chance_below(&seed, 10) < (i / 1000 % 2 ? 4 : 6);
		if (m.count == 0 || (grow && m.count < MODEL_HELD))
			step_take(&m, &e, &seed);
		else
			step_put(&m, &e, chance_below(&seed, m.count));
		if (i % 16 == 0)
			model_compare(&m, &e);
	}
	while (m.count)
		step_put(&m, &e, chance_below(&seed, m.count));
	model_compare(&m, &e);
	all_is_one_extent_again(&e);
	extents_end(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_up_to_pages),
		cmocka_unit_test(impossible_sizes_give_nothing),
		cmocka_unit_test(a_full_heap_gives_nothing),
		cmocka_unit_test(a_hole_must_be_large_enough),
		cmocka_unit_test(neighbours_are_joined),
		cmocka_unit_test(the_list_of_holes_grows),
		cmocka_unit_test(it_does_what_a_bitmap_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
