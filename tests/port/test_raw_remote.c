/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory with the raw API: PUT, GET and their fast forms, masked puts
 * and atomics as VCIs, and all words of their notifications.
 */
#include "remote.h"
#include "vci.h"

#define BYTES 8192ul

/* Two ports of this process with a window each. */
struct pair {
	struct rma_pair r;
	unsigned char *local; /* window of the origin */
	struct cay_window *window;
	struct cay_key origin;
	enum place place; /* memory of the origin's window */
};

static struct pair pair_open(enum place origin, enum place target)
{
	struct pair p = { .place = origin };
	p.r = rma_open(target, BYTES, RIGHTS_ACCESS);
	p.local = origin == PLACE_ARENA ? cay_alloc(p.r.origin, BYTES, 0)
					: calloc(1, BYTES);
	p.window = open_window(
		p.r.origin, p.local, BYTES, CAY_RIGHT_READ, &p.origin);
	return p;
}

static void pair_close(struct pair *p)
{
	expect_nothing(p->r.origin);
	expect_nothing(p->r.owner);
	close_window(p->window);
	close_window(p->r.window);
	if (p->place == PLACE_ARENA)
		cay_free(p->r.origin, p->local);
	else
		free(p->local);
	place_free(p->r.owner, p->r.place, p->r.memory);
	cay_peer_release(p->r.peer);
	close_port(p->r.origin);
	close_port(p->r.owner);
}

/* Returns the next notification of the origin; polls the owner meanwhile. */
static const struct cay_nqe *pair_next(struct pair *p)
{
	uint64_t deadline = soon();
	const struct cay_nqe *n;
	while (!(n = cay_nqe_next(p->r.origin))) {
		expect_nothing(p->r.owner);
		assert_true(now_ns() < deadline);
	}
	return n;
}

/*
 * Checks a completion: words 0, 1, 6 and 7, and the number of bytes in word 7.
 */
static const struct cay_nqe *pair_complete(
	struct pair *p, uint64_t tag, unsigned command, size_t bytes)
{
	const struct cay_nqe *n = pair_next(p);
	struct cay_addr to = cay_port_addr(p->r.owner);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
	assert_int_equal(nqe_error(n), 0);
	assert_int_equal(nqe_tag(n), tag);
	assert_int_equal((uint32_t)n->word[CAY_NQE_WORD_PEER], to.node);
	assert_int_equal(n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT,
		(uint32_t)tag ^ 0xabcd);
	assert_int_equal((uint16_t)n->word[CAY_NQE_WORD_COMPLETED], command);
	assert_int_equal(nqe_vpid(n), to.vpid);
	assert_int_equal(nqe_bytes(n), bytes);
	return n;
}

static void pair_issue(struct pair *p, struct cay_vci v)
{
	uint64_t api_tag = (uint32_t)v.word[CAY_VCI_WORD_TAG] ^ 0xabcd;
	v.word[CAY_VCI_WORD_TARGET] |= api_tag << CAY_VCI_API_TAG_SHIFT;
	vci_issue(p->r.origin, &v);
}

/* Checks a completion with window, offset and length. */
static void check_place(
	struct pair *p, const struct cay_nqe *n, uint64_t at, uint64_t bytes)
{
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], bytes);
	assert_int_equal(n->word[CAY_NQE_WORD_OFFSET], at);
	assert_int_equal(n->word[CAY_NQE_WORD_WINDOW], p->r.key.window);
	nqe_done(p->r.origin);
}

static void each_pair(void (*body)(struct pair *))
{
	for (enum place origin = 0; origin < 2; origin++)
		for (enum place target = 0; target < PLACES; target++) {
			struct pair p = pair_open(origin, target);
			body(&p);
			pair_close(&p);
		}
}

/* ---- between two windows ---- */

static const uint64_t extents[][3] = {
	/* origin, target, bytes */
	{ 0, 0, BYTES },
	{ 1, 0, 100 },
	{ 0, 1, 100 },
	{ 8, 16, 8 },
	{ 8, 16, 24 },
	{ 7, 9, 1 },
	{ BYTES, BYTES, 0 },
	{ BYTES - 1, 0, 1 },
	{ 0, BYTES - 13, 13 },
	{ 4000, 100, 4096 },
};

