/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw API: effects of valid work requests, results of triggers, and the
 * reuse of entries and generations.
 */
#include <errno.h>

#include "vci.h"

enum {
	ENTRIES = 16,
	COMPLETIONS = 4,
	ORDINARY = 11,
	WORK = 32
};

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer; /* b as a peer of a */
};

static struct pair pair_open(uint32_t nq_entries)
{
	struct cay_port_options o = {
		.nq_entries = nq_entries, .wq_entries = WORK, .rdr_bytes = 1
	};
	struct pair p;
	p.a = open_port(&o);
	p.b = open_port(&o);
	p.peer = open_peer(p.a, p.b);
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

/* ---- delivery ---- */

static void check_origin(const struct pair *p, const struct cay_nqe *n,
	uint64_t tag, uint32_t api_tag)
{
	struct cay_addr from = cay_port_addr(p->a);
	uint64_t peer = n->word[CAY_NQE_WORD_PEER];
	assert_int_equal(nqe_error(n), 0);
	assert_int_equal(nqe_vpid(n), from.vpid);
	assert_int_equal((uint32_t)peer, from.node);
	assert_int_equal(peer >> CAY_NQE_API_TAG_SHIFT, api_tag);
	assert_int_equal(nqe_tag(n), tag);
}

static void check_fast(
	struct pair *p, uint64_t tag, uint32_t api_tag, size_t bytes)
{
	const struct cay_nqe *n = nqe_next(p->b);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_FAST_RECV);
	assert_int_equal(nqe_bytes(n), bytes);
	check_origin(p, n, tag, api_tag);
	assert_true(content_fits(&n->word[CAY_NQE_WORD_DATA], bytes, tag));
	nqe_done(p->b);
}

static void check_payload(struct pair *p, uint64_t tag, size_t bytes)
{
	size_t room;
	const unsigned char *rdr = cay_rdr(p->b, &room);
	const struct cay_nqe *n = nqe_next(p->b);
	uint64_t start = n->word[CAY_NQE_WORD_START] * CAY_LINE;
	assert_int_equal(nqe_command(n), CAY_NOTIFY_RECV);
	assert_int_equal(nqe_bytes(n), 0);
	check_origin(p, n, tag, 0);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], bytes);
	assert_int_equal(n->word[CAY_NQE_WORD_REFERENCE], 0);
	assert_true(start + bytes <= room);
	assert_true(content_fits(rdr + start, bytes, tag));
	assert_int_equal(cay_trigger(p->b, CAY_ISSUE_RDR, 1).accepted, 1);
}

static void fast_send_of_every_length(void **state)
{
	struct pair p = pair_open(ENTRIES);
	(void)state;
	for (size_t bytes = 0; bytes <= CAY_FAST_SEND_BYTES; bytes++) {
		uint64_t tag = ~bytes;
		uint32_t api_tag = 0xfedcba98u - (uint32_t)bytes;
		struct cay_vci v = vci_fast(p.peer, 0, 0, tag, bytes);
		v.word[CAY_VCI_WORD_TARGET] |= (uint64_t)api_tag
					       << CAY_VCI_API_TAG_SHIFT;
		vci_issue(p.a, &v);
		check_fast(&p, tag, api_tag, bytes);
	}
	pair_close(&p);
}

/* A short message arrives inline, even if sent with SEND. */
static void send_from_the_sdr(void **state)
{
	static const size_t sizes[] = { 0, 1, 39, 40, 41, 64, 65, 4096, 8191,
		8192 };
	static const uint64_t offsets[] = { 0, 1, 63, 64, 1000 };
	struct pair p = pair_open(ENTRIES);
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++)
		for (unsigned j = 0; j < COUNT(offsets); j++) {
			uint64_t tag = i * 100 + j;
			struct cay_vci v = vci_send_content(
				p.a, p.peer, 0, 0, tag, offsets[j], sizes[i]);
			vci_issue(p.a, &v);
			if (sizes[i] <= CAY_FAST_SEND_BYTES)
				check_fast(&p, tag, 0, sizes[i]);
			else
				check_payload(&p, tag, sizes[i]);
		}
	pair_close(&p);
}

