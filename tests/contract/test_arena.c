/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arena: its layout, and the validation of its records, with valid records,
 * invalid ones and those that provoke overflow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "contract/arena.h"

/* W, R and the migration state have different writers: 128 bytes apart. */
static void written_words_have_separate_lines(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct queue_control, config), 0);
	assert_int_equal(offsetof(struct queue_control, w), 128);
	assert_int_equal(offsetof(struct queue_control, r), 256);
	assert_int_equal(offsetof(struct queue_control, migration), 384);
	assert_int_equal(offsetof(struct queue_control, epoch) / 64, 128 / 64);
	assert_int_equal(_Alignof(struct op_record), 128);
}

static void arena_layout(void **state)
{
	(void)state;
	assert_int_equal(ARENA_DIRECTORY_OFFSET, 4096);
	assert_int_equal(ARENA_CONTROL_OFFSET(0ull), 4096 + 65536 * 8);
	assert_int_equal(
		ARENA_CONTROL_OFFSET(1ull), 4096 + 65536 * 8 + 65536 * 512);
	assert_int_equal(ARENA_HEAP_OFFSET, 4096 + 65536 * 8 + 131072 * 512);
	assert_int_equal(ARENA_HEAP_OFFSET % ARENA_PAGE, 0);
	assert_int_equal(ARENA_CONTROL_OFFSET(0ull) % 512, 0);
}

/* ---- arena header ---- */

static struct arena_header valid_header(void)
{
	return (struct arena_header){ .magic = ARENA_MAGIC,
		.major = ARENA_MAJOR,
		.minor = ARENA_MINOR,
		.size = 1ull << 30,
		.directory_offset = ARENA_DIRECTORY_OFFSET,
		.control_offset = { ARENA_CONTROL_OFFSET(0ull),
			ARENA_CONTROL_OFFSET(1ull) },
		.control_stride = 512,
		.heap_offset = ARENA_HEAP_OFFSET,
		.heap_end = 1ull << 30 };
}

#define HEADER_WITH(change, expected)                                  \
	do {                                                           \
		struct arena_header h = valid_header();                \
		h.change;                                              \
		assert_int_equal(                                      \
			arena_header_valid(&h, 1ull << 30), expected); \
	} while (0)

static void header_validation(void **state)
{
	(void)state;
	HEADER_WITH(minor = 99, 0);
	HEADER_WITH(magic ^= 1, -EPROTO);
	HEADER_WITH(major++, -EPROTONOSUPPORT);
	HEADER_WITH(features = 1ull << 63, -EPROTONOSUPPORT);
	HEADER_WITH(size++, -EBADMSG);
	HEADER_WITH(size = UINT64_MAX, -EBADMSG);
	HEADER_WITH(size = ARENA_HEAP_OFFSET, -EBADMSG);
	HEADER_WITH(directory_offset = 0, -EBADMSG);
	HEADER_WITH(control_offset[0] += 512, -EBADMSG);
	HEADER_WITH(control_offset[1] = UINT64_MAX, -EBADMSG);
	HEADER_WITH(heap_offset = 4096, -EBADMSG);
	HEADER_WITH(heap_end += 4096, -EBADMSG);
	HEADER_WITH(heap_end = 0, -EBADMSG);
	HEADER_WITH(control_stride = 0, -EBADMSG);
	HEADER_WITH(control_stride = 256, -EBADMSG);
	HEADER_WITH(control_stride = 8192, -EBADMSG);
	/* The offsets are those of packed controls. */
	HEADER_WITH(control_stride = 4096, -EBADMSG);
}

/* 1 GiB, with half of it for the controls. */
static struct arena_header paged_header(void)
{
	struct arena_header h = valid_header();
	h.control_stride = 4096;
	h.control_offset[0] = h.heap_end = 512ull << 20;
	h.control_offset[1] = 768ull << 20;
	return h;
}

static void controls_on_pages_follow_the_heap(void **state)
{
	struct arena_header h = paged_header();
	(void)state;
	assert_int_equal(arena_header_valid(&h, 1ull << 30), 0);
	h.heap_end += 4096;
	assert_int_equal(arena_header_valid(&h, 1ull << 30), -EBADMSG);
	h = paged_header();
	h.control_offset[1] += 4096;
	assert_int_equal(arena_header_valid(&h, 1ull << 30), -EBADMSG);
	/* Sizes without room for the controls, or for a page of the heap. */
	static const uint64_t small[] = { 0, 1, 512ull << 20,
		ARENA_HEAP_OFFSET + (512ull << 20),
		ARENA_HEAP_OFFSET + (512ull << 20) + 4095 };
	for (unsigned i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		arena_header_layout(&h, small[i], 4096);
		assert_int_equal(arena_header_valid(&h, 1ull << 30), -EBADMSG);
	}
	arena_header_layout(&h, ARENA_SIZE_FOR(4096ull, 4096), 4096);
	assert_int_equal(arena_header_valid(&h, 1ull << 30), 0);
	assert_int_equal(h.heap_end, ARENA_HEAP_OFFSET + 4096);
}

