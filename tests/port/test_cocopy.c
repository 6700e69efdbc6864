/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends copy a borrowed message: the origin helps while it polls, waits or
 * flushes; whatever it does, stops or dies, the target has the whole message or
 * an error, and does not wait for it. The tests stop the target when it has
 * opened the claim word, and after each chunk that it has taken from the ring.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "port/cocopy.h"

#define CHUNKS 16u
#define BYTES  (CHUNKS * (size_t)COCOPY_CHUNK - 4321)

/* ---- the target, stopped ---- */

/* Called when the claim word is open, and after each chunk of the ring. */
static void (*at_announce)(struct cocopy_copy *);
static void (*at_consumed)(struct cocopy_copy *);
static unsigned consumed;

void __real_cocopy_announce(struct cocopy_copy *);
void __wrap_cocopy_announce(struct cocopy_copy *);
void __wrap_cocopy_announce(struct cocopy_copy *c)
{
	__real_cocopy_announce(c);
	consumed = 0;
	if (at_announce)
		at_announce(c);
}

void __real_cocopy_consumed(struct cocopy_copy *);
void __wrap_cocopy_consumed(struct cocopy_copy *);
void __wrap_cocopy_consumed(struct cocopy_copy *c)
{
	__real_cocopy_consumed(c);
	consumed++;
	if (at_consumed)
		at_consumed(c);
}

static uint32_t staged_now(const struct cocopy_copy *c)
{
	uint64_t word = atomic_load(&c->shared->staged);
	return word >> COCOPY_SEQUENCE_SHIFT == c->sequence ? (uint32_t)word
							    : 0;
}

/* The origin stages no more than the ring holds. */
static void await_full_ring(struct cocopy_copy *c)
{
	uint64_t deadline = soon();
	while (staged_now(c) < COCOPY_RING) {
		assert_true(now_ns() < deadline);
		sched_yield();
	}
	nap_ns(NS_PER_MS);
	assert_int_equal(staged_now(c), COCOPY_RING);
}

/* A chunk takes its place in the ring when another has left it. */
static void await_next(struct cocopy_copy *c)
{
	uint64_t deadline = soon();
	uint32_t all = c->chunks - c->claimed;
	while (staged_now(c) < all && staged_now(c) < consumed + COCOPY_RING) {
		assert_true(now_ns() < deadline);
		sched_yield();
	}
}

/* ---- messages ---- */

static struct cay_port *open_fetching(const char *name)
{
	const struct cay_port_options options = { .name = name,
		.flags = CAY_PORT_FETCH };
	return open_port(&options);
}

static void send_message(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, unsigned char *source)
{
	content_fill(source, BYTES, tag);
	assert_int_equal(
		cay_send(port, peer, tag, source, BYTES, CAY_BORROW), 0);
}

/* Takes the next message, and releases it. */
static struct cay_event take(struct cay_port *port, uint64_t tag)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.length, BYTES);
	assert_null(e.data);
	cay_release(port, &e);
	return e;
}

static void fetch(struct cay_port *port, uint64_t tag, unsigned char *buffer)
{
	struct cay_event e = take(port, tag);
	memset(buffer, 0xee, BYTES + 1);
	assert_int_equal(cay_event_fetch(port, &e, buffer, BYTES), 0);
	assert_true(content_fits(buffer, BYTES, tag));
	assert_int_equal(buffer[BYTES], 0xee);
}

/* Sends the first message, which probes; later ones are in its own memory. */
static void probe(
	struct cay_port *port, struct cay_peer *peer, unsigned char *source)
{
	send_message(port, peer, 0, source);
	expect_complete(port, 0, 0);
	if (strcmp(cay_peer_bulk(peer), "process") != 0)
		skip();
}

/* ---- the origin helps ---- */

enum help {
	HELP_POLL,
	HELP_WAIT,
	HELP_SLEEP,
	HELP_FLUSH,
};

#define MESSAGES 20u