/* A message may end at the end of the region. */
static void send_from_the_end_of_the_sdr(void **state)
{
	struct pair p = pair_open(ENTRIES);
	size_t room;
	(void)state;
	cay_sdr(p.a, &room);
	struct cay_vci v =
		vci_send_content(p.a, p.peer, 0, 0, 1, room - 100, 100);
	vci_issue(p.a, &v);
	check_payload(&p, 1, 100);
	v = vci_send(p.peer, 0, 0, 2, room, 0);
	vci_issue(p.a, &v);
	check_fast(&p, 2, 0, 0);
	pair_close(&p);
}

/* ---- completions ---- */

static void completion_of(struct pair *p, const struct cay_vci *v,
	unsigned command, bool completes, uint64_t tag, size_t bytes)
{
	vci_issue(p->a, v);
	if (completes) {
		const struct cay_nqe *n = nqe_next(p->a);
		assert_int_equal(nqe_vpid(n), cay_port_addr(p->b).vpid);
		assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], bytes);
		assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
		assert_int_equal(nqe_error(n), 0);
		assert_int_equal(nqe_tag(n), tag);
		assert_int_equal(n->word[CAY_NQE_WORD_COMPLETED], command);
		nqe_done(p->a);
	}
	expect_nothing(p->a);
	if (bytes <= CAY_FAST_SEND_BYTES)
		check_fast(p, tag, 0, bytes);
	else
		check_payload(p, tag, bytes);
}

static void acknowledge_and_notify(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint64_t tag = 1;
	(void)state;
	for (unsigned ack = 0; ack <= CAY_COMMAND_ACK; ack += CAY_COMMAND_ACK)
		for (unsigned flags = 0; flags <= CAY_VCI_FLAGS; flags++) {
			bool completes = ack || flags & CAY_VCI_NOTIFY;
			struct cay_vci v =
				vci_fast(p.peer, ack, flags, tag, 20);
			completion_of(&p, &v, CAY_FAST_SEND | ack | 3,
				completes, tag, 20);
			v = vci_send_content(
				p.a, p.peer, ack, flags, ++tag, 0, 200);
			completion_of(
				&p, &v, CAY_SEND | ack, completes, tag, 200);
			tag++;
		}
	pair_close(&p);
}

/* ---- results of triggers ---- */

static void check_answer(struct cay_answer answer, uint32_t accepted,
	uint32_t reason, uint32_t free)
{
	assert_int_equal(answer.accepted, accepted);
	assert_int_equal(answer.reason, reason);
	assert_int_equal(answer.free, free);
}

static struct cay_answer issue(struct pair *p, unsigned count)
{
	return cay_trigger(p->a, CAY_ISSUE_VCI, count);
}

static void post_numbered(struct pair *p, uint64_t *tag, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct cay_vci v = vci_fast(p->peer, 0, 0, *tag, 8);
		vci_post(p->a, &v);
		++*tag;
	}
}

static void take_numbered(struct pair *p, uint64_t *tag, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		check_fast(p, (*tag)++, 0, 8);
}

static void trigger_counts(void **state)
{
	struct pair p = pair_open(256);
	uint64_t posted = 0, taken = 0;
	(void)state;
	check_answer(issue(&p, 1), 0, CAY_ERROR_COMMAND, WORK);
	post_numbered(&p, &posted, 5);
	check_answer(issue(&p, 2), 2, 0, WORK - 3);
	check_answer(issue(&p, 9), 3, CAY_ERROR_COMMAND, WORK);
	take_numbered(&p, &taken, 5);
	/* A parameter of 0 means 32; larger ones are limited to it. */
	post_numbered(&p, &posted, WORK);
	check_answer(issue(&p, 0), WORK, 0, WORK);
	take_numbered(&p, &taken, WORK);
	post_numbered(&p, &posted, WORK);
	check_answer(issue(&p, 1000), WORK, 0, WORK);
	take_numbered(&p, &taken, WORK);
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_BARRIER, 1).accepted, 0);
	assert_int_equal(cay_trigger(p.a, (enum cay_issue)6, 1).reason,
		CAY_ERROR_COMMAND);
	pair_close(&p);
}