/* ---- queue configuration ---- */

#define CONFIG_ARENA (ARENA_HEAP_OFFSET + (16ull << 20))

static struct queue_config valid_config(void)
{
	return (struct queue_config){ .epoch = 1,
		.vpid = 1,
		.nq_log2 = 9,
		.rdr_log2 = 12,
		.wq_log2 = 6,
		.sdr_log2 = 10,
		.refs_log2 = QUEUE_REFS_LOG2,
		.peers = 1024,
		.windows = 64,
		.cq_reserve = 128,
		.priority_reserve = 32,
		.queues_offset = ARENA_HEAP_OFFSET,
		.queues_bytes = 4ull << 20,
		.tables_offset = ARENA_HEAP_OFFSET + (4ull << 20),
		.tables_bytes = 12ull << 20,
		.rdr_at = 512,
		.wq_at = 0,
		.sdr_at = 64,
		.refs_at = 2048,
		.peers_at = 4096,
		.wdt_at = 8192,
		.posted_log2 = 6,
		.posted_at = 16384 };
}

#define CONFIG_WITH(change, expected)                                    \
	do {                                                             \
		struct queue_config c = valid_config();                  \
		c.change;                                                \
		assert_int_equal(                                        \
			queue_config_valid(&c, CONFIG_ARENA), expected); \
	} while (0)

static void config_sizes(void **state)
{
	(void)state;
	CONFIG_WITH(epoch = 1, true);
	CONFIG_WITH(epoch = 0, false);
	CONFIG_WITH(nq_log2 = QUEUE_NQ_LOG2_MIN - 1, false);
	CONFIG_WITH(nq_log2 = QUEUE_NQ_LOG2_MAX + 1, false);
	CONFIG_WITH(nq_log2 = 64, false);
	CONFIG_WITH(rdr_log2 = QUEUE_RDR_LOG2_MIN - 1, false);
	CONFIG_WITH(rdr_log2 = QUEUE_RDR_LOG2_MAX + 1, false);
	CONFIG_WITH(rdr_log2 = 255, false);
	CONFIG_WITH(wq_log2 = QUEUE_WQ_LOG2_MIN - 1, false);
	CONFIG_WITH(wq_log2 = QUEUE_WQ_LOG2_MAX + 1, false);
	CONFIG_WITH(sdr_log2 = QUEUE_SDR_LOG2_MIN - 1, false);
	CONFIG_WITH(sdr_log2 = QUEUE_SDR_LOG2_MAX + 1, false);
	CONFIG_WITH(refs_log2 = QUEUE_REFS_LOG2 + 1, false);
	CONFIG_WITH(peers = CAY_VPIDS + 1, false);
	CONFIG_WITH(peers = UINT32_MAX, false);
	CONFIG_WITH(windows = CAY_VPIDS + 1, false);
	CONFIG_WITH(posted_log2 = QUEUE_POSTED_LOG2_MAX + 1, false);
	CONFIG_WITH(posted_log2 = 255, false);
}

/* The reserves must leave an entry for ordinary messages. */
static void config_reserves(void **state)
{
	(void)state;
	CONFIG_WITH(cq_reserve = 479, true);
	CONFIG_WITH(cq_reserve = 480, false);
	CONFIG_WITH(priority_reserve = 512, false);
	CONFIG_WITH(cq_reserve = UINT32_MAX, false);
	CONFIG_WITH(priority_reserve = UINT32_MAX - 127, false);
}

