/* SPDX-License-Identifier: BSD-2-Clause */
/* The page that all processes of a scenario share, and what they note on it. */
#ifndef CAY_TESTS_CRASH_PAGE_H
#define CAY_TESTS_CRASH_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

enum party {
	PARTY_SURVIVOR,
	PARTY_VICTIM,
	PARTY_BESIDE, /* the one that is stopped while the victim dies */
	PARTY_COUNT,
};

/* The receiver's windows, each on memory of its own. */
enum place {
	PLACE_PLAIN,   /* memory from cay_alloc() */
	PLACE_TOLD,    /* the same; the owner is told of each access */
	PLACE_REFUSED, /* all accesses miss it; the owner is told of that */
	PLACE_OWN,     /* ordinary memory */
	PLACE_LOCKED,  /* as PLAIN; now and then somebody has its lock */
	PLACE_COUNT,
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

/* How often something was begun, and came to its end. */
struct tally {
	_Atomic uint64_t tried, done;
};

struct page {
	_Atomic uint32_t ready;	 /* parties that have found their peers */
	_Atomic uint32_t poised; /* bit per party: it waits for leave to */
	_Atomic uint32_t strike; /* bit per party: it may strike now */
	_Atomic uint32_t struck; /* they have */
	_Atomic uint32_t hush;	 /* the survivor is to do nothing */
	_Atomic uint32_t hushed; /* and does */
	_Atomic uint32_t finish; /* everybody comes to an end */
	_Atomic uint32_t ended;	 /* bit per party that ended by itself */

	/* Messages, and accesses that the receiver is told of, in order. */
	_Atomic uint64_t accepted[PARTY_COUNT]; /* the call returned 0 */
	_Atomic uint64_t tried[PARTY_COUNT];
	_Atomic uint64_t received[PARTY_COUNT]; /* by the receiver, from */

	struct tally tally[PARTY_COUNT][PLACE_COUNT][ACCESS_COUNT];
	_Atomic uint64_t refused;  /* accesses that were meant to be, */
	_Atomic uint64_t refusals; /* and that the receiver was told of */
	_Atomic uint64_t served;   /* key to the victim's own memory */

	/* Windows are closed, and opened again elsewhere, as others run. */
	_Atomic uint64_t keys[PLACE_COUNT]; /* 0: there is none now */
	_Atomic uint32_t close_asked;	    /* 1 + place */
	_Atomic uint32_t closed;	    /* the call returned close_result */
	_Atomic int32_t close_result;
	/* The survivor locks it, if it can, and unlocks it. */
	_Atomic uint32_t lock_asked; /* 1 + place */
	_Atomic uint32_t lock_held;  /* it cannot */
	_Atomic uint32_t locked;     /* the call returned lock_result */
	_Atomic int32_t lock_result;
	/* Bit per party that struck in the middle of an access. */
	_Atomic uint32_t inside;

	/* What the heir has done of what it was asked for. */
	_Atomic uint32_t heir_asked, heir_done;

	_Atomic uint32_t failed;
	char what[256];
};

/* Notes the first thing that went wrong; false, for the caller to return. */
__attribute__((format(printf, 2, 3))) _Bool page_fail(
	struct page *, const char *format, ...);

#endif