static void work_queue_is_limited(void **state)
{
	struct pair p = pair_open(256);
	uint64_t posted = 0, taken = 0;
	struct cay_vci v = vci_fast(p.peer, 0, 0, 99, 8);
	(void)state;
	for (unsigned lap = 0; lap < 20; lap++) {
		post_numbered(&p, &posted, WORK);
		assert_int_equal(cay_vci_post(p.a, &v), -EAGAIN);
		check_answer(issue(&p, 7), 7, 0, 7);
		post_numbered(&p, &posted, 7);
		assert_int_equal(cay_vci_post(p.a, &v), -EAGAIN);
		check_answer(issue(&p, 0), WORK, 0, WORK);
		take_numbered(&p, &taken, WORK + 7);
	}
	pair_close(&p);
}

/* Refused requests stay in the work queue, in order, and are sent later. */
static void full_target_stops_the_work_queue(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint64_t posted = 0, taken = 0;
	(void)state;
	post_numbered(&p, &posted, 2 * ORDINARY + 3);
	struct cay_answer answer = issue(&p, 0);
	check_answer(
		answer, ORDINARY, CAY_ERROR_NO_RESOURCES, WORK - ORDINARY - 3);
	assert_true(answer.wait_ns > 0);
	assert_int_equal(issue(&p, 0).accepted, 0);
	take_numbered(&p, &taken, ORDINARY);
	assert_int_equal(issue(&p, 0).accepted, ORDINARY);
	take_numbered(&p, &taken, ORDINARY);
	check_answer(issue(&p, 0), 3, CAY_ERROR_COMMAND, WORK);
	take_numbered(&p, &taken, 3);
	pair_close(&p);
}

/* Any request may fail with a completion, for which an entry is reserved. */
static void full_origin_stops_the_work_queue(void **state)
{
	struct pair p = pair_open(ENTRIES);
	struct cay_vci v;
	(void)state;
	for (uint64_t tag = 0; tag <= COMPLETIONS; tag++) {
		v = vci_fast(p.peer, CAY_COMMAND_ACK, 0, tag, 8);
		vci_post(p.a, &v);
	}
	struct cay_answer answer = issue(&p, 0);
	check_answer(answer, COMPLETIONS, CAY_ERROR_NO_RESOURCES, WORK - 1);
	for (uint64_t tag = 0; tag < COMPLETIONS; tag++)
		expect_cc(p.a, tag, CAY_FAST_SEND | CAY_COMMAND_ACK | 1, 0);
	assert_int_equal(issue(&p, 1).accepted, 1);
	expect_cc(p.a, COMPLETIONS, CAY_FAST_SEND | CAY_COMMAND_ACK | 1, 0);
	for (uint64_t tag = 0; tag <= COMPLETIONS; tag++)
		check_fast(&p, tag, 0, 8);
	pair_close(&p);
}

/* ---- snapshots ---- */

static uint32_t wq_read(const struct cay_nqe *n)
{
	return (uint32_t)n->word[CAY_NQE_WORD_POINTERS];
}

