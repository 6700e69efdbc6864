/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: rights, keys, bounds and Win-IDs; closing, revoking, a full table,
 * freed memory. A refused access completes with the expected code and changes
 * nothing.
 */
#include <signal.h>
#include <unistd.h>

#include "instruction.h"
#include "status.h"

#define PAGE 4096ul

/*
 * Checks one refused operation: its completion has the code, and no byte has
 * changed.
 */
static void refused(struct rma_pair *r, const struct instruction *i,
	unsigned flags, int error)
{
	struct cay_event e;
	assert_int_equal(i->issue(r, 99, flags), 0);
	rma_event(r, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, error);
	assert_int_equal(e.tag, 99);
	assert_int_equal(e.command, instruction_command(i, flags));
	assert_int_equal(e.peer.vpid, cay_peer_addr(r->peer).vpid);
	assert_int_equal(e.length, i->length);
	assert_int_equal(e.offset, i->offset);
	assert_int_equal(e.window, r->key.window);
	assert_true(e.data == NULL && e.result == 0 && e.previous == 0);
	cay_release(r->origin, &e);
	assert_int_equal(cay_flush(r->origin, r->peer, 0), -EREMOTEIO);
	assert_true(content_fits(r->memory, r->bytes, 1));
}

static void allowed(
	struct rma_pair *r, const struct instruction *i, unsigned flags)
{
	assert_int_equal(i->issue(r, 77, flags), 0);
	if (instruction_notified(i, flags))
		rma_complete(r, 77, 0);
	rma_settle(r);
	content_fill(r->memory, r->bytes, 1);
}

/* Checks that all operations are refused, with and without flags. */
static void all_refused(struct rma_pair *r, int error)
{
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		refused(r, &instructions[i], 0, error);
		refused(r, &instructions[i], CAY_ACK, error);
	}
}

static void all_allowed(struct rma_pair *r)
{
	for (unsigned i = 0; i < COUNT(instructions); i++)
		allowed(r, &instructions[i], 0);
}

static struct rma_pair filled(enum place place, unsigned rights)
{
	struct rma_pair r = rma_open(place, INSTRUCTION_BYTES, rights);
	content_fill(r.memory, r.bytes, 1);
	return r;
}

/* ---- rights ---- */

static void rights_of(enum place place, unsigned rights)
{
	struct rma_pair r = filled(place, rights);
	for (unsigned i = 0; i < COUNT(instructions); i++)
		for (unsigned flags = 0; flags < 2; flags++)
			if (instructions[i].right & rights)
				allowed(&r, &instructions[i], flags);
			else
				refused(&r, &instructions[i], flags,
					CAY_ERROR_RIGHTS);
	rma_close(&r);
}

static void each_right_alone(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		for (unsigned rights = 1; rights <= RIGHTS_ACCESS; rights++)
			rights_of(place, rights);
}

/* ---- keys ---- */

static void every_bit_of_the_capability_counts(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		struct rma_pair r = filled(place, RIGHTS_ACCESS);
		assert_int_equal(r.key.capability >> 48, 0);
		assert_int_equal(r.key.reserved, 0);
		for (unsigned bit = 0; bit < 48; bit++) {
			r.key.capability ^= 1ull << bit;
			refused(&r, &instructions[bit % COUNT(instructions)], 0,
				CAY_ERROR_CAPABILITY);
			r.key.capability ^= 1ull << bit;
		}
		r.key.capability ^= 1;
		all_refused(&r, CAY_ERROR_CAPABILITY);
		r.key.capability ^= 1;
		all_allowed(&r);
		assert_int_equal(port_stats(r.origin).invalid_capabilities,
			48 + 2 * COUNT(instructions));
		rma_close(&r);
	}
}

/* Win-IDs that are not open, and Win-IDs out of range. */
static void invalid_window_ids(void **state)
{
	static const uint32_t none[] = { 1, 2, 63, 64, 65, 1000, 32768, 65535 };
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	(void)state;
	assert_int_equal(r.key.window, 0);
	for (unsigned i = 0; i < COUNT(none); i++) {
		r.key.window = none[i];
		all_refused(&r, CAY_ERROR_TARGET_WINDOW);
	}
	r.key.window = 0;
	all_allowed(&r);
	rma_close(&r);
}

