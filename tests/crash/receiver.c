/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver: checks that messages and access notifications of each sender
 * arrive intact, in order and exactly once; that GONE comes last; and that all
 * queue entries and posted buffers are returned.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "message.h"
#include "owner.h"
#include "parties.h"

/* Limit of the messages behind one that is not published. */
#define POSTED_BUFFERS 16

struct receiver {
	struct page *page;
	const struct scenario *scenario;
	struct cay_port *port;
	struct cay_peer *peers[PARTY_COUNT];
	uint64_t next[PARTY_COUNT];
	bool gone[PARTY_COUNT];
	struct owner owner;
	unsigned char *posted; /* memory of all buffers */
	bool lent[POSTED_BUFFERS];
};

/* ---- posted receives; the cookie is the index of the buffer ---- */

static bool buffer_post(struct receiver *r, uint64_t i)
{
	/* Every other buffer is written through the kernel. */
	static unsigned char private[POSTED_BUFFERS][MESSAGE_BYTES_MAX];
	int e = cay_receive_post(r->port,
		i % 2 ? private[i] : r->posted + i * MESSAGE_BYTES_MAX,
		MESSAGE_BYTES_MAX, i);
	r->lent[i] = e == 0;
	return e == 0 || page_fail(r->page, "post: %s", cay_strerror(e));
}

static bool buffers_post(struct receiver *r)
{
	enum posting posting = r->scenario->kind->posting;
	if (posting == POSTING_NOTHING)
		return true;
	r->posted = cay_alloc(r->port, POSTED_BUFFERS * MESSAGE_BYTES_MAX, 0);
	if (!r->posted)
		return page_fail(r->page, "no memory for posted receives");
	if (posting == POSTING_HELD)
		cay_receive_mode(r->port, CAY_RECEIVE_POSTED_ONLY);
	for (uint64_t i = 0; i < POSTED_BUFFERS; i++)
		if (!buffer_post(r, i))
			return false;
	return true;
}

/* All senders are gone: claimed buffers have been returned. */
static bool buffers_check(struct receiver *r)
{
	int count = 0;
	if (!r->posted)
		return true;
	for (uint64_t i = 0; i < POSTED_BUFFERS; i++)
		count += cay_receive_cancel(r->port, i);
	return count == POSTED_BUFFERS ||
	       page_fail(r->page, "%d of %d posted receives returned", count,
		       POSTED_BUFFERS);
}

/* ---- events ---- */

/* Checks that this is the next message or access of the sender. */
static bool number_check(struct receiver *r, const struct cay_event *e)
{
	enum party from = message_from(e);
	uint64_t number = message_number(e);
	if (from >= PARTY_COUNT || e->error)
		return page_fail(r->page, "event %d with error %d from %d",
			(int)e->kind, e->error, (int)from);
	if (r->gone[from])
		return page_fail(
			r->page, "message of %s after GONE", party_name(from));
	if (number != r->next[from])
		return page_fail(r->page, "%s: message %lu instead of %lu",
			party_name(from), number, r->next[from]);
	r->next[from]++;
	return true;
}

static bool message_check(struct receiver *r, const struct cay_event *e)
{
	enum party from = message_from(e);
	/* The memory of a dead sender cannot be read. */
	if (e->error == CAY_ERROR_GONE && from != PARTY_SURVIVOR)
		return true;
	if (!number_check(r, e))
		return false;
	if (!message_whole(e))
		return page_fail(r->page, "%s: message %lu is damaged",
			party_name(from), message_number(e));
	atomic_store(&r->page->received[from], r->next[from]);
	return true;
}

static bool posted_check(struct receiver *r, const struct cay_event *e)
{
	if (e->result >= POSTED_BUFFERS || !r->lent[e->result])
		return page_fail(r->page, "a buffer that is not posted");
	return message_check(r, e) && buffer_post(r, e->result);
}

static bool access_check(struct receiver *r, const struct cay_event *e)
{
	enum party from = message_from(e);
	/* The capability is invalid after the window was reopened. */
	if (e->error == CAY_ERROR_TARGET_BOUNDS ||
		e->error == CAY_ERROR_CAPABILITY) {
		atomic_fetch_add(&r->page->refusals, e->result);
		return true;
	}
	if (!number_check(r, e))
		return false;
	atomic_store(&r->page->received[from], r->next[from]);
	return true;
}

