/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notifications of a window's owner: of each access if requested, and of
 * refusals once until the owner polls, with an exact count.
 */
#include "instruction.h"

#define RIGHTS_NOTIFY  (RIGHTS_ACCESS | CAY_RIGHT_NOTIFY_ACCESS)
#define RIGHTS_REFUSED (RIGHTS_ACCESS | CAY_RIGHT_NOTIFY_REFUSAL)

/* ---- accesses ---- */

static void check_access(struct cay_port *owner, const struct instruction *i,
	struct cay_addr from, uint32_t window, uint64_t tag, unsigned flags)
{
	struct cay_event e;
	next_event(owner, &e);
	assert_int_equal(e.kind, CAY_EVENT_ACCESS);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.peer.vpid, from.vpid);
	assert_int_equal(e.peer.node, from.node);
	assert_int_equal(e.command, instruction_command(i, flags));
	assert_int_equal(e.window, window);
	assert_int_equal(e.offset, i->offset);
	assert_int_equal(e.length, i->length);
	assert_int_equal(e.result, 0);
	assert_true(e.data == NULL);
	cay_release(owner, &e);
}

static void notified_in(enum place place)
{
	struct rma_pair r = rma_open(place, INSTRUCTION_BYTES, RIGHTS_NOTIFY);
	struct cay_addr from = cay_port_addr(r.origin);
	uint64_t tag = 1000;
	for (unsigned flags = 0; flags < 64; flags++)
		for (unsigned j = 0; j < COUNT(instructions); j++) {
			const struct instruction *i = &instructions[j];
			assert_int_equal(i->issue(&r, ++tag, flags), 0);
			check_access(
				r.owner, i, from, r.key.window, tag, flags);
			if (instruction_notified(i, flags))
				expect_complete(r.origin, tag, 0);
			rma_settle(&r);
		}
	rma_close(&r);
}

static void accesses_are_notified(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		notified_in(place);
}

static void accessing_child(struct child *parent, void *argument)
{
	const struct cay_key *key = argument;
	struct rma_pair r = { .origin = open_port(NULL), .key = *key };
	struct cay_addr addr = cay_port_addr(r.origin);
	r.peer = open_peer_named(r.origin, "owner");
	child_send(parent, addr.vpid);
	child_send(parent, addr.node);
	for (unsigned j = 0; j < COUNT(instructions); j++) {
		assert_int_equal(instructions[j].issue(&r, j, CAY_ACK), 0);
		rma_complete(&r, j, 0);
	}
	child_receive(parent);
	cay_peer_release(r.peer);
	close_port(r.origin);
}

static void accesses_of_another_process(void **state)
{
	struct cay_port *owner = open_named("owner");
	(void)state;
	for (enum place place = 0; place < PLACES; place++) {
		unsigned char *memory =
			place_alloc(owner, place, INSTRUCTION_BYTES);
		struct cay_key key;
		struct cay_window *w = open_window(
			owner, memory, INSTRUCTION_BYTES, RIGHTS_NOTIFY, &key);
		struct cay_addr from;
		struct child child;
		child_start(&child, accessing_child, &key);
		from.vpid = (uint16_t)child_receive(&child);
		from.node = (uint32_t)child_receive(&child);
		for (unsigned j = 0; j < COUNT(instructions); j++)
			check_access(owner, &instructions[j], from, key.window,
				j, CAY_ACK);
		check_empty(owner);
		child_send(&child, 1);
		child_join(&child);
		close_window(w);
		place_free(owner, place, memory);
	}
	close_port(owner);
}

/* A sleeping owner is woken. */
static void *access_later(void *argument)
{
	struct rma_pair *r = argument;
	nap_ns(20 * NS_PER_MS);
	assert_int_equal(issue_put8(r, 5, 0), 0);
	return NULL;
}

static void sleeping_owners_are_woken(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_NOTIFY);
	pthread_t thread;
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(
			pthread_create(&thread, NULL, access_later, &r), 0);
		assert_int_equal(cay_wait(r.owner, CAY_FOREVER), 0);
		check_access(r.owner, &instructions[0], cay_port_addr(r.origin),
			r.key.window, 5, 0);
		pthread_join(thread, NULL);
	}
	rma_close(&r);
}

