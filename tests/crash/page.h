/* SPDX-License-Identifier: BSD-2-Clause */
/* The page shared by all processes of a scenario, with their records. */
#ifndef CAY_TESTS_CRASH_PAGE_H
#define CAY_TESTS_CRASH_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

enum party {
	PARTY_SURVIVOR,
	PARTY_VICTIM,
	PARTY_SECOND, /* second victim; stopped while the first one dies */
	PARTY_COUNT,
};

/* The receiver's windows, each on separate memory. */
enum window {
	WINDOW_PLAIN,	 /* cay_alloc() memory */
	WINDOW_NOTIFIED, /* cay_alloc() memory; notifies accesses */
	WINDOW_REFUSED,	 /* all accesses are out of bounds; notifies refusals */
	WINDOW_ORDINARY, /* ordinary memory */
	WINDOW_LOCKED,	 /* cay_alloc() memory; locked at times */
	WINDOW_COUNT,
};

enum access {
	ACCESS_PUT,  /* 24 bytes */
	ACCESS_BULK, /* 64 KiB */
	ACCESS_MASKED,
	ACCESS_GET,
	ACCESS_ADD,
	ACCESS_SWAP,
	ACCESS_COUNTED, /* get, then put, under the lock */
	ACCESS_COUNT,
};

/* Number of started and of completed accesses. */
struct tally {
	_Atomic uint64_t tried, done;
};

struct page {
	_Atomic uint32_t ready;	  /* parties that have resolved their peers */
	_Atomic uint32_t waiting; /* bit per party: it waits for permission */
	_Atomic uint32_t fault;	  /* bit per party: it may fail now */
	_Atomic uint32_t faulted; /* bit per party: it has failed */
	_Atomic uint32_t pause_request; /* the survivor shall pause */
	_Atomic uint32_t paused;	/* the survivor pauses */
	_Atomic uint32_t finish;	/* all parties shall finish */
	_Atomic uint32_t ended;		/* bit per party: it has finished */

	/* Messages and notified accesses, in order. */
	_Atomic uint64_t accepted[PARTY_COUNT]; /* the call returned 0 */
	_Atomic uint64_t tried[PARTY_COUNT];
	_Atomic uint64_t received[PARTY_COUNT];	 /* received from */
	_Atomic uint64_t published[PARTY_COUNT]; /* entries, by a victim */

	struct tally tally[PARTY_COUNT][WINDOW_COUNT][ACCESS_COUNT];
	_Atomic uint64_t refused;    /* refused accesses, */
	_Atomic uint64_t refusals;   /* and those notified to the receiver */
	_Atomic uint64_t victim_key; /* of the victim's own window */

	/* Windows are closed and reopened on other memory meanwhile. */
	_Atomic uint64_t keys[WINDOW_COUNT]; /* 0: no window is open */
	_Atomic uint32_t close_requested;    /* 1 + window */
	_Atomic uint32_t closed; /* the call returned close_result */
	_Atomic int32_t close_result;
	/* Window that the survivor shall lock and unlock. */
	_Atomic uint32_t lock_requested; /* 1 + window */
	_Atomic uint32_t lock_held;	 /* the lock is expected to fail */
	_Atomic uint32_t locked;	 /* the call returned lock_result */
	_Atomic int32_t lock_result;
	/* Bit per party: it failed during an access to a window. */
	_Atomic uint32_t inside;

	/* Number of requested and of executed allocations. */
	_Atomic uint32_t successor_requested, successor_done;

	_Atomic uint32_t failed;
	char what[256];
};

/* Records the first failure. Returns false, for the caller to return. */
__attribute__((format(printf, 2, 3))) _Bool page_fail(
	struct page *, const char *format, ...);

#endif
