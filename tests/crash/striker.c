/* SPDX-License-Identifier: BSD-2-Clause */
/* The parties that strike as they send, or as they access a window. */
#include <errno.h>
#include <stdlib.h>

#include "access.h"
#include "base/clock.h"
#include "message.h"
#include "strike.h"

#define STRIKER_ROUNDS	24
#define STRIKER_PEACE	4 /* rounds before it strikes */
#define ORPHAN_ROUNDS	8
#define STRIKER_NAP_NS	(2 * CLOCK_NS_PER_MS)
#define STRIKER_LOCK_NS (100 * CLOCK_NS_PER_MS)

struct striker {
	const struct kind *kind;
	struct accessor a;
	unsigned char *memory;
};

static void striker_begin(struct striker *s, struct page *page,
	const struct scenario *scenario, enum party party)
{
	/* The same memory is not written again before it has been taken. */
	static unsigned char ordinary[STRIKER_ROUNDS * MESSAGE_BYTES_MAX];
	struct cay_port *port = party_open(page, party_name(party), 64);
	*s = (struct striker){ .kind = scenario->kind,
		.a = { .page = page,
			.port = port,
			.peer = party_find(page, port, "r"),
			.party = party,
			.orphan = scenario->mode == MODE_ORPHAN },
		.memory = ordinary };
	if (s->kind->message == MESSAGE_LONG)
		s->memory = cay_alloc(port, sizeof(ordinary), 0);
	while (!atomic_load(&page->keys[s->kind->place]) &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	strike_prepare(page, scenario, party);
	atomic_fetch_add(&page->ready, 1);
}

static int striker_send(struct striker *s)
{
	struct accessor *a = &s->a;
	unsigned slot = (unsigned)(a->number % STRIKER_ROUNDS);
	int r = party_send(a->page, a->port, a->peer, a->party,
		s->kind->message, a->number,
		s->memory + slot * MESSAGE_BYTES_MAX);
	if (r == 0)
		atomic_store(&a->page->accepted[a->party], ++a->number);
	return r;
}

/* The survivor may have the lock. */
static int striker_lock(struct striker *s)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	int r;
	do
		r = access_locked(&s->a, clock_after_ns(STRIKER_LOCK_NS));
	while (r == -EBUSY && !clock_passed(deadline) &&
		!atomic_load(&s->a.page->failed));
	return r;
}

static int striker_do(struct striker *s)
{
	switch (s->kind->family) {
	case FAMILY_SEND:
		return striker_send(s);
	case FAMILY_LOCK:
		return striker_lock(s);
	default:
		return access_make(&s->a, s->kind->place, s->kind->access);
	}
}

static bool striker_round(struct striker *s)
{
	struct accessor *a = &s->a;
	int r = striker_do(s);
	if (r)
		return page_fail(a->page, "%s: %s", party_name(a->party),
			cay_strerror(r));
	/* So that the receiver sleeps, now and then. */
	clock_nap_ns(STRIKER_NAP_NS);
	party_drain(a->port);
	return true;
}

void striker_main(
	struct page *page, const struct scenario *scenario, enum party party)
{
	struct striker s;
	bool good = true;
	striker_begin(&s, page, scenario, party);
	for (unsigned i = 0; good && i < STRIKER_ROUNDS; i++) {
		if (i == STRIKER_PEACE)
			strike_wait();
		good = striker_round(&s);
	}
	while (atomic_load(&page->received[party]) < s.a.number &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	bool never = strike_due();
	cay_peer_release(s.a.peer);
	cay_port_close(s.a.port);
	atomic_fetch_or(&page->ended, 1u << party);
	exit(never ? 77 : 0);
}

/* Whatever it did when the receiver died may or may not have been done. */
static bool orphan_last(struct striker *s)
{
	for (unsigned i = 0; strike_due(); i++) {
		int r = striker_do(s);
		if (i == STRIKER_ROUNDS)
			return false;
		if (r && r != -EPIPE)
			return page_fail(
				s->a.page, "orphan: %s", cay_strerror(r));
	}
	return true;
}

void orphan_main(struct page *page, const struct scenario *scenario)
{
	struct striker s;
	bool good = true;
	striker_begin(&s, page, scenario, PARTY_VICTIM);
	for (unsigned i = 0; good && i < STRIKER_PEACE; i++)
		good = striker_round(&s);
	strike_wait();
	good = good && orphan_last(&s);
	bool never = strike_due();
	for (unsigned i = 0; good && !never && i < ORPHAN_ROUNDS; i++) {
		int r = striker_do(&s);
		if (r != -EPIPE)
			good = page_fail(page, "orphan: %s from the dead",
				r ? cay_strerror(r) : "no error");
	}
	exit(never ? 77 : 0);
}
