/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver: checks that each sender's messages come whole, in order and
 * exactly once, that GONE comes after the last, and that all room comes back.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "message.h"
#include "parties.h"

struct receiver {
	struct page *page;
	const struct scenario *scenario;
	struct cay_port *port;
	struct cay_peer *peers[PARTY_COUNT];
	uint64_t next[PARTY_COUNT];
	bool gone[PARTY_COUNT];
};

static bool message_check(struct receiver *r, const struct cay_event *e)
{
	enum party from = message_from(e);
	uint64_t number = message_number(e);
	/* A dead sender's own memory cannot be read any more. */
	if (e->error == CAY_ERROR_GONE && from != PARTY_SURVIVOR)
		return true;
	if (from >= PARTY_COUNT || e->error)
		return page_fail(r->page, "message with error %d from %d",
			e->error, (int)from);
	if (r->gone[from])
		return page_fail(
			r->page, "message of %s after GONE", party_name(from));
	if (number != r->next[from])
		return page_fail(r->page, "%s: message %lu instead of %lu",
			party_name(from), number, r->next[from]);
	if (!message_whole(e))
		return page_fail(r->page, "%s: message %lu is damaged",
			party_name(from), number);
	r->next[from]++;
	atomic_store(&r->page->received[from], r->next[from]);
	return true;
}

static bool event_check(struct receiver *r, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_MESSAGE)
		return message_check(r, e);
	if (e->kind != CAY_EVENT_GONE)
		return page_fail(r->page, "event of kind %d", (int)e->kind);
	for (int i = 0; i < PARTY_COUNT; i++)
		if (r->peers[i] &&
			cay_peer_addr(r->peers[i]).vpid == e->peer.vpid) {
			if (r->gone[i])
				return page_fail(r->page, "GONE twice");
			r->gone[i] = true;
		}
	return true;
}

static bool all_gone(const struct receiver *r)
{
	for (int i = 0; i < PARTY_COUNT; i++)
		if (r->peers[i] && !r->gone[i])
			return false;
	return true;
}

/* Holds events back for a while, so that release is not in order. */
static bool receive_some(struct receiver *r)
{
	struct cay_event events[7];
	int n = cay_poll(r->port, events, 7);
	if (n < 0)
		return page_fail(r->page, "poll: %s", cay_strerror(n));
	for (int i = 0; i < n; i++)
		if (!event_check(r, &events[i]))
			return false;
	for (int i = n - 1; i >= 0; i--)
		cay_release(r->port, &events[i]);
	return true;
}

static bool receive_all(struct receiver *r)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	while (!all_gone(r)) {
		if (clock_passed(deadline))
			return page_fail(r->page, "stalled: %lu %lu %lu",
				r->next[0], r->next[1], r->next[2]);
		/* A wake-up that is lost must not be made good by a time-out.
		 */
		int w = cay_wait(r->port, deadline);
		if (w)
			return page_fail(r->page, "wait: %s", cay_strerror(w));
		if (!receive_some(r))
			return false;
	}
	return true;
}

/* What was accepted has come; what was only tried may have, once. */
static bool counts_check(struct receiver *r)
{
	for (int i = 0; i < PARTY_COUNT; i++) {
		uint64_t accepted = atomic_load(&r->page->accepted[i]);
		uint64_t tried = atomic_load(&r->page->tried[i]);
		/* Long messages in a dead process's own memory die with it. */
		bool lossy = i == PARTY_VICTIM &&
			     r->scenario->kind == KIND_STAGED &&
			     (r->scenario->mode == MODE_DIE ||
				     r->scenario->mode == MODE_DIE_BESIDE);
		if (r->next[i] > tried || (r->next[i] < accepted && !lossy))
			return page_fail(r->page,
				"%s: %lu came, %lu accepted, %lu tried",
				party_name((enum party)i), r->next[i], accepted,
				tried);
	}
	return true;
}

static bool room_check(struct receiver *r)
{
	struct cay_stats stats;
	struct cay_event e;
	cay_wait(r->port, clock_after_ns(CLOCK_NS_PER_MS));
	if (cay_poll(r->port, &e, 1) != 0)
		return page_fail(r->page, "an event after the last GONE");
	cay_port_stats(r->port, &stats);
	if (stats.nq_used || stats.rdr_used)
		return page_fail(r->page,
			"not returned: %lu entries, %lu bytes", stats.nq_used,
			stats.rdr_used);
	return true;
}

void receiver_main(struct page *page, const struct scenario *s)
{
	struct receiver r = { .page = page, .scenario = s };
	r.port = party_open(page, "r", 64);
	r.peers[PARTY_SURVIVOR] = party_find(page, r.port, "survivor");
	if (s->kind != KIND_TAKE)
		r.peers[PARTY_VICTIM] = party_find(page, r.port, "victim");
	if (s->mode == MODE_DIE_BESIDE)
		r.peers[PARTY_BESIDE] = party_find(page, r.port, "beside");
	atomic_fetch_add(&page->ready, 1);
	bool good = receive_all(&r) && counts_check(&r) && room_check(&r);
	exit(good ? 0 : 1);
}
