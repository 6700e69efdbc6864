/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies in the receiver's windows. Every party has parts of its own, whose
 * content says who wrote it and when, and lanes in words that all share: what
 * an access has done, how often, and to whom, can be told from the memory.
 */
#ifndef CAY_TESTS_CRASH_GROUND_H
#define CAY_TESTS_CRASH_GROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page.h"

#define GROUND_PUT_WORDS   3
#define GROUND_BULK_WORDS  8192
#define GROUND_FIXED_WORDS 8

struct ground {
	/* A lane of 16 bits for each party: how often it has done it. */
	uint64_t sum;	  /* ACCESS_ADD */
	uint64_t swapped; /* ACCESS_SWAP */
	uint64_t counted; /* ACCESS_COUNTED */
	uint64_t masked;  /* a byte of each party */
	uint64_t put[PARTY_COUNT][GROUND_PUT_WORDS];
	uint64_t fixed[GROUND_FIXED_WORDS]; /* nobody writes it */
	uint64_t bulk[PARTY_COUNT][GROUND_BULK_WORDS];
};

static inline uint64_t ground_lane(enum party party)
{
	return 1ull << (16 * party);
}

static inline uint64_t ground_count(uint64_t word, enum party party)
{
	return word >> (16 * party) & 0xffff;
}

/* The words that a party's n-th put writes; all 0 before the first. */
void ground_fill(uint64_t *, unsigned words, enum party, uint64_t n);
bool ground_filled(const uint64_t *, unsigned words, enum party, uint64_t n);

/* The memory is zeroed. */
void ground_begin(struct ground *);
bool ground_fixed(const uint64_t *fixed);

/* What was done so far; so much of it that it can go on there. */
void ground_copy(struct ground *, const struct ground *from);

/* Has everybody done there what was noted, once, and nothing else? */
bool ground_check(struct page *, const struct ground *, enum place);

/* The memory has become somebody else's, who is the only one to write it. */
void ground_scribble(void *, size_t);
bool ground_scribbled(const void *, size_t);

#endif