static void helping_origin(struct child *parent, void *argument)
{
	const enum help *how = argument;
	struct cay_port *port = open_named("origin");
	struct cay_peer *peer = open_peer_named(port, "target");
	unsigned char *source = malloc(BYTES);
	probe(port, peer, source);
	for (unsigned i = 1; i <= MESSAGES; i++) {
		struct cay_event e;
		send_message(port, peer, i, source);
		if (*how == HELP_FLUSH)
			assert_int_equal(cay_flush(port, peer, soon()), 0);
		while (!poll_event(port, &e))
			if (*how == HELP_WAIT)
				cay_wait(port, now_ns() + 20 * NS_PER_US);
			else if (*how == HELP_SLEEP)
				assert_int_equal(cay_wait(port, soon()), 0);
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, 0);
		cay_release(port, &e);
		memset(source, 0xdd, BYTES);
	}
	child_receive(parent);
	free(source);
	cay_peer_release(peer);
	close_port(port);
}

static void origin_helps(enum help how, bool fetching)
{
	struct child child;
	struct cay_port *port = fetching ? open_fetching("target")
					 : open_named("target");
	unsigned char *buffer = malloc(BYTES + 1);
	child_start(&child, helping_origin, &how);
	at_announce = await_full_ring;
	at_consumed = await_next;
	for (unsigned i = 0; i <= MESSAGES; i++) {
		if (fetching)
			fetch(port, i, buffer);
		else
			expect_message(port, i, BYTES, i);
		/* Nearly all: each was awaited before another was read. */
		if (i > 0)
			assert_in_range(consumed, COCOPY_RING, CHUNKS);
	}
	at_announce = at_consumed = NULL;
	child_send(&child, 1);
	child_join(&child);
	free(buffer);
	close_port(port);
}

static void helps_while_it_polls(void **state)
{
	(void)state;
	origin_helps(HELP_POLL, true);
	origin_helps(HELP_POLL, false);
}

static void helps_while_it_waits(void **state)
{
	(void)state;
	origin_helps(HELP_WAIT, true);
}

static void helps_while_it_sleeps(void **state)
{
	(void)state;
	origin_helps(HELP_SLEEP, true);
}

static void helps_while_it_flushes(void **state)
{
	(void)state;
	origin_helps(HELP_FLUSH, true);
}

/* ---- a buffer that cannot be written ---- */

static pid_t helper;

/*
 * Stops the origin when it has used a place of the ring again: the other chunks
 * are read, and what is staged is not what a second attempt would expect.
 */
static void stop_helper(struct cocopy_copy *c)
{
	if (consumed != 1)
		return;
	await_next(c);
	assert_int_equal(kill(helper, SIGSTOP), 0);
}

/* The second attempt is right, although chunks of the first were staged. */
static void refetch_after_a_bad_buffer(void **state)
{
	enum help how = HELP_POLL;
	struct child child;
	struct cay_port *port = open_fetching("target");
	unsigned char *buffer = mmap(NULL, BYTES + 1, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_true(buffer != MAP_FAILED);
	child_start(&child, helping_origin, &how);
	helper = child.pid;
	fetch(port, 0, buffer);
	for (unsigned i = 1; i <= MESSAGES; i++) {
		struct cay_event e = take(port, i);
		/* The first chunk is read out of the origin. */
		assert_int_equal(mprotect(buffer, 4096, PROT_READ), 0);
		at_announce = await_full_ring;
		at_consumed = stop_helper;
		assert_int_equal(
			cay_event_fetch(port, &e, buffer, BYTES), -EFAULT);
		at_announce = at_consumed = NULL;
		assert_int_equal(kill(helper, SIGCONT), 0);
		assert_int_equal(
			mprotect(buffer, 4096, PROT_READ | PROT_WRITE), 0);
		memset(buffer, 0xee, BYTES);
		assert_int_equal(cay_event_fetch(port, &e, buffer, BYTES), 0);
		assert_true(content_fits(buffer, BYTES, i));
	}
	child_send(&child, 1);
	child_join(&child);
	munmap(buffer, BYTES + 1);
	close_port(port);
}

/* ---- in one process: the origin does nothing by itself ---- */

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer;
	unsigned char *source, *buffer;
};