static void snapshot_reports_all_pointers(void **state)
{
	struct pair p = pair_open(64);
	uint64_t posted = 0, taken = 0;
	struct cay_event e;
	(void)state;
	post_numbered(&p, &posted, 9);
	assert_int_equal(issue(&p, 6).accepted, 6);
	assert_int_equal(cay_trigger(p.a, CAY_ISSUE_SNAPSHOT, 1).accepted, 1);
	const struct cay_nqe *n = nqe_next(p.a);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_STATUS);
	assert_int_equal(nqe_vpid(n), cay_port_addr(p.a).vpid);
	assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], 9);
	assert_int_equal(wq_read(n), 6);
	/* W counts the snapshot itself; R does not yet. */
	assert_int_equal(
		n->word[CAY_NQE_WORD_RESULT] - n->word[CAY_NQE_WORD_PREVIOUS],
		1);
	nqe_done(p.a);
	assert_int_equal(cay_trigger(p.b, CAY_ISSUE_SNAPSHOT, 1).accepted, 1);
	for (unsigned i = 0; i < 6; i++)
		expect_message(p.b, taken + i, 8, taken + i);
	next_event(p.b, &e);
	assert_int_equal(e.kind, CAY_EVENT_STATUS);
	assert_int_equal(e.result - e.previous, 7);
	cay_release(p.b, &e);
	assert_int_equal(issue(&p, 0).accepted, 3);
	for (unsigned i = 6; i < 9; i++)
		expect_message(p.b, taken + i, 8, taken + i);
	pair_close(&p);
}

/* Two receives posted, one of them filled. */
static void snapshot_reports_posted_receives(void **state)
{
	struct pair p = pair_open(64);
	char *memory = cay_alloc(p.b, 4096, 0);
	struct cay_event e;
	(void)state;
	assert_non_null(memory);
	assert_int_equal(cay_receive_post(p.b, memory, 1024, 1), 0);
	assert_int_equal(cay_receive_post(p.b, memory + 1024, 1024, 2), 0);
	struct cay_vci v = vci_send_content(p.a, p.peer, 0, 0, 5, 0, 100);
	vci_issue(p.a, &v);
	assert_int_equal(cay_trigger(p.b, CAY_ISSUE_SNAPSHOT, 1).accepted, 1);
	next_event(p.b, &e);
	assert_int_equal(e.kind, CAY_EVENT_POSTED);
	cay_release(p.b, &e);
	next_event(p.b, &e);
	assert_int_equal(e.kind, CAY_EVENT_STATUS);
	assert_int_equal(e.tag, 2 | 1ull << CAY_NQE_POSTED_READ_SHIFT);
	cay_release(p.b, &e);
	assert_int_equal(cay_receive_cancel(p.b, 2), 1);
	cay_free(p.b, memory);
	pair_close(&p);
}

/* Checks that the next notification is a snapshot; returns it. */
static const struct cay_nqe *expect_status(struct cay_port *port)
{
	const struct cay_nqe *n = nqe_next(port);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_STATUS);
	return n;
}

/* Commands 8 to 13: the snapshot shows the effect of the command. */
static void every_command_with_a_status(void **state)
{
	struct pair p = pair_open(64);
	uint64_t posted = 0, taken = 0, offset;
	uint32_t entries;
	char *memory = cay_alloc(p.a, 4096, 0);
	struct cay_posted_receive *queue = cay_posted(p.a, &entries);
	(void)state;
	post_numbered(&p, &posted, 3);
	check_answer(cay_trigger(p.a, CAY_ISSUE_VCI | CAY_ISSUE_STATUS, 5), 3,
		CAY_ERROR_COMMAND, WORK);
	assert_int_equal(wq_read(expect_status(p.a)), 3);
	check_answer(
		cay_trigger(p.a, CAY_ISSUE_NQ | CAY_ISSUE_STATUS, 1), 1, 0, 64);
	const struct cay_nqe *n = expect_status(p.a);
	assert_int_equal(
		n->word[CAY_NQE_WORD_RESULT] - n->word[CAY_NQE_WORD_PREVIOUS],
		1);
	check_answer(cay_trigger(p.a, CAY_ISSUE_RDR | CAY_ISSUE_STATUS, 1), 1,
		0, 64);
	expect_status(p.a);
	nqe_done(p.a);
	/* A snapshot with a status is two. */
	assert_int_equal(
		cay_trigger(p.a, CAY_ISSUE_SNAPSHOT | CAY_ISSUE_STATUS, 1)
			.accepted,
		1);
	for (unsigned i = 0; i < 2; i++) {
		expect_status(p.a);
		nqe_done(p.a);
	}
	assert_int_equal(cay_offset(p.a, memory, 4096, &offset), 0);
	queue[0] = (struct cay_posted_receive){
		.offset = offset, .length = 4096, .cookie = 1
	};
	check_answer(cay_trigger(p.a, CAY_ISSUE_POSTED | CAY_ISSUE_STATUS, 1),
		1, 0, entries - 1);
	assert_int_equal(
		expect_status(p.a)->word[CAY_NQE_WORD_TAG] & UINT32_MAX, 1);
	nqe_done(p.a);
	/* Invalid commands write none. */
	assert_int_equal(
		cay_trigger(p.a, CAY_ISSUE_BARRIER | CAY_ISSUE_STATUS, 1)
			.reason,
		CAY_ERROR_COMMAND);
	assert_int_equal(
		cay_trigger(p.a, (enum cay_issue)(CAY_ISSUE_STATUS | 6), 1)
			.reason,
		CAY_ERROR_COMMAND);
	take_numbered(&p, &taken, 3);
	cay_free(p.a, memory);
	pair_close(&p);
}

