/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Content of the receiver's windows. Each party has its own parts, whose
 * content identifies the writer and the access, and lanes in shared words. The
 * memory thus shows which accesses took effect, and how often.
 */
#ifndef CAY_TESTS_CRASH_CONTENT_H
#define CAY_TESTS_CRASH_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page.h"

#define CONTENT_PUT_WORDS   3
#define CONTENT_BULK_WORDS  8192
#define CONTENT_FIXED_WORDS 8

struct content {
	/* A lane of 16 bits per party: number of its accesses. */
	uint64_t sum;	  /* ACCESS_ADD */
	uint64_t swapped; /* ACCESS_SWAP */
	uint64_t counted; /* ACCESS_COUNTED */
	uint64_t masked;  /* one byte per party */
	uint64_t put[PARTY_COUNT][CONTENT_PUT_WORDS];
	uint64_t fixed[CONTENT_FIXED_WORDS]; /* never written */
	uint64_t bulk[PARTY_COUNT][CONTENT_BULK_WORDS];
};

static inline uint64_t content_lane(enum party party)
{
	return 1ull << (16 * party);
}

static inline uint64_t content_count(uint64_t word, enum party party)
{
	return word >> (16 * party) & 0xffff;
}

/* The words of a party's n-th put; 0 before the first. */
void content_fill(uint64_t *, unsigned words, enum party, uint64_t n);
bool content_filled(const uint64_t *, unsigned words, enum party, uint64_t n);

/* Initializes zeroed memory. */
void content_begin(struct content *);
bool content_fixed(const uint64_t *fixed);

/* Copies the content to the memory of the next window. */
void content_copy(struct content *, const struct content *from);

/*
 * Returns true if exactly the recorded accesses of each party took effect,
 * once.
 */
bool content_check(struct page *, const struct content *, enum window);

/* The memory has a new owner, and must not be changed by others. */
void content_scribble(void *, size_t);
bool content_scribbled(const void *, size_t);

#endif