static void bulk_put(struct pair *p)
{
	for (unsigned i = 0; i < COUNT(extents); i++) {
		const uint64_t *x = extents[i];
		unsigned ack = i % 2 ? CAY_COMMAND_ACK : 0;
		content_fill(p->local + x[0], x[2], i);
		memset(p->r.memory, 0, BYTES);
		pair_issue(p,
			vci_bulk(p->r.peer, CAY_PUT | ack, CAY_VCI_NOTIFY, i,
				p->r.key, x[1], p->origin.window, x[0], x[2]));
		check_place(
			p, pair_complete(p, i, CAY_PUT | ack, 0), x[1], x[2]);
		assert_true(content_fits(p->r.memory + x[1], x[2], i));
		for (uint64_t j = 0; j < x[1]; j++)
			assert_int_equal(p->r.memory[j], 0);
		for (uint64_t j = x[1] + x[2]; j < BYTES; j++)
			assert_int_equal(p->r.memory[j], 0);
	}
}

static void bulk_get(struct pair *p)
{
	for (unsigned i = 0; i < COUNT(extents); i++) {
		const uint64_t *x = extents[i];
		content_fill(p->r.memory + x[1], x[2], i);
		memset(p->local, 0, BYTES);
		pair_issue(p,
			vci_bulk(p->r.peer, CAY_GET, CAY_VCI_NOTIFY, i,
				p->r.key, x[1], p->origin.window, x[0], x[2]));
		check_place(p, pair_complete(p, i, CAY_GET, 0), x[1], x[2]);
		assert_true(content_fits(p->local + x[0], x[2], i));
		for (uint64_t j = 0; j < x[0]; j++)
			assert_int_equal(p->local[j], 0);
		for (uint64_t j = x[0] + x[2]; j < BYTES; j++)
			assert_int_equal(p->local[j], 0);
	}
}

static void put_between_windows(void **state)
{
	(void)state;
	each_pair(bulk_put);
}

static void get_between_windows(void **state)
{
	(void)state;
	each_pair(bulk_get);
}

/* ---- data in the VCI and in the NQE ---- */

static void fast_put(struct pair *p)
{
	for (size_t bytes = 1; bytes <= 24; bytes++)
		for (unsigned ack = 0; ack < 16; ack += CAY_COMMAND_ACK) {
			unsigned command = CAY_FAST_PUT | ack |
					   (unsigned)(bytes + 7) / 8;
			memset(p->r.memory, 0, 64);
			pair_issue(
				p, vci_fast_access(p->r.peer,
					   CAY_FAST_PUT | ack, CAY_VCI_NOTIFY,
					   bytes, p->r.key, bytes, bytes));
			check_place(p, pair_complete(p, bytes, command, 0),
				bytes, bytes);
			assert_true(content_fits(
				p->r.memory + bytes, bytes, bytes));
			assert_int_equal(p->r.memory[bytes - 1], 0);
			assert_int_equal(p->r.memory[2 * bytes], 0);
		}
}

static void fast_get(struct pair *p)
{
	for (size_t bytes = 1; bytes <= 24; bytes++) {
		unsigned command = CAY_FAST_GET | (unsigned)(bytes + 7) / 8;
		unsigned char want[24] = { 0 };
		content_fill(p->r.memory + bytes, bytes, bytes);
		memcpy(want, p->r.memory + bytes, bytes);
		pair_issue(p, vci_fast_access(p->r.peer, CAY_FAST_GET, 0, bytes,
				      p->r.key, bytes, bytes));
		const struct cay_nqe *n =
			pair_complete(p, bytes, command, bytes);
		/* The remaining bytes of the last word are 0. */
		assert_true(memcmp(&n->word[CAY_NQE_WORD_DATA], want, 24) == 0);
		nqe_done(p->r.origin);
	}
}

static void inline_puts(void **state)
{
	(void)state;
	each_pair(fast_put);
}

static void inline_gets(void **state)
{
	(void)state;
	each_pair(fast_get);
}

static void masked(struct pair *p)
{
	for (unsigned enables = 0; enables < 256; enables += 5) {
		uint64_t word;
		memset(p->r.memory, 0, 24);
		/* Only 8 bits of the enables are used. */
		pair_issue(p, vci_operands(p->r.peer, CAY_MISALIGNED_PUT,
				      CAY_VCI_NOTIFY, enables, p->r.key, 8,
				      ~0ull, enables | 0xffffff00));
		check_place(p, pair_complete(p, enables, CAY_MISALIGNED_PUT, 0),
			8, 8);
		memcpy(&word, p->r.memory + 8, 8);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(word >> 8 * i & 0xff,
				enables >> i & 1 ? 0xff : 0);
	}
}

