/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles that a call cannot use: NULL, peers of another port, and keys with
 * reserved bits are refused with -EINVAL; what closes or releases accepts NULL,
 * and the properties of NULL are 0.
 */
#include <errno.h>
#include <sys/uio.h>

#include "instruction.h"

static void closing_null_does_nothing(void **state)
{
	struct cay_port *port = open_port(NULL);
	(void)state;
	assert_int_equal(cay_port_close(NULL), 0);
	assert_int_equal(cay_window_close(NULL), 0);
	cay_peer_release(NULL);
	cay_free(port, NULL);
	close_port(port);
}

/*
 * Every public call that takes a port, except those on the path of a message,
 * which do not check for it: cay_send(), cay_sendv() and their tagged forms,
 * accesses, cay_poll(), cay_release() and cay_flush().
 */
static void null_port_is_refused(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer(port, port), *out;
	struct cay_key key = { 0 };
	struct cay_addr addr = cay_port_addr(port);
	struct cay_event e = { .kind = CAY_EVENT_MESSAGE, .peer = addr };
	struct cay_vci vci = { 0 };
	struct cay_window *w;
	struct cay_stats s;
	void *memory;
	size_t bytes;
	uint64_t offset;
	(void)state;
	const struct {
		const char *call;
		int result;
	} refused[] = {
		{ "port_fd", cay_port_fd(NULL) },
		{ "port_arm", cay_port_arm(NULL) },
		{ "port_stats", cay_port_stats(NULL, &s) },
		{ "wait", cay_wait(NULL, 0) },
		{ "send_wait", cay_send_wait(NULL, peer, 1, "x", 1, 0, 0) },
		{ "reply", cay_reply(NULL, &e, 1, NULL, 0, 0) },
		{ "cancel", cay_cancel(NULL, 1) },
		{ "peer_resolve", cay_peer_resolve(NULL, addr, &out) },
		{ "peer_resolve_start",
			cay_peer_resolve_start(NULL, addr, NULL) },
		{ "peer_lookup", cay_peer_lookup(NULL, "x", 0, &out) },
		{ "window_open", cay_window_open(NULL, &w, 1, 1, &w) },
		{ "window_lock", cay_window_lock(NULL, peer, key, 0) },
		{ "window_unlock", cay_window_unlock(NULL, peer, key) },
		{ "window_map",
			cay_window_map(NULL, peer, key, &memory, &bytes) },
		{ "window_unmap", cay_window_unmap(NULL, &key) },
		{ "receive_mode", cay_receive_mode(NULL, CAY_RECEIVE_RDR) },
		{ "receive_post", cay_receive_post(NULL, &w, 1, 1) },
		{ "receive_cancel", cay_receive_cancel(NULL, 1) },
		{ "offset", cay_offset(NULL, &w, 1, &offset) },
		{ "vci_post", cay_vci_post(NULL, &vci) },
	};
	for (unsigned i = 0; i < COUNT(refused); i++)
		if (refused[i].result != -EINVAL)
			fail_msg("cay_%s(NULL) returns %d", refused[i].call,
				refused[i].result);
	errno = 0;
	assert_null(cay_alloc(NULL, 1, 0));
	assert_int_equal(errno, EINVAL);
	cay_free(NULL, &w);
	cay_peer_release(peer);
	close_port(port);
}

