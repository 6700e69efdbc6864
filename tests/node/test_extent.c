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
	assert_int_equal(extents_init(&e, BASE, pages * PAGE, 1), 0);
	return e;
}

/* Returns the first free extent from an offset on, or NULL. */
static const struct tree_link *free_from(struct extents *e, uint64_t offset)
{
	return tree_find_heavy(&e->free, offset, 0);
}

/* Free extents are sorted, disjoint, not adjacent, and inside the heap. */
static void extents_check(struct extents *e)
{
	uint64_t free_bytes = 0, end = BASE;
	uint32_t count = 0;
	for (const struct tree_link *x = free_from(e, 0); x;
		x = free_from(e, x->key + 1)) {
		assert_true(x->weight > 0);
		assert_int_equal(x->key % PAGE, 0);
		assert_int_equal(x->weight % PAGE, 0);
		assert_true(x->key >= end);
		assert_true(count == 0 || x->key > end);
		end = x->key + x->weight;
		free_bytes += x->weight;
		count++;
	}
	assert_true(end <= BASE + e->total);
	assert_int_equal(count, e->count);
	assert_int_equal(free_bytes + e->used, e->total);
}

static void assert_all_free(struct extents *e)
{
	extents_check(e);
	assert_int_equal(e->count, 1);
	assert_int_equal(e->used, 0);
	assert_int_equal(free_from(e, 0)->key, BASE);
	assert_int_equal(free_from(e, 0)->weight, e->total);
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

static void many_fragments_are_merged(void **state)
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

/* ---- alignment ---- */

#define WIDE (8 * PAGE)

/* The hole is exactly as large as the aligned block. */
static void aligned_holes_are_reused(void **state)
{
	(void)state;
	struct extents e = heap_with(32);
	assert_int_equal(extents_allocate(&e, WIDE, WIDE), BASE);
	assert_int_equal(extents_allocate(&e, WIDE, WIDE), BASE + WIDE);
	assert_int_equal(extents_allocate(&e, PAGE, PAGE), BASE + 2 * WIDE);
	assert_int_equal(extents_allocate(&e, WIDE, WIDE), BASE + 3 * WIDE);
	assert_int_equal(extents_allocate(&e, WIDE, WIDE), 0);
	extents_free(&e, BASE + WIDE, WIDE);
	assert_int_equal(extents_allocate(&e, WIDE, WIDE), BASE + WIDE);
	extents_check(&e);
	extents_end(&e);
}

/* Many holes are as large as the block, and none of them is aligned. */
static void tries_of_unaligned_holes_are_limited(void **state)
{
	enum {
		HOLES = 10000
	};
	(void)state;
	struct extents e = heap_with((HOLES + 4) * 16);
	for (uint64_t i = 0; i < HOLES; i++) {
		/* One page is used; the hole begins behind it. */
		assert_int_not_equal(extents_allocate(&e, 16 * PAGE, PAGE), 0);
		extents_free(&e, BASE + i * 16 * PAGE + PAGE, WIDE);
	}
	uint64_t before = e.free.visits;
	assert_int_equal(
		extents_allocate(&e, WIDE, WIDE), BASE + HOLES * 16 * PAGE);
	print_message(
		"%llu visits\n", (unsigned long long)(e.free.visits - before));
	assert_true(e.free.visits - before < 4096);
	extents_end(&e);
}

/* ---- cost ---- */

/* Visits of members per call, with every other page free. */
static uint64_t visits_with(uint64_t pages)
{
	struct extents e = heap_with(pages);
	for (uint64_t i = 0; i < pages; i++)
		assert_int_not_equal(extents_allocate(&e, PAGE, PAGE), 0);
	for (uint64_t i = 0; i < pages; i += 2)
		assert_int_equal(extents_free(&e, BASE + i * PAGE, PAGE), 0);
	uint64_t calls = 0, before = e.free.visits;
	/* In an order in which neighbours do not follow each other. */
	for (uint64_t i = 1; i < pages; i += 2) {
		uint64_t at = (i * 7919) % pages | 1;
		extents_free(&e, BASE + at * PAGE, PAGE);
		assert_int_not_equal(extents_allocate(&e, PAGE, PAGE), 0);
		assert_int_equal(
			extents_allocate(&e, 2 * PAGE, PAGE) % PAGE, 0);
		calls += 3;
		if (calls > 30000)
			break;
	}
	uint64_t visits = (e.free.visits - before) / calls;
	extents_end(&e);
	return visits;
}

static void cost_is_logarithmic(void **state)
{
	(void)state;
	uint64_t few = visits_with(1024), many = visits_with(1024 * 1024);
	print_message("%llu visits per call with 512 free extents, %llu with "
		      "524288\n",
		(unsigned long long)few, (unsigned long long)many);
	/* log2: 9 and 19. A list would be visited 1000 times more often. */
	assert_true(many < 6 * few);
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
static void model_compare(const struct model *m, struct extents *e)
{
	bool listed[MODEL_PAGES] = { false };
	extents_check(e);
	for (const struct tree_link *x = free_from(e, 0); x;
		x = free_from(e, x->key + 1))
		for (uint64_t at = 0; at < x->weight; at += PAGE)
			listed[(x->key + at - BASE) / PAGE] = true;
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
		cmocka_unit_test(many_fragments_are_merged),
		cmocka_unit_test(aligned_holes_are_reused),
		cmocka_unit_test(tries_of_unaligned_holes_are_limited),
		cmocka_unit_test(cost_is_logarithmic),
		cmocka_unit_test(random_operations_match_bitmap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
