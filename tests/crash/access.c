/* SPDX-License-Identifier: BSD-2-Clause */
/* See access.h. */
#include "access.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "content.h"
#include "message.h"

#define AT(member)    offsetof(struct content, member)
#define SERIAL_TAG    (0xfdull << 56)
#define ACCESS_NAP_NS (50 * CLOCK_NS_PER_US)

/* One access: its kind, key and result. */
struct attempt {
	enum window window;
	enum access access;
	struct cay_key key;
	uint64_t n;   /* n-th access of this kind by the party */
	uint64_t tag; /* of the completion */
	unsigned flags;
	uint64_t shift; /* outside of the window, for refused accesses */
	uint64_t compare, previous;
	uint64_t got[CONTENT_FIXED_WORDS];
	bool event; /* a completion is expected */
};

static uint64_t bulk[CONTENT_BULK_WORDS];

/* ---- issue ---- */

static int issue_put(struct accessor *a, struct attempt *t, uint64_t offset,
	uint64_t *from, unsigned words)
{
	content_fill(from, words, a->party, t->n);
	return cay_put(a->port, a->peer, t->key, offset + t->shift, from,
		words * 8, t->tag, t->flags);
}

/* Gets in turn: unwritten memory, this party's own puts, and these inline. */
static int issue_get(struct accessor *a, struct attempt *t)
{
	uint64_t put = offsetof(struct content, put) +
		       (uint64_t)a->party * CONTENT_PUT_WORDS * 8;
	if (t->n % 3 == 0)
		return cay_get(a->port, a->peer, t->key, AT(fixed) + t->shift,
			t->got, sizeof(t->got), t->tag, t->flags);
	t->event |= t->n % 3 == 2;
	return cay_get(a->port, a->peer, t->key, put + t->shift,
		t->n % 3 == 1 ? t->got : NULL, CONTENT_PUT_WORDS * 8, t->tag,
		t->flags);
}

/* Returns the old value in turn in the completion and in memory. */
static int issue_atomic(struct accessor *a, struct attempt *t)
{
	uint64_t lane = content_lane(a->party);
	bool event = t->n % 2;
	t->event |= event;
	if (t->access == ACCESS_ADD)
		return event ? cay_fetch_add(a->port, a->peer, t->key,
				       AT(sum) + t->shift, lane, t->tag,
				       t->flags)
			     : cay_fetch_add_into(a->port, a->peer, t->key,
				       AT(sum) + t->shift, lane, &t->previous,
				       t->tag, t->flags);
	t->compare = a->swapped[t->window];
	return event ? cay_compare_swap(a->port, a->peer, t->key,
			       AT(swapped) + t->shift, t->compare,
			       t->compare + lane, t->tag, t->flags)
		     : cay_compare_swap_into(a->port, a->peer, t->key,
			       AT(swapped) + t->shift, t->compare,
			       t->compare + lane, &t->previous, t->tag,
			       t->flags);
}

static int issue(struct accessor *a, struct attempt *t)
{
	uint64_t words[CONTENT_PUT_WORDS];
	switch (t->access) {
	case ACCESS_PUT:
		return issue_put(a, t,
			AT(put) + (uint64_t)a->party * sizeof(words), words,
			CONTENT_PUT_WORDS);
	case ACCESS_BULK:
		return issue_put(a, t,
			AT(bulk) + (uint64_t)a->party * sizeof(bulk), bulk,
			CONTENT_BULK_WORDS);
	case ACCESS_MASKED:
		return cay_put_masked(a->port, a->peer, t->key,
			AT(masked) + t->shift,
			(t->n & 0xff) * 0x0101010101010101ull,
			(uint8_t)(1u << a->party), t->tag, t->flags);
	case ACCESS_GET:
		return issue_get(a, t);
	default:
		return issue_atomic(a, t);
	}
}

/* ---- results ---- */

/* The refusal of a direct access has arrived when the call returns. */
static int completion_wait(struct accessor *a, const struct attempt *t)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	party_drain(a->port);
	while (t->event && !party_events.completion.arrived) {
		if (clock_passed(deadline) || atomic_load(&a->page->failed))
			return -ETIMEDOUT;
		cay_wait(a->port, clock_after_ns(10 * CLOCK_NS_PER_MS));
		party_drain(a->port);
	}
	return 0;
}

