/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay_flush() reports once that an access has failed, whichever thread issued
 * it, and in every way in which an access is executed.
 */
#include <pthread.h>

#include "instruction.h"
#include "vci.h"

/* Each operation that needs a right which the window does not grant. */
static void each_refusal_is_reported(struct rma_pair *r)
{
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		const struct instruction *in = &instructions[i];
		if (in->right == CAY_RIGHT_READ)
			continue;
		assert_int_equal(in->issue(r, 1, 0), 0);
		assert_int_equal(rma_flush(r), -EREMOTEIO);
		assert_int_equal(rma_flush(r), 0);
		/* The event comes as well, and does not count again. */
		rma_complete(r, 1, CAY_ERROR_RIGHTS);
		assert_int_equal(rma_flush(r), 0);

		/* The event first. */
		assert_int_equal(in->issue(r, 2, 0), 0);
		rma_complete(r, 2, CAY_ERROR_RIGHTS);
		assert_int_equal(rma_flush(r), -EREMOTEIO);
		assert_int_equal(rma_flush(r), 0);
	}
}

/* Refused and granted accesses in flight together. */
static void several_refusals_are_reported_once(struct rma_pair *r)
{
	unsigned refused = 0;
	for (unsigned i = 0; i < COUNT(instructions); i++) {
		assert_int_equal(instructions[i].issue(r, i, 0), 0);
		if (instructions[i].right != CAY_RIGHT_READ)
			refused++;
	}
	assert_int_equal(rma_flush(r), -EREMOTEIO);
	assert_int_equal(rma_flush(r), 0);
	while (refused) {
		struct cay_event e;
		rma_event(r, &e);
		refused -= e.error == CAY_ERROR_RIGHTS;
		cay_release(r->origin, &e);
	}
	assert_int_equal(rma_flush(r), 0);
	struct cay_event e;
	while (poll_event(r->origin, &e))
		cay_release(r->origin, &e);
}

static void *issue_refused(void *argument)
{
	assert_int_equal(issue_add_into(argument, 7, 0), 0);
	return NULL;
}

static void refusal_of_another_thread_is_reported(struct rma_pair *r)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, issue_refused, r), 0);
	pthread_join(thread, NULL);
	assert_int_equal(rma_flush(r), -EREMOTEIO);
	assert_int_equal(rma_flush(r), 0);
	rma_complete(r, 7, CAY_ERROR_RIGHTS);
}

static void refusals(struct rma_pair *r)
{
	each_refusal_is_reported(r);
	several_refusals_are_reported_once(r);
	refusal_of_another_thread_is_reported(r);
}

static void refusals_are_reported(void **state)
{
	(void)state;
	each_setup(INSTRUCTION_BYTES, CAY_RIGHT_READ, refusals);
}

static void refusal_of_raw_request_is_reported(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, CAY_RIGHT_READ);
	struct cay_vci v = vci_access(r.peer, CAY_FAST_PUT | 1, 0, 3, r.key, 0);
	(void)state;
	v.word[CAY_VCI_WORD_TARGET] |= 8ull << CAY_VCI_BYTES_SHIFT;
	assert_int_equal(cay_vci_post(r.origin, &v), 0);
	assert_int_equal(cay_trigger(r.origin, CAY_ISSUE_VCI, 1).accepted, 1);
	assert_int_equal(rma_flush(&r), -EREMOTEIO);
	assert_int_equal(rma_flush(&r), 0);
	rma_complete(&r, 3, CAY_ERROR_RIGHTS);
	rma_close(&r);
}

/* A handle reports its own accesses only. */
static void other_peers_are_not_affected(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, CAY_RIGHT_READ);
	struct cay_peer *self = open_peer(r.origin, r.origin);
	(void)state;
	assert_int_equal(issue_put8(&r, 4, 0), 0);
	assert_int_equal(cay_flush(r.origin, self, 0), 0);
	assert_int_equal(rma_flush(&r), -EREMOTEIO);
	rma_complete(&r, 4, CAY_ERROR_RIGHTS);
	cay_peer_release(self);
	rma_close(&r);
}

/* The death of the peer is no refusal: GONE reports it. */
static void owner(struct child *parent, void *unused)
{
	static uint64_t word[INSTRUCTION_BYTES / 8];
	struct cay_port *port = open_named("owner");
	struct cay_key key;
	(void)unused;
	open_window(port, word, sizeof(word), RIGHTS_ACCESS, &key);
	key_send(parent, key);
	child_receive(parent); /* killed, without a poll */
}

static void death_of_the_peer_is_no_refusal(void **state)
{
	struct child child;
	struct rma_pair r = { 0 };
	(void)state;
	child_start(&child, owner, NULL);
	r.key = key_receive(&child);
	r.origin = open_port(NULL);
	r.peer = open_peer_named(r.origin, "owner");
	assert_int_equal(issue_add_into(&r, 5, 0), 0);
	assert_int_equal(cay_flush(r.origin, r.peer, 0), -EAGAIN);
	child_kill(&child);
	assert_int_equal(rma_flush(&r), 0);
	rma_complete(&r, 5, CAY_ERROR_GONE);
	expect_gone(r.origin, cay_peer_addr(r.peer).vpid);
	cay_peer_release(r.peer);
	close_port(r.origin);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(refusals_are_reported),
		TEST(refusal_of_raw_request_is_reported),
		TEST(other_peers_are_not_affected),
		TEST(death_of_the_peer_is_no_refusal),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