static void masked_puts(void **state)
{
	(void)state;
	each_pair(masked);
}

/* ---- atomics: words 3 and 4 ---- */

static void check_results(struct pair *p, uint64_t tag, unsigned command,
	uint64_t result, uint64_t previous)
{
	const struct cay_nqe *n = pair_complete(p, tag, command, 0);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], 8);
	assert_int_equal(n->word[CAY_NQE_WORD_RESULT], result);
	assert_int_equal(n->word[CAY_NQE_WORD_PREVIOUS], previous);
	nqe_done(p->r.origin);
}

static void atomics(struct pair *p)
{
	uint64_t word = UINT64_MAX - 2;
	memcpy(p->r.memory + 8, &word, 8);
	for (unsigned i = 0; i < 5; i++) {
		pair_issue(p, vci_operands(p->r.peer, CAY_FAA,
				      i % 2 ? CAY_VCI_NOTIFY : 0, i, p->r.key,
				      8, 2, 999));
		check_results(p, i, CAY_FAA, word + 2, word);
		word += 2;
	}
	pair_issue(p, vci_operands(p->r.peer, CAY_CAS, 0, 10, p->r.key, 8, word,
			      1234));
	check_results(p, 10, CAY_CAS, 1234, word);
	pair_issue(p, vci_operands(p->r.peer, CAY_CAS, 0, 11, p->r.key, 8, word,
			      5678));
	check_results(p, 11, CAY_CAS, 1234, 1234);
	memcpy(&word, p->r.memory + 8, 8);
	assert_int_equal(word, 1234);
}

static void words_of_atomics(void **state)
{
	(void)state;
	each_pair(atomics);
}

/* ---- without a notification ---- */

/*
 * An access without a completion gives no notification: the next one is a
 * snapshot.
 */
static void silent(struct pair *p)
{
	struct cay_vci v[] = {
		vci_bulk(p->r.peer, CAY_PUT, 0, 1, p->r.key, 0,
			p->origin.window, 0, 100),
		vci_bulk(p->r.peer, CAY_GET, 0, 2, p->r.key, 0,
			p->origin.window, 200, 100),
		vci_fast_access(p->r.peer, CAY_FAST_PUT, 0, 3, p->r.key, 0, 20),
		vci_operands(
			p->r.peer, CAY_MISALIGNED_PUT, 0, 4, p->r.key, 8, 7, 1),
	};
	content_fill(p->local, 100, 9);
	for (unsigned i = 0; i < COUNT(v); i++)
		pair_issue(p, v[i]);
	expect_nothing(p->r.owner);
	expect_nothing(p->r.origin);
	assert_int_equal(cay_flush(p->r.origin, p->r.peer, soon()), 0);
	assert_true(content_fits(p->local + 200, 100, 9));
	assert_int_equal(p->r.memory[8], 7);
}

static void no_unrequested_notification(void **state)
{
	(void)state;
	each_pair(silent);
}

/*
 * A long message in a reference slot that an unreported access used still
 * completes.
 */
static void reference_slots_are_reset(void **state)
{
	struct pair p = pair_open(PLACE_ARENA, PLACE_HEAP);
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		pair_issue(&p, vci_operands(p.r.peer, CAY_MISALIGNED_PUT, 0, 1,
				       p.r.key, 8, 7, 1));
		expect_nothing(p.r.owner);
		expect_nothing(p.r.origin);
		struct cay_vci v = vci_send_content(
			p.r.origin, p.r.peer, 0, 0, 5, 0, 10000);
		vci_issue(p.r.origin, &v);
		assert_int_equal(
			nqe_command(nqe_next(p.r.owner)), CAY_NOTIFY_RECV);
		nqe_done(p.r.owner);
		expect_cc(p.r.origin, 5, CAY_SEND, 0);
	}
	assert_int_equal(port_stats(p.r.origin).emulated_requested, 10);
	/*
	 * The long message is not an emulated access: the next access is
	 * direct.
	 */
	struct cay_vci v =
		vci_send_content(p.r.origin, p.r.peer, 0, 0, 6, 0, 10000);
	vci_issue(p.r.origin, &v);
	pair_issue(&p,
		vci_fast_access(p.r.peer, CAY_FAST_PUT, 0, 3, p.r.key, 0, 20));
	assert_true(content_fits(p.r.memory, 20, 3));
	assert_int_equal(port_stats(p.r.origin).emulated_requested, 10);
	assert_int_equal(nqe_command(nqe_next(p.r.owner)), CAY_NOTIFY_RECV);
	nqe_done(p.r.owner);
	expect_cc(p.r.origin, 6, CAY_SEND, 0);
	pair_close(&p);
}

