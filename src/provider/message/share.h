/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of a long message copy it: the receiver from the front, the sender
 * from the back, chunk by chunk, until they meet. Whoever does not run copies
 * nothing and keeps nobody waiting.
 *
 * They claim chunks in a word of the receiver's *desk*, memory of the device
 * behind a window:
 *
 *	bits 0-15	chunks that the receiver has claimed
 *	bits 16-31	chunks that the sender has claimed
 *	bits 32-63	generation: a desk's word is used again
 *
 * by compare-and-swap, and only while both together are fewer than all. So each
 * chunk is claimed once; when the receiver finds none left, it knows how many
 * are the sender's, and waits to hear that these are stored. A sender that
 * comes late, perhaps by many thousand messages of others, finds the word
 * exhausted, or of another generation.
 */
#ifndef CAY_PROVIDER_SHARE_H
#define CAY_PROVIDER_SHARE_H

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

#define SHARE_CHUNK_MIN	 (16u << 10)
#define SHARE_CHUNK_MAX	 (128u << 10)
#define SHARE_CHUNKS_MAX (32u << 10) /* about: half of what can be counted */
#define SHARE_DESK_WORDS 64

#define SHARE_FRONT	       1ull
#define SHARE_BACK	       (1ull << 16)
#define SHARE_GENERATION_SHIFT 32

static inline uint32_t share_front(uint64_t word)
{
	return (uint32_t)(word & (SHARE_BACK - 1));
}

static inline uint32_t share_back(uint64_t word)
{
	return (uint32_t)(word / SHARE_BACK & (SHARE_BACK - 1));
}

/* An eighth, in pages: so neither end waits for long for the other's last. */
static inline uint64_t share_chunk_bytes(uint64_t bytes)
{
	uint64_t chunk = bits_round_up(bytes / 8, 4096);
	uint64_t least = bits_round_up(bytes / SHARE_CHUNKS_MAX, 4096);
	if (chunk < SHARE_CHUNK_MIN)
		return SHARE_CHUNK_MIN;
	chunk = bits_min(chunk, SHARE_CHUNK_MAX);
	return chunk < least ? least : chunk;
}

static inline uint32_t share_chunks(uint64_t bytes)
{
	uint64_t chunk = share_chunk_bytes(bytes);
	return (uint32_t)((bytes + chunk - 1) / chunk);
}

static inline uint64_t share_chunk_at(uint64_t bytes, uint32_t chunk)
{
	return chunk * share_chunk_bytes(bytes);
}

/* Is there nothing left to claim? */
static inline bool share_exhausted(uint64_t word, uint64_t bytes)
{
	return share_front(word) + share_back(word) >= share_chunks(bytes);
}

static inline uint64_t share_chunk_length(uint64_t bytes, uint32_t chunk)
{
	return bits_min(
		bytes - share_chunk_at(bytes, chunk), share_chunk_bytes(bytes));
}

/* Enabling an endpoint: 0, or it shares nothing. */
int share_open(struct endpoint *);
void share_close(struct endpoint *);

/* ---- the receiver ---- */

/* Asks the sender to help with an OP_FETCH; false: it is not worth it. */
bool share_begin(struct op *, void *to);
/* The next chunk from the front, or -1. */
int64_t share_claim(struct op *);
/* Nothing is left to claim: have all chunks arrived? */
bool share_complete(const struct op *);
/* WIRE_PUSHED came. */
void share_pushed(struct op *, int status, const void *, size_t length);
/* The word is free for another one. */
void share_end(struct op *);

/* ---- the sender ---- */

/* WIRE_PUSH came for an OP_SEND. 0, -FI_ENOMEM. */
int push_begin(struct op *send, const void *, size_t length);
/* A put of an OP_PUSH has ended. */
void push_event(struct op *, const struct cay_event *);
/* It found no room before. */
void push_continue(struct op *);

#endif