/* A port without windows. */
static void port_without_windows(void **state)
{
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	struct cay_peer *peer = r.peer;
	(void)state;
	r.peer = open_peer(r.origin, r.origin);
	all_refused(&r, CAY_ERROR_TARGET_WINDOW);
	cay_peer_release(r.peer);
	r.peer = peer;
	rma_close(&r);
}

static void closed_windows(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		struct rma_pair r = filled(place, RIGHTS_ACCESS);
		struct cay_key old = r.key;
		close_window(r.window);
		all_refused(&r, CAY_ERROR_TARGET_WINDOW);
		/* The next window has the same Win-ID, but another key. */
		r.window = open_window(
			r.owner, r.memory, r.bytes, RIGHTS_ACCESS, &r.key);
		assert_int_equal(r.key.window, old.window);
		assert_true(r.key.capability != old.capability);
		all_allowed(&r);
		struct cay_key new = r.key;
		r.key = old;
		all_refused(&r, CAY_ERROR_CAPABILITY);
		r.key = new;
		rma_close(&r);
	}
}

static void revoked_keys(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		struct rma_pair r = filled(place, RIGHTS_ACCESS);
		for (unsigned i = 0; i < 3; i++) {
			struct cay_key old = r.key, new, asked;
			assert_int_equal(cay_window_revoke(r.window, &new), 0);
			assert_int_equal(cay_window_key(r.window, &asked), 0);
			assert_true(memcmp(&new, &asked, sizeof(new)) == 0);
			assert_int_equal(new.window, old.window);
			assert_true(new.capability != old.capability);
			all_refused(&r, CAY_ERROR_CAPABILITY);
			r.key = new;
			all_allowed(&r);
		}
		rma_close(&r);
	}
}

/* Windows of a closed port: the call returns -EPIPE. */
static void windows_of_a_closed_port(void **state)
{
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	uint16_t vpid = cay_port_addr(r.owner).vpid;
	(void)state;
	close_port(r.owner);
	for (unsigned i = 0; i < COUNT(instructions); i++)
		assert_int_equal(instructions[i].issue(&r, 1, CAY_ACK), -EPIPE);
	expect_gone(r.origin, vpid);
	assert_int_equal(cay_window_lock(r.origin, r.peer, r.key, 0), -EPIPE);
	assert_int_equal(cay_window_unlock(r.origin, r.peer, r.key), -EPIPE);
	assert_int_equal(cay_flush(r.origin, r.peer, 0), 0);
	check_empty(r.origin);
	cay_peer_release(r.peer);
	close_port(r.origin);
}

/* ---- bounds ---- */

#define WINDOW_BYTES 100ull

static const uint64_t outside[][2] = {
	{ 100, 1 },
	{ 99, 2 },
	{ 101, 0 },
	{ 0, 101 },
	{ 1, 100 },
	{ 0, 1ull << 40 },
	{ 77, 24 },
	{ 1ull << 32, 0 },
	{ 1ull << 32, 8 },
	{ 1ull << 63, 8 },
	{ UINT64_MAX, 0 },
	{ UINT64_MAX, 1 },
	{ UINT64_MAX - 7, 8 },
	{ UINT64_MAX - 7, 16 },
	{ UINT64_MAX - 99, 100 },
	{ UINT64_MAX - (1ull << 40) + 1, 1ull << 40 },
};

static void put_outside(
	struct rma_pair *r, uint64_t at, size_t bytes, int error)
{
	static unsigned char source[4096];
	/* Not accessed: the bounds are checked before. */
	assert_int_equal(
		cay_put(r->origin, r->peer, r->key, at, source, bytes, 1, 0),
		0);
	rma_complete(r, 1, error);
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, at, source, bytes, 2, 0),
		0);
	rma_complete(r, 2, error);
	if (bytes == 0 || bytes > 24)
		return;
	assert_int_equal(
		cay_get(r->origin, r->peer, r->key, at, NULL, bytes, 3, 0), 0);
	rma_complete(r, 3, error);
}