/* Without an entry for the status the command has no effect. */
static void status_needs_an_entry(void **state)
{
	static const enum cay_issue commands[] = { CAY_ISSUE_VCI,
		CAY_ISSUE_SNAPSHOT, CAY_ISSUE_NQ, CAY_ISSUE_RDR,
		CAY_ISSUE_POSTED };
	struct pair p = pair_open(ENTRIES);
	uint64_t posted = 0, taken = 0;
	(void)state;
	for (unsigned i = 0; i < COMPLETIONS; i++)
		assert_int_equal(
			cay_trigger(p.a, CAY_ISSUE_SNAPSHOT, 1).accepted, 1);
	post_numbered(&p, &posted, 1);
	for (unsigned i = 0; i < COMPLETIONS; i++)
		expect_status(p.a);
	for (unsigned i = 0; i < COUNT(commands); i++)
		check_answer(
			cay_trigger(p.a, commands[i] | CAY_ISSUE_STATUS, 1), 0,
			CAY_ERROR_NO_RESOURCES, 0);
	expect_nothing(p.b);
	assert_int_equal(
		cay_trigger(p.a, CAY_ISSUE_NQ, 0).accepted, COMPLETIONS);
	assert_int_equal(
		cay_trigger(p.a, CAY_ISSUE_VCI | CAY_ISSUE_STATUS, 1).accepted,
		1);
	expect_status(p.a);
	nqe_done(p.a);
	take_numbered(&p, &taken, 1);
	pair_close(&p);
}

/* ---- word 5 of completions ---- */

static void expect_wq_read(struct cay_port *port, uint64_t tag, uint32_t read)
{
	const struct cay_nqe *n = nqe_next(port);
	assert_int_equal(nqe_command(n), CAY_NOTIFY_CC);
	assert_int_equal(nqe_tag(n), tag);
	assert_int_equal(wq_read(n), read);
	nqe_done(port);
}

/*
 * The origin's device writes the position after the request, valid or not, and
 * for a call the current one; the target does not know it.
 */
static void completions_have_the_read_position(void **state)
{
	struct pair p = pair_open(64);
	struct cay_vci v;
	(void)state;
	for (uint64_t tag = 0; tag < 4; tag++) {
		v = vci_fast(p.peer, CAY_COMMAND_ACK, 0, tag, 8);
		if (tag == 2)
			v.word[CAY_VCI_WORD_TARGET] ^= 1; /* refused */
		vci_post(p.a, &v);
	}
	assert_int_equal(issue(&p, 3).accepted, 3);
	for (uint32_t tag = 0; tag < 3; tag++)
		expect_wq_read(p.a, tag, tag + 1);
	assert_int_equal(cay_send(p.a, p.peer, 9, NULL, 0, CAY_NOTIFY), 0);
	expect_wq_read(p.a, 9, 3);
	assert_int_equal(issue(&p, 1).accepted, 1);
	expect_wq_read(p.a, 3, 4);
	v = vci_send_content(p.a, p.peer, 0, 0, 5, 0, CAY_EAGER_MAX + 1);
	vci_issue(p.a, &v);
	for (unsigned i = 0; i < 5; i++) {
		nqe_next(p.b);
		nqe_done(p.b);
	}
	expect_wq_read(p.a, 5, 0);
	pair_close(&p);
}