/* Calls that return a property of a port or of a peer. */
static void null_handles_have_no_properties(void **state)
{
	size_t sdr_bytes = 1, rdr_bytes = 1;
	(void)state;
	struct cay_addr port = cay_port_addr(NULL), peer = cay_peer_addr(NULL);
	const struct {
		const char *what;
		uint64_t value;
	} zeros[] = {
		{ "node of a port", port.node },
		{ "VPID of a port", port.vpid },
		{ "node of a peer", peer.node },
		{ "VPID of a peer", peer.vpid },
		{ "path", cay_peer_path(NULL) },
		{ "route", cay_peer_route(NULL) },
		{ "data", (uintptr_t)cay_peer_data(NULL) },
		{ "SDR", (uintptr_t)cay_sdr(NULL, &sdr_bytes) },
		{ "RDR", (uintptr_t)cay_rdr(NULL, &rdr_bytes) },
		{ "size of the SDR", sdr_bytes },
		{ "size of the RDR", rdr_bytes },
		{ "posted receives", (uintptr_t)cay_posted(NULL, NULL) },
		{ "notification", (uintptr_t)cay_nqe_next(NULL) },
		{ "trigger", cay_trigger(NULL, CAY_ISSUE_VCI, 1).accepted },
	};
	for (unsigned i = 0; i < COUNT(zeros); i++)
		if (zeros[i].value)
			fail_msg("%s: %llu", zeros[i].what,
				(unsigned long long)zeros[i].value);
	assert_string_equal(cay_peer_bulk(NULL), "unknown");
	cay_peer_set_data(NULL, &port);
}

/* The size of a region may be of no interest. */
static void null_sizes_are_not_stored(void **state)
{
	struct cay_port *port = open_port(NULL);
	(void)state;
	assert_non_null(cay_sdr(port, NULL));
	assert_non_null(cay_rdr(port, NULL));
	assert_non_null(cay_posted(port, NULL));
	close_port(port);
}

static void null_window_and_null_result_are_refused(void **state)
{
	struct cay_port *port = open_named("null");
	struct cay_addr addr = cay_port_addr(port);
	struct cay_peer *peer = open_peer(port, port);
	struct cay_window *w;
	struct cay_key key;
	void *mapped;
	size_t bytes;
	char memory[8];
	(void)state;
	assert_int_equal(cay_window_key(NULL, &key), -EINVAL);
	assert_int_equal(cay_window_revoke(NULL, &key), -EINVAL);
	assert_int_equal(cay_window_open(port, memory, sizeof(memory),
				 CAY_RIGHT_READ, NULL),
		-EFAULT);
	assert_int_equal(cay_window_open(port, memory, sizeof(memory),
				 CAY_RIGHT_READ, &w),
		0);
	assert_int_equal(cay_window_key(w, &key), 0);
	assert_int_equal(key.window, 0);
	assert_int_equal(cay_window_key(w, NULL), -EFAULT);
	assert_int_equal(cay_window_revoke(w, NULL), -EFAULT);
	assert_int_equal(
		cay_window_map(port, peer, key, NULL, &bytes), -EFAULT);
	assert_int_equal(
		cay_window_map(port, peer, key, &mapped, NULL), -EFAULT);
	assert_int_equal(cay_window_close(w), 0);
	assert_int_equal(cay_peer_resolve(port, addr, NULL), -EFAULT);
	assert_int_equal(cay_peer_lookup(port, "null", 0, NULL), -EFAULT);
	assert_int_equal(cay_port_stats(port, NULL), -EFAULT);
	assert_int_equal(cay_vci_post(port, NULL), -EFAULT);
	void *block = cay_alloc(port, 8, 0);
	assert_int_equal(cay_offset(port, block, 8, NULL), -EFAULT);
	cay_free(port, block);
	cay_peer_release(peer);
	close_port(port);
}

