/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue sets: layout, open, close and reopen; loading of contexts. */
#include "device/queue_set.h"
#include "testbench.h"

struct part {
	uint32_t at;
	uint64_t bytes;
};

/* Each part starts on a page; parts are in order and fill the extent. */
static void assert_parts(
	const struct part *parts, size_t count, uint64_t extent_bytes)
{
	uint64_t end = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = (uint64_t)parts[i].at * CAY_LINE;
		assert_int_equal(at % ARENA_PAGE, 0);
		assert_int_equal(at, end);
		end = bits_round_up(at + parts[i].bytes, ARENA_PAGE);
	}
	assert_int_equal(end, extent_bytes);
}

static void assert_layout(const struct queue_options *options)
{
	struct queue_config c;
	queue_set_layout(&c, options);
	const struct part queues[] = { { c.nq_at, 64ull << c.nq_log2 },
		{ c.rdr_at, 64ull << c.rdr_log2 } };
	const struct part tables[] = { { c.wq_at, 64ull << c.wq_log2 },
		{ c.sdr_at, 64ull << c.sdr_log2 },
		{ c.refs_at, (64ull << c.refs_log2) + 64 * 64 },
		{ c.peers_at, 16ull * c.peers },
		{ c.wdt_at, 64ull * c.windows },
		{ c.posted_at, 64 + (64ull << c.posted_log2) } };
	assert_parts(queues, ARRAY_COUNT(queues), c.queues_bytes);
	assert_parts(tables, ARRAY_COUNT(tables), c.tables_bytes);
	assert_int_equal(c.cq_reserve, (1u << c.nq_log2) / 4);
	assert_int_equal(c.priority_reserve, (1u << c.nq_log2) / 16);
	c.epoch = c.vpid = 1;
	c.queues_offset = ARENA_HEAP_OFFSET;
	c.tables_offset = ARENA_HEAP_OFFSET + c.queues_bytes;
	assert_true(queue_config_valid(&c, c.tables_offset + c.tables_bytes));
	assert_false(
		queue_config_valid(&c, c.tables_offset + c.tables_bytes - 1));
}

static void layouts_are_valid(void **state)
{
	(void)state;
	const struct queue_options smallest = { .nq_log2 = QUEUE_NQ_LOG2_MIN,
		.wq_log2 = QUEUE_WQ_LOG2_MIN,
		.rdr_log2 = QUEUE_RDR_LOG2_MIN,
		.sdr_log2 = QUEUE_SDR_LOG2_MIN,
		.posted_log2 = 1,
		.peers = 1,
		.windows = 1 };
	const struct queue_options largest = { .nq_log2 = QUEUE_NQ_LOG2_MAX,
		.wq_log2 = QUEUE_WQ_LOG2_MAX,
		.rdr_log2 = QUEUE_RDR_LOG2_MAX,
		.sdr_log2 = QUEUE_SDR_LOG2_MAX,
		.posted_log2 = QUEUE_POSTED_LOG2_MAX,
		.peers = CAY_VPIDS,
		.windows = CAY_VPIDS };
	assert_layout(&smallest);
	assert_layout(&(struct queue_options){ 0 });
	assert_layout(&largest);
}

static void options_have_defaults(void **state)
{
	struct queue_config c;
	(void)state;
	queue_set_layout(&c, &(struct queue_options){ 0 });
	assert_int_equal(c.nq_log2, QUEUE_NQ_LOG2_DEFAULT);
	assert_int_equal(c.rdr_log2, QUEUE_RDR_LOG2_DEFAULT);
	assert_int_equal(c.wq_log2, QUEUE_WQ_LOG2_DEFAULT);
	assert_int_equal(c.sdr_log2, QUEUE_SDR_LOG2_DEFAULT);
	assert_int_equal(c.peers, QUEUE_PEERS_DEFAULT);
	assert_int_equal(c.windows, QUEUE_WINDOWS_DEFAULT);
	assert_int_equal(c.posted_log2, QUEUE_POSTED_LOG2_DEFAULT);
}

static void open_queue_set_is_empty(void **state)
{
	struct testbench *tb = *state;
	const struct queue_control *c = fixture_own(&tb->fixture, 1)->control;
	const struct arena_entry *entry =
		&arena_directory(&tb->fixture.arena)[fixture_vpid(1)];
	assert_int_equal(c->epoch, 1);
	assert_int_equal(c->config.epoch, 1);
	assert_int_equal(c->config.vpid, fixture_vpid(1));
	assert_true(c->w == c->r);
	assert_int_equal(c->w & W_FLAGS, 0);
	assert_int_equal(queue_nq(c->w), 2 * TB_ENTRIES);
	assert_int_equal(c->migration, QUEUE_STABLE);
	assert_int_equal(c->doorbell, 0);
	assert_int_equal(c->posted, POSTED_NONE);
	assert_int_equal(c->access_epoch, 1);
	assert_int_equal(c->fenced_count, 0);
	assert_int_equal(entry->epoch, 1);
	assert_int_equal(entry->first_epoch, 1);
}

static void close_keeps_the_counters(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(tb_send(tb, 1, 100, 0), 0);
	uint64_t w = tb_w(tb, 1), r = tb_r(tb, 1);
	assert_true(
		queue_set_close(&tb->fixture.arena, fixture_vpid(1), 1) == w);
	assert_true(tb_w(tb, 1) == (w | W_CLOSED));
	assert_true(tb_r(tb, 1) == (r | R_CLOSED));
	assert_int_equal(
		fixture_own(&tb->fixture, 1)->control->access_epoch, 0);
	queue_set_forget(&tb->fixture.arena, fixture_vpid(1));
	assert_int_equal(
		arena_directory(&tb->fixture.arena)[fixture_vpid(1)].epoch, 0);
}