static int completion_check(struct accessor *a, const struct attempt *t)
{
	int error = party_events.completion.arrived
			    ? party_events.completion.error
			    : 0;
	switch (error) {
	case CAY_ERROR_NONE:
		if (t->window != WINDOW_REFUSED)
			return 0;
		break;
	case CAY_ERROR_TARGET_BOUNDS:
		if (t->window == WINDOW_REFUSED)
			return 0;
		break;
	case CAY_ERROR_TARGET_WINDOW:
	case CAY_ERROR_CAPABILITY:
		return -ESTALE;
	case CAY_ERROR_TARGET_LOCKED:
		return -EBUSY;
	case CAY_ERROR_GONE:
		return -EPIPE;
	}
	page_fail(a->page, "%s: access %d to window %d ended with %s",
		party_name(a->party), (int)t->access, (int)t->window,
		cay_error_name((enum cay_error)error));
	return -EIO;
}

/* No other party writes this memory, so the get returns the last put. */
static int check_got(struct accessor *a, const struct attempt *t)
{
	struct tally *put = &a->page->tally[a->party][t->window][ACCESS_PUT];
	bool good =
		t->n % 3 == 0
			? content_fixed(t->got)
			: content_filled(t->n % 3 == 1
						 ? t->got
						 : party_events.completion.data,
				  CONTENT_PUT_WORDS, a->party,
				  atomic_load(&put->done));
	if (good)
		return 0;
	page_fail(
		a->page, "%s: a get returned wrong data", party_name(a->party));
	return -EIO;
}

/* The lane of a party holds exactly its own previous additions. */
static int check_added(struct accessor *a, const struct attempt *t)
{
	uint64_t count = content_count(t->previous, a->party);
	if (count == t->n - 1)
		return 0;
	page_fail(a->page, "%s: %lu additions before number %lu in window %d",
		party_name(a->party), count, t->n, (int)t->window);
	return -EIO;
}

/* Returns -EAGAIN if another party changed the word meanwhile. */
static int check_swapped(struct accessor *a, const struct attempt *t)
{
	uint64_t count = content_count(t->previous, a->party);
	if (count != t->n - 1) {
		page_fail(a->page, "%s: %lu swaps before number %lu",
			party_name(a->party), count, t->n);
		return -EIO;
	}
	bool stored = t->previous == t->compare;
	a->swapped[t->window] =
		t->previous + (stored ? content_lane(a->party) : 0);
	return stored ? 0 : -EAGAIN;
}

static int attempt_check(struct accessor *a, struct attempt *t)
{
	if (t->window == WINDOW_REFUSED)
		return 0;
	if (t->access == ACCESS_GET)
		return check_got(a, t);
	if (t->access != ACCESS_ADD && t->access != ACCESS_SWAP)
		return 0;
	if (t->n % 2)
		t->previous = party_events.completion.previous;
	return t->access == ACCESS_ADD ? check_added(a, t)
				       : check_swapped(a, t);
}

/* ---- one attempt ---- */

static int attempt_issue(struct accessor *a, struct attempt *t)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	for (;;) {
		party_events.awaited = t->tag;
		party_events.completion = (struct party_completion){ 0 };
		int r = issue(a, t);
		if (r != -EAGAIN)
			return r ? r : completion_wait(a, t);
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		party_drain(a->port);
		clock_nap_ns(ACCESS_NAP_NS);
	}
}

/* As access_make(), or -EAGAIN: a compare-and-swap failed. */
static int attempt_make(struct accessor *a, struct attempt *t)
{
	struct page *page = a->page;
	bool notified = t->window == WINDOW_NOTIFIED;
	t->tag = notified ? message_tag(a->party, a->number)
			  : SERIAL_TAG | ++a->serial;
	t->event = t->flags & CAY_NOTIFY || t->window == WINDOW_REFUSED;
	t->shift = t->window == WINDOW_REFUSED ? sizeof(struct content) : 0;
	if (notified)
		atomic_store(&page->tried[a->party], a->number + 1);
	if (t->window == WINDOW_REFUSED)
		atomic_fetch_add(&page->refused, 1);
	int r = attempt_issue(a, t);
	if (r == 0)
		r = completion_check(a, t);
	if (r == 0 && notified)
		atomic_store(&page->accepted[a->party], ++a->number);
	return r ? r : attempt_check(a, t);
}

