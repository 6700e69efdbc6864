/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that allocates the dead receiver's memory, while another one may
 * still be accessing it: no store of others may appear there.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "content.h"
#include "parties.h"

#define SUCCESSOR_PAGE	4096u
#define SUCCESSOR_PAGES 192u /* each time */
#define SUCCESSOR_TIMES 2u

static void *pages[SUCCESSOR_TIMES * SUCCESSOR_PAGES];
static unsigned page_count;

/* One page at a time, to fill the smallest gaps. */
static void successor_allocate(struct page *page, struct cay_port *port)
{
	for (unsigned i = 0; i < SUCCESSOR_PAGES; i++) {
		void *memory = cay_alloc(port, SUCCESSOR_PAGE, 0);
		if (!memory) {
			page_fail(page, "no memory for the successor");
			return;
		}
		content_scribble(memory, SUCCESSOR_PAGE);
		pages[page_count++] = memory;
	}
}

static void successor_check(struct page *page)
{
	for (unsigned i = 0; i < page_count; i++)
		if (!content_scribbled(pages[i], SUCCESSOR_PAGE))
			page_fail(
				page, "page %u of the successor is damaged", i);
}

void successor_main(struct page *page, const struct scenario *s)
{
	struct cay_port *port = party_open(page, "survivor", 64);
	(void)s;
	atomic_fetch_add(&page->ready, 1);
	for (uint32_t times = 0; times < SUCCESSOR_TIMES;) {
		if (atomic_load(&page->successor_requested) > times) {
			successor_check(page);
			successor_allocate(page, port);
			atomic_store(&page->successor_done, ++times);
		}
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	while (!atomic_load(&page->finish))
		clock_nap_ns(CLOCK_NS_PER_MS);
	successor_check(page);
	cay_port_close(port);
	exit(0);
}
