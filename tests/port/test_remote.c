/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All operations on remote memory, on each kind of memory, in one process and
 * between two: changed bytes, results and events.
 */
#include "instruction.h"

#define KIB 1024ul
#define MIB (KIB * KIB)

/* Expected content of the window and of the memory around it. */
#define AROUND 16

struct model {
	struct rma_pair *reach;
	unsigned char *bytes, *seen;
	uint64_t tag;
};

static struct model model_open(struct rma_pair *r)
{
	struct model m = { .reach = r,
		.bytes = calloc(1, r->bytes),
		.seen = malloc(r->bytes + 2 * AROUND) };
	assert_true(m.bytes && m.seen);
	return m;
}

static void model_close(struct model *m)
{
	free(m->bytes);
	free(m->seen);
}

/* A get returns the expected bytes and writes no others. */
static void model_check(struct model *m, size_t at, size_t bytes)
{
	struct rma_pair *r = m->reach;
	size_t from = at < AROUND ? 0 : at - AROUND;
	size_t to = at + bytes + AROUND;
	if (to > r->bytes)
		to = r->bytes;
	memset(m->seen, 0xee, to - from + AROUND);
	assert_int_equal(cay_get(r->origin, r->peer, r->key, from, m->seen,
				 to - from, 0, 0),
		0);
	rma_settle(r);
	assert_true(memcmp(m->seen, m->bytes + from, to - from) == 0);
	for (size_t i = 0; i < AROUND; i++)
		assert_int_equal(m->seen[to - from + i], 0xee);
	if (r->memory)
		assert_true(memcmp(r->memory + from, m->bytes + from,
				    to - from) == 0);
}

/* All short sizes and some long ones, also at odd offsets. */
static void each_extent(
	struct model *m, void (*call)(struct model *, size_t at, size_t bytes))
{
	static const size_t places[] = { 0, 1, 4, 7, 8, 61, 64, 4090 };
	static const size_t longer[] = { 4 * KIB, 4 * KIB + 1, MIB };
	for (size_t bytes = 0; bytes <= 100; bytes++)
		for (unsigned i = bytes % 3; i < COUNT(places); i += 3)
			call(m, places[i], bytes);
	for (unsigned i = 0; i < COUNT(longer); i++)
		for (unsigned j = i; j < COUNT(places); j += 3)
			call(m, places[j], longer[i]);
	for (size_t bytes = 0; bytes <= 100; bytes += 9)
		call(m, m->reach->bytes - bytes, bytes);
}

/* ---- put and get ---- */

static void put_one(struct model *m, size_t at, size_t bytes)
{
	struct rma_pair *r = m->reach;
	static const unsigned flags[] = { 0, CAY_NOTIFY, CAY_ACK };
	uint64_t tag = ++m->tag;
	unsigned with = flags[tag % COUNT(flags)];
	content_fill(m->bytes + at, bytes, tag);
	assert_int_equal(cay_put(r->origin, r->peer, r->key, at, m->bytes + at,
				 bytes, tag, with),
		0);
	if (with)
		rma_complete(r, tag, 0);
	else
		rma_settle(r);
	model_check(m, at, bytes);
}

static void puts_in_one_way(struct rma_pair *r)
{
	struct model m = model_open(r);
	each_extent(&m, put_one);
	model_close(&m);
}

static void put_of_every_size(void **state)
{
	(void)state;
	each_setup(MIB + 8 * KIB, CAY_RIGHT_READ | CAY_RIGHT_WRITE,
		puts_in_one_way);
}

static void get_one(struct model *m, size_t at, size_t bytes)
{
	model_check(m, at, bytes);
}

/* Into the completion. */
static void get_into_event(struct model *m, size_t at, size_t bytes)
{
	struct rma_pair *r = m->reach;
	struct cay_event e;
	uint64_t tag = ++m->tag;
	assert_int_equal(cay_get(r->origin, r->peer, r->key, at, NULL, bytes,
				 tag, tag % 2 ? CAY_NOTIFY : 0),
		0);
	rma_event(r, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.command, CAY_FAST_GET | (bytes + 7) / 8);
	assert_int_equal(e.length, bytes);
	assert_true(memcmp(e.data, m->bytes + at, bytes) == 0);
	cay_release(r->origin, &e);
}

static void gets_in_one_way(struct rma_pair *r)
{
	struct model m = model_open(r);
	content_fill(m.bytes, r->bytes, 77);
	assert_int_equal(cay_put(r->origin, r->peer, r->key, 0, m.bytes,
				 r->bytes, 0, CAY_ACK),
		0);
	rma_complete(r, 0, 0);
	each_extent(&m, get_one);
	for (size_t bytes = 1; bytes <= 24; bytes++)
		for (size_t at = 0; at < 17; at++)
			get_into_event(&m, at, bytes);
	model_close(&m);
}

static void get_of_every_size(void **state)
{
	(void)state;
	each_setup(MIB + 8 * KIB, CAY_RIGHT_READ | CAY_RIGHT_WRITE,
		gets_in_one_way);
}