static void atomics_outside(struct rma_pair *r, uint64_t at, int error)
{
	uint64_t into = 0;
	assert_int_equal(
		cay_fetch_add(r->origin, r->peer, r->key, at, 1, 1, 0), 0);
	rma_complete(r, 1, error);
	assert_int_equal(cay_fetch_add_into(r->origin, r->peer, r->key, at, 1,
				 &into, 2, 0),
		0);
	rma_complete(r, 2, error);
	assert_int_equal(
		cay_compare_swap(r->origin, r->peer, r->key, at, 0, 1, 3, 0),
		0);
	rma_complete(r, 3, error);
	assert_int_equal(cay_compare_swap_into(r->origin, r->peer, r->key, at,
				 0, 1, &into, 4, 0),
		0);
	rma_complete(r, 4, error);
	assert_int_equal(
		cay_put_masked(r->origin, r->peer, r->key, at, 1, 0xff, 5, 0),
		0);
	rma_complete(r, 5, error);
	assert_int_equal(into, 0);
}

/* Windows inside a buffer, whose other bytes must not change. */
static void bounds_of(enum place place)
{
	struct rma_pair r = rma_open(place, 300, CAY_RIGHT_READ);
	close_window(r.window);
	content_fill(r.memory, r.bytes, 1);
	r.window = open_window(
		r.owner, r.memory + 104, WINDOW_BYTES, RIGHTS_ACCESS, &r.key);
	for (unsigned i = 0; i < COUNT(outside); i++)
		put_outside(&r, outside[i][0], outside[i][1],
			CAY_ERROR_TARGET_BOUNDS);
	static const uint64_t words[] = { 93, 96, 100, 104, 200, 1ull << 32,
		1ull << 63, UINT64_MAX - 7, UINT64_MAX };
	for (unsigned i = 0; i < COUNT(words); i++)
		atomics_outside(&r, words[i], CAY_ERROR_TARGET_BOUNDS);
	for (uint64_t at = 1; at < 8; at++)
		atomics_outside(&r, at, CAY_ERROR_TARGET_OFFSET_ALIGN);
	assert_true(content_fits(r.memory, r.bytes, 1));
	assert_int_equal(rma_flush(&r), -EREMOTEIO);
	/* The whole window, and its last byte. */
	assert_int_equal(cay_put(r.origin, r.peer, r.key, 0, r.memory + 104,
				 WINDOW_BYTES, 0, 0),
		0);
	assert_int_equal(
		cay_put(r.origin, r.peer, r.key, 100, NULL, 0, 0, 0), 0);
	assert_int_equal(
		cay_fetch_add(r.origin, r.peer, r.key, 88, 0, 6, 0), 0);
	rma_complete(&r, 6, 0);
	rma_settle(&r);
	assert_true(content_fits(r.memory, r.bytes, 1));
	rma_close(&r);
}

static void bounds_without_overflow(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		bounds_of(place);
}

/* A window may start at any address, but a word must be aligned. */
static void misaligned_windows(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		struct rma_pair r = rma_open(place, 128, CAY_RIGHT_READ);
		close_window(r.window);
		content_fill(r.memory, r.bytes, 1);
		r.window = open_window(
			r.owner, r.memory + 9, 64, RIGHTS_ACCESS, &r.key);
		for (uint64_t at = 0; at < 16; at++)
			atomics_outside(&r, at, CAY_ERROR_TARGET_OFFSET_ALIGN);
		assert_true(content_fits(r.memory, r.bytes, 1));
		assert_int_equal(rma_flush(&r), -EREMOTEIO);
		uint64_t word = 0x1122334455667788ull, got = 0;
		assert_int_equal(
			cay_put(r.origin, r.peer, r.key, 8, &word, 8, 0, 0), 0);
		assert_int_equal(
			cay_get(r.origin, r.peer, r.key, 8, &got, 8, 0, 0), 0);
		rma_settle(&r);
		assert_int_equal(got, word);
		assert_true(memcmp(r.memory + 17, &word, 8) == 0);
		rma_close(&r);
	}
}

/* ---- the table ---- */