static void config_extents(void **state)
{
	(void)state;
	CONFIG_WITH(queues_offset = ARENA_HEAP_OFFSET - 4096, false);
	CONFIG_WITH(queues_offset = 0, false);
	CONFIG_WITH(queues_offset += 64, false);
	CONFIG_WITH(queues_offset = UINT64_MAX & ~4095ull, false);
	CONFIG_WITH(queues_bytes = UINT64_MAX, false);
	CONFIG_WITH(queues_bytes = (64ull << 9) + (64ull << 12), true);
	CONFIG_WITH(queues_bytes = (64ull << 9) + (64ull << 12) - 1, false);
	CONFIG_WITH(tables_offset = CONFIG_ARENA, false);
	CONFIG_WITH(tables_offset = UINT64_MAX - 4095, false);
	CONFIG_WITH(tables_bytes += 1, false);
	CONFIG_WITH(tables_bytes = 0, false);
}

static void config_positions(void **state)
{
	(void)state;
	CONFIG_WITH(nq_at = UINT32_MAX, false);
	CONFIG_WITH(nq_at = (4 << 20) / 64 - 512, true);
	CONFIG_WITH(nq_at = (4 << 20) / 64 - 511, false);
	CONFIG_WITH(rdr_at = (4 << 20) / 64 - 4095, false);
	CONFIG_WITH(wq_at = (12 << 20) / 64 - 63, false);
	CONFIG_WITH(sdr_at = (12 << 20) / 64 - 1023, false);
	/* 128 slots, and a line for co-copy for 64 of them. */
	CONFIG_WITH(refs_at = (12 << 20) / 64 - 192, true);
	CONFIG_WITH(refs_at = (12 << 20) / 64 - 191, false);
	CONFIG_WITH(peers_at = (12 << 20) / 64 - 255, false);
	CONFIG_WITH(wdt_at = (12 << 20) / 64 - 63, false);
	CONFIG_WITH(wdt_at = (12 << 20) / 64 - 64, true);
	/* The head and 64 slots. */
	CONFIG_WITH(posted_at = (12 << 20) / 64 - 64, false);
	CONFIG_WITH(posted_at = (12 << 20) / 64 - 65, true);
	CONFIG_WITH(posted_at = UINT32_MAX, false);
}

/* ---- positions, peers, references, op records ---- */

static void positions(void **state)
{
	const uint64_t rdr = 1ull << 40;
	(void)state;
	assert_true(queue_position_valid(0, 0, 4, 10));
	assert_true(queue_position_valid(16 + 1024 * rdr, 0, 4, 10));
	assert_false(queue_position_valid(17, 0, 4, 10));
	assert_false(queue_position_valid(1025 * rdr, 0, 4, 10));
	assert_false(queue_position_valid(0, 1, 4, 10));
	assert_false(queue_position_valid(0, rdr, 4, 10));
	/* Counters wrap around; flags are ignored. */
	assert_true(queue_position_valid(3, QUEUE_NQ_MASK, 4, 10));
	assert_true(queue_position_valid(3 * rdr, 0xfffffull * rdr, 4, 10));
	assert_true(queue_position_valid(W_FLAGS | 1, R_WAITERS, 4, 10));
}

static struct peer_entry valid_peer(void)
{
	return (struct peer_entry){ .epoch = 1,
		.vpid = 1,
		.path = PATH_DIRECT,
		.control_offset = ARENA_CONTROL_OFFSET(1ull) + 512 };
}

#define PEER_WITH(change, expected)                                   \
	do {                                                          \
		const struct arena_header h = valid_header();         \
		struct peer_entry p = valid_peer();                   \
		p.change;                                             \
		assert_int_equal(peer_entry_valid(&p, &h), expected); \
	} while (0)

static void peers(void **state)
{
	(void)state;
	PEER_WITH(vpid = 1, true);
	PEER_WITH(epoch = 0, false);
	PEER_WITH(path = PATH_NONE, false);
	PEER_WITH(path = PATH_GUARDED, false);
	PEER_WITH(path = 255, false);
	PEER_WITH(control_offset += 64, false);
	PEER_WITH(control_offset = 0, false);
	PEER_WITH(control_offset = ARENA_CONTROL_OFFSET(0ull) - 512, false);
	PEER_WITH(control_offset = ARENA_HEAP_OFFSET - 512, false);
	PEER_WITH(epoch = 3, true);
	PEER_WITH(epoch = 2, false); /* the control of odd epochs */
	PEER_WITH(vpid = 2, false);
	PEER_WITH(control_offset = ARENA_HEAP_OFFSET, false);
	PEER_WITH(control_offset = UINT64_MAX - 511, false);
	const struct arena_header paged = paged_header();
	struct peer_entry p = valid_peer();
	assert_false(peer_entry_valid(&p, &paged));
	p.control_offset = paged.control_offset[1] + 4096;
	assert_true(peer_entry_valid(&p, &paged));
}