/* Waits until a closed window has been reopened. */
static int key_wait(struct accessor *a, enum window window, uint64_t old)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	uint64_t key;
	while ((key = atomic_load(&a->page->keys[window])) == old || key == 0) {
		if (a->orphan)
			return -ESTALE;
		if (clock_passed(deadline) || atomic_load(&a->page->failed))
			return -ETIMEDOUT;
		clock_nap_ns(4 * ACCESS_NAP_NS);
	}
	return 0;
}

static int attempt_until_open(struct accessor *a, struct attempt *t)
{
	for (;;) {
		uint64_t key = atomic_load(&a->page->keys[t->window]);
		t->key = key_unpack(key);
		int r = key ? attempt_make(a, t) : -ESTALE;
		if (r == -EAGAIN)
			continue;
		if (r != -ESTALE)
			return r;
		r = key_wait(a, t->window, key);
		if (r)
			return r;
	}
}

int access_make(struct accessor *a, enum window window, enum access access)
{
	struct tally *tally = &a->page->tally[a->party][window][access];
	struct attempt t = { .window = window, .access = access };
	t.n = atomic_load(&tally->done) + 1;
	/* An emulated access is not complete when the call returns. */
	t.flags = window == WINDOW_ORDINARY || t.n % 4 >= 2 ? CAY_NOTIFY : 0;
	atomic_store(&tally->tried, t.n);
	int r = attempt_until_open(a, &t);
	if (r == 0)
		atomic_store(&tally->done, t.n);
	if (r == -EBUSY)
		atomic_store(&tally->tried, t.n - 1);
	return r;
}

/* ---- under the lock ---- */

/*
 * Uses the key of the lock throughout: an access to a closed window is not
 * counted.
 */
static int counted_one(struct accessor *a, struct cay_key key)
{
	struct tally *t =
		&a->page->tally[a->party][WINDOW_LOCKED][ACCESS_COUNTED];
	struct attempt get = { .window = WINDOW_LOCKED, .event = false };
	uint64_t n = atomic_load(&t->done) + 1;
	uint64_t word = 0;

	party_events.awaited = SERIAL_TAG | ++a->serial;
	party_events.completion = (struct party_completion){ 0 };
	int r = cay_get(a->port, a->peer, key, AT(counted), &word, 8,
		party_events.awaited, 0);
	if (r == 0)
		r = completion_wait(a, &get);
	if (r == 0)
		r = completion_check(a, &get);
	if (r)
		return r;
	if (content_count(word, a->party) != n - 1) {
		page_fail(a->page, "%s: %lu increments before number %lu",
			party_name(a->party), content_count(word, a->party), n);
		return -EIO;
	}
	word += content_lane(a->party);
	atomic_store(&t->tried, n);
	r = cay_put(a->port, a->peer, key, AT(counted), &word, 8,
		party_events.awaited, 0);
	if (r == 0)
		r = completion_wait(a, &get);
	if (r == 0)
		r = completion_check(a, &get);
	if (r == 0)
		atomic_store(&t->done, n);
	return r;
}

int access_locked(struct accessor *a, uint64_t deadline)
{
	uint64_t word = atomic_load(&a->page->keys[WINDOW_LOCKED]);
	struct cay_key key = key_unpack(word);
	int r = word ? cay_window_lock(a->port, a->peer, key, deadline)
		     : -ENXIO;
	if (r == -EAGAIN || r == -ETIMEDOUT || r == -ENXIO || r == -EACCES)
		return -EBUSY;
	if (r) {
		page_fail(a->page, "%s: lock: %s", party_name(a->party),
			cay_strerror(r));
		return r;
	}
	r = counted_one(a, key);
	int u = cay_window_unlock(a->port, a->peer, key);
	if (r == 0 && u && u != -ENXIO && u != -EACCES && u != -EPERM)
		page_fail(a->page, "%s: unlock: %s", party_name(a->party),
			cay_strerror(u));
	return r == -ESTALE ? -EBUSY : r;
}