/* ---- returning entries ---- */

static void only_read_entries_are_returned(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint64_t posted = 0;
	(void)state;
	post_numbered(&p, &posted, ORDINARY);
	assert_int_equal(issue(&p, 0).accepted, ORDINARY);
	assert_int_equal(cay_trigger(p.b, CAY_ISSUE_NQ, 1).accepted, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(nqe_tag(nqe_next(p.b)), i);
	/* Entries that were not read cannot be returned. */
	struct cay_answer answer = cay_trigger(p.b, CAY_ISSUE_NQ, 0);
	assert_int_equal(answer.accepted, 5);
	assert_int_equal(answer.reason, CAY_ERROR_COMMAND);
	assert_int_equal(port_stats(p.b).nq_used, ORDINARY - 5);
	post_numbered(&p, &posted, 6);
	assert_int_equal(issue(&p, 0).accepted, 5);
	for (unsigned i = 5; i < ORDINARY + 5; i++)
		assert_int_equal(nqe_tag(nqe_next(p.b)), i);
	assert_int_equal(cay_trigger(p.b, CAY_ISSUE_NQ, 0).accepted, ORDINARY);
	assert_int_equal(issue(&p, 0).accepted, 1);
	assert_int_equal(nqe_tag(nqe_next(p.b)), ORDINARY + 5);
	nqe_done(p.b);
	pair_close(&p);
}

static void payload_is_returned(void **state)
{
	enum {
		PAYLOADS = 8
	};
	struct pair p = pair_open(64);
	(void)state;
	for (unsigned lap = 0; lap < 20; lap++) {
		for (uint64_t tag = 0; tag <= PAYLOADS; tag++) {
			struct cay_vci v = vci_send_content(
				p.a, p.peer, 0, 0, tag, 0, CAY_EAGER_MAX);
			/*
			 * All messages of a lap share the SDR: the last content
			 * wins.
			 */
			vci_post(p.a, &v);
		}
		assert_int_equal(issue(&p, 0).accepted, PAYLOADS);
		for (uint64_t tag = 0; tag < PAYLOADS; tag++)
			assert_int_equal(nqe_tag(nqe_next(p.b)), tag);
		assert_int_equal(
			cay_trigger(p.b, CAY_ISSUE_RDR, PAYLOADS).accepted,
			PAYLOADS);
		assert_int_equal(issue(&p, 0).accepted, 1);
		check_payload(&p, PAYLOADS, CAY_EAGER_MAX);
	}
	pair_close(&p);
}

/*
 * The generation of each entry grows by one per lap and is never that of a
 * zeroed page.
 */
static void generations_count_laps(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint16_t lap = 0;
	(void)state;
	for (unsigned i = 0; i < 20 * ENTRIES; i++) {
		struct cay_vci v = vci_fast(p.peer, 0, 0, i, i % 41);
		vci_issue(p.a, &v);
		uint16_t generation = nqe_generation(nqe_next(p.b));
		if (i == 0)
			lap = generation;
		assert_true(generation != 0);
		assert_int_equal(generation, (uint16_t)(lap + i / ENTRIES));
		nqe_done(p.b);
	}
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(fast_send_of_every_length),
		TEST(send_from_the_sdr),
		TEST(send_from_the_end_of_the_sdr),
		TEST(acknowledge_and_notify),
		TEST(trigger_counts),
		TEST(work_queue_is_limited),
		TEST(full_target_stops_the_work_queue),
		TEST(full_origin_stops_the_work_queue),
		TEST(snapshot_reports_all_pointers),
		TEST(snapshot_reports_posted_receives),
		TEST(every_command_with_a_status),
		TEST(status_needs_an_entry),
		TEST(completions_have_the_read_position),
		TEST(only_read_entries_are_returned),
		TEST(payload_is_returned),
		TEST(generations_count_laps),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
