/* SPDX-License-Identifier: BSD-2-Clause */
/* A victim that receives long messages or executes emulated accesses. */
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"

#define TAKER_EVENTS 400
#define TAKER_WARMUP 40

static void taker_window(struct page *page, struct cay_port *port)
{
	static _Alignas(64) uint64_t word[8];
	struct cay_window *window;
	struct cay_key key;
	int r = cay_window_open(
		port, word, sizeof(word), CAY_RIGHT_ATOMIC, &window);
	if (r)
		page_fail(page, "taker: %s", cay_strerror(r));
	cay_window_key(window, &key);
	atomic_store(&page->served, key_pack(key));
}

/* Received messages and executed accesses, which give no events. */
static uint64_t taker_progress(struct cay_port *port)
{
	struct cay_stats stats;
	cay_port_stats(port, &stats);
	return stats.emulated_executed + stats.received;
}

/* Slow at first, so that its senders meet backpressure. */
void taker_main(struct page *page, const struct scenario *s)
{
	struct cay_port *port = party_open(page, "victim", 16);
	struct cay_event e;
	uint64_t taken = 0;
	bool waited = false;
	if (s->kind->family == FAMILY_SERVE)
		taker_window(page, port);
	fault_prepare(page, s, PARTY_VICTIM);
	atomic_fetch_add(&page->ready, 1);
	for (uint64_t i = 0;
		taken < TAKER_EVENTS && !atomic_load(&page->failed); i++) {
		if (taken >= TAKER_WARMUP && !waited) {
			fault_wait();
			waited = true;
		}
		if (i % 32 == 0)
			clock_nap_ns(20 * CLOCK_NS_PER_MS);
		cay_wait(port, clock_after_ns(CLOCK_NS_PER_S));
		if (cay_poll(port, &e, 1) == 1)
			cay_release(port, &e);
		taken = taker_progress(port);
	}
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << PARTY_VICTIM);
	exit(fault_due() ? 77 : 0);
}
