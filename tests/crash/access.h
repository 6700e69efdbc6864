/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to the receiver's windows, checked and noted on the page. */
#ifndef CAY_TESTS_CRASH_ACCESS_H
#define CAY_TESTS_CRASH_ACCESS_H

#include "parties.h"

struct accessor {
	struct page *page;
	struct cay_port *port;
	struct cay_peer *peer;
	enum party party;
	uint64_t number; /* of the next that the receiver is told of */
	uint64_t serial; /* of all */
	uint64_t swapped[PLACE_COUNT]; /* as last seen */
	bool orphan;		       /* no window will be opened again */
};

/*
 * Makes one access, which comes to its end. A window that is closed is waited
 * for until it is open again. 0, -EBUSY (locked by somebody else), -EPIPE,
 * -ESTALE (an orphan has no window), -ETIMEDOUT; or -EIO, and the page says
 * why.
 */
int access_make(struct accessor *, enum place, enum access);

/*
 * Locks PLACE_LOCKED, counts there, and unlocks it. 0; -EBUSY: somebody else
 * has it and did not give it back until the deadline, or it was closed; else
 * as above.
 */
int access_locked(struct accessor *, uint64_t deadline);

#endif
