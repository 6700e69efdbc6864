/* SPDX-License-Identifier: BSD-2-Clause */
/* The parties that send: the survivor, and those that strike. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "message.h"
#include "parties.h"

extern void (*host_step_hook)(enum device_step);

/* ---- striking ---- */

static struct {
	enum device_step step;
	unsigned pass;
	int signal;
	bool armed;
} strike;

static void strike_hook(enum device_step step)
{
	if (!strike.armed || step != strike.step || strike.pass-- != 0)
		return;
	strike.armed = false;
	kill(getpid(), strike.signal);
}

static void strike_prepare(const struct scenario *s, enum party party)
{
	bool stop = s->mode == MODE_STOP || s->mode == MODE_FENCE ||
		    party == PARTY_BESIDE;
	strike.step = s->step;
	strike.pass = s->pass;
	strike.signal = stop ? SIGSTOP : SIGKILL;
	host_step_hook = strike_hook;
}

/* ---- the survivor ---- */

/* Not too far ahead, or the queue is full of its messages alone. */
static void survivor_pace(struct page *page, uint64_t number)
{
	while (number > atomic_load(&page->received[PARTY_SURVIVOR]) + 8 &&
		!atomic_load(&page->finish) && !atomic_load(&page->failed))
		clock_nap_ns(100 * CLOCK_NS_PER_US);
	clock_nap_ns(200 * CLOCK_NS_PER_US);
}

static enum kind survivor_kind(uint64_t number)
{
	return number % 16 == 15 ? KIND_STAGED
	       : number % 3 == 2 ? KIND_SEND
				 : KIND_FAST;
}

/* What it sends to a victim that receives: each is completed exactly once. */
struct to_taker {
	struct cay_peer *peer;
	unsigned char *memory;
	uint64_t accepted;
};

static void taker_feed(
	struct page *page, struct cay_port *port, struct to_taker *t)
{
	size_t bytes = t->accepted % 4 == 3 ? 20000 : 16;
	if (!t->peer)
		return;
	int r = cay_send_wait(port, t->peer, TAKER_TAG | t->accepted,
		t->memory + 32768 * (t->accepted % 32), bytes, CAY_NOTIFY,
		clock_after_ns(5 * CLOCK_NS_PER_MS));
	t->accepted += r == 0;
	party_drain(port);
	if (r && r != -EPIPE && r != -ETIMEDOUT)
		page_fail(page, "to the taker: %s", cay_strerror(r));
}

static void taker_settle(
	struct page *page, struct cay_port *port, struct to_taker *t)
{
	uint64_t deadline = clock_after_ns(PARTY_PATIENCE_NS);
	while (t->peer &&
		(party_seen.complete < t->accepted || party_seen.gone == 0)) {
		if (clock_passed(deadline)) {
			page_fail(page,
				"taker: %lu accepted, %lu complete, "
				"%lu gone",
				t->accepted, party_seen.complete,
				party_seen.gone);
			break;
		}
		cay_wait(port, clock_after_ns(10 * CLOCK_NS_PER_MS));
		party_drain(port);
	}
	if (party_seen.complete > t->accepted)
		page_fail(page, "taker: completed more than once");
}

void survivor_main(struct page *page, const struct scenario *s)
{
	static unsigned char memory[MESSAGE_BYTES_MAX];
	struct cay_port *port = party_open(page, "survivor", 256);
	struct cay_peer *peer = party_find(page, port, "r");
	struct to_taker taker = { 0 };
	uint64_t number = 0;

	if (s->kind == KIND_TAKE) {
		taker.peer = party_find(page, port, "victim");
		taker.memory = cay_alloc(port, 32 * 32768, 0);
	}
	atomic_fetch_add(&page->ready, 1);
	while (!atomic_load(&page->finish) && !atomic_load(&page->failed)) {
		int r = party_send(page, port, peer, PARTY_SURVIVOR,
			survivor_kind(number), number, memory);
		if (r) {
			page_fail(page, "survivor: %s", cay_strerror(r));
			break;
		}
		atomic_store(&page->accepted[PARTY_SURVIVOR], ++number);
		taker_feed(page, port, &taker);
		/* Its memory is used again: wait until it was taken. */
		while (survivor_kind(number - 1) == KIND_STAGED &&
			atomic_load(&page->received[PARTY_SURVIVOR]) < number &&
			!atomic_load(&page->failed))
			clock_nap_ns(100 * CLOCK_NS_PER_US);
		survivor_pace(page, number);
	}
	taker_settle(page, port, &taker);
	cay_peer_release(peer);
	cay_peer_release(taker.peer);
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << PARTY_SURVIVOR);
	exit(0);
}

/* ---- those that strike ---- */

static void striker_wait(struct page *page, enum party party)
{
	while (!party_is_set(&page->strike, party) &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	strike.armed = true;
}

/* The same memory is not written again before it has been taken. */
static unsigned char *striker_memory(struct cay_port *port, enum kind kind)
{
	static unsigned char ordinary[32 * MESSAGE_BYTES_MAX];
	return kind == KIND_LONG ? cay_alloc(port, sizeof(ordinary), 0)
				 : ordinary;
}

void striker_main(struct page *page, const struct scenario *s, enum party party)
{
	struct cay_port *port = party_open(page, party_name(party), 64);
	struct cay_peer *peer = party_find(page, port, "r");
	unsigned char *memory = striker_memory(port, s->kind);

	strike_prepare(s, party);
	atomic_fetch_add(&page->ready, 1);
	for (uint64_t number = 0; number < 32; number++) {
		if (number == 5)
			striker_wait(page, party);
		int r = party_send(page, port, peer, party, s->kind, number,
			memory + number * MESSAGE_BYTES_MAX);
		if (r) {
			page_fail(page, "%s: %s", party_name(party),
				cay_strerror(r));
			break;
		}
		atomic_store(&page->accepted[party], number + 1);
		/* So that the receiver sleeps, now and then. */
		clock_nap_ns(2 * CLOCK_NS_PER_MS);
		party_drain(port);
	}
	while (atomic_load(&page->received[party]) < 32 &&
		!atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
	bool never = strike.armed;
	cay_peer_release(peer);
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << party);
	exit(never ? 77 : 0);
}

/* Slow at first, so that its senders wait for room. */
void taker_main(struct page *page, const struct scenario *s)
{
	struct cay_port *port = party_open(page, "victim", 16);
	struct cay_event e;
	uint64_t taken = 0;
	strike_prepare(s, PARTY_VICTIM);
	/* So that the survivor's close is noticed. */
	atomic_fetch_add(&page->ready, 1);
	for (; taken < 400 && !atomic_load(&page->failed); taken++) {
		if (taken == 40)
			striker_wait(page, PARTY_VICTIM);
		if (taken % 32 == 0)
			clock_nap_ns(20 * CLOCK_NS_PER_MS);
		cay_wait(port, clock_after_ns(PARTY_PATIENCE_NS));
		if (cay_poll(port, &e, 1) == 1)
			cay_release(port, &e);
	}
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << PARTY_VICTIM);
	exit(strike.armed ? 77 : 0);
}
