/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: process-private views of queue sets, with every offset checked and
 * turned into a pointer once, when the context is loaded.
 */
#ifndef CAY_DEVICE_CONTEXT_H
#define CAY_DEVICE_CONTEXT_H

#include "contract/arena.h"

struct context;

/*
 * A mapped arena. `ring` is the interrupt line of the real clock: how whoever
 * has mapped it reaches the descriptor of a port that sleeps in epoll. It may
 * enter the kernel and may not fail visibly. `orphaned` tells whether the node
 * is gone, so that nobody waits for its word.
 */
struct arena {
	unsigned char *base;
	uint64_t bytes;
	void (*ring)(struct context *to);
	bool (*orphaned)(const struct arena *);
};

/* One port's queue set as somebody who has mapped it sees it. */
struct context {
	struct queue_control *control;
	struct cay_nqe *nq;
	unsigned char *rdr;
	uint32_t epoch;
	uint16_t vpid;
	uint8_t nq_log2, rdr_log2;
	uint32_t nq_entries, rdr_units;
	uint32_t cq_reserve, priority_reserve;
	/*
	 * The R that was last seen. R only grows, so an old one is safe; it is
	 * loaded anew only when the queue looks full.
	 */
	_Atomic uint64_t r_seen;
	struct reference *refs;
	struct cay_window_descriptor *wdt;
	uint32_t windows;
	uint32_t posted_entries;
	struct posted_head *posted_head;
	struct cay_posted_receive *posted;
	_Atomic bool no_process; /* the kernel keeps us from its memory */
	const struct arena *arena;
	struct context *former; /* that this one replaced, kept for readers */
};

/* A window of ours, as the device uses it for PUT and GET. */
struct origin_window {
	unsigned char *base; /* NULL: not open */
	uint64_t length;
};

struct packet;

/* The device's private state of a port that this process has opened. */
struct origin {
	_Atomic(struct context *) own; /* where its notifications go */
	uint32_t node;
	uint16_t vpid;
	uint32_t cq_reserve;
	/*
	 * Completions asked for whose entries have not been given back. Never
	 * more than cq_reserve, so they always find room.
	 */
	_Atomic uint32_t completions;
	_Atomic uint64_t references; /* bit i: reference slot i is in use */
	struct reference *refs;
	const struct peer_entry *peers;
	uint32_t peer_count;
	_Atomic(struct context *) **routes; /* by peer index */
	struct cay_vci *wq;
	uint32_t wq_log2;
	uint32_t wq_read, wq_write; /* the posting thread */
	unsigned char *sdr;
	uint64_t sdr_bytes;
	uint64_t self; /* this port as it stands in a window's lock */
	bool words;    /* word mode */
	struct cay_window_descriptor *wdt;
	struct origin_window *windows; /* by Win-ID; NULL: none was opened */
	uint32_t window_count;
	_Atomic uint32_t carried; /* accesses under way at their owners */
	_Atomic uint32_t wrong;	  /* capabilities that were wrong */
	/*
	 * Has the target's owner make an access that we cannot make: takes it
	 * over, completion and all. 0 or -errno; NULL where there is no such
	 * way.
	 */
	int (*carry)(struct origin *, struct op_record *,
		_Atomic(struct context *) *to, const struct packet *);
};

CAY_STATIC_ASSERT(1u << QUEUE_REFS_LOG2 == 64, "origin.references has a bit "
					       "for each slot");

static inline struct queue_control *arena_control(
	const struct arena *a, uint16_t vpid, uint32_t epoch)
{
	uint64_t at = ARENA_CONTROL_OFFSET((uint64_t)(epoch & 1)) +
		      (uint64_t)vpid * sizeof(struct queue_control);
	return (struct queue_control *)(void *)(a->base + at);
}

static inline struct arena_entry *arena_directory(const struct arena *a)
{
	return (struct arena_entry *)(void *)(a->base + ARENA_DIRECTORY_OFFSET);
}

/*
 * Loads the context of a port at an epoch. 0, -EPIPE (that epoch is over),
 * -EBADMSG (its configuration is damaged).
 */
int context_load(
	const struct arena *, uint16_t vpid, uint32_t epoch, struct context *);

/*
 * `closed`, which was loaded from *slot, is closed: follows the port to the set
 * that replaced it, if there is one. True if *slot is another one now, whoever
 * has put it there. Any thread.
 */
bool context_follow(_Atomic(struct context *) *slot, struct context *closed);

/* Frees a context and all that it replaced. */
void context_free(struct context *);

/*
 * Sets up the device's state of a port whose context is `own`; its routes are
 * the caller's. 0 or -EBADMSG.
 */
int origin_load(struct origin *, struct context *own, uint32_t node);

#endif