static struct pair pair_open(void)
{
	struct pair p = { .a = open_port(NULL), .b = open_fetching(NULL) };
	p.peer = open_peer(p.a, p.b);
	p.source = malloc(BYTES);
	p.buffer = malloc(BYTES + 1);
	send_message(p.a, p.peer, 0, p.source);
	fetch(p.b, 0, p.buffer);
	expect_complete(p.a, 0, 0);
	return p;
}

static void pair_close(struct pair *p)
{
	at_announce = at_consumed = NULL;
	check_empty(p->a);
	check_empty(p->b);
	free(p->source);
	free(p->buffer);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

/* As if the origin had claimed chunks and stopped then. */
static uint32_t stopped_claims;

static void claim_and_stop(struct cocopy_copy *c)
{
	atomic_fetch_add(&c->shared->claim, stopped_claims * COCOPY_BACK);
}

static void a_stopped_origin_loses_its_chunks(void **state)
{
	struct pair p = pair_open();
	(void)state;
	at_announce = claim_and_stop;
	for (uint32_t i = 0; i <= CHUNKS; i++) {
		stopped_claims = i;
		send_message(p.a, p.peer, i, p.source);
		fetch(p.b, i, p.buffer);
		assert_int_equal(consumed, 0);
		expect_complete(p.a, i, 0);
	}
	pair_close(&p);
}

/* Any member can write the words. */
static unsigned damage;

static void damage_words(struct cocopy_copy *c)
{
	uint64_t sequence = (uint64_t)c->sequence << COCOPY_SEQUENCE_SHIFT;
	struct cocopy *s = c->shared;
	static const uint64_t rings[] = { 0, 4096, UINT64_MAX, 1ull << 63 };
	switch (damage % 8) {
	case 0:
		atomic_store(&s->claim, 0);
		break;
	case 1:
		atomic_store(&s->claim, UINT64_MAX);
		break;
	case 2:
		atomic_store(&s->claim, sequence | COCOPY_OPEN | 9);
		break;
	case 3:
		atomic_fetch_add(&s->claim, (CHUNKS + 1) * COCOPY_BACK);
		break;
	case 4:
		atomic_store(&s->claim, sequence);
		break;
	case 5:
		atomic_store(&s->staged, sequence | UINT32_MAX);
		break;
	case 6:
		atomic_store(&s->staged, (sequence + (1ull << 32)) | 3);
		break;
	default:
		atomic_store(&s->ring, c->arena->bytes - COCOPY_CHUNK);
		atomic_store(&s->staged, sequence | 4);
	}
	if (damage >= 8) {
		atomic_store(&s->ring, rings[damage % COUNT(rings)]);
		atomic_store(&s->staged, sequence | 2);
	}
}

static void damaged_words_are_not_used(void **state)
{
	struct pair p = pair_open();
	(void)state;
	at_announce = damage_words;
	for (damage = 0; damage < 12; damage++) {
		send_message(p.a, p.peer, damage, p.source);
		fetch(p.b, damage, p.buffer);
		assert_int_equal(consumed, 0);
		expect_complete(p.a, damage, 0);
	}
	pair_close(&p);
}

/* ---- the origin ends while the target copies ---- */

enum end {
	END_KILLED,  /* when the target has copied chunks of its ring */
	END_CLOSED,  /* the same */
	END_CLAIMED, /* it dies after its first claim, by its own access */
};

#define AFTER_ALL_BUT_ONE UINT_MAX

struct ending {
	struct child child;
	enum end how;
	unsigned after; /* so many chunks of the ring, or AFTER_ALL_BUT_ONE */
	_Atomic bool close, closed;
};

static struct ending *ending; /* shared with the child */

static void ending_origin(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("origin");
	struct cay_peer *peer = open_peer_named(port, "target");
	unsigned char *source = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cay_event e;
	(void)unused;
	probe(port, peer, source);
	send_message(port, peer, 1, source);
	if (ending->how == END_CLAIMED) {
		const struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		mprotect(source, BYTES, PROT_NONE);
	}
	while (!atomic_load(&ending->close))
		poll_event(port, &e);
	cay_peer_release(peer);
	close_port(port);
	memset(source, 0xdd, BYTES);
	atomic_store(&ending->closed, true);
	child_receive(parent);
}

static void end_origin(void)
{
	uint64_t deadline = soon();
	if (ending->how != END_CLOSED) {
		child_kill(&ending->child);
		return;
	}
	atomic_store(&ending->close, true);
	while (!atomic_load(&ending->closed)) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
}

static void end_at_announce(struct cocopy_copy *c)
{
	uint64_t deadline = soon();
	if (ending->how != END_CLAIMED)
		await_full_ring(c);
	/* The node clears the word when it frees the tables of the origin. */
	while (ending->how == END_CLAIMED &&
		(atomic_load(&c->shared->claim) & UINT32_MAX) == COCOPY_OPEN) {
		assert_true(now_ns() < deadline);
		sched_yield();
	}
	if (ending->after == 0)
		end_origin();
}

static void end_at_consumed(struct cocopy_copy *c)
{
	unsigned last = c->chunks - c->claimed - 1;
	if (consumed == bits_min(ending->after, last))
		end_origin();
	else if (consumed < ending->after)
		await_next(c);
}

static void origin_ends(enum end how, unsigned after)
{
	struct cay_port *port = open_fetching("target");
	unsigned char *buffer = malloc(BYTES + 1);
	ending->how = how;
	ending->after = after;
	atomic_store(&ending->close, false);
	atomic_store(&ending->closed, false);
	child_start(&ending->child, ending_origin, NULL);
	struct cay_peer *peer = open_peer_named(port, "origin");
	fetch(port, 0, buffer);
	struct cay_event e = take(port, 1);
	at_announce = end_at_announce;
	at_consumed = end_at_consumed;
	assert_int_equal(cay_event_fetch(port, &e, buffer, BYTES), -EPIPE);
	at_announce = at_consumed = NULL;
	assert_int_equal(cay_event_fetch(port, &e, buffer, BYTES), -EINVAL);
	expect_gone(port, cay_peer_addr(peer).vpid);
	if (how == END_CLOSED) {
		child_send(&ending->child, 1);
		child_join(&ending->child);
	}
	cay_peer_release(peer);
	close_port(port);
	free(buffer);
}

static void the_origin_dies(void **state)
{
	(void)state;
	for (unsigned after = 0; after <= 6; after++)
		origin_ends(END_KILLED, after);
	origin_ends(END_KILLED, AFTER_ALL_BUT_ONE);
}

static void the_origin_dies_after_a_claim(void **state)
{
	(void)state;
	origin_ends(END_CLAIMED, 0);
}

static void the_origin_closes(void **state)
{
	(void)state;
	for (unsigned after = 0; after <= 6; after++)
		origin_ends(END_CLOSED, after);
	origin_ends(END_CLOSED, AFTER_ALL_BUT_ONE);
}

/* ---- the target dies ---- */

static unsigned die_after;

static void die_at_announce(struct cocopy_copy *c)
{
	await_full_ring(c);
	if (die_after == 0)
		kill(getpid(), SIGKILL);
}

static void die_at_consumed(struct cocopy_copy *c)
{
	await_next(c);
	if (consumed == die_after)
		kill(getpid(), SIGKILL);
}

static void dying_target(struct child *parent, void *unused)
{
	struct cay_port *port = open_fetching("dying");
	unsigned char *buffer = malloc(BYTES + 1);
	(void)parent;
	(void)unused;
	fetch(port, 0, buffer);
	struct cay_event e = take(port, 1);
	at_announce = die_at_announce;
	at_consumed = die_at_consumed;
	cay_event_fetch(port, &e, buffer, BYTES);
	abort();
}

/* Its message ends with an error, and the ring serves the next one. */
static void the_target_dies(void **state)
{
	struct cay_port *port = open_port(NULL), *next = open_fetching(NULL);
	struct cay_peer *to_next = open_peer(port, next);
	unsigned char *source = malloc(BYTES), *buffer = malloc(BYTES + 1);
	(void)state;
	for (die_after = 0; die_after <= 5; die_after++) {
		struct child child;
		struct cay_event e;
		child_start(&child, dying_target, NULL);
		struct cay_peer *peer = open_peer_named(port, "dying");
		uint64_t deadline = soon();
		probe(port, peer, source);
		send_message(port, peer, 1, source);
		/* It polls: a sleeping origin does not help. */
		while (!poll_event(port, &e))
			assert_true(now_ns() < deadline);
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, CAY_ERROR_GONE);
		cay_release(port, &e);
		expect_gone(port, cay_peer_addr(peer).vpid);
		child_kill(&child);
		cay_peer_release(peer);
		send_message(port, to_next, 2, source);
		fetch(next, 2, buffer);
		expect_complete(port, 2, 0);
		assert_false(poll_event(port, &e));
	}
	free(source);
	free(buffer);
	cay_peer_release(to_next);
	close_port(port);
	close_port(next);
}