/* With a reused W, the CAS of a claim delayed for long would succeed. */
static void reopened_queue_sets_do_not_reuse_w(void **state)
{
	struct testbench *tb = *state;
	assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
	uint64_t w = tb_w(tb, 1);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, false), 0);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, false), 0);
	assert_int_equal(fixture_own(&tb->fixture, 1)->epoch, 3);
	assert_true(queue_nq(tb_w(tb, 1)) > queue_nq(w) + TB_ENTRIES);
	assert_int_equal(queue_nq(tb_w(tb, 1)) % TB_ENTRIES, 0);
}

/* Entries of a zeroed page have generation 0 and must not look published. */
static void restart_skips_generation_zero(void **state)
{
	(void)state;
	for (unsigned log2 = QUEUE_NQ_LOG2_MIN; log2 <= QUEUE_NQ_LOG2_MAX;
		log2++) {
		uint64_t entries = 1ull << log2;
		for (uint64_t lap = 0xfff0; lap < 0x10010; lap++) {
			uint64_t nq = (lap * entries + 3) & QUEUE_NQ_MASK;
			uint64_t w = queue_word(queue_restart(nq, log2), 0);
			assert_int_not_equal(
				queue_generation(queue_nq(w), log2), 0);
			assert_in_range(queue_ahead(queue_nq(w), nq),
				entries + 1, 3 * entries);
		}
		uint64_t last = queue_word(
			queue_restart(QUEUE_NQ_MASK - 3 * entries, log2), 0);
		assert_int_not_equal(queue_generation(queue_nq(last), log2), 0);
	}
}

static void context_load_checks_the_epoch(void **state)
{
	struct testbench *tb = *state;
	struct context c;
	assert_int_equal(
		context_load(&tb->fixture.arena, fixture_vpid(1), 1, &c), 0);
	assert_int_equal(
		context_load(&tb->fixture.arena, fixture_vpid(1), 3, &c),
		-EPIPE);
	assert_int_equal(
		context_load(&tb->fixture.arena, fixture_vpid(1), 2, &c),
		-EPIPE);
	assert_int_equal(context_load(&tb->fixture.arena, 9, 1, &c), -EPIPE);
}

static void context_load_checks_the_configuration(void **state)
{
	struct testbench *tb = *state;
	struct context c;
	struct queue_config *config =
		&fixture_own(&tb->fixture, 1)->control->config;
	config->nq_at = UINT32_MAX;
	assert_int_equal(
		context_load(&tb->fixture.arena, fixture_vpid(1), 1, &c),
		-EBADMSG);
}

static int paged_setup(void **state)
{
	return tb_setup_stride(state, 2,
		(struct queue_options){
			.nq_log2 = TB_NQ_LOG2, .rdr_log2 = TB_RDR_LOG2 },
		ARENA_STRIDE_PAGE);
}

/* Returns the page of a port's control. */
static uint64_t control_page(const struct testbench *tb, uint32_t port)
{
	const struct context *own = fixture_own(&tb->fixture, port);
	uint64_t at = (uint64_t)((unsigned char *)own->control -
				 tb->fixture.arena.base);
	assert_int_equal(at % ARENA_PAGE, 0);
	assert_true(at >= tb->fixture.arena.bytes);
	assert_true(at + ARENA_PAGE <= tb->fixture.arena.mapped_bytes);
	return at / ARENA_PAGE;
}

/* Each control has a page behind the heap; the port also migrates there. */
static void controls_have_pages_of_their_own(void **state)
{
	struct testbench *tb = *state;
	const struct context *own = fixture_own(&tb->fixture, 1);
	uint64_t first = control_page(tb, 1);
	assert_int_not_equal(control_page(tb, 0), first);
	assert_int_equal(tb_send_fast(tb, 1, 0, 8), 0);
	assert_int_equal(queue_nq(atomic_load(&own->control->w)),
		queue_nq(atomic_load(&own->control->r)) + 1);
	assert_int_equal(fixture_reopen(&tb->fixture, 1, true), 0);
	assert_int_equal(tb_send_fast(tb, 2, 0, 8), 0);
	const struct queue_control *next = arena_control(
		&tb->fixture.arena, fixture_vpid(1), own->epoch + 1);
	assert_int_not_equal(
		((const unsigned char *)next - tb->fixture.arena.base) /
			ARENA_PAGE,
		first);
	assert_int_equal(queue_nq(atomic_load(&next->w)),
		queue_nq(atomic_load(&next->r)) + 1);
	/* No offset of the heap reaches a control. */
	struct queue_config c = own->control->config;
	c.queues_offset = first * ARENA_PAGE;
	assert_false(queue_config_valid(&c, tb->fixture.arena.bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_valid),
		cmocka_unit_test(options_have_defaults),
		TB_TEST(open_queue_set_is_empty),
		TB_TEST(close_keeps_the_counters),
		TB_TEST(reopened_queue_sets_do_not_reuse_w),
		cmocka_unit_test(restart_skips_generation_zero),
		TB_TEST(context_load_checks_the_epoch),
		TB_TEST(context_load_checks_the_configuration),
		cmocka_unit_test_setup_teardown(
			controls_have_pages_of_their_own, paged_setup,
			tb_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
