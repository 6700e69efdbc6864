/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives with the raw API: descriptors, results of triggers, and all
 * words of the notifications.
 */
#include <errno.h>
#include <string.h>

#include "vci.h"

enum {
	SLOTS = 8,
	ROOM = 4096,
};

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer; /* b as a peer of a */
	struct cay_posted_receive *slots;
	unsigned char *memory; /* memory of b, for all slots */
	uint64_t offset;       /* its arena offset */
};

/* cay_offset() agrees with the descriptor. */
static uint64_t offset_of(
	struct cay_port *port, void *memory, struct cay_posted_receive *slots)
{
	uint64_t offset = 0, unused = 7;
	assert_int_equal(cay_receive_post(port, memory, 64, 1), 0);
	assert_int_equal(cay_offset(port, memory, 64, &offset), 0);
	assert_int_equal(offset, slots[0].offset);
	assert_int_equal(cay_receive_cancel(port, 1), 1);
	assert_int_equal(cay_offset(port, &offset, 8, &unused), -EFAULT);
	assert_int_equal(cay_offset(port, memory, SIZE_MAX, &unused), -EFAULT);
	assert_int_equal(unused, 7);
	return offset;
}

static struct pair pair_open(void)
{
	struct pair p;
	uint32_t entries;
	p.a = open_port(&(struct cay_port_options){ .wq_entries = 32 });
	p.b = open_port(&(struct cay_port_options){ .posted = SLOTS });
	p.peer = open_peer(p.a, p.b);
	p.slots = cay_posted(p.b, &entries);
	assert_int_equal(entries, SLOTS);
	p.memory = cay_alloc(p.b, SLOTS * ROOM, 0);
	assert_true(p.memory != NULL);
	p.offset = offset_of(p.b, p.memory, p.slots);
	return p;
}

static void pair_close(struct pair *p)
{
	expect_nothing(p->a);
	expect_nothing(p->b);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

/* pair_open() has used the first slot of the ring. */
static void write_slot(struct pair *p, uint32_t number, uint64_t cookie)
{
	struct cay_posted_receive *slot = &p->slots[(number + 1) % SLOTS];
	slot->offset = p->offset + number % SLOTS * ROOM;
	slot->length = ROOM;
	slot->cookie = cookie;
	slot->flags = 0;
}

static void expect_answer(struct pair *p, unsigned parameter, uint32_t accepted,
	uint32_t reason, uint32_t free)
{
	struct cay_answer a = cay_trigger(p->b, CAY_ISSUE_POSTED, parameter);
	assert_int_equal(a.accepted, accepted);
	assert_int_equal(a.reason, reason);
	assert_int_equal(a.free, free);
}

static void answers(void **state)
{
	struct pair p = pair_open();
	(void)state;
	/* No slot was written, except the cancelled one. */
	expect_answer(&p, 1, 0, CAY_ERROR_POSTED_ADDRESS, SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++)
		write_slot(&p, i, 100 + i);
	expect_answer(&p, 3, 3, 0, SLOTS - 3);
	expect_answer(&p, 1, 1, 0, SLOTS - 4);
	/* 0 means 32: the remaining slots, then posted ones. */
	expect_answer(&p, 0, 4, CAY_ERROR_NO_RESOURCES, 0);
	expect_answer(&p, 2, 0, CAY_ERROR_NO_RESOURCES, 0);
	for (uint64_t i = 0; i < SLOTS; i++)
		assert_int_equal(cay_receive_cancel(p.b, 100 + i), 1);
	/* The ring wraps. */
	expect_answer(&p, 33, SLOTS, CAY_ERROR_NO_RESOURCES, 0);
	for (uint64_t i = 0; i < SLOTS; i++)
		assert_int_equal(cay_receive_cancel(p.b, 100 + i), 1);
	pair_close(&p);
}

static void invalid_descriptors(void **state)
{
	static const struct {
		uint64_t offset, length, flags;
		uint32_t reason;
	} wrong[] = {
		{ 0, ROOM, 0, CAY_ERROR_POSTED_ADDRESS },
		{ 4096, ROOM, 0, CAY_ERROR_POSTED_ADDRESS },
		{ UINT64_MAX, ROOM, 0, CAY_ERROR_POSTED_ADDRESS },
		{ UINT64_MAX - ROOM + 1, ROOM, 0, CAY_ERROR_POSTED_ADDRESS },
		{ 1, 0, 0, CAY_ERROR_POSTED_ADDRESS },
		{ 1, UINT64_MAX, 0, CAY_ERROR_POSTED_ADDRESS },
		{ 1, ROOM, CAY_POSTED_PHYSICAL, CAY_ERROR_POSTED_PHYSICAL },
		{ 0, 0, CAY_POSTED_PHYSICAL, CAY_ERROR_POSTED_PHYSICAL },
		{ 1, ROOM, 1 << 1, CAY_ERROR_POSTED_ADDRESS },
		{ 1, ROOM, 1ull << 63, CAY_ERROR_POSTED_ADDRESS },
	};
	struct pair p = pair_open();
	(void)state;
	write_slot(&p, 0, 7);
	write_slot(&p, 2, 9);
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct cay_posted_receive *slot = &p.slots[2];
		/* 1 stands for the valid offset. */
		slot->offset = wrong[i].offset == 1 ? p.offset
						    : wrong[i].offset;
		slot->length = wrong[i].length;
		slot->flags = wrong[i].flags;
		expect_answer(&p, 3, i == 0, wrong[i].reason, SLOTS - 1);
	}
	/* Once corrected, the descriptor and those after it are accepted. */
	write_slot(&p, 1, 8);
	expect_answer(&p, 2, 2, 0, SLOTS - 3);
	for (uint64_t cookie = 7; cookie < 10; cookie++)
		assert_int_equal(cay_receive_cancel(p.b, cookie), 1);
	pair_close(&p);
}

