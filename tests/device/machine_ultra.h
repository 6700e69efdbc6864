/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths on machines for the tests: the origin writes messages whose
 * content follows from their position, and the target takes them with the
 * completer of the direct path.
 */
#ifndef CAY_TESTS_DEVICE_MACHINE_ULTRA_H
#define CAY_TESTS_DEVICE_MACHINE_ULTRA_H

#include "device/machine/machine.h"
#include "machine.h"

#define PORTS 4

static inline int ultra_setup(void **state)
{
	return tb_setup_queues(state, PORTS,
		(struct queue_options){ .nq_log2 = 8, .rdr_log2 = 10 });
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, ultra_setup, tb_teardown)

struct path {
	struct machines *ms;
	uint32_t from, to; /* ports */
	uint32_t slice_log2, slices_log2, entries;
	unsigned char *slices;
	uint16_t oupid, tupid;
	uint64_t sent;
	struct ultra_completer reader;
	struct ultra_return_page page;
	struct ultra_origin_page own;
};

static inline struct machine *path_origin(const struct path *p)
{
	return p->ms->m[machines_of(p->ms, p->from)];
}

static inline struct machine *path_target(const struct path *p)
{
	return p->ms->m[machines_of(p->ms, p->to)];
}

/* The memory of a path: pages of the arena, once. */
static inline void path_memory(struct path *p, struct testbench *tb,
	uint32_t slice_log2, uint32_t slices_log2)
{
	uint64_t at = fixture_memory(
		&tb->fixture, 1ull << (slice_log2 + slices_log2));
	assert_true(at);
	p->slices = fixture_at(&tb->fixture, at);
	p->slice_log2 = slice_log2;
	p->slices_log2 = slices_log2;
}

static inline struct machine_ultra_ends path_ends(const struct path *p)
{
	return (struct machine_ultra_ends){ .origin = path_origin(p),
		.target = path_target(p),
		.vpid = fixture_vpid(p->from),
		.queue = { .vpid = fixture_vpid(p->to),
			.slice_log2 = (uint8_t)p->slice_log2,
			.slices_log2 = (uint8_t)p->slices_log2,
			.slices = p->slices },
		.route = p->to,
		.entries = p->entries };
}

static inline void path_reset(
	struct path *p, struct machines *ms, uint32_t from, uint32_t to)
{
	p->ms = ms;
	p->from = from;
	p->to = to;
	p->sent = 0;
	p->entries = p->entries ? p->entries : 4;
	memset(p->slices, 0, 1ull << (p->slice_log2 + p->slices_log2));
	memset(&p->reader, 0, sizeof(p->reader));
	memset(&p->page, 0, sizeof(p->page));
	ultra_cursor_init(
		&p->reader.next, p->slices, p->slice_log2, p->slices_log2);
	p->reader.page = &p->page;
	p->reader.origin = &p->own;
}

static inline void path_open(
	struct path *p, struct machines *ms, uint32_t from, uint32_t to)
{
	path_reset(p, ms, from, to);
	struct machine_ultra_ends e = path_ends(p);
	assert_int_equal(machine_ultra_path(&e, &p->oupid, &p->tupid), 0);
}

static inline uint64_t path_tag(const struct path *p, uint64_t position)
{
	return (uint64_t)p->from << 48 | (uint64_t)p->to << 32 | position;
}

static inline uint32_t path_length(const struct path *p, uint64_t position)
{
	return (uint32_t)(position * 37 % ((1u << p->slice_log2) - 15));
}

static inline void path_fill(
	const struct path *p, uint64_t position, unsigned char *data)
{
	for (uint32_t i = 0; i < path_length(p, position); i++)
		data[i] = (unsigned char)(position * 5 + i + p->from * 77);
}

/* Writes the next message; returns as machine_ultra_write(). */
static inline int path_write(struct path *p, unsigned flags)
{
	unsigned char data[CAY_ULTRA_SLICE_MAX];
	path_fill(p, p->sent, data);
	int r = machine_ultra_write(path_origin(p), fixture_vpid(p->from),
		p->oupid, path_tag(p, p->sent), data, path_length(p, p->sent),
		flags);
	p->sent += r == 0;
	return r;
}

/* Takes the next message and checks it; false if there is none. */
static inline bool path_take(struct path *p)
{
	unsigned char data[CAY_ULTRA_SLICE_MAX], got[CAY_ULTRA_SLICE_MAX];
	uint64_t position = p->reader.position, tag;
	uint64_t returned = p->page.position;
	int r = counting_ultra_receive(&p->reader, &tag, got, sizeof(got));
	if (r == -EAGAIN)
		return false;
	assert_int_equal(r, path_length(p, position));
	assert_int_equal(tag, path_tag(p, position));
	path_fill(p, position, data);
	assert_memory_equal(got, data, (size_t)r);
	if (p->page.position != returned)
		assert_int_equal(machine_ultra_return(path_target(p),
					 fixture_vpid(p->to), p->tupid,
					 p->page.position),
			0);
	return true;
}

/* Returns all that is taken. */
static inline void path_return(struct path *p)
{
	counting_ultra_return(&p->reader);
	assert_int_equal(
		machine_ultra_return(path_target(p), fixture_vpid(p->to),
			p->tupid, p->page.position),
		0);
}

static inline struct machine_ultra_status path_origin_status(
	const struct path *p)
{
	struct machine_ultra_status s;
	assert_int_equal(machine_ultra_origin_status(path_origin(p),
				 fixture_vpid(p->from), p->oupid, &s),
		0);
	return s;
}

static inline struct machine_ultra_status path_target_status(
	const struct path *p)
{
	struct machine_ultra_status s;
	assert_int_equal(machine_ultra_target_status(path_target(p),
				 fixture_vpid(p->to), p->tupid, &s),
		0);
	return s;
}

/* The parts of a NOTIFY_ULTRA. */
static inline unsigned event_flag(const struct cay_nqe *n)
{
	assert_int_equal(nqe_command(n) & CAY_COMMAND_MASK, CAY_NOTIFY_ULTRA);
	assert_int_equal(
		(n->word[6] & CAY_COMMAND_GROUP_MASK) >> 8, CAY_GROUP_ULTRA);
	return n->word[6] & CAY_COMMAND_MASK;
}

static inline unsigned event_error(const struct cay_nqe *n)
{
	return nqe_command(n) >> CAY_COMMAND_ERROR_SHIFT;
}

#endif
