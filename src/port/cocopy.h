/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Co-copy: both ends of a long message that is borrowed from ordinary memory
 * copy it, in chunks. The target copies chunks from the front out of the origin
 * (process_vm_readv). The origin, while it polls, waits or flushes, stages
 * chunks from the back in a ring in the arena, and the target copies them from
 * there; staging takes less time than reading another process. An origin that
 * sleeps in cay_wait() is woken for that. The target waits for the origin only
 * briefly, so an origin that is stopped or dies after a claim delays nothing.
 * Only the target writes its buffer, and only the origin its ring.
 *
 * struct cocopy in contract/arena.h has the shared words; the edges are
 *
 *   K1 the target opens the claim word: store, release.
 *   K2 either end claims a chunk: CAS, acquire; pairs with K1. So each chunk is
 *      claimed once.
 *   K3 the origin stores `staged` after the chunk: release; pairs with the
 *      target's acquire load before it reads the ring.
 *   K4 the target stores `consumed` after it has read the ring: release; pairs
 *      with the origin's acquire load before it writes that place again.
 *   K5 the target executes a fence after K1 and K4 and loads the origin's W;
 * the origin sets SLEEP there, and then loads the words once more: it finds
 *      something to stage, or the target finds SLEEP and wakes it.
 *   G2 (device/reference.c): the target sets DONE after all; the origin then
 *      frees the source, under the lock under which it stages, and may use the
 *      ring for another message.
 *
 * The target takes the result only if the reference is still its own after the
 * last copy, and the origin alive: the origin frees the ring only after it has
 * withdrawn the reference, and the node only after its death.
 */
#ifndef CAY_PORT_COCOPY_H
#define CAY_PORT_COCOPY_H

#include "port/port.h"

/* Messages of fewer bytes are copied by the target alone. */
#define COCOPY_BYTES_MIN (4ull * COCOPY_CHUNK)

/* Returns the number of chunks; 0 if a message is not copied by both ends. */
static inline uint32_t cocopy_chunks(uint64_t bytes)
{
	if (bytes < COCOPY_BYTES_MIN ||
		bytes > (uint64_t)COCOPY_CHUNK * COCOPY_CHUNKS_MAX)
		return 0;
	return (uint32_t)((bytes + COCOPY_CHUNK - 1) / COCOPY_CHUNK);
}

/* Returns the length of a chunk; it starts at chunk * COCOPY_CHUNK. */
static inline uint64_t cocopy_chunk_bytes(uint64_t bytes, uint32_t chunk)
{
	return bits_min(bytes - (uint64_t)chunk * COCOPY_CHUNK, COCOPY_CHUNK);
}

/* ---- target: cocopy_target.c ---- */

/* The copy in progress of a message. All members are private. */
struct cocopy_copy {
	struct cocopy *shared;
	_Atomic(struct context *) *origin;
	const struct arena *arena;
	uint32_t sequence, chunks;
	uint32_t claimed;  /* from the front, by this end */
	uint32_t consumed; /* from the back: no longer needed of the origin */
	bool alone;	   /* the claim word is damaged: it is not used */
	bool staged;	   /* a chunk came from the ring */
};

/* What to copy next. */
enum cocopy_next {
	COCOPY_READ,   /* a chunk out of the origin */
	COCOPY_STAGED, /* a chunk from the ring */
	COCOPY_WAIT,   /* nothing: the origin has claimed the rest */
	COCOPY_END,    /* nothing: all are copied */
};

/* Opens the claim word: the origin may stage chunks from now on. */
void cocopy_announce(struct cocopy_copy *);
/*
 * Returns what to copy next, the chunk, and the place of a staged one. A chunk
 * that is returned is claimed.
 */
enum cocopy_next cocopy_next(
	struct cocopy_copy *, uint32_t *chunk, const unsigned char **from);
/* The staged chunk was copied. */
void cocopy_consumed(struct cocopy_copy *);
/*
 * Returns the chunk that the origin has claimed and not staged: the target
 * reads it itself.
 */
uint32_t cocopy_steal(struct cocopy_copy *);

/* ---- origin: cocopy_origin.c ---- */

/*
 * Before a message from ordinary memory is sent: allocates the ring, once, if
 * there is memory. The caller holds a lock_guard.
 */
void cocopy_prepare(struct cay_port *);
/* Under port->lock: the message with this reference slot is in flight. */
void cocopy_offer(struct cay_port *, uint32_t index);
/* Under port->lock: the message is complete. */
void cocopy_forget(struct cay_port *, uint32_t index);
/* The port closes, after its references were withdrawn. */
void cocopy_free_ring(struct cay_port *);

/*
 * Stages one chunk if a target copies a message of this port. Returns true if
 * it did. Does not wait for another thread that does. Any thread.
 */
bool cocopy_help(struct cay_port *);

#endif