static void references(void **state)
{
	struct reference in_arena = { .kind = REFERENCE_ARENA,
		.address = ARENA_HEAP_OFFSET,
		.length = 16ull << 20 };
	struct reference in_process = { .kind = REFERENCE_PROCESS,
		.pid = 1,
		.address = 0x1000,
		.length = 100 };
	(void)state;
	assert_true(reference_valid(&in_arena, CONFIG_ARENA));
	assert_true(reference_valid(&in_process, CONFIG_ARENA));
	in_arena.length++;
	assert_false(reference_valid(&in_arena, CONFIG_ARENA));
	in_arena.length = UINT64_MAX;
	assert_false(reference_valid(&in_arena, CONFIG_ARENA));
	in_arena.address = ARENA_HEAP_OFFSET - 1;
	in_arena.length = 1;
	assert_false(reference_valid(&in_arena, CONFIG_ARENA));
	in_arena.address = UINT64_MAX;
	assert_false(reference_valid(&in_arena, CONFIG_ARENA));
	in_process.length = UINT64_MAX - 0xfff;
	assert_false(reference_valid(&in_process, CONFIG_ARENA));
	in_process.length = 1;
	in_process.pid = 0;
	assert_false(reference_valid(&in_process, CONFIG_ARENA));
	in_process.pid = 1;
	in_process.kind = 3;
	assert_false(reference_valid(&in_process, CONFIG_ARENA));
}

/* An emulated access: at least its header, and all of it in the heap. */
static struct reference valid_access(void)
{
	return (struct reference){ .kind = REFERENCE_ACCESS,
		.address = CONFIG_ARENA - 64,
		.length = 64 };
}

#define ACCESS_WITH(change, expected)                                          \
	do {                                                                   \
		struct reference r = valid_access();                           \
		r.change;                                                      \
		assert_int_equal(reference_valid(&r, CONFIG_ARENA), expected); \
	} while (0)

static void access_references(void **state)
{
	(void)state;
	ACCESS_WITH(pid = 0, true);
	ACCESS_WITH(length = 63, false);
	ACCESS_WITH(length = 0, false);
	ACCESS_WITH(length = 65, false);
	ACCESS_WITH(length = UINT64_MAX, false);
	ACCESS_WITH(length = UINT64_MAX - CONFIG_ARENA + 65, false);
	ACCESS_WITH(address = ARENA_HEAP_OFFSET, true);
	ACCESS_WITH(address = ARENA_HEAP_OFFSET - 8, false);
	ACCESS_WITH(address = CONFIG_ARENA - 72, true);
	/* Its words are used in place. */
	ACCESS_WITH(address = CONFIG_ARENA - 65, false);
	ACCESS_WITH(address = CONFIG_ARENA - 68, false);
	ACCESS_WITH(address = CONFIG_ARENA - 63, false);
	ACCESS_WITH(address = CONFIG_ARENA, false);
	ACCESS_WITH(address = 0x1000, false);
	ACCESS_WITH(address = UINT64_MAX - 63, false);
	ACCESS_WITH(kind = REFERENCE_ACCESS + 1, false);
	ACCESS_WITH(kind = 255, false);
}

/* ---- windows and posted receives ---- */

static struct cay_window_descriptor valid_window(void)
{
	return (struct cay_window_descriptor){ .start = ARENA_HEAP_OFFSET + 1,
		.length = 100,
		.rights = CAY_RIGHT_READ };
}

#define WINDOW_WITH(change, expected)                                       \
	do {                                                                \
		struct cay_window_descriptor w = valid_window();            \
		w.change;                                                   \
		assert_int_equal(window_valid(&w, CONFIG_ARENA), expected); \
	} while (0)

static void arena_windows(void **state)
{
	(void)state;
	WINDOW_WITH(rights = 31, true);
	WINDOW_WITH(start = ARENA_HEAP_OFFSET, true);
	WINDOW_WITH(start = ARENA_HEAP_OFFSET - 1, false);
	WINDOW_WITH(start = 0, false);
	WINDOW_WITH(start = CONFIG_ARENA - 100, true);
	WINDOW_WITH(start = CONFIG_ARENA - 99, false);
	WINDOW_WITH(start = CONFIG_ARENA, false);
	WINDOW_WITH(start = UINT64_MAX, false);
	WINDOW_WITH(start = UINT64_MAX - 99, false);
	WINDOW_WITH(length = CONFIG_ARENA - ARENA_HEAP_OFFSET - 1, true);
	WINDOW_WITH(length = CONFIG_ARENA - ARENA_HEAP_OFFSET, false);
	WINDOW_WITH(length = UINT64_MAX, false);
	WINDOW_WITH(length = UINT64_MAX - ARENA_HEAP_OFFSET, false);
}

