/* SPDX-License-Identifier: BSD-2-Clause */
/* A victim that is the target of long messages or of emulated accesses. */
#include <stdlib.h>

#include "base/clock.h"
#include "fault.h"
#include "port/port.h"

#define TARGET_EVENTS 400
#define TARGET_WARMUP 40
#define PAUSE_NS_MAX  CLOCK_NS_PER_S

/*
 * Pauses, so that senders meet backpressure: until one waits for room. Origins
 * of accesses do not wait.
 */
static void target_pause(
	const struct page *page, const struct cay_port *port, bool executes)
{
	uint64_t deadline = clock_after_ns(PAUSE_NS_MAX);
	clock_nap_ns(20 * CLOCK_NS_PER_MS);
	while (!executes && !device_senders_wait(port->consumer.own) &&
		!clock_passed(deadline) && !atomic_load(&page->failed))
		clock_nap_ns(CLOCK_NS_PER_MS);
}

void target_main(struct page *page, const struct scenario *s)
{
	static _Alignas(64) uint64_t word[8];
	struct cay_port *port = party_open(page, "victim", 16);
	struct cay_stats stats;
	struct cay_event e;
	uint64_t completed = 0;
	bool waited = false;
	if (s->kind->family == FAMILY_EXECUTE) {
		struct cay_window *window;
		struct cay_key key;
		int r = cay_window_open(
			port, word, sizeof(word), CAY_RIGHT_ATOMIC, &window);
		if (r)
			page_fail(page, "victim: %s", cay_strerror(r));
		cay_window_key(window, &key);
		atomic_store(&page->victim_key, key_pack(key));
	}
	fault_prepare(page, s, PARTY_VICTIM);
	atomic_fetch_add(&page->ready, 1);
	for (uint64_t i = 0;
		completed < TARGET_EVENTS && !atomic_load(&page->failed); i++) {
		if (completed >= TARGET_WARMUP && !waited) {
			fault_wait();
			waited = true;
		}
		if (i % 32 == 0)
			target_pause(
				page, port, s->kind->family == FAMILY_EXECUTE);
		cay_wait(port, clock_after_ns(CLOCK_NS_PER_S));
		if (cay_poll(port, &e, 1) == 1)
			cay_release(port, &e);
		/* Emulated accesses have no events. */
		cay_port_stats(port, &stats);
		completed = stats.emulated_executed + stats.received;
	}
	cay_port_close(port);
	atomic_fetch_or(&page->ended, 1u << PARTY_VICTIM);
	exit(fault_due() ? 77 : 0);
}
