/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever gets the dead receiver's memory, while another one may still be in
 * the middle of an access to it: it must be the only one to write there.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "ground.h"
#include "parties.h"

#define HEIR_PAGE  4096u
#define HEIR_PAGES 192u /* each time */
#define HEIR_TIMES 2u

static void *pages[HEIR_TIMES * HEIR_PAGES];
static unsigned page_count;

/* One by one, so that they fill the smallest holes. */
static void heir_take(struct page *page, struct cay_port *port)
{
	for (unsigned i = 0; i < HEIR_PAGES; i++) {
		void *memory = cay_alloc(port, HEIR_PAGE, 0);
		if (!memory) {
			page_fail(page, "no memory for the heir");
			return;
		}
		ground_scribble(memory, HEIR_PAGE);
		pages[page_count++] = memory;
	}
}

static void heir_check(struct page *page)
{
	for (unsigned i = 0; i < page_count; i++)
		if (!ground_scribbled(pages[i], HEIR_PAGE))
			page_fail(page, "page %u of the heir is damaged", i);
}

void heir_main(struct page *page, const struct scenario *s)
{
	struct cay_port *port = party_open(page, "survivor", 64);
	(void)s;
	atomic_fetch_add(&page->ready, 1);
	for (uint32_t times = 0; times < HEIR_TIMES;) {
		if (atomic_load(&page->heir_asked) > times) {
			heir_check(page);
			heir_take(page, port);
			atomic_store(&page->heir_done, ++times);
		}
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	while (!atomic_load(&page->finish))
		clock_nap_ns(CLOCK_NS_PER_MS);
	heir_check(page);
	cay_port_close(port);
	exit(0);
}
