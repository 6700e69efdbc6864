/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver's windows. A thread of their own closes the one that the page
 * asks for, makes its memory its own, and opens another one elsewhere.
 */
#ifndef CAY_TESTS_CRASH_OWNER_H
#define CAY_TESTS_CRASH_OWNER_H

#include <pthread.h>

#include "ground.h"
#include "parties.h"

struct owner {
	struct page *page;
	struct cay_port *port;
	struct cay_window *windows[PLACE_COUNT];
	struct ground *grounds[PLACE_COUNT];
	struct ground *former; /* of the window that was closed, or NULL */
	pthread_t closer;
	_Atomic bool stop;
};

/* Opens them all, `first` with the first memory that the port gets. */
bool owner_begin(
	struct owner *, struct page *, struct cay_port *, enum place first);

/* Nobody uses them any more: closes them all and looks what is there. */
bool owner_end(struct owner *);

#endif
