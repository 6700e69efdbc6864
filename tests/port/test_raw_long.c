/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SENDs of more than 8 KiB from the send data region: they travel by reference,
 * complete with a NOTIFY_CC when the target is done, and free their reference
 * slots.
 */
#include "vci.h"

#define LONG_BYTES 20000ul

enum {
	ROUNDS = 200
}; /* more than there are slots and completions */

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer; /* b as a peer of a */
};

static struct pair pair_open(void)
{
	struct pair p;
	p.a = open_port(NULL);
	p.b = open_port(NULL);
	p.peer = open_peer(p.a, p.b);
	return p;
}

static void pair_close(struct pair *p)
{
	assert_int_equal(port_stats(p->a).refs_used, 0);
	expect_nothing(p->a);
	expect_nothing(p->b);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

static void issue_long(
	struct pair *p, unsigned ack, unsigned flags, uint64_t tag)
{
	struct cay_vci v = vci_send_content(
		p->a, p->peer, ack, flags, tag, 100, LONG_BYTES);
	v.word[CAY_VCI_WORD_TARGET] |= (tag & 0xffff) << CAY_VCI_API_TAG_SHIFT;
	vci_issue(p->a, &v);
}

/* A long message always completes with a notification, whatever its flags. */
static void completes_with_a_notification(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (uint64_t tag = 1; tag <= ROUNDS; tag++) {
		unsigned ack = tag % 2 ? CAY_COMMAND_ACK : 0;
		issue_long(&p, ack, tag % 3 ? CAY_VCI_NOTIFY : 0, tag);
		expect_nothing(p.a);
		expect_message(p.b, tag, LONG_BYTES, tag);
		expect_cc(p.a, tag, CAY_SEND | ack, 0);
	}
	pair_close(&p);
}

static void completes_with_an_event(void **state)
{
	struct pair p = pair_open();
	struct cay_event e;
	(void)state;
	for (uint64_t tag = 1; tag <= ROUNDS; tag++) {
		issue_long(&p, 0, 0, tag);
		expect_message(p.b, tag, LONG_BYTES, tag);
		next_event(p.a, &e);
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, 0);
		assert_int_equal(e.tag, tag);
		assert_int_equal(e.api_tag, tag & 0xffff);
		assert_int_equal(e.length, LONG_BYTES);
		assert_int_equal(e.command, CAY_SEND);
		cay_release(p.a, &e);
	}
	pair_close(&p);
}

/* A raw receiver completes the message by returning its entry. */
static void completes_when_returned(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (uint64_t tag = 1; tag <= ROUNDS; tag++) {
		issue_long(&p, 0, 0, tag);
		const struct cay_nqe *n = nqe_next(p.b);
		assert_int_equal(nqe_command(n), CAY_NOTIFY_RECV);
		assert_int_equal(nqe_tag(n), tag);
		assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], LONG_BYTES);
		assert_true(n->word[CAY_NQE_WORD_REFERENCE] != 0);
		expect_nothing(p.a);
		nqe_done(p.b);
		expect_cc(p.a, tag, CAY_SEND, 0);
	}
	pair_close(&p);
}

/* Messages of cay_send() and of VCIs share the reference slots. */
static void raw_and_native_calls_share_slots(void **state)
{
	struct pair p = pair_open();
	unsigned char *data = cay_alloc(p.a, LONG_BYTES, 0);
	(void)state;
	for (uint64_t tag = 1; tag <= ROUNDS; tag += 2) {
		content_fill(data, LONG_BYTES, tag);
		assert_int_equal(cay_send(p.a, p.peer, tag, data, LONG_BYTES,
					 CAY_ACK | CAY_BORROW),
			0);
		issue_long(&p, 0, 0, tag + 1);
		expect_message(p.b, tag, LONG_BYTES, tag);
		expect_message(p.b, tag + 1, LONG_BYTES, tag + 1);
		expect_cc(p.a, tag, CAY_SEND | CAY_COMMAND_ACK, 0);
		expect_cc(p.a, tag + 1, CAY_SEND, 0);
	}
	cay_free(p.a, data);
	pair_close(&p);
}

static void fence_delays_requests(void **state)
{
	struct pair p = pair_open();
	struct cay_event e;
	(void)state;
	issue_long(&p, 0, 0, 1);
	struct cay_vci v = vci_fast(p.peer, 0, CAY_VCI_FENCE, 2, 8);
	vci_post(p.a, &v);
	v = vci_send(p.peer, 0, CAY_VCI_FENCE, 3, 100, LONG_BYTES);
	vci_post(p.a, &v);
	struct cay_answer answer = cay_trigger(p.a, CAY_ISSUE_VCI, 0);
	assert_int_equal(answer.accepted, 0);
	assert_int_equal(answer.reason, CAY_ERROR_NO_RESOURCES);
	next_event(p.b, &e);
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_VCI, 0).accepted, 0);
	cay_release(p.b, &e);
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_VCI, 0).accepted, 2);
	expect_message(p.b, 2, 8, 2);
	expect_message(p.b, 3, LONG_BYTES, 1);
	expect_cc(p.a, 1, CAY_SEND, 0);
	expect_cc(p.a, 3, CAY_SEND, 0);
	pair_close(&p);
}

/* ---- death of the target ---- */

static void target_run(struct child *parent, void *unused)
{
	(void)unused;
	open_named("target");
	child_send(parent, 1);
	child_receive(parent);
}

static void target_dies(void **state)
{
	struct pair p = { .a = open_port(NULL) };
	struct child child;
	(void)state;
	child_start(&child, target_run, NULL);
	child_receive(&child);
	p.peer = open_peer_named(p.a, "target");
	for (uint64_t tag = 1; tag <= 5; tag++)
		issue_long(&p, tag % 2 ? CAY_COMMAND_ACK : 0, 0, tag);
	child_kill(&child);
	for (uint64_t tag = 1; tag <= 5; tag++) {
		const struct cay_nqe *n = nqe_next(p.a);
		assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
		assert_int_equal(nqe_error(n), CAY_ERROR_GONE);
		assert_int_equal(nqe_tag(n), tag);
		assert_int_equal(
			n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT,
			tag);
		assert_int_equal(n->word[CAY_NQE_WORD_COMPLETED] & 0xffff,
			CAY_SEND | (tag % 2 ? CAY_COMMAND_ACK : 0));
		nqe_done(p.a);
	}
	assert_int_equal(nqe_command(nqe_next(p.a)), CAY_NOTIFY_GONE);
	nqe_done(p.a);
	assert_int_equal(port_stats(p.a).refs_used, 0);
	expect_nothing(p.a);
	cay_peer_release(p.peer);
	close_port(p.a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(completes_with_a_notification),
		TEST(completes_with_an_event),
		TEST(completes_when_returned),
		TEST(raw_and_native_calls_share_slots),
		TEST(fence_delays_requests),
		TEST(target_dies),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