/* ---- full queue of the owner ---- */

enum {
	ENTRIES = 16,
	ORDINARY = 11 /* without the entries reserved for completions and
			 priority */
};

struct full {
	struct cay_port *owner, *origin;
	struct cay_peer *peer;
	struct cay_window *window;
	struct cay_key key;
	uint64_t *word;
};

static struct full full_open(unsigned rights)
{
	struct full f = { .owner = open_small(NULL, ENTRIES),
		.origin = open_port(NULL) };
	f.peer = open_peer(f.origin, f.owner);
	f.word = cay_alloc(f.owner, 8, 0);
	f.window = open_window(f.owner, f.word, 8, rights, &f.key);
	return f;
}

static void full_close(struct full *f)
{
	check_empty(f->owner);
	check_empty(f->origin);
	close_window(f->window);
	cay_free(f->owner, f->word);
	cay_peer_release(f->peer);
	close_port(f->origin);
	close_port(f->owner);
}

static int full_add(struct full *f, unsigned flags)
{
	uint64_t previous;
	return cay_fetch_add_into(
		f->origin, f->peer, f->key, 0, 1, &previous, 0, flags);
}

static unsigned full_drain(struct full *f)
{
	struct cay_event e;
	unsigned count = 0;
	for (; poll_event(f->owner, &e); count++) {
		assert_int_equal(e.kind, CAY_EVENT_ACCESS);
		cay_release(f->owner, &e);
	}
	check_empty(f->owner);
	return count;
}

/* The access is not executed and can be retried. */
static void full_queue_refuses_the_access(void **state)
{
	struct full f = full_open(RIGHTS_NOTIFY);
	uint64_t sum = 0, word = 77;
	(void)state;
	for (unsigned lap = 0; lap < 50; lap++) {
		while (full_add(&f, 0) == 0)
			sum++;
		assert_int_equal(sum, (lap + 1) * ORDINARY);
		assert_int_equal(full_add(&f, 0), -EAGAIN);
		assert_int_equal(full_add(&f, CAY_ACK), -EAGAIN);
		assert_int_equal(full_add(&f, CAY_PRIORITY), -EAGAIN);
		assert_int_equal(
			cay_put(f.origin, f.peer, f.key, 0, &word, 8, 0, 0),
			-EAGAIN);
		assert_int_equal(cay_put_masked(f.origin, f.peer, f.key, 0, 0,
					 0xff, 0, 0),
			-EAGAIN);
		assert_int_equal(*f.word, sum);
		check_empty(f.origin);
		assert_int_equal(full_drain(&f), ORDINARY);
	}
	full_close(&f);
}

/* ---- refusals ---- */

static void check_refusal(struct rma_pair *r, uint64_t tag, int error,
	uint64_t offset, size_t length, uint64_t count)
{
	struct cay_event e;
	next_event(r->owner, &e);
	assert_int_equal(e.kind, CAY_EVENT_ACCESS);
	assert_int_equal(e.error, error);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.peer.vpid, cay_port_addr(r->origin).vpid);
	assert_int_equal(e.window, r->key.window);
	assert_int_equal(e.offset, offset);
	assert_int_equal(e.length, length);
	assert_int_equal(e.result, count);
	cay_release(r->owner, &e);
	check_empty(r->owner);
}

