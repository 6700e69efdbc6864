/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port that presents thousands of invalid capabilities is disabled, whichever
 * call presents them.
 */
#include "instruction.h"
#include "vci.h"

/* The port is disabled after 4096 attempts, and its peers receive GONE. */
static void guess(struct rma_pair *r, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		r->key.capability += 0x123456789ull;
		assert_int_equal(
			cay_put(r->origin, r->peer, r->key, 0, "", 1, i, 0), 0);
		if (i + 1 < count)
			expect_complete(r->origin, i, CAY_ERROR_CAPABILITY);
	}
}

/* Its resources can be released. */
static void guesser_end(struct rma_pair *r)
{
	cay_peer_release(r->peer);
	close_port(r->origin);
	close_window(r->window);
	cay_free(r->owner, r->memory);
	close_port(r->owner);
}

static void check_disabled(struct rma_pair *r)
{
	struct cay_event e;
	struct cay_stats stats;
	struct cay_peer *peer;
	for (unsigned i = 0; i < COUNT(instructions); i++)
		assert_int_equal(instructions[i].issue(r, 1, 0), -EACCES);
	assert_int_equal(cay_send(r->origin, r->peer, 1, "", 1, 0), -EACCES);
	assert_int_equal(cay_poll(r->origin, &e, 1), -EACCES);
	assert_int_equal(cay_wait(r->origin, 0), -EACCES);
	assert_int_equal(cay_flush(r->origin, r->peer, 0), -EACCES);
	assert_int_equal(cay_cancel(r->origin, 1), -EACCES);
	assert_int_equal(cay_port_stats(r->origin, &stats), -EACCES);
	assert_int_equal(
		cay_window_lock(r->origin, r->peer, r->key, 0), -EACCES);
	assert_int_equal(
		cay_peer_resolve(r->origin, cay_port_addr(r->owner), &peer),
		-EACCES);
	assert_int_equal(cay_trigger(r->origin, CAY_ISSUE_VCI, 1).reason,
		CAY_ERROR_ORIGIN_VPID);
	assert_true(cay_nqe_next(r->origin) == NULL);
}

static void disabled_after_4096_accesses(void **state)
{
	struct rma_pair r = rma_open(PLACE_ARENA, 64, RIGHTS_ACCESS);
	struct cay_peer *back = open_peer(r.owner, r.origin);
	struct cay_addr guesser = cay_port_addr(r.origin);
	uint64_t own = 0;
	struct cay_key own_key;
	(void)state;
	struct cay_window *w =
		open_window(r.origin, &own, 8, RIGHTS_ACCESS, &own_key);
	guess(&r, 4096);
	check_disabled(&r);
	expect_gone(r.owner, guesser.vpid);
	assert_int_equal(cay_send(r.owner, back, 1, "", 1, 0), -EPIPE);
	assert_int_equal(
		cay_put(r.owner, back, own_key, 0, "x", 1, 0, 0), -EPIPE);
	assert_int_equal(own, 0);
	assert_int_equal(r.memory[0], 0);
	cay_peer_release(back);
	/* Its resources can be released. */
	assert_int_equal(cay_window_close(w), 0);
	guesser_end(&r);
}

/* A lock needs the key, too, which the node checks instead of the device. */
static void disabled_by_locks(void **state)
{
	struct rma_pair r = rma_open(PLACE_ARENA, 64, RIGHTS_ACCESS);
	struct cay_stats stats;
	(void)state;
	for (unsigned i = 1; i < 4096; i++) {
		r.key.capability += 0x123456789ull;
		assert_int_equal(
			cay_window_lock(r.origin, r.peer, r.key, 0), -EACCES);
	}
	assert_int_equal(cay_port_stats(r.origin, &stats), 0);
	assert_int_equal(stats.invalid_capabilities, 4095);
	r.key.capability++;
	assert_int_equal(cay_window_lock(r.origin, r.peer, r.key, 0), -EACCES);
	check_disabled(&r);
	guesser_end(&r);
}

/* Through the raw API; other ports of the process continue to work. */
static void disabled_by_work_requests(void **state)
{
	struct rma_pair r = rma_open(PLACE_ARENA, 64, RIGHTS_ACCESS);
	struct cay_peer *back = open_peer(r.owner, r.origin);
	uint64_t wrong = 0;
	(void)state;
	r.key.capability ^= 1;
	while (cay_port_stats(r.origin, &(struct cay_stats){ 0 }) == 0) {
		struct cay_vci v = vci_fast_access(
			r.peer, CAY_FAST_PUT, 0, ++wrong, r.key, 0, 8);
		vci_issue(r.origin, &v);
		if (wrong < 4096)
			expect_cc(r.origin, wrong, CAY_FAST_PUT | 1,
				CAY_ERROR_CAPABILITY);
	}
	assert_int_equal(wrong, 4096);
	check_disabled(&r);
	assert_int_equal(
		cay_vci_post(r.origin, &(struct cay_vci){ { 0 } }), -EACCES);
	expect_gone(r.owner, cay_port_addr(r.origin).vpid);
	cay_peer_release(back);
	guesser_end(&r);
}

/* The locks of a disabled port are released. */
static void disabled_port_holds_no_lock(void **state)
{
	struct rma_pair r = rma_open(PLACE_ARENA, 64, RIGHTS_ACCESS);
	struct cay_port *other = open_port(NULL);
	struct cay_peer *peer = open_peer(other, r.owner);
	struct cay_key key = r.key;
	(void)state;
	assert_int_equal(cay_window_lock(r.origin, r.peer, key, 0), 0);
	assert_int_equal(cay_window_lock(other, peer, key, 0), -EAGAIN);
	guess(&r, 4096);
	assert_int_equal(cay_window_lock(other, peer, key, 0), 0);
	cay_peer_release(peer);
	close_port(other);
	guesser_end(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(disabled_after_4096_accesses),
		TEST(disabled_by_locks),
		TEST(disabled_by_work_requests),
		TEST(disabled_port_holds_no_lock),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
