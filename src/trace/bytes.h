/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pseudo-random numbers and bytes, and digests. A trace contains the digest of
 * a long payload instead of its bytes; a replay uses the digest as a seed and
 * generates a payload of the same length. Equal payloads stay equal.
 */
#ifndef CAY_TRACE_BYTES_H
#define CAY_TRACE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* splitmix64: returns the next number and advances the state. */
static inline uint64_t bytes_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline void bytes_generate(
	uint64_t seed, unsigned char *to, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += 8) {
		uint64_t word = bytes_random(&seed);
		memcpy(to + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

static inline uint64_t bytes_mix(uint64_t digest, uint64_t word)
{
	digest = (digest ^ word) * 0x9fb21c651e98df25ull;
	return digest ^ digest >> 32;
}

/* Depends on the length as well; 0 only if there are no bytes. */
static inline uint64_t bytes_digest(const void *from, uint64_t bytes)
{
	const unsigned char *at = from;
	uint64_t digest = bytes * 0x9e3779b97f4a7c15ull;
	for (uint64_t left = bytes; left;) {
		uint64_t word = 0, some = left < 8 ? left : 8;
		memcpy(&word, at, some);
		digest = bytes_mix(digest, word);
		at += some;
		left -= some;
	}
	return bytes && !digest ? 1 : digest;
}

#endif
