/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Co-copy: both ends of a rendezvous message copy it in chunks, the receiver
 * from the front with gets, the sender from the back with puts, until they
 * meet. A sender that makes no progress copies nothing and delays nothing.
 *
 * The two ends claim chunks by compare-and-swap on a *claim word*, in device
 * memory behind a window of the receiver:
 *
 *	bits 0-15	chunks that the receiver has claimed
 *	bits 16-31	chunks that the sender has claimed
 *	bits 32-63	generation of the word, which is reused
 *
 * as long as both together are fewer than all. So each chunk is claimed once.
 * When the receiver finds none left, it knows how many chunks are the sender's
 * and waits for WIRE_COCOPY_RESULT. A late sender finds the word exhausted, or
 * of another generation.
 */
#ifndef CAY_PROVIDER_COCOPY_H
#define CAY_PROVIDER_COCOPY_H

#include "provider/endpoint/endpoint.h"

#define COCOPY_CHUNK_MIN   (16u << 10)
#define COCOPY_CHUNK_MAX   (128u << 10)
#define COCOPY_CHUNKS_MAX  (32u << 10) /* roughly: half of 16 bits */
#define COCOPY_CLAIM_WORDS 64

#define COCOPY_FRONT		1ull
#define COCOPY_BACK		(1ull << 16)
#define COCOPY_GENERATION_SHIFT 32

/* Chunks that the receiver has claimed. */
static inline uint32_t cocopy_front(uint64_t word)
{
	return (uint32_t)(word & (COCOPY_BACK - 1));
}

/* Chunks that the sender has claimed. */
static inline uint32_t cocopy_back(uint64_t word)
{
	return (uint32_t)(word / COCOPY_BACK & (COCOPY_BACK - 1));
}

/* An eighth, in pages: neither end waits long for the other's last chunk. */
static inline uint64_t cocopy_chunk_bytes(uint64_t bytes)
{
	uint64_t chunk = bits_round_up(bytes / 8, 4096);
	uint64_t min = bits_round_up(bytes / COCOPY_CHUNKS_MAX, 4096);
	if (chunk < COCOPY_CHUNK_MIN)
		return COCOPY_CHUNK_MIN;
	chunk = bits_min(chunk, COCOPY_CHUNK_MAX);
	return chunk < min ? min : chunk;
}

static inline uint32_t cocopy_chunks(uint64_t bytes)
{
	uint64_t chunk = cocopy_chunk_bytes(bytes);
	return (uint32_t)((bytes + chunk - 1) / chunk);
}

static inline uint64_t cocopy_chunk_at(uint64_t bytes, uint32_t chunk)
{
	return chunk * cocopy_chunk_bytes(bytes);
}

static inline uint64_t cocopy_chunk_length(uint64_t bytes, uint32_t chunk)
{
	return bits_min(bytes - cocopy_chunk_at(bytes, chunk),
		cocopy_chunk_bytes(bytes));
}

/* Allocates the claim words of an endpoint. Without them it has no co-copy. */
int cocopy_open(struct endpoint *);
void cocopy_close(struct endpoint *);

/* ---- receiver: OP_FETCH ---- */

/* Asks the sender to copy chunks, too, if that is worth it. */
void cocopy_begin(struct op *fetch, void *to);
/* Claims the next chunk from the front. Returns it, or -1 if none is left. */
int64_t cocopy_claim(struct op *fetch);
/* After the last claim: returns true if all chunks are copied. */
bool cocopy_complete(const struct op *fetch);
/* Handles WIRE_COCOPY_RESULT. Returns false if it is not valid. */
bool cocopy_result(struct op *fetch, int status, const void *, size_t length);
/* Frees the claim word. */
void cocopy_end(struct op *fetch);

/* ---- sender: OP_COCOPY beside an OP_SEND ---- */

/* Handles WIRE_COCOPY. Returns 0 or -FI_ENOMEM. */
int cocopy_send_begin(struct op *send, const void *, size_t length);
/* Handles the completion of a put. */
void cocopy_send_event(struct op *, const struct cay_event *);
/* Continues with the next chunk, or retries. */
void cocopy_send_continue(struct op *);

#endif
