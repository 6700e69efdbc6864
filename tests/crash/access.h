/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to the receiver's windows, checked and recorded on the page. */
#ifndef CAY_TESTS_CRASH_ACCESS_H
#define CAY_TESTS_CRASH_ACCESS_H

#include "parties.h"

struct accessor {
	struct page *page;
	struct cay_port *port;
	struct cay_peer *peer;
	enum party party;
	uint64_t number;		/* number of the next notified access */
	uint64_t serial;		/* number of the next access */
	uint64_t swapped[WINDOW_COUNT]; /* last value seen */
	bool orphan;			/* no window will be reopened */
};

/*
 * Makes one access and waits for its completion; waits while the window is
 * closed. Returns 0, -EBUSY (locked by another party), -EPIPE, -ESTALE (no
 * window will be reopened), -ETIMEDOUT, or -EIO with the reason on the page.
 */
int access_make(struct accessor *, enum window, enum access);

/*
 * Locks WINDOW_LOCKED, increments its counter, and unlocks it. Returns 0,
 * -EBUSY (locked by another party until the deadline, or closed), or as
 * access_make().
 */
int access_locked(struct accessor *, uint64_t deadline);

#endif