/* ---- the source after its completion ---- */

struct poller {
	struct cay_port *port;
	_Atomic bool stop;
	_Atomic uint64_t complete;
};

/* Takes completions, and makes the source of each unreadable at once. */
static void *poller_run(void *argument)
{
	struct poller *p = argument;
	struct cay_event e;
	while (!atomic_load(&p->stop)) {
		if (cay_poll(p->port, &e, 1) != 1)
			continue;
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, 0);
		assert_int_equal(
			mprotect((void *)(uintptr_t)e.tag, BYTES, PROT_NONE),
			0);
		cay_release(p->port, &e);
		atomic_fetch_add(&p->complete, 1);
	}
	return NULL;
}

static void polling_origin(struct child *parent, void *unused)
{
	const struct cay_port_options options = { .flags = CAY_PORT_SHARED };
	struct poller p = { .port = open_port(&options) };
	struct cay_peer *peer = open_peer_named(p.port, "target");
	unsigned char *source = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread[2];
	(void)unused;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, poller_run, &p), 0);
	for (unsigned i = 0; i < 2 * MESSAGES; i++) {
		uint64_t deadline = soon();
		mprotect(source, BYTES, PROT_READ | PROT_WRITE);
		content_fill(source, BYTES, 7);
		assert_int_equal(cay_send(p.port, peer, (uintptr_t)source,
					 source, BYTES, CAY_BORROW),
			0);
		while (atomic_load(&p.complete) <= i) {
			assert_true(now_ns() < deadline);
			sched_yield();
		}
	}
	atomic_store(&p.stop, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	child_receive(parent);
	cay_peer_release(peer);
	close_port(p.port);
}

/* Two threads of the origin poll; one that helps would crash. */
static void no_source_is_read_after_its_completion(void **state)
{
	struct child child;
	struct cay_port *port = open_fetching("target");
	unsigned char *buffer = malloc(BYTES);
	(void)state;
	child_start(&child, polling_origin, NULL);
	for (unsigned i = 0; i < 2 * MESSAGES; i++) {
		struct cay_event e;
		next_event(port, &e);
		assert_int_equal(cay_event_fetch(port, &e, buffer, BYTES), 0);
		assert_true(content_fits(buffer, BYTES, 7));
		cay_release(port, &e);
	}
	child_send(&child, 1);
	child_join(&child);
	free(buffer);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(helps_while_it_polls),
		TEST(helps_while_it_waits),
		TEST(helps_while_it_sleeps),
		TEST(helps_while_it_flushes),
		TEST(refetch_after_a_bad_buffer),
		TEST(a_stopped_origin_loses_its_chunks),
		TEST(damaged_words_are_not_used),
		TEST(the_origin_dies),
		TEST(the_origin_dies_after_a_claim),
		TEST(the_origin_closes),
		TEST(the_target_dies),
		TEST(no_source_is_read_after_its_completion),
	};
	ending = shared_memory(sizeof(*ending));
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