static void refusals_in(enum place place)
{
	struct rma_pair r = rma_open(place, INSTRUCTION_BYTES,
		CAY_RIGHT_WRITE | CAY_RIGHT_NOTIFY_REFUSAL);
	struct cay_port *other = open_port(NULL);
	struct cay_peer *peer = open_peer(other, r.owner);
	/* Permitted accesses are not notified. */
	assert_int_equal(issue_put8(&r, 1, CAY_ACK), 0);
	rma_complete(&r, 1, 0);
	assert_int_equal(issue_get8(&r, 2, 0), 0);
	expect_complete(r.origin, 2, CAY_ERROR_RIGHTS);
	check_refusal(&r, 2, CAY_ERROR_RIGHTS, 8, 8, 1);
	assert_int_equal(
		cay_put(r.origin, r.peer, r.key, 100, &r, 29, 3, 0), 0);
	expect_complete(r.origin, 3, CAY_ERROR_TARGET_BOUNDS);
	check_refusal(&r, 3, CAY_ERROR_TARGET_BOUNDS, 100, 29, 1);
	assert_int_equal(
		cay_put_masked(r.origin, r.peer, r.key, 1, 0, 1, 4, 0), 0);
	expect_complete(r.origin, 4, CAY_ERROR_TARGET_OFFSET_ALIGN);
	check_refusal(&r, 4, CAY_ERROR_TARGET_OFFSET_ALIGN, 1, 8, 1);
	r.key.capability ^= 1;
	assert_int_equal(issue_put3(&r, 5, 0), 0);
	expect_complete(r.origin, 5, CAY_ERROR_CAPABILITY);
	check_refusal(&r, 5, CAY_ERROR_CAPABILITY, 9, 3, 1);
	r.key.capability ^= 1;
	assert_int_equal(cay_window_lock(other, peer, r.key, 0), 0);
	assert_int_equal(issue_put3(&r, 6, 0), 0);
	expect_complete(r.origin, 6, CAY_ERROR_TARGET_LOCKED);
	check_refusal(&r, 6, CAY_ERROR_TARGET_LOCKED, 9, 3, 1);
	cay_peer_release(peer);
	close_port(other);
	rma_close(&r);
}

static void refusals_are_notified(void **state)
{
	(void)state;
	for (enum place place = 0; place < PLACES; place++)
		refusals_in(place);
}

/* Many refusals without a poll of the owner: one notification. */
static void refusals_are_notified_once(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_REFUSED);
	(void)state;
	for (uint64_t count = 1; count <= 1000; count += 111) {
		for (uint64_t i = 0; i < count; i++) {
			assert_int_equal(
				cay_put(r.origin, r.peer, r.key,
					INSTRUCTION_BYTES, "", 1, i, 0),
				0);
			expect_complete(r.origin, i, CAY_ERROR_TARGET_BOUNDS);
		}
		check_refusal(&r, 0, CAY_ERROR_TARGET_BOUNDS, INSTRUCTION_BYTES,
			1, count);
	}
	rma_close(&r);
}

/* A refusal after the last event was polled and before it is released. */
static void refusals_are_notified_again_after_a_poll(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_REFUSED);
	struct cay_event e[3];
	(void)state;
	for (uint64_t i = 0; i < COUNT(e); i++) {
		assert_int_equal(cay_put(r.origin, r.peer, r.key,
					 INSTRUCTION_BYTES, "", 1, i, 0),
			0);
		expect_complete(r.origin, i, CAY_ERROR_TARGET_BOUNDS);
		next_event(r.owner, &e[i]);
		assert_int_equal(e[i].kind, CAY_EVENT_ACCESS);
		assert_int_equal(e[i].tag, i);
		assert_int_equal(e[i].result, 1);
	}
	for (uint64_t i = 0; i < COUNT(e); i++)
		cay_release(r.owner, &e[i]);
	rma_close(&r);
}

/* Each window has its own count. */
static void each_window_has_its_count(void **state)
{
	struct rma_pair r =
		rma_open(PLACE_ARENA, INSTRUCTION_BYTES, RIGHTS_REFUSED);
	struct rma_pair second = r;
	(void)state;
	second.window =
		open_window(r.owner, r.memory, 8, RIGHTS_REFUSED, &second.key);
	for (uint64_t i = 0; i < 10; i++) {
		struct rma_pair *at = i % 3 ? &r : &second;
		assert_int_equal(cay_put(at->origin, at->peer, at->key, 1000,
					 "", 1, i, 0),
			0);
		expect_complete(r.origin, i, CAY_ERROR_TARGET_BOUNDS);
	}
	struct cay_event e[2];
	assert_int_equal(cay_poll(r.owner, e, 2), 2);
	assert_int_equal(e[0].window, second.key.window);
	assert_int_equal(e[0].result, 4);
	assert_int_equal(e[1].window, r.key.window);
	assert_int_equal(e[1].result, 6);
	cay_release(r.owner, &e[1]);
	cay_release(r.owner, &e[0]);
	close_window(second.window);
	rma_close(&r);
}