/* ---- masked put ---- */

static void mask_one(struct model *m, size_t at, unsigned enables)
{
	struct rma_pair *r = m->reach;
	uint64_t data = 0x8877665544332211ull * (enables + 1);
	for (unsigned i = 0; i < 8; i++)
		if (enables >> i & 1)
			m->bytes[at + i] = (unsigned char)(data >> 8 * i);
	assert_int_equal(cay_put_masked(r->origin, r->peer, r->key, at, data,
				 (uint8_t)enables, enables, CAY_ACK),
		0);
	rma_complete(r, enables, 0);
	model_check(m, at, 8);
}

static void masks_in_one_way(struct rma_pair *r)
{
	struct model m = model_open(r);
	for (unsigned enables = 0; enables < 256; enables++)
		for (size_t at = 0; at < r->bytes; at += 24)
			mask_one(&m, at, enables);
	model_close(&m);
}

static void masked_put_of_every_mask(void **state)
{
	(void)state;
	each_setup(56, CAY_RIGHT_READ | CAY_RIGHT_WRITE, masks_in_one_way);
}

/* ---- atomics ---- */

static void expect_atomic(struct rma_pair *r, uint64_t tag, uint16_t command,
	uint64_t result, uint64_t previous)
{
	struct cay_event e;
	rma_event(r, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.command, command);
	assert_int_equal(e.result, result);
	assert_int_equal(e.previous, previous);
	cay_release(r->origin, &e);
}

static void add_one(struct rma_pair *r, uint64_t *word, uint64_t addend)
{
	uint64_t previous = ~*word;
	assert_int_equal(
		cay_fetch_add(r->origin, r->peer, r->key, 8, addend, addend, 0),
		0);
	expect_atomic(r, addend, CAY_FAA, *word + addend, *word);
	*word += addend;
	assert_int_equal(cay_fetch_add_into(r->origin, r->peer, r->key, 8,
				 addend, &previous, 0, 0),
		0);
	rma_settle(r);
	assert_int_equal(previous, *word);
	*word += addend;
}

static void adds_in_one_way(struct rma_pair *r)
{
	static const uint64_t addends[] = { 0, 1, 2, UINT64_MAX, 1ull << 63,
		1ull << 63, UINT64_MAX - 4, 0x123456789abcdefull };
	uint64_t word = 0, seen[3] = { 0 };
	for (unsigned i = 0; i < 4 * COUNT(addends); i++)
		add_one(r, &word, addends[i % COUNT(addends)]);
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, 0, seen, 24, 0, 0), 0);
	rma_settle(r);
	assert_true(seen[0] == 0 && seen[1] == word && seen[2] == 0);
}

static void fetch_and_add(void **state)
{
	(void)state;
	each_setup(24, RIGHTS_ACCESS, adds_in_one_way);
}

static void swap_one(
	struct rma_pair *r, uint64_t *word, uint64_t compare, uint64_t swap)
{
	bool stored = *word == compare;
	uint64_t previous = ~*word;
	assert_int_equal(cay_compare_swap(r->origin, r->peer, r->key, 8,
				 compare, swap, 5, 0),
		0);
	expect_atomic(r, 5, CAY_CAS, stored ? swap : *word, *word);
	if (stored)
		*word = swap;
	/* Restore the old value. */
	assert_int_equal(cay_compare_swap_into(r->origin, r->peer, r->key, 8,
				 *word, compare, &previous, 0, 0),
		0);
	rma_settle(r);
	assert_int_equal(previous, *word);
	*word = compare;
}

static void swaps_in_one_way(struct rma_pair *r)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, 1ull << 63,
		0x123456789abcdefull };
	uint64_t word = 0, seen[3] = { 0 };
	for (unsigned i = 0; i < COUNT(values); i++)
		for (unsigned j = 0; j < COUNT(values); j++)
			swap_one(r, &word, values[i], values[j]);
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, 0, seen, 24, 0, 0), 0);
	rma_settle(r);
	assert_true(seen[0] == 0 && seen[1] == word && seen[2] == 0);
}

static void compare_and_swap(void **state)
{
	(void)state;
	each_setup(24, RIGHTS_ACCESS, swaps_in_one_way);
}

/* ---- completions: exactly one, or none ---- */

static void check_end_of(struct rma_pair *r, const struct instruction *i,
	uint64_t tag, unsigned flags)
{
	struct cay_event e;
	rma_event(r, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.api_tag, 0);
	assert_int_equal(e.command, instruction_command(i, flags));
	assert_int_equal(e.peer.vpid, cay_peer_addr(r->peer).vpid);
	assert_int_equal(e.peer.node, cay_peer_addr(r->peer).node);
	assert_int_equal(e.length, i->length);
	if (i->properties & LOCATED) {
		assert_int_equal(e.offset, i->offset);
		assert_int_equal(e.window, r->key.window);
	}
	cay_release(r->origin, &e);
}