static void words(void **state)
{
	static const uint64_t lengths[] = { 41, 64, ROOM - 1, ROOM, ROOM + 1,
		8192, 8193, 20000 };
	struct pair p = pair_open();
	(void)state;
	for (uint32_t i = 0; i < 3 * COUNT(lengths); i++) {
		uint64_t length = lengths[i % COUNT(lengths)];
		write_slot(&p, i, 500 + i);
		expect_answer(&p, 1, 1, 0, SLOTS - 1);
		struct cay_vci v = vci_send_content(
			p.a, p.peer, 0, 0, length <= ROOM ? i : 0, 0, length);
		v.word[CAY_VCI_WORD_TAG] = i;
		vci_issue(p.a, &v);
		const struct cay_nqe *n = nqe_next(p.b);
		assert_int_equal(nqe_command(n), CAY_NOTIFY_POSTED_RECV);
		assert_int_equal(nqe_error(n),
			length > ROOM ? CAY_ERROR_POSTED_TRUNCATED : 0);
		assert_int_equal(nqe_tag(n), i);
		assert_int_equal(nqe_bytes(n), 0);
		assert_int_equal(nqe_vpid(n), cay_port_addr(p.a).vpid);
		assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], length);
		assert_int_equal(n->word[CAY_NQE_WORD_COOKIE], 500 + i);
		assert_int_equal(
			n->word[CAY_NQE_WORD_POSTED], (i + 1) % SLOTS + 1);
		assert_int_equal(n->word[CAY_NQE_WORD_COMPLETED], 0);
		assert_true(content_fits(p.memory + i % SLOTS * ROOM,
			length > ROOM ? ROOM : length, length <= ROOM ? i : 0));
		nqe_done(p.b);
		if (length > 8192)
			expect_cc(p.a, i, CAY_SEND, 0);
	}
	pair_close(&p);
}

/* With the A bit, the completion means that the message is stored. */
static void acknowledged(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		write_slot(&p, i, i);
		expect_answer(&p, 1, 1, 0, SLOTS - 1);
		unsigned ack = i % 2 ? CAY_COMMAND_ACK : 0;
		struct cay_vci v = vci_send_content(p.a, p.peer, ack,
			i % 2 ? 0 : CAY_VCI_NOTIFY, i, 0, 100);
		vci_issue(p.a, &v);
		expect_cc(p.a, i, CAY_SEND | ack, 0);
		assert_true(content_fits(p.memory + i * ROOM, 100, i));
		assert_int_equal(
			nqe_command(nqe_next(p.b)), CAY_NOTIFY_POSTED_RECV);
		nqe_done(p.b);
	}
	pair_close(&p);
}

/*
 * POSTED_ONLY: the refused request and those after it stay in the work queue.
 */
static void refused_requests_stay_queued(void **state)
{
	struct pair p = pair_open();
	(void)state;
	assert_int_equal(cay_receive_mode(p.b, CAY_RECEIVE_POSTED_ONLY), 0);
	struct cay_vci v = vci_send_content(p.a, p.peer, 0, 0, 1, 0, 100);
	vci_post(p.a, &v);
	v = vci_fast(p.peer, 0, 0, 2, 8);
	vci_post(p.a, &v);
	struct cay_answer a = cay_trigger(p.a, CAY_ISSUE_VCI, 2);
	assert_int_equal(a.accepted, 0);
	assert_int_equal(a.reason, CAY_ERROR_NO_RESOURCES);
	assert_int_equal(a.free, 30);
	expect_nothing(p.b);
	write_slot(&p, 0, 77);
	expect_answer(&p, 1, 1, 0, SLOTS - 1);
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_VCI, 2).accepted, 2);
	const struct cay_nqe *n = nqe_next(p.b);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_POSTED_RECV);
	assert_int_equal(nqe_tag(n), 1);
	nqe_done(p.b);
	assert_int_equal(nqe_command(nqe_next(p.b)), CAY_NOTIFY_FAST_RECV);
	nqe_done(p.b);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(answers),
		TEST(invalid_descriptors),
		TEST(words),
		TEST(acknowledged),
		TEST(refused_requests_stay_queued),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
