/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Invalid requests: each completes with a NOTIFY_CC that has the tag of the
 * request and the code of the first failing check, and has no other effect.
 */
#include <errno.h>

#include "vci.h"

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer; /* b as a peer of a */
	uint64_t tag;
};

static struct pair pair_open(void)
{
	struct pair p = { .tag = 1000 };
	p.a = open_port(NULL);
	p.b = open_port(NULL);
	p.peer = open_peer(p.a, p.b);
	return p;
}

/* Nothing has arrived at b, and a valid request still does. */
static void pair_close(struct pair *p)
{
	expect_nothing(p->a);
	expect_nothing(p->b);
	struct cay_vci v = vci_fast(p->peer, 0, 0, 1, 8);
	vci_issue(p->a, &v);
	assert_int_equal(nqe_tag(nqe_next(p->b)), 1);
	nqe_done(p->b);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

/* Issues the request with a unique tag and checks the error. */
static void refused(struct pair *p, struct cay_vci v, unsigned error)
{
	v.word[CAY_VCI_WORD_TAG] = ++p->tag;
	v.word[CAY_VCI_WORD_TARGET] |= 0x1234ull << CAY_VCI_API_TAG_SHIFT;
	vci_issue(p->a, &v);
	const struct cay_nqe *n = nqe_next(p->a);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
	assert_int_equal(nqe_error(n), error);
	assert_int_equal(nqe_tag(n), p->tag);
	assert_int_equal(
		n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT, 0x1234);
	assert_int_equal(n->word[CAY_NQE_WORD_COMPLETED] & 0xffff,
		v.word[CAY_VCI_WORD_COMMAND] & 0xffff);
	nqe_done(p->a);
	expect_nothing(p->b);
}

/* ---- 1: command ---- */

/*
 * The commands that a VCI without inline bytes may have: FAST_PUT and FAST_GET
 * have at least one byte.
 */
static bool command_is_supported(unsigned command)
{
	static const uint8_t served[] = { 0x10, 0x18, 0x40, 0x48, 0x62, 0x73,
		0x90, 0x98, 0xa0, 0xa8, 0xb0 };
	for (unsigned i = 0; i < COUNT(served); i++)
		if (served[i] == command)
			return true;
	return false;
}

static void commands(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (unsigned command = 0; command <= 0xff; command++)
		if (!command_is_supported(command))
			refused(&p, vci_to(p.peer, command, 0, 0),
				CAY_ERROR_COMMAND);
	/* Unsupported groups, and the error bits. */
	for (unsigned bit = 8; bit < 16; bit++)
		refused(&p, vci_to(p.peer, CAY_FAST_SEND | 1u << bit, 0, 0),
			CAY_ERROR_COMMAND);
	pair_close(&p);
}

static void lengths(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (unsigned words = 0; words < 8; words++)
		for (unsigned bytes = 0; bytes <= 72; bytes++) {
			struct cay_vci v =
				vci_to(p.peer, CAY_FAST_SEND | words, 0, 0);
			v.word[CAY_VCI_WORD_TARGET] |= (uint64_t)bytes
						       << CAY_VCI_BYTES_SHIFT;
			if (words > CAY_FAST_SEND_WORDS ||
				words != (bytes + 7) / 8)
				refused(&p, v, CAY_ERROR_COMMAND);
		}
	struct cay_vci v = vci_to(p.peer, CAY_FAST_SEND, 0, 0);
	v.word[CAY_VCI_WORD_TARGET] |= 0xffffull << CAY_VCI_BYTES_SHIFT;
	refused(&p, v, CAY_ERROR_COMMAND);
	pair_close(&p);
}

/* FAST_PUT and FAST_GET: LL counts 1 to 3 words. */
static void lengths_of_fast_accesses(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (unsigned words = 0; words < 4; words++)
		for (unsigned bytes = 0; bytes <= 40; bytes++) {
			uint64_t count = (uint64_t)bytes << CAY_VCI_BYTES_SHIFT;
			struct cay_vci put =
				vci_to(p.peer, CAY_FAST_PUT | words, 0, 0);
			struct cay_vci get =
				vci_to(p.peer, CAY_FAST_GET | words, 0, 0);
			if (words && words == (bytes + 7) / 8)
				continue;
			put.word[CAY_VCI_WORD_TARGET] |= count;
			get.word[CAY_VCI_WORD_TARGET] |= count;
			refused(&p, put, CAY_ERROR_COMMAND);
			refused(&p, get, CAY_ERROR_COMMAND);
		}
	pair_close(&p);
}

static void flags(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (unsigned bit = 5; bit < 8; bit++) {
		refused(&p, vci_fast(p.peer, 0, 1u << bit, 0, 8),
			CAY_ERROR_COMMAND);
		refused(&p, vci_send(p.peer, 0, 1u << bit, 0, 0, 8),
			CAY_ERROR_COMMAND);
	}
	pair_close(&p);
}

/* ---- 3: route ---- */

static struct cay_vci rerouted(struct cay_vci v, uint64_t route)
{
	v.word[CAY_VCI_WORD_COMMAND] &=
		~(CAY_VCI_ROUTING_OFFSET_MASK << CAY_VCI_ROUTING_OFFSET_SHIFT);
	v.word[CAY_VCI_WORD_COMMAND] |= route << CAY_VCI_ROUTING_OFFSET_SHIFT;
	return v;
}

static void routes(void **state)
{
	struct pair p = pair_open();
	static const uint64_t unused[] = { 1, 2, 1023, 1024, 65536,
		CAY_VCI_ROUTING_OFFSET_MASK };
	(void)state;
	assert_int_equal(cay_peer_route(p.peer), 0);
	for (unsigned i = 0; i < COUNT(unused); i++) {
		refused(&p, rerouted(vci_fast(p.peer, 0, 0, 0, 8), unused[i]),
			CAY_ERROR_ROUTE);
		refused(&p,
			rerouted(vci_send(p.peer, 0, 0, 0, 0, 8), unused[i]),
			CAY_ERROR_ROUTE);
	}
	/* A route that was released. */
	struct cay_peer *again = open_peer(p.a, p.b);
	struct cay_vci v = vci_fast(again, 0, 0, 0, 8);
	cay_peer_release(again);
	refused(&p, v, CAY_ERROR_ROUTE);
	pair_close(&p);
}

/* A port that has resolved no peer has no routes. */
static void no_routes(void **state)
{
	struct pair p = pair_open();
	struct cay_port *lonely = open_port(NULL);
	struct cay_vci v = vci_fast(p.peer, 0, 0, 5, 8);
	(void)state;
	vci_issue(lonely, &v);
	expect_cc(lonely, 5, CAY_FAST_SEND | 1, CAY_ERROR_ROUTE);
	close_port(lonely);
	pair_close(&p);
}

/* ---- 5: bounds of the SDR ---- */

static void bounds(void **state)
{
	struct pair p = pair_open();
	size_t room;
	(void)state;
	cay_sdr(p.a, &room);
	const uint64_t wrong[][2] = {
		{ room, 1 },
		{ room - 1, 2 },
		{ room + 1, 0 },
		{ 0, room + 1 },
		{ UINT64_MAX, 1 },
		{ UINT64_MAX, 0 },
		{ 1, UINT64_MAX },
		{ UINT64_MAX - 7, 8 },
		{ UINT64_MAX - 7, 16 },
		{ 64, UINT64_MAX - 63 },
		{ UINT64_MAX, UINT64_MAX },
		{ 1ull << 63, 1ull << 63 },
	};
	for (unsigned i = 0; i < COUNT(wrong); i++)
		refused(&p, vci_send(p.peer, 0, 0, 0, wrong[i][0], wrong[i][1]),
			CAY_ERROR_ORIGIN_BOUNDS);
	pair_close(&p);
}

/* ---- 8 and 21: target ---- */

static void targets(void **state)
{
	struct pair p = pair_open();
	uint16_t vpid = cay_port_addr(p.b).vpid;
	const uint16_t wrong[] = { CAY_VPID_NODE, cay_port_addr(p.a).vpid,
		(uint16_t)(vpid + 1), UINT16_MAX };
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct cay_vci v = vci_fast(p.peer, 0, 0, 0, 8);
		v.word[CAY_VCI_WORD_TARGET] &= ~0xffffull;
		v.word[CAY_VCI_WORD_TARGET] |= wrong[i];
		refused(&p, v, CAY_ERROR_TARGET_VPID);
	}
	pair_close(&p);
}