static void events_in_one_way(struct rma_pair *r)
{
	uint64_t tag = 1ull << 63;
	for (unsigned flags = 0; flags < 64; flags++)
		for (unsigned i = 0; i < COUNT(instructions); i++) {
			const struct instruction *x = &instructions[i];
			assert_int_equal(x->issue(r, ++tag, flags), 0);
			if (instruction_notified(x, flags))
				check_end_of(r, x, tag, flags);
			rma_settle(r);
			if (flags % 8 == 0)
				check_empty(r->origin);
		}
	check_empty(r->origin);
}

static void one_event_or_none(void **state)
{
	(void)state;
	each_setup(INSTRUCTION_BYTES, RIGHTS_ACCESS, events_in_one_way);
}

/* ---- invalid arguments ---- */

static void arguments_are_checked(void **state)
{
	struct rma_pair r = rma_open(PLACE_ARENA, 64, RIGHTS_ACCESS);
	struct cay_key none = { .capability = r.key.capability,
		.window = 65536 };
	(void)state;
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		struct rma_pair wrong = r;
		wrong.key = none;
		assert_int_equal(instructions[i].issue(&r, 0, 64), -EINVAL);
		assert_int_equal(instructions[i].issue(&r, 0, ~0u), -EINVAL);
		assert_int_equal(instructions[i].issue(&wrong, 0, 0), -EINVAL);
	}
	assert_int_equal(
		cay_put(r.origin, r.peer, r.key, 0, NULL, 1, 0, 0), -EFAULT);
	assert_int_equal(
		cay_get(r.origin, r.peer, r.key, 0, NULL, 25, 0, 0), -EFAULT);
	assert_int_equal(
		cay_fetch_add_into(r.origin, r.peer, r.key, 0, 1, NULL, 0, 0),
		-EFAULT);
	assert_int_equal(cay_compare_swap_into(
				 r.origin, r.peer, r.key, 0, 1, 1, NULL, 0, 0),
		-EFAULT);
	assert_int_equal(cay_put(r.origin, r.peer, r.key, 0, instruction_bytes,
				 SIZE_MAX, 0, 0),
		-EMSGSIZE);
	assert_int_equal(cay_get(r.origin, r.peer, r.key, 0, instruction_bytes,
				 SIZE_MAX, 0, 0),
		-EMSGSIZE);
	rma_close(&r);
}

/* A completion is reserved before the access starts. */
static void full_queue_refuses_the_access(void **state)
{
	struct cay_port *owner = open_port(NULL);
	struct cay_port *origin = open_small(NULL, 16);
	struct cay_peer *peer = open_peer(origin, owner);
	uint64_t *word = cay_alloc(owner, 8, 0);
	struct cay_key key;
	struct cay_window *w = open_window(owner, word, 8, RIGHTS_ACCESS, &key);
	unsigned done = 0;
	(void)state;
	while (cay_fetch_add(origin, peer, key, 0, 1, done, 0) == 0)
		done++;
	assert_int_equal(done, 4);
	assert_int_equal(cay_fetch_add(origin, peer, key, 0, 1, 0, 0), -EAGAIN);
	assert_int_equal(
		cay_put(origin, peer, key, 0, &done, 4, 0, CAY_ACK), -EAGAIN);
	/* A refusal is always reported, so it needs a reservation, too. */
	assert_int_equal(
		cay_put(origin, peer, key, 8, &done, 4, 0, 0), -EAGAIN);
	assert_int_equal(*word, done);
	for (unsigned i = 0; i < done; i++)
		expect_complete(origin, i, 0);
	check_empty(origin);
	assert_int_equal(cay_put(origin, peer, key, 8, &done, 4, 9, 0), 0);
	expect_complete(origin, 9, CAY_ERROR_TARGET_BOUNDS);
	close_window(w);
	cay_peer_release(peer);
	close_port(origin);
	close_port(owner);
}

/* A port may access its own windows. */
static void own_windows(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct rma_pair r = {
		.origin = port, .owner = port, .bytes = MIB + 8 * KIB
	};
	(void)state;
	for (r.place = 0; r.place < PLACES; r.place++) {
		r.peer = open_peer(port, port);
		unsigned char *memory = place_alloc(port, r.place, r.bytes);
		struct cay_window *w = open_window(
			port, memory, r.bytes, RIGHTS_ACCESS, &r.key);
		puts_in_one_way(&r);
		memset(memory, 0, 24);
		swaps_in_one_way(&r);
		memset(memory, 0, 24);
		adds_in_one_way(&r);
		close_window(w);
		place_free(port, r.place, memory);
		cay_peer_release(r.peer);
	}
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(put_of_every_size),
		TEST(get_of_every_size),
		TEST(masked_put_of_every_mask),
		TEST(fetch_and_add),
		TEST(compare_and_swap),
		TEST(one_event_or_none),
		TEST(arguments_are_checked),
		TEST(full_queue_refuses_the_access),
		TEST(own_windows),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