/* ---- notifications of the window's owner ---- */

static void check_rma(struct pair *p, struct cay_key key, uint64_t tag,
	unsigned command, unsigned error, uint64_t offset, uint64_t length)
{
	const struct cay_nqe *n = nqe_next(p->r.owner);
	struct cay_addr from = cay_port_addr(p->r.origin);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_RMA);
	assert_int_equal(nqe_error(n), error);
	assert_int_equal(nqe_tag(n), tag);
	assert_int_equal(nqe_vpid(n), from.vpid);
	assert_int_equal(nqe_bytes(n), 0);
	assert_int_equal((uint32_t)n->word[CAY_NQE_WORD_PEER], from.node);
	assert_int_equal(n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT,
		tag ^ 0xabcd);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], length);
	assert_int_equal(n->word[CAY_NQE_WORD_OFFSET], offset);
	assert_int_equal(n->word[CAY_NQE_WORD_WINDOW], key.window);
	assert_int_equal((uint16_t)n->word[CAY_NQE_WORD_COMPLETED], command);
	nqe_done(p->r.owner);
}

/* Emulated accesses, too: the entry of the request becomes the NOTIFY_RMA. */
static void notify_rma_in(enum place place)
{
	struct pair p = pair_open(PLACE_ARENA, place);
	struct cay_key key;
	struct cay_window *w = open_window(p.r.owner, p.r.memory, 64,
		CAY_RIGHT_WRITE | CAY_RIGHT_NOTIFY_ACCESS |
			CAY_RIGHT_NOTIFY_REFUSAL,
		&key);
	pair_issue(
		&p, vci_fast_access(p.r.peer, CAY_FAST_PUT, 0, 3, key, 5, 20));
	check_rma(&p, key, 3, CAY_FAST_PUT | 3, 0, 5, 20);
	pair_issue(&p, vci_operands(p.r.peer, CAY_FAA, 0, 4, key, 8, 1, 0));
	check_rma(&p, key, 4, CAY_FAA, CAY_ERROR_RIGHTS, 8, 8);
	expect_cc(p.r.origin, 4, CAY_FAA, CAY_ERROR_RIGHTS);
	pair_issue(
		&p, vci_operands(p.r.peer, CAY_MISALIGNED_PUT | CAY_COMMAND_ACK,
			    0, 5, key, 16, 7, 1));
	check_rma(&p, key, 5, CAY_MISALIGNED_PUT | CAY_COMMAND_ACK, 0, 16, 8);
	expect_cc(p.r.origin, 5, CAY_MISALIGNED_PUT | CAY_COMMAND_ACK, 0);
	assert_int_equal(p.r.memory[16], 7);
	close_window(w);
	pair_close(&p);
}

static void notify_rma(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		notify_rma_in(place);
}

/* ---- several requests per trigger ---- */

static void bursts(void **state)
{
	struct pair p = pair_open(PLACE_ARENA, PLACE_ARENA);
	uint64_t word, sum = 0;
	(void)state;
	for (unsigned lap = 0; lap < 50; lap++) {
		for (uint64_t i = 0; i < 32; i++) {
			struct cay_vci v = vci_operands(
				p.r.peer, CAY_FAA, 0, i, p.r.key, 0, i, 0);
			vci_post(p.r.origin, &v);
		}
		assert_int_equal(
			cay_trigger(p.r.origin, CAY_ISSUE_VCI, 0).accepted, 32);
		for (uint64_t i = 0; i < 32; i++) {
			const struct cay_nqe *n = nqe_next(p.r.origin);
			assert_int_equal(nqe_tag(n), i);
			assert_int_equal(n->word[CAY_NQE_WORD_PREVIOUS], sum);
			sum += i;
			assert_int_equal(n->word[CAY_NQE_WORD_RESULT], sum);
			nqe_done(p.r.origin);
		}
	}
	memcpy(&word, p.r.memory, 8);
	assert_int_equal(word, sum);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(put_between_windows),
		TEST(get_between_windows),
		TEST(inline_puts),
		TEST(inline_gets),
		TEST(masked_puts),
		TEST(words_of_atomics),
		TEST(no_unrequested_notification),
		TEST(reference_slots_are_reset),
		TEST(notify_rma),
		TEST(bursts),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