static void gone(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	uint16_t vpid = cay_port_addr(b).vpid;
	static const size_t sizes[] = { 0, 40, 41, CAY_EAGER_MAX, 10000 };
	(void)state;
	close_port(b);
	const struct cay_nqe *n = nqe_next(a);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_GONE);
	assert_int_equal(nqe_error(n), CAY_ERROR_GONE);
	assert_int_equal(nqe_vpid(n), vpid);
	nqe_done(a);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct cay_vci v = vci_send(peer, 0, 0, i, 0, sizes[i]);
		vci_issue(a, &v);
		expect_cc(a, i, CAY_SEND, CAY_ERROR_GONE);
	}
	struct cay_vci v = vci_fast(peer, CAY_COMMAND_ACK, 1, 9, 40);
	vci_issue(a, &v);
	expect_cc(a, 9, CAY_FAST_SEND | CAY_COMMAND_ACK | 5, CAY_ERROR_GONE);
	expect_nothing(a);
	cay_peer_release(peer);
	close_port(a);
}

/* ---- order of the checks ---- */

static void first_failing_check_sets_the_code(void **state)
{
	struct pair p = pair_open();
	(void)state;
	struct cay_vci v = vci_send(p.peer, 0, 1u << 7, 0, UINT64_MAX, 1);
	v.word[CAY_VCI_WORD_TARGET] ^= 0xffff;
	refused(&p, rerouted(v, 77), CAY_ERROR_COMMAND);
	v.word[CAY_VCI_WORD_COMMAND] &= ~(0xffull << CAY_VCI_FLAGS_SHIFT);
	refused(&p, rerouted(v, 77), CAY_ERROR_ROUTE);
	pair_close(&p);
}

/* Invalid requests among valid ones: each completes on its own, in order. */
static void invalid_among_valid(void **state)
{
	struct pair p = pair_open();
	struct cay_vci right = vci_fast(p.peer, CAY_VCI_NOTIFY, 0, 0, 0);
	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		right = i % 3 ? vci_fast(p.peer, 0, CAY_VCI_NOTIFY, i, 8)
			      : vci_to(p.peer, 0x55, 0, i);
		vci_post(p.a, &right);
	}
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_VCI, 30).accepted, 30);
	for (unsigned i = 0; i < 30; i++)
		expect_cc(p.a, i, i % 3 ? CAY_FAST_SEND | 1 : 0x55,
			i % 3 ? 0 : CAY_ERROR_COMMAND);
	for (unsigned i = 0; i < 30; i++) {
		if (i % 3 == 0)
			continue;
		assert_int_equal(nqe_tag(nqe_next(p.b)), i);
		nqe_done(p.b);
	}
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(commands),
		TEST(lengths),
		TEST(lengths_of_fast_accesses),
		TEST(flags),
		TEST(routes),
		TEST(no_routes),
		TEST(bounds),
		TEST(targets),
		TEST(gone),
		TEST(first_failing_check_sets_the_code),
		TEST(invalid_among_valid),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
