/* SPDX-License-Identifier: BSD-2-Clause */
/* The parties that fail while they send or access a window. */
#include <errno.h>
#include <stdlib.h>

#include "access.h"
#include "base/clock.h"
#include "fault.h"
#include "message.h"

#define FAULTY_ROUNDS  24
#define FAULTY_WARMUP  4 /* rounds before the failure */
#define ORPHAN_ROUNDS  8
#define FAULTY_NAP_NS  (2 * CLOCK_NS_PER_MS)
#define FAULTY_LOCK_NS (100 * CLOCK_NS_PER_MS)

struct faulty {
	const struct kind *kind;
	struct accessor a;
	unsigned char *memory;
};

static void faulty_begin(struct faulty *s, struct page *page,
	const struct scenario *scenario, enum party party)
{
	/* The source is not rewritten before its completion. */
	static unsigned char ordinary[FAULTY_ROUNDS * MESSAGE_BYTES_MAX];
	struct cay_port *port = party_open(page, party_name(party), 64);
	*s = (struct faulty){ .kind = scenario->kind,
		.a = { .page = page,
			.port = port,
			.peer = party_find(page, port, "r"),
			.party = party,
			.orphan = scenario->mode == MODE_ORPHAN },
		.memory = ordinary };
	if (s->kind->message == MESSAGE_LONG)
		s->memory = cay_alloc(port, sizeof(ordinary), 0);
	while (!atomic_load(&page->keys[s->kind->window]) &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	fault_prepare(page, scenario, party);
	atomic_fetch_add(&page->ready, 1);
}

static int faulty_send(struct faulty *s)
{
	struct accessor *a = &s->a;
	if (s->kind->message == MESSAGE_BURST)
		return party_burst(
			a->page, a->port, a->peer, a->party, &a->number);
	unsigned slot = (unsigned)(a->number % FAULTY_ROUNDS);
	int r = party_send(a->page, a->port, a->peer, a->party,
		s->kind->message, a->number,
		s->memory + slot * MESSAGE_BYTES_MAX);
	if (r == 0)
		atomic_store(&a->page->accepted[a->party], ++a->number);
	return r;
}

/* The survivor may hold the lock. */
static int faulty_lock(struct faulty *s)
{
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	int r;
	do
		r = access_locked(&s->a, clock_after_ns(FAULTY_LOCK_NS));
	while (r == -EBUSY && !clock_passed(deadline) &&
		!atomic_load(&s->a.page->failed));
	return r;
}

static int faulty_do(struct faulty *s)
{
	switch (s->kind->family) {
	case FAMILY_SEND:
		return faulty_send(s);
	case FAMILY_LOCK:
		return faulty_lock(s);
	default:
		return access_make(&s->a, s->kind->window, s->kind->access);
	}
}

static bool faulty_round(struct faulty *s)
{
	struct accessor *a = &s->a;
	int r = faulty_do(s);
	if (r)
		return page_fail(a->page, "%s: %s", party_name(a->party),
			cay_strerror(r));
	/* Lets the receiver sleep at times. */
	clock_nap_ns(FAULTY_NAP_NS);
	party_drain(a->port);
	return true;
}

void faulty_main(
	struct page *page, const struct scenario *scenario, enum party party)
{
	struct faulty s;
	bool good = true;
	faulty_begin(&s, page, scenario, party);
	for (unsigned i = 0; good && i < FAULTY_ROUNDS; i++) {
		if (i == FAULTY_WARMUP)
			fault_wait();
		good = faulty_round(&s);
	}
	while (atomic_load(&page->received[party]) < s.a.number &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	bool never = fault_due();
	cay_peer_release(s.a.peer);
	cay_port_close(s.a.port);
	atomic_fetch_or(&page->ended, 1u << party);
	exit(never ? 77 : 0);
}

/*
 * Operations in progress when the receiver died may or may not have taken
 * effect.
 */
static bool orphan_last(struct faulty *s)
{
	for (unsigned i = 0; fault_due(); i++) {
		int r = faulty_do(s);
		if (i == FAULTY_ROUNDS)
			return false;
		if (r && r != -EPIPE)
			return page_fail(
				s->a.page, "orphan: %s", cay_strerror(r));
	}
	return true;
}

void orphan_main(struct page *page, const struct scenario *scenario)
{
	struct faulty s;
	bool good = true;
	faulty_begin(&s, page, scenario, PARTY_VICTIM);
	for (unsigned i = 0; good && i < FAULTY_WARMUP; i++)
		good = faulty_round(&s);
	fault_wait();
	good = good && orphan_last(&s);
	bool never = fault_due();
	for (unsigned i = 0; good && !never && i < ORPHAN_ROUNDS; i++) {
		int r = faulty_do(&s);
		if (r != -EPIPE)
			good = page_fail(page,
				"orphan: %s from a dead receiver",
				r ? cay_strerror(r) : "no error");
	}
	exit(never ? 77 : 0);
}