/* Refusals during a full queue are counted. */
static void refusals_with_a_full_queue(void **state)
{
	struct full f = full_open(RIGHTS_ACCESS | CAY_RIGHT_NOTIFY_ACCESS |
				  CAY_RIGHT_NOTIFY_REFUSAL);
	struct cay_event e;
	(void)state;
	while (full_add(&f, 0) == 0)
		;
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(
			cay_put(f.origin, f.peer, f.key, 8, "", 1, i, 0), 0);
		expect_complete(f.origin, i, CAY_ERROR_TARGET_BOUNDS);
	}
	assert_int_equal(full_drain(&f), ORDINARY);
	assert_int_equal(cay_put(f.origin, f.peer, f.key, 8, "", 1, 20, 0), 0);
	expect_complete(f.origin, 20, CAY_ERROR_TARGET_BOUNDS);
	next_event(f.owner, &e);
	assert_int_equal(e.error, CAY_ERROR_TARGET_BOUNDS);
	assert_int_equal(e.result, 21);
	cay_release(f.owner, &e);
	full_close(&f);
}

/* ---- concurrent refusals ---- */

struct refused {
	struct cay_key key;
	uint64_t rounds;
};

static void refused_child(struct child *parent, void *argument)
{
	const struct refused *c = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "owner");
	for (uint64_t i = 0; i < c->rounds; i++) {
		assert_int_equal(
			cay_put(port, peer, c->key, 9, "", 1, i, 0), 0);
		expect_complete(port, i, CAY_ERROR_TARGET_BOUNDS);
	}
	child_send(parent, 1);
	cay_peer_release(peer);
	close_port(port);
}

static uint64_t count_refusals(struct cay_port *owner, unsigned *events)
{
	struct cay_event e;
	uint64_t sum = 0;
	while (poll_event(owner, &e)) {
		assert_int_equal(e.kind, CAY_EVENT_ACCESS);
		assert_int_equal(e.error, CAY_ERROR_TARGET_BOUNDS);
		sum += e.result;
		++*events;
		cay_release(owner, &e);
	}
	return sum;
}

static void counts_are_exact(void **state)
{
	struct cay_port *owner = open_named("owner");
	struct cay_peer *self = open_peer(owner, owner);
	struct refused c = { .rounds = scaled(3000) };
	uint64_t *word = cay_alloc(owner, 8, 0), sum = 0;
	struct cay_window *w =
		open_window(owner, word, 8, RIGHTS_REFUSED, &c.key);
	struct child children[3];
	unsigned events = 0;
	(void)state;
	for (unsigned i = 0; i < COUNT(children); i++)
		child_start(&children[i], refused_child, &c);
	for (unsigned i = 0; i < COUNT(children); i++) {
		while (!child_has_sent(&children[i])) {
			sum += count_refusals(owner, &events);
			nap_ns(NS_PER_MS);
		}
		child_join(&children[i]);
	}
	sum += count_refusals(owner, &events);
	check_empty(owner);
	/* Refusals after the last event are counted in the next one. */
	assert_int_equal(cay_put(owner, self, c.key, 9, "", 1, 7, 0), 0);
	struct cay_event e;
	for (unsigned i = 0; i < 2; i++) {
		next_event(owner, &e);
		if (e.kind == CAY_EVENT_ACCESS)
			sum += e.result;
		cay_release(owner, &e);
	}
	assert_int_equal(sum, c.rounds * COUNT(children) + 1);
	assert_true(events <= c.rounds * COUNT(children));
	close_window(w);
	cay_free(owner, word);
	cay_peer_release(self);
	close_port(owner);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(accesses_are_notified),
		TEST(accesses_of_another_process),
		TEST(sleeping_owners_are_woken),
		TEST(full_queue_refuses_the_access),
		TEST(refusals_are_notified),
		TEST(refusals_are_notified_once),
		TEST(refusals_are_notified_again_after_a_poll),
		TEST(each_window_has_its_count),
		TEST(refusals_with_a_full_queue),
		TEST(counts_are_exact),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
