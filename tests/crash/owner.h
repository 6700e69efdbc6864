/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver's windows. A separate thread closes the window that the page
 * requests, writes to its memory, and opens another one on other memory.
 */
#ifndef CAY_TESTS_CRASH_OWNER_H
#define CAY_TESTS_CRASH_OWNER_H

#include <pthread.h>

#include "content.h"
#include "parties.h"

struct owner {
	struct page *page;
	struct cay_port *port;
	struct cay_window *windows[WINDOW_COUNT];
	struct content *contents[WINDOW_COUNT];
	struct content *former; /* of the closed window, or NULL */
	pthread_t closer;
	_Atomic bool stop;
};

/* Opens all windows; `first` gets the first memory of the port. */
bool owner_begin(
	struct owner *, struct page *, struct cay_port *, enum window first);

/* Closes all windows at the end and checks their content. */
bool owner_end(struct owner *);

#endif