/* Every call that takes a peer. */
static void check_peer(struct rma_pair *r)
{
	static unsigned char data[CAY_EAGER_MAX + 1];
	static const size_t lengths[] = { 0, 8, 100, sizeof(data) };
	struct cay_port *port = r->origin;
	for (unsigned i = 0; i < COUNT(lengths); i++)
		for (unsigned flags = 0; flags <= CAY_NOTIFY; flags++) {
			size_t length = lengths[i];
			struct iovec piece = { data, length };
			assert_int_equal(
				cay_send(port, r->peer, 1, data, length, flags),
				-EINVAL);
			assert_int_equal(cay_send_tagged(port, r->peer, 1, 2,
						 data, length, flags),
				-EINVAL);
			assert_int_equal(
				cay_sendv(port, r->peer, 1, &piece, 1, flags),
				-EINVAL);
			assert_int_equal(cay_send_wait(port, r->peer, 1, data,
						 length, flags, soon()),
				-EINVAL);
		}
	for (unsigned i = 0; i < COUNT(instructions); i++)
		for (unsigned flags = 0; flags <= CAY_NOTIFY; flags++)
			assert_int_equal(
				instructions[i].issue(r, 1, flags), -EINVAL);
	assert_int_equal(cay_flush(port, r->peer, 0), -EINVAL);
	assert_int_equal(cay_window_lock(port, r->peer, r->key, 0), -EINVAL);
	assert_int_equal(cay_window_unlock(port, r->peer, r->key), -EINVAL);
}

static void peer_must_be_one_of_the_port(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_ACCESS);
	struct cay_peer *peer = r.peer;
	struct cay_peer *foreign = open_peer(r.owner, r.origin);
	struct cay_peer *same_target = open_peer(r.owner, r.owner);
	(void)state;
	r.peer = NULL;
	check_peer(&r);
	r.peer = foreign;
	check_peer(&r);
	r.peer = same_target;
	check_peer(&r);
	r.peer = peer;
	/* Nothing was sent or written. */
	for (unsigned i = 0; i < r.bytes; i++)
		assert_int_equal(r.memory[i], 0);
	check_empty(r.owner);
	cay_peer_release(foreign);
	cay_peer_release(same_target);
	rma_close(&r);
}

static void reserved_bits_of_a_key_are_refused(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_ACCESS);
	(void)state;
	for (unsigned bit = 0; bit < 32; bit++) {
		r.key.reserved = 1u << bit;
		for (unsigned i = 0; i < COUNT(instructions); i++)
			for (unsigned flags = 0; flags <= CAY_NOTIFY; flags++)
				assert_int_equal(
					instructions[i].issue(&r, 1, flags),
					-EINVAL);
		assert_int_equal(
			cay_window_lock(r.origin, r.peer, r.key, 0), -EINVAL);
		assert_int_equal(
			cay_window_unlock(r.origin, r.peer, r.key), -EINVAL);
	}
	r.key.reserved = 0;
	assert_int_equal(issue_put8(&r, 1, 0), 0);
	rma_settle(&r);
	rma_close(&r);
}

static void unknown_bits_of_flags_are_refused(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_ACCESS);
	unsigned known = CAY_NOTIFY | CAY_FREE_ORDER | CAY_FENCE |
			 CAY_INTERRUPT | CAY_PRIORITY | CAY_ACK;
	unsigned sends = known | CAY_BORROW;
	(void)state;
	for (unsigned bit = 0; bit < 32; bit++) {
		unsigned flag = 1u << bit;
		struct cay_window *w;
		errno = 0;
		if (!(sends & flag))
			assert_int_equal(
				cay_send(r.origin, r.peer, 1, "x", 1, flag),
				-EINVAL);
		for (unsigned i = 0; !(known & flag) && i < COUNT(instructions);
			i++)
			assert_int_equal(
				instructions[i].issue(&r, 1, flag), -EINVAL);
		if (flag != CAY_ALLOC_HUGE) {
			assert_null(cay_alloc(r.owner, 4096, flag));
			assert_int_equal(errno, EINVAL);
		}
		if (bit >= 5)
			assert_int_equal(
				cay_window_open(r.owner, r.memory, r.bytes,
					RIGHTS_ACCESS | flag, &w),
				-EINVAL);
	}
	rma_close(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(closing_null_does_nothing),
		TEST(null_port_is_refused),
		TEST(null_handles_have_no_properties),
		TEST(null_sizes_are_not_stored),
		TEST(null_window_and_null_result_are_refused),
		TEST(peer_must_be_one_of_the_port),
		TEST(reserved_bits_of_a_key_are_refused),
		TEST(unknown_bits_of_flags_are_refused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