static bool gone_check(struct receiver *r, const struct cay_event *e)
{
	for (int i = 0; i < PARTY_COUNT; i++)
		if (r->peers[i] &&
			cay_peer_addr(r->peers[i]).vpid == e->peer.vpid) {
			if (r->gone[i])
				return page_fail(r->page, "GONE twice");
			r->gone[i] = true;
		}
	return true;
}

static bool event_check(struct receiver *r, const struct cay_event *e)
{
	switch (e->kind) {
	case CAY_EVENT_MESSAGE:
		return message_check(r, e);
	case CAY_EVENT_POSTED:
		return posted_check(r, e);
	case CAY_EVENT_ACCESS:
		return access_check(r, e);
	case CAY_EVENT_GONE:
		return gone_check(r, e);
	default:
		return page_fail(r->page, "event of kind %d", (int)e->kind);
	}
}

static bool all_gone(const struct receiver *r)
{
	for (int i = 0; i < PARTY_COUNT; i++)
		if (r->peers[i] && !r->gone[i])
			return false;
	return true;
}

/* Holds events for a while, so that they are released out of order. */
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
	/* Longer than the time-out of the scenario. */
	uint64_t deadline = clock_after_ns(2 * PARTY_TIMEOUT_NS);
	while (!all_gone(r)) {
		if (clock_passed(deadline))
			return page_fail(r->page, "stalled: %lu %lu %lu",
				r->next[0], r->next[1], r->next[2]);
		/* A time-out must not hide a lost wake-up. */
		int w = cay_wait(r->port, deadline);
		if (w)
			return page_fail(r->page, "wait: %s", cay_strerror(w));
		if (!receive_some(r))
			return false;
	}
	return true;
}

/* ---- final checks ---- */

/* Accepted messages have arrived; a message in progress may have, once. */
static bool counts_check(struct receiver *r)
{
	const struct scenario *s = r->scenario;
	for (int i = 0; i < PARTY_COUNT; i++) {
		uint64_t accepted = atomic_load(&r->page->accepted[i]);
		uint64_t tried = atomic_load(&r->page->tried[i]);
		/* Long messages in the memory of a dead process are lost. */
		bool lossy = i == PARTY_VICTIM &&
			     s->kind->family == FAMILY_SEND &&
			     s->kind->message == MESSAGE_STAGED &&
			     s->mode != MODE_STOP && s->mode != MODE_FENCE;
		if (r->next[i] > tried || (r->next[i] < accepted && !lossy))
			return page_fail(r->page,
				"%s: %lu received, %lu accepted, %lu tried",
				party_name((enum party)i), r->next[i], accepted,
				tried);
		/* A dead thread leaves a void for each other entry. */
		uint64_t published = atomic_load(&r->page->published[i]);
		if (i == PARTY_VICTIM && s->kind->family == FAMILY_SEND &&
			s->kind->message == MESSAGE_BURST &&
			s->mode == MODE_DIE && r->next[i] != published)
			return page_fail(r->page,
				"%s: %lu received, %lu published",
				party_name((enum party)i), r->next[i],
				published);
	}
	return true;
}

/* No more refusals are notified than occurred. */
static bool refusals_check(struct receiver *r)
{
	uint64_t notified = atomic_load(&r->page->refusals);
	uint64_t refused = atomic_load(&r->page->refused);
	return notified <= refused ||
	       page_fail(r->page, "%lu of %lu refusals notified", notified,
		       refused);
}

static bool returned_check(struct receiver *r)
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

static void peers_find(struct receiver *r)
{
	const struct scenario *s = r->scenario;
	bool is_target = s->kind->family == FAMILY_RECEIVE ||
			 s->kind->family == FAMILY_EXECUTE;
	if (s->mode != MODE_ORPHAN)
		r->peers[PARTY_SURVIVOR] =
			party_find(r->page, r->port, "survivor");
	if (!is_target)
		r->peers[PARTY_VICTIM] = party_find(r->page, r->port, "victim");
	if (s->mode == MODE_DIE_BESIDE || s->mode == MODE_TOGETHER)
		r->peers[PARTY_SECOND] = party_find(r->page, r->port, "second");
}

void receiver_main(struct page *page, const struct scenario *s)
{
	struct receiver r = { .page = page, .scenario = s };
	r.port = party_open(page, "r", 64);
	bool good = owner_begin(&r.owner, page, r.port, s->kind->window) &&
		    buffers_post(&r);
	peers_find(&r);
	atomic_fetch_add(&page->ready, 1);
	good = good && receive_all(&r) && counts_check(&r) &&
	       refusals_check(&r) && buffers_check(&r) && owner_end(&r.owner) &&
	       returned_check(&r);
	exit(good ? 0 : 1);
}
