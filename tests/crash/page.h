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

struct page {
	_Atomic uint32_t ready;	 /* parties that have found their peers */
	_Atomic uint32_t strike; /* bit per party: it may strike now */
	_Atomic uint32_t finish; /* everybody comes to an end */
	_Atomic uint32_t ended;	 /* bit per party that ended by itself */
	_Atomic uint64_t accepted[PARTY_COUNT]; /* cay_send() returned 0 */
	_Atomic uint64_t tried[PARTY_COUNT];
	_Atomic uint64_t received[PARTY_COUNT]; /* by the receiver, from */
	_Atomic uint32_t failed;
	char what[256];
};

/* Notes the first thing that went wrong; false, for the caller to return. */
__attribute__((format(printf, 2, 3))) _Bool page_fail(
	struct page *, const char *format, ...);

#endif