static void arguments_are_checked(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_window *w = NULL;
	unsigned char byte;
	(void)state;
	assert_int_equal(cay_window_open(port, NULL, 1, 1, &w), -EFAULT);
	assert_int_equal(cay_window_open(port, &byte, 0, 1, &w), -EINVAL);
	assert_int_equal(
		cay_window_open(port, &byte, SIZE_MAX, 1, &w), -EINVAL);
	assert_int_equal(cay_window_open(port, &byte, 1, 0, &w), -EINVAL);
	assert_int_equal(cay_window_open(port, &byte, 1, 32 | 1, &w), -EINVAL);
	/* Notification rights alone are not enough. */
	assert_int_equal(
		cay_window_open(port, &byte, 1,
			CAY_RIGHT_NOTIFY_ACCESS | CAY_RIGHT_NOTIFY_REFUSAL, &w),
		-EINVAL);
	assert_true(w == NULL);
	close_port(port);
}

enum {
	FEW = 5
};

static void table_is_limited(void **state)
{
	struct cay_port_options o = { .windows = FEW };
	struct cay_port *port = open_port(&o);
	struct cay_window *w[FEW + 1] = { NULL };
	static uint64_t words[FEW + 1];
	struct cay_key key;
	(void)state;
	for (unsigned lap = 0; lap < 20; lap++) {
		for (unsigned i = 0; i < FEW; i++) {
			w[i] = open_window(port, &words[i], 8, 1, &key);
			assert_int_equal(key.window, i);
		}
		assert_int_equal(
			cay_window_open(port, &words[FEW], 8, 1, &w[FEW]),
			-ENOSPC);
		assert_true(w[FEW] == NULL);
		close_window(w[lap % FEW]);
		w[lap % FEW] = open_window(port, &words[FEW], 8, 1, &key);
		assert_int_equal(key.window, lap % FEW);
		for (unsigned i = 0; i < FEW; i++)
			close_window(w[(i + lap) % FEW]);
	}
	/* Open windows are closed with the port. */
	open_window(port, &words[0], 8, 1, &key);
	close_port(port);
}

/* Keys of earlier windows with the same Win-ID are refused. */
static void keys_are_not_reused(void **state)
{
	enum {
		LAPS = 300
	};
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	struct cay_key old[LAPS];
	(void)state;
	for (unsigned i = 0; i < LAPS; i++) {
		old[i] = r.key;
		close_window(r.window);
		r.window = open_window(
			r.owner, r.memory, r.bytes, RIGHTS_ACCESS, &r.key);
	}
	struct cay_key now = r.key;
	for (unsigned i = 0; i < LAPS; i++) {
		r.key = old[i];
		refused(&r, &instructions[i % COUNT(instructions)], 0,
			CAY_ERROR_CAPABILITY);
	}
	r.key = now;
	all_allowed(&r);
	rma_close(&r);
}

/* ---- freed memory ---- */

static void freed_memory_has_no_windows(void **state)
{
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	uint64_t heap_used = status_read().heap_used;
	unsigned char *other = cay_alloc(r.owner, 4 * PAGE, 0);
	struct cay_key whole, part, kept = r.key;
	(void)state;
	open_window(r.owner, other, 4 * PAGE, RIGHTS_ACCESS, &whole);
	open_window(r.owner, other + 3 * PAGE, 8, RIGHTS_ACCESS, &part);
	/*
	 * An address inside the memory frees neither the memory nor its
	 * windows.
	 */
	cay_free(r.owner, other + PAGE);
	r.key = whole;
	assert_int_equal(issue_add(&r, 1, 0), 0);
	rma_complete(&r, 1, 0);
	cay_free(r.owner, other);
	assert_int_equal(status_read().heap_used, heap_used);
	all_refused(&r, CAY_ERROR_TARGET_WINDOW);
	r.key = part;
	all_refused(&r, CAY_ERROR_TARGET_WINDOW);
	r.key = kept;
	all_allowed(&r);
	rma_close(&r);
}

/* ---- fork ---- */

