/* SPDX-License-Identifier: BSD-2-Clause */
/* The survivor sends messages and accesses all windows; none may be lost. */
#include <errno.h>
#include <stdlib.h>

#include "access.h"
#include "base/clock.h"
#include "message.h"

#define SURVIVOR_AHEAD	 8
#define SURVIVOR_LOCK_NS (5 * CLOCK_NS_PER_MS)

/* ---- operations to the victim: each completes exactly once ---- */

struct to_target {
	struct cay_peer *peer;
	unsigned char *memory;
	struct cay_key key;
	bool executes;
	uint64_t accepted;
};

static void target_begin(struct page *page, struct cay_port *port,
	const struct kind *kind, struct to_target *t)
{
	t->executes = kind->family == FAMILY_EXECUTE;
	if (kind->family != FAMILY_RECEIVE && !t->executes)
		return;
	t->peer = party_find(page, port, "victim");
	t->memory = cay_alloc(port, 32 * 32768, 0);
	while (t->executes && !atomic_load(&page->victim_key) &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	t->key = key_unpack(atomic_load(&page->victim_key));
}

static void target_feed(
	struct page *page, struct cay_port *port, struct to_target *t)
{
	uint64_t tag = TARGET_TAG | t->accepted;
	size_t bytes = t->accepted % 4 == 3 ? 20000 : 16;
	int r;
	if (!t->peer)
		return;
	if (t->executes)
		r = cay_fetch_add(port, t->peer, t->key, 0, 1, tag, 0);
	else
		r = cay_send_wait(port, t->peer, tag,
			t->memory + 32768 * (t->accepted % 32), bytes,
			t->accepted % 8 < 4 ? CAY_BORROW : CAY_NOTIFY,
			clock_after_ns(5 * CLOCK_NS_PER_MS));
	t->accepted += r == 0;
	party_drain(port);
	if (r && r != -EPIPE && r != -ETIMEDOUT && r != -EAGAIN)
		page_fail(page, "to the victim: %s", cay_strerror(r));
}

/* Copied messages to a dead victim give their slots back without an event. */
static uint64_t copied_used(struct cay_port *port)
{
	struct cay_stats stats = { 0 };
	cay_port_stats(port, &stats);
	return stats.copied_used;
}

static void target_settle(
	struct page *page, struct cay_port *port, struct to_target *t)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	while (t->peer &&
		(party_events.complete < t->accepted ||
			party_events.gone == 0 || copied_used(port))) {
		if (clock_passed(deadline)) {
			page_fail(page,
				"victim: %lu accepted, %lu complete, "
				"%lu gone, %lu copied",
				t->accepted, party_events.complete,
				party_events.gone, copied_used(port));
			break;
		}
		cay_wait(port, clock_after_ns(10 * CLOCK_NS_PER_MS));
		party_drain(port);
	}
	if (party_events.complete > t->accepted)
		page_fail(page, "victim: completed more than once");
	if (party_events.executed > t->accepted)
		page_fail(page, "victim: added twice, or not at all");
}

/* ---- operations to the receiver ---- */

static bool survivor_check(struct accessor *a, const char *what, int r)
{
	if (r == 0 || r == -EBUSY)
		return true;
	return page_fail(a->page, "survivor: %s: %s", what, cay_strerror(r));
}

static bool survivor_send(struct accessor *a, uint64_t round)
{
	static unsigned char memory[MESSAGE_BYTES_MAX];
	if (round % 8 == 5)
		return survivor_check(a, "burst",
			party_burst(a->page, a->port, a->peer, PARTY_SURVIVOR,
				&a->number));
	enum message message = round % 8 == 7	? MESSAGE_STAGED
			       : round % 8 == 3 ? MESSAGE_COPIED
			       : round % 3 == 2 ? MESSAGE_SEND
						: MESSAGE_FAST;
	int r = party_send(a->page, a->port, a->peer, PARTY_SURVIVOR, message,
		a->number, memory);
	if (r)
		return survivor_check(a, "send", r);
	atomic_store(&a->page->accepted[PARTY_SURVIVOR], ++a->number);
	/* The source is reused: wait for the completion. */
	while (message == MESSAGE_STAGED && !atomic_load(&a->page->failed) &&
		atomic_load(&a->page->received[PARTY_SURVIVOR]) < a->number)
		clock_nap_ns(100 * CLOCK_NS_PER_US);
	return true;
}

