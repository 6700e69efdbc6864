/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: process-private views of queue sets. Loading a context checks every
 * offset once and converts it to a pointer.
 */
#ifndef CAY_DEVICE_CONTEXT_H
#define CAY_DEVICE_CONTEXT_H

#include "base/copy.h"
#include "contract/arena.h"

struct context;

/*
 * A mapped arena. ring_doorbell() rings the doorbell of a port that sleeps in
 * epoll; it may enter the kernel and reports no failure. orphaned() returns
 * true if the node has exited, so that waiting for it would never end.
 */
struct arena {
	unsigned char *base;
	uint64_t bytes; /* end of the heap: bound of offsets in the arena */
	uint64_t mapped_bytes;
	uint64_t control_offset[2]; /* by parity of the epoch */
	uint64_t control_stride;
	void (*ring_doorbell)(struct context *to);
	bool (*orphaned)(const struct arena *);
};

/* A port's queue set as one process sees it. */
struct context {
	struct queue_control *control;
	struct cay_nqe *nq;
	uint64_t op_state; /* VPID and epoch as in an op record's state */
	unsigned char *rdr;
	uint32_t epoch;
	uint16_t vpid;
	uint8_t nq_log2, rdr_log2;
	uint32_t nq_entries, rdr_units;
	uint32_t cq_reserve, priority_reserve;
	/*
	 * Cached R. R only grows, so a stale value is safe; it is reloaded only
	 * when the queue appears full.
	 */
	_Atomic uint64_t r_seen;
	struct reference *refs;
	struct cay_window_descriptor *wdt;
	uint32_t windows;
	uint32_t posted_entries;
	struct posted_head *posted_head;
	struct cay_posted_receive *posted;
	_Atomic uint32_t process_memory_denied; /* 1: by the kernel */
	struct copy_pace pace;			/* of copies for this port */
	const struct arena *arena;
	unsigned char *heap; /* of the arena, with all windows that are in it */
	uint64_t heap_bytes;
	struct context *previous; /* replaced by this one; kept for readers */
	/* If the device is the only writer of W (machine/claim.c): */
	uint64_t w;	       /* the device's W; control->w is a copy */
	_Atomic uint32_t room; /* the consumer has returned entries */
};

/* A window of this process, as the device uses it for PUT and GET. */
struct origin_window {
	unsigned char *base; /* NULL: not open */
	uint64_t length;
};

/* Which alignment word mode requires of the requests of a port. */
enum word_mode {
	WORD_MODE_OFF,
	WORD_MODE_TARGET, /* of accesses at the target: all that calls have */
	WORD_MODE_VCI,	  /* also of VCIs, in the SDR and in own windows */
};

struct packet;

/* What the client of a port writes. */
struct origin_client {
	/* Written by the posting thread; snapshots read it on any thread. */
	_Atomic uint32_t wq_write;     /* VCIs posted */
	_Atomic uint32_t posted_write; /* slot of the next posted receive */
};

/* What the device keeps of a port; no client writes it. */
struct origin_device {
	_Atomic(struct context *) own; /* its own queue set */
	/*
	 * Reserved completions whose entries have not been returned. Never
	 * more than cq_reserve, so a completion always finds room.
	 */
	_Atomic uint32_t completions;
	_Atomic uint32_t wq_read; /* VCIs executed; the posting thread */
	/* Bit i: slot i, below REFERENCE_COPIED, is in use. */
	_Atomic uint64_t references;
	_Atomic uint32_t emulated_in_flight;
	_Atomic uint32_t invalid_capabilities; /* accesses refused for theirs */
};

/*
 * A port as an origin of instructions: what client and device both read, and
 * the parts that one of them writes. On the direct path one process is both.
 */
struct origin {
	struct origin_device device;
	struct origin_client client;
	uint32_t node;
	uint16_t vpid;
	uint8_t word_mode; /* enum word_mode */
	uint32_t cq_reserve;
	struct reference *refs;
	const struct peer_entry *peers;
	uint32_t peer_count;
	uint32_t wq_log2;
	_Atomic(struct context *) **routes; /* by peer index */
	struct cay_vci *wq;
	unsigned char *sdr;
	uint64_t sdr_bytes;
	uint64_t lock_word; /* identifies this port in the lock of a window */
	_Atomic uint64_t refused; /* operations, with -EAGAIN */
	struct cay_window_descriptor *wdt;
	struct origin_window *windows; /* by Win-ID; NULL: none was opened */
	uint32_t window_count;
	/*
	 * Sends an access that this process cannot perform to the owner of the
	 * window as an emulated access, including its completion. Returns 0 or
	 * -errno. NULL if emulated accesses are not supported.
	 */
	int (*send_emulated)(struct origin *, struct op_record *,
		_Atomic(struct context *) *to, const struct packet *);
	/*
	 * Called for each access that a window refuses, unless it is NULL;
	 * returns what the access returns instead of 1.
	 */
	int (*access_refused)(_Atomic(struct context *) *to);
};

CAY_STATIC_ASSERT(
	REFERENCE_COPIED == 64 && REFERENCE_COPIED < 1u << QUEUE_REFS_LOG2,
	"origin.device.references has a bit for each slot below "
	"REFERENCE_COPIED");

/*
 * Sets the layout to that of a header, which is valid and the caller's own: the
 * one in the arena may change.
 */
static inline void arena_set_layout(
	struct arena *a, const struct arena_header *h)
{
	a->bytes = h->heap_end;
	a->control_offset[0] = h->control_offset[0];
	a->control_offset[1] = h->control_offset[1];
	a->control_stride = h->control_stride;
}

static inline uint64_t arena_control_offset(
	const struct arena *a, uint16_t vpid, uint32_t epoch)
{
	return a->control_offset[epoch & 1] + vpid * a->control_stride;
}

static inline struct queue_control *arena_control(
	const struct arena *a, uint16_t vpid, uint32_t epoch)
{
	unsigned char *at = a->base + arena_control_offset(a, vpid, epoch);
	return (struct queue_control *)(void *)at;
}

static inline struct arena_entry *arena_directory(const struct arena *a)
{
	return (struct arena_entry *)(void *)(a->base + ARENA_DIRECTORY_OFFSET);
}

/*
 * Makes a context of a configuration that is the caller's own and valid; the
 * copy in the arena, which any member can write, is not read.
 */
void context_from_config(
	const struct arena *, const struct queue_config *, struct context *);

/*
 * Loads the context of a port at an epoch, from the configuration in the arena.
 * Returns 0, -EPIPE (the epoch has ended) or -EBADMSG (the configuration is
 * damaged).
 */
int context_load(
	const struct arena *, uint16_t vpid, uint32_t epoch, struct context *);

/*
 * Follows a port whose queue set `closed`, loaded from *slot, has been closed
 * to the set that replaced it. Returns true if *slot now holds another context,
 * stored by this or another thread: the caller retries. Returns false if the
 * port is gone. Any thread.
 */
bool context_follow_migration(
	_Atomic(struct context *) *slot, struct context *closed);

/* Frees a context and the contexts that it replaced. */
void context_free(struct context *);

/*
 * Sets up the device's state of a port whose context is `own`; the caller sets
 * its routes. Returns 0 or -EBADMSG.
 */
int origin_load(struct origin *, struct context *own, uint32_t node);

#endif
