/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator of the arena's heap: single cases, then random operations
 * compared with a bitmap.
 */
#include "base/bits.h"
#include "contract/arena.h"
#include "harness.h"
#include "node/extent.h"

#define PAGE ((uint64_t)ARENA_PAGE)
#define BASE (16 * PAGE)

#define MODEL_PAGES  512
#define MODEL_BLOCKS 256
#define MODEL_STEPS  200000

static struct extents heap_with(uint64_t pages)
{
	struct extents e;
	assert_int_equal(extents_init(&e, BASE, pages * PAGE), 0);
	return e;
}

/* Free extents are sorted, disjoint, not adjacent, and inside the heap. */
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
	assert_true(e->count <= e->capacity);
	assert_int_equal(free_bytes + e->used, e->total);
}

static void assert_all_free(const struct extents *e)
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
	struct extents e = heap_with(8);
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

static void impossible_sizes_fail(void **state)
{
	(void)state;
	struct extents e = heap_with(8);
	assert_int_equal(extents_allocate(&e, 0, PAGE), 0);
	assert_int_equal(extents_allocate(&e, 8 * PAGE + 1, PAGE), 0);
	assert_int_equal(extents_allocate(&e, UINT64_MAX, PAGE), 0);
	assert_int_equal(extents_allocate(&e, UINT64_MAX - PAGE + 2, PAGE), 0);
	assert_int_equal(extents_allocate(&e, 1ull << 63, PAGE), 0);
	assert_all_free(&e);
	extents_end(&e);
}

static void full_heap_fails(void **state)
{
	(void)state;
	struct extents e = heap_with(8);
	assert_int_equal(extents_allocate(&e, 8 * PAGE, PAGE), BASE);
	assert_int_equal(e.count, 0);
	assert_int_equal(extents_allocate(&e, 1, PAGE), 0);
	assert_int_equal(extents_free(&e, BASE, 8 * PAGE), 0);
	assert_all_free(&e);
	extents_end(&e);
}

static void fragments_are_not_combined(void **state)
{
	(void)state;
	struct extents e = heap_with(4);
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

/* The freed page has no free neighbour, one, or two. */
static void adjacent_extents_are_merged(void **state)
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
		struct extents e = heap_with(4);
		for (int i = 0; i < 4; i++)
			extents_allocate(&e, PAGE, PAGE);
		for (int i = 0; i < 4; i++) {
			uint64_t at = BASE + cases[c].order[i] * PAGE;
			assert_int_equal(extents_free(&e, at, PAGE), 0);
			assert_int_equal(e.count, cases[c].counts[i]);
			extents_check(&e);
		}
		assert_all_free(&e);
		extents_end(&e);
	}
}

/* Fragments exceed the initial capacity of the free list. */
static void free_list_grows(void **state)
{
	enum {
		PAGES = 1000
	};
	(void)state;
	struct extents e = heap_with(PAGES);
	for (int i = 0; i < PAGES; i++)
		assert_int_equal(
			extents_allocate(&e, PAGE, PAGE), BASE + i * PAGE);
	for (int i = 0; i < PAGES; i += 2)
		assert_int_equal(extents_free(&e, BASE + i * PAGE, PAGE), 0);
	extents_check(&e);
	assert_int_equal(e.count, PAGES / 2);
	for (int i = 1; i < PAGES; i += 2)
		assert_int_equal(extents_free(&e, BASE + i * PAGE, PAGE), 0);
	assert_all_free(&e);
	extents_end(&e);
}

/* ---- random operations ---- */

struct block {
	uint64_t offset, bytes;
};

struct model {
	bool used[MODEL_PAGES];
	struct block blocks[MODEL_BLOCKS];
	unsigned count;
};

static uint64_t pages_of(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE;
}

/* First fit. Returns the offset, or 0. */
static uint64_t model_allocate(struct model *m, uint64_t bytes)
{
	uint64_t run = 0, needed = pages_of(bytes);
	for (uint64_t i = 0; i < MODEL_PAGES; i++) {
		run = m->used[i] ? 0 : run + 1;
		if (run < needed)
			continue;
		uint64_t first = i + 1 - needed;
		memset(&m->used[first], true, needed);
		return BASE + first * PAGE;
	}
	return 0;
}

static void model_free(struct model *m, uint64_t offset, uint64_t bytes)
{
	uint64_t first = (offset - BASE) / PAGE;
	for (uint64_t i = 0; i < pages_of(bytes); i++) {
		assert_true(m->used[first + i]);
		m->used[first + i] = false;
	}
}

/* The free list contains exactly the pages that are free in the bitmap. */
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

static uint64_t random_size(uint64_t *seed)
{
	uint64_t most = random_below(seed, 8) == 0 ? 64 : 6;
	return 1 + random_below(seed, most * PAGE);
}

static void step_allocate(struct model *m, struct extents *e, uint64_t *seed)
{
	uint64_t bytes = random_size(seed);
	uint64_t offset = extents_allocate(e, bytes, PAGE);
	assert_int_equal(offset, model_allocate(m, bytes));
	if (offset)
		m->blocks[m->count++] = (struct block){ offset, bytes };
}

static void step_free(struct model *m, struct extents *e, uint64_t index)
{
	struct block h = m->blocks[index];
	m->blocks[index] = m->blocks[--m->count];
	assert_int_equal(extents_free(e, h.offset, h.bytes), 0);
	model_free(m, h.offset, h.bytes);
}

static void random_operations_match_bitmap(void **state)
{
	static struct model m;
	uint64_t seed = random_seed();
	struct extents e = heap_with(MODEL_PAGES);
	(void)state;
	for (unsigned i = 0; i < MODEL_STEPS; i++) {
		/* Phases of growth and of shrinking alternate. */
		bool grow = random_below(&seed, 10) < (i / 1000 % 2 ? 4 : 6);
		if (m.count == 0 || (grow && m.count < MODEL_BLOCKS))
			step_allocate(&m, &e, &seed);
		else
			step_free(&m, &e, random_below(&seed, m.count));
		if (i % 16 == 0)
			model_compare(&m, &e);
	}
	while (m.count)
		step_free(&m, &e, random_below(&seed, m.count));
	model_compare(&m, &e);
	assert_all_free(&e);
	extents_end(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_up_to_pages),
		cmocka_unit_test(impossible_sizes_fail),
		cmocka_unit_test(full_heap_fails),
		cmocka_unit_test(fragments_are_not_combined),
		cmocka_unit_test(adjacent_extents_are_merged),
		cmocka_unit_test(free_list_grows),
		cmocka_unit_test(random_operations_match_bitmap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