static void handles_are_the_parents(struct child *parent, void *argument)
{
	struct rma_pair *r = argument;
	struct cay_window *w = NULL;
	struct cay_key key;
	(void)parent;
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		assert_int_equal(instructions[i].issue(r, 1, 0), -ECHILD);
		assert_int_equal(instructions[i].issue(r, 1, CAY_ACK), -ECHILD);
	}
	assert_int_equal(cay_flush(r->origin, r->peer, 0), -ECHILD);
	assert_int_equal(cay_cancel(r->origin, 1), -ECHILD);
	assert_int_equal(cay_window_open(r->owner, &key, 8, 1, &w), -ECHILD);
	assert_int_equal(cay_window_revoke(r->window, &key), -ECHILD);
	assert_int_equal(
		cay_window_lock(r->origin, r->peer, r->key, 0), -ECHILD);
	assert_int_equal(
		cay_window_unlock(r->origin, r->peer, r->key), -ECHILD);
	assert_int_equal(cay_window_close(r->window), -ECHILD);
}

static void after_fork(void **state)
{
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	struct child child;
	(void)state;
	child_start(&child, handles_are_the_parents, &r);
	child_join(&child);
	assert_true(content_fits(r.memory, r.bytes, 1));
	all_allowed(&r);
	rma_close(&r);
}

/* ---- without a node ---- */

/*
 * Direct accesses continue. Accesses in progress cannot be detected, so a
 * window is closed, but its memory is not freed.
 */
static void without_a_node(void **state)
{
	struct rma_pair r = filled(PLACE_ARENA, RIGHTS_ACCESS);
	struct cay_key key;
	(void)state;
	kill(node_process(node_name()), SIGKILL);
	uint64_t deadline = soon();
	while (port_stats(r.origin).node_alive)
		assert_true(now_ns() < deadline);
	all_allowed(&r);
	assert_int_equal(
		cay_window_lock(r.origin, r.peer, r.key, soon()), -ENOTCONN);
	assert_int_equal(cay_window_unlock(r.origin, r.peer, r.key), -ENOTCONN);
	assert_int_equal(cay_window_revoke(r.window, &key), -ENOTCONN);
	all_refused(&r, CAY_ERROR_CAPABILITY);
	r.key = key;
	assert_int_equal(cay_window_close(r.window), -ENOTCONN);
	all_refused(&r, CAY_ERROR_TARGET_WINDOW);
	/* Opening a window needs no node. */
	r.window =
		open_window(r.owner, r.memory, r.bytes, RIGHTS_ACCESS, &r.key);
	all_allowed(&r);
	cay_peer_release(r.peer);
	close_port(r.origin);
	close_port(r.owner);
}

/* An emulated access needs staging memory, which the node allocates. */
static void emulation_without_a_node(void **state)
{
	struct rma_pair r = filled(PLACE_HEAP, RIGHTS_ACCESS);
	(void)state;
	kill(node_process(node_name()), SIGKILL);
	uint64_t deadline = soon();
	while (port_stats(r.origin).node_alive)
		assert_true(now_ns() < deadline);
	assert_int_equal(issue_put8(&r, 1, CAY_ACK), 0);
	rma_complete(&r, 1, 0);
	assert_int_equal(issue_add(&r, 2, 0), -ENOTCONN);
	assert_int_equal(issue_masked(&r, 2, 0), -ENOTCONN);
	assert_int_equal(cay_flush(r.origin, r.peer, 0), 0);
	check_empty(r.origin);
	check_empty(r.owner);
	cay_peer_release(r.peer);
	close_port(r.origin);
	close_port(r.owner);
	free(r.memory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_right_alone),
		TEST(every_bit_of_the_capability_counts),
		TEST(invalid_window_ids),
		TEST(port_without_windows),
		TEST(closed_windows),
		TEST(revoked_keys),
		TEST(windows_of_a_closed_port),
		TEST(bounds_without_overflow),
		TEST(misaligned_windows),
		TEST(arguments_are_checked),
		TEST(table_is_limited),
		TEST(keys_are_not_reused),
		TEST(freed_memory_has_no_windows),
		TEST(after_fork),
		TEST(without_a_node),
		TEST(emulation_without_a_node),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