/* Any addresses of the owner that do not wrap around. */
static void process_windows(void **state)
{
	struct cay_window_descriptor w = valid_window();
	(void)state;
	w.pid = 1;
	w.start = 0x1000;
	assert_true(window_valid(&w, CONFIG_ARENA));
	w.start = UINT64_MAX - 100;
	assert_true(window_valid(&w, CONFIG_ARENA));
	w.start = UINT64_MAX - 98;
	assert_false(window_valid(&w, CONFIG_ARENA));
	w.start = 1;
	w.length = UINT64_MAX;
	assert_false(window_valid(&w, CONFIG_ARENA));
}

static struct cay_posted_receive valid_posted(void)
{
	return (struct cay_posted_receive){
		.offset = ARENA_HEAP_OFFSET, .length = 100, .cookie = UINT64_MAX
	};
}

#define POSTED_WITH(change, expected)                                       \
	do {                                                                \
		struct cay_posted_receive p = valid_posted();               \
		p.change;                                                   \
		assert_int_equal(posted_valid(&p, CONFIG_ARENA), expected); \
	} while (0)

static void posted_receives(void **state)
{
	(void)state;
	POSTED_WITH(cookie = 0, true);
	POSTED_WITH(state = UINT64_MAX, true);
	POSTED_WITH(flags = CAY_POSTED_PHYSICAL, false);
	POSTED_WITH(flags = CAY_POSTED_PRIVATE, false); /* of no process */
	struct cay_posted_receive private = { .flags = CAY_POSTED_PRIVATE,
		.pid = 1,
		.offset = UINT64_MAX - 99,
		.length = 99 };
	assert_true(posted_valid(&private, CONFIG_ARENA));
	private.length = 101;
	assert_false(posted_valid(&private, CONFIG_ARENA));
	private.length = 0;
	assert_false(posted_valid(&private, CONFIG_ARENA));
	POSTED_WITH(flags = 1ull << 63, false);
	POSTED_WITH(length = 0, false);
	POSTED_WITH(length = CONFIG_ARENA - ARENA_HEAP_OFFSET, true);
	POSTED_WITH(length = CONFIG_ARENA - ARENA_HEAP_OFFSET + 1, false);
	POSTED_WITH(length = UINT64_MAX, false);
	POSTED_WITH(offset = ARENA_HEAP_OFFSET - 1, false);
	POSTED_WITH(offset = 0, false);
	POSTED_WITH(offset = CONFIG_ARENA - 100, true);
	POSTED_WITH(offset = CONFIG_ARENA - 99, false);
	POSTED_WITH(offset = UINT64_MAX - 50, false);
}

static void op_records(void **state)
{
	(void)state;
	assert_true(op_record_valid(OP_IDLE, 5, 5));
	assert_true(op_record_valid(OP_ACCESS, 5, 5));
	assert_true(op_record_valid(OP_TRY, 5, 6));
	assert_true(op_record_valid(OP_OWN, 5 | W_SLEEP, 6));
	assert_true(op_record_valid(OP_OWN, QUEUE_NQ_MASK, 0));
	assert_true(op_record_valid(OP_OWN, 0, QUEUE_CLAIM_MAX));
	assert_false(op_record_valid(OP_OWN, 0, QUEUE_CLAIM_MAX + 1));
	assert_false(op_record_valid(OP_TRY, 5, 5));
	assert_false(op_record_valid(OP_TRY, 6, 5));
	assert_false(op_record_valid(OP_OWN, 5, 6 | W_CLOSED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_words_have_separate_lines),
		cmocka_unit_test(arena_layout),
		cmocka_unit_test(header_validation),
		cmocka_unit_test(controls_on_pages_follow_the_heap),
		cmocka_unit_test(config_sizes),
		cmocka_unit_test(config_reserves),
		cmocka_unit_test(config_extents),
		cmocka_unit_test(config_positions),
		cmocka_unit_test(positions),
		cmocka_unit_test(peers),
		cmocka_unit_test(references),
		cmocka_unit_test(access_references),
		cmocka_unit_test(arena_windows),
		cmocka_unit_test(process_windows),
		cmocka_unit_test(posted_receives),
		cmocka_unit_test(op_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