static bool survivor_access(struct accessor *a, uint64_t round, bool refused)
{
	static const enum access turns[] = { ACCESS_PUT, ACCESS_ADD,
		ACCESS_MASKED, ACCESS_GET, ACCESS_SWAP, ACCESS_ADD,
		ACCESS_BULK };
	const unsigned count = sizeof(turns) / sizeof(turns[0]);
	enum access now = turns[round % count];
	enum access next = turns[(round + round / count) % count];
	if (!survivor_check(a, "access", access_make(a, WINDOW_PLAIN, now)) ||
		!survivor_check(a, "notified access",
			access_make(a, WINDOW_NOTIFIED, next)))
		return false;
	if (refused && !survivor_check(a, "refused access",
			       access_make(a, WINDOW_REFUSED, next)))
		return false;
	return round % 2 ||
	       survivor_check(a, "ordinary memory",
		       access_make(a, WINDOW_ORDINARY,
			       round % 8 ? ACCESS_ADD : ACCESS_PUT));
}

static bool survivor_lock(struct accessor *a, uint64_t round)
{
	if (round % 4)
		return true;
	return survivor_check(a, "lock",
		       access_locked(a, clock_after_ns(SURVIVOR_LOCK_NS))) &&
	       survivor_check(
		       a, "access", access_make(a, WINDOW_LOCKED, ACCESS_ADD));
}

/* Locks and unlocks the window that the page requests. */
static void survivor_lock_requested(struct accessor *a)
{
	struct page *page = a->page;
	uint32_t requested = atomic_load(&page->lock_requested);
	if (!requested || atomic_load(&page->locked))
		return;
	struct cay_key key =
		key_unpack(atomic_load(&page->keys[requested - 1]));
	uint64_t timeout_ns = atomic_load(&page->lock_held)
				      ? 4 * SURVIVOR_LOCK_NS
				      : PARTY_TIMEOUT_NS;
	int r = cay_window_lock(
		a->port, a->peer, key, clock_after_ns(timeout_ns));
	if (r == 0)
		cay_window_unlock(a->port, a->peer, key);
	atomic_store(&page->lock_result, r);
	atomic_store(&page->locked, 1);
}

/*
 * Only the victim is refused before its failure, so that its refusals can be
 * counted.
 */
static bool survivor_refused(const struct page *page, const struct scenario *s)
{
	return s->kind->window != WINDOW_REFUSED || atomic_load(&page->faulted);
}

void survivor_main(struct page *page, const struct scenario *s)
{
	struct cay_port *port = party_open(page, "survivor", 256);
	struct accessor a = { .page = page,
		.port = port,
		.peer = party_find(page, port, "r"),
		.party = PARTY_SURVIVOR };
	struct to_target target = { 0 };

	target_begin(page, port, s->kind, &target);
	atomic_fetch_add(&page->ready, 1);
	for (uint64_t round = 0;
		!atomic_load(&page->finish) && !atomic_load(&page->failed);
		round++) {
		if (!survivor_send(&a, round) ||
			!survivor_access(
				&a, round, survivor_refused(page, s)) ||
			!survivor_lock(&a, round))
			break;
		target_feed(page, port, &target);
		survivor_lock_requested(&a);
		while (atomic_load(&page->pause_request) &&
			!atomic_load(&page->failed)) {
			atomic_store(&page->paused, 1);
			clock_nap_ns(CLOCK_NS_PER_MS);
		}
		/* Leaves queue entries to other senders. */
		while (a.number > atomic_load(&page->received[a.party]) +
					  SURVIVOR_AHEAD &&
			!atomic_load(&page->finish) &&
			!atomic_load(&page->failed))
			clock_nap_ns(100 * CLOCK_NS_PER_US);
		clock_nap_ns(200 * CLOCK_NS_PER_US);
	}
	target_settle(page, port, &target);
	cay_peer_release(a.peer);
	cay_peer_release(target.peer);
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << PARTY_SURVIVOR);
	exit(0);
}
