/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Format of the arena: one memfd per realm, created by the node and mapped
 * whole by every member. Only this header defines it; cay_arena(7) describes
 * it.
 *
 * Every structure states its writer. Words that are written at run time are 128
 * bytes apart, so that the adjacent-line prefetcher does not couple them. All
 * references are offsets from the start of the arena, never pointers.
 *
 *	header | directory | controls (even, odd epochs) | heap
 *
 * If each control has a page of its own, the controls follow the heap, and the
 * place of the others is unused: the heap starts at the same offset.
 *
 * The heap holds, in whole pages that the node allocates, the queues of ports,
 * op records of processes, and the memory of cay_alloc().
 */
#ifndef CAY_CONTRACT_ARENA_H
#define CAY_CONTRACT_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cay/contract.h"

#define ARENA_MAGIC 0x616e657261796163ull /* "cayarena" */
#define ARENA_MAJOR 2
#define ARENA_MINOR 0

#define ARENA_PAGE  4096u
#define ARENA_HUGE  (2u << 20) /* a huge page */
#define ARENA_APART 128u       /* bytes between words that are written */

/* ---- header: written by the node before the first mapping ---- */

struct arena_header {
	uint64_t magic;
	uint32_t major, minor;
	uint64_t features; /* bits that a reader must know; none is defined */
	uint64_t size;	   /* bytes of the whole arena */
	uint64_t directory_offset;
	uint64_t control_offset[2]; /* by parity of the epoch */
	uint64_t heap_offset, heap_end;
	uint32_t node;		 /* the 32-bit node identifier */
	uint32_t control_stride; /* bytes from one VPID's control to the next */
	char realm[64];
};

/* ---- directory: one entry per VPID, written by the node ---- */

/*
 * Epochs count the queue sets that a VPID has had. A port keeps its VPID but
 * gets the next epoch when its queue set is replaced to fence a stopped
 * process: a peer resolved at any epoch from `first_epoch` to `epoch` is the
 * same port. 0 in `epoch` means that the VPID is free.
 */
struct arena_entry {
	_Atomic uint32_t epoch;
	_Atomic uint32_t first_epoch;
};

/* ---- W and R ---- */

/*
 * W and R have one format: nq 39:0 counts notification entries, rdr 59:40
 * counts 64-byte units of the receive data region, flags 63:60. Both counters
 * run freely and are compared only by difference.
 */
#define QUEUE_NQ_BITS  40
#define QUEUE_NQ_MASK  ((1ull << QUEUE_NQ_BITS) - 1)
#define QUEUE_RDR_BITS 20
#define QUEUE_RDR_MASK ((1ull << QUEUE_RDR_BITS) - 1)

#define W_SLEEP	 (1ull << 60) /* receiver sleeps on the futex */
#define W_ARMED	 (1ull << 61) /* receiver sleeps on its descriptor */
#define W_CLOSED (1ull << 62) /* every further claim fails */
#define W_FLAGS	 (0xfull << 60)

#define R_WAITERS (1ull << 60) /* a sender sleeps until R advances */
#define R_DONE	  (1ull << 61) /* receiver has left this queue set */
#define R_CLOSED  (1ull << 62)

#define RDR_UNIT 64u /* bytes */

/* ---- control: one per VPID and parity of the epoch ---- */

/* Written by the node before W opens, then read-only. */
struct queue_config {
	uint32_t epoch;
	uint16_t vpid;
	uint8_t nq_log2;	   /* entries */
	uint8_t rdr_log2;	   /* units of 64 bytes */
	uint8_t wq_log2;	   /* entries */
	uint8_t sdr_log2;	   /* units of 64 bytes */
	uint8_t refs_log2;	   /* reference slots */
	uint8_t posted_log2;	   /* posted receives */
	uint32_t peers;		   /* entries of the peer table */
	uint32_t windows;	   /* entries of the WDT */
	uint32_t cq_reserve;	   /* entries left free for completions */
	uint32_t priority_reserve; /* entries left for priority messages */
	/* Two extents of the heap: a migration replaces the first. */
	uint64_t queues_offset, queues_bytes;
	uint64_t tables_offset, tables_bytes;
	uint32_t nq_at, rdr_at; /* from queues_offset, in lines */
	uint32_t wq_at, sdr_at, refs_at, peers_at, wdt_at; /* from tables */
	uint32_t posted_at;
};

/*
 * A range of entries that a fenced process had claimed and not yet published
 * when the queue set was replaced. They are void, whatever is stored there.
 */
struct queue_range {
	uint64_t from, to; /* nq counts */
};
#define QUEUE_FENCED_MAX 6

/*
 * State of the migration to the next queue set. Senders load it after they have
 * published an entry, the receiver after it has found one; see node/fence.c.
 */
enum queue_migration {
	QUEUE_STABLE = 0,
	QUEUE_MIGRATING = 1, /* fenced[] is being determined */
	QUEUE_MIGRATED = 2,  /* fenced[] is final */
	/* A member has waited too long for fenced[]: no entry is fenced. */
	QUEUE_UNFENCED = 3,
};

struct queue_control {
	/* Node, once. */
	_Alignas(ARENA_APART) struct queue_config config;

	/* Senders, with CAS; the receiver only to sleep. */
	_Alignas(ARENA_APART) _Atomic uint64_t w;
	_Atomic uint32_t epoch;	   /* node; read after W, see notify_claim() */
	_Atomic uint32_t doorbell; /* receiver: it has one */
	_Atomic uint32_t posted;   /* receiver: enum posted_mode */

	/* Receiver; senders only to set WAITERS. */
	_Alignas(ARENA_APART) _Atomic uint64_t r;

	/* Node, if the set is replaced or closed. */
	_Alignas(ARENA_APART) _Atomic uint32_t
		migration;	       /* enum queue_migration */
	uint32_t fenced_count;	       /* before QUEUE_MIGRATED */
	_Atomic uint32_t access_epoch; /* epoch; 0: accesses are refused */
	uint32_t reserved;
	struct queue_range fenced[QUEUE_FENCED_MAX];
};

/* ---- posted receives ---- */

/* Destination of messages of more than 40 bytes. */
enum posted_mode {
	POSTED_NONE = 0, /* the RDR: no receive was ever posted */
	POSTED_RDR = 1,	 /* a posted buffer, or the RDR if there is none */
	POSTED_ONLY = 2, /* a posted buffer, or -EAGAIN if there is none */
};

/* First line of the region; the slots follow. Senders and receiver write it. */
struct posted_head {
	_Atomic uint64_t next;	    /* hint: slot that senders try first */
	_Atomic uint64_t available; /* upper bound of the READY slots */
	uint64_t reserved[6];
};

/*
 * `state` of a struct cay_posted_receive: enum posted_state 7:0, op record of
 * the sender that claimed it (arena offset in units of its size) 63:8.
 * FREE -> READY (receiver) -> CLAIMED (sender) -> FILLED (sender, when it owns
 * the entry that announces it) -> FREE (receiver, when it has read that entry).
 */
enum posted_state {
	POSTED_FREE = 0,
	POSTED_READY = 1,
	POSTED_CLAIMED = 2,
	POSTED_FILLED = 3,
};
#define POSTED_STATE_MASK    0xffull
#define POSTED_CLAIMER_SHIFT 8

/* ---- peer table: written by the node, read by the port ---- */

enum arena_path {
	PATH_NONE = 0,
	PATH_DIRECT = 1,
	PATH_GUARDED = 2,
	PATH_LINK = 3,
	PATH_FORBIDDEN = 4, /* of an entry not in use: it was refused */
};

struct peer_entry {
	_Atomic uint32_t epoch; /* 0: not in use */
	uint16_t vpid;
	uint8_t path; /* enum arena_path */
	uint8_t reserved;
	uint64_t control_offset;
};

/* ---- references: messages whose payload stays at the origin ---- */

/*
 * Slots below REFERENCE_COPIED hold borrowed messages and emulated accesses:
 * the target completes them with a NOTIFY_CC. The others hold copied messages,
 * which are complete when they are published: the target only sets the state
 * to DONE, and the origin reclaims the slot.
 */
#define REFERENCE_COPIED 64u

enum reference_state {
	REFERENCE_FREE = 0,
	REFERENCE_READY = 1, /* filled in, not yet published to the target */
	REFERENCE_SENT = 2,
	REFERENCE_DONE = 3,    /* the target no longer reads the memory */
	REFERENCE_STARTED = 4, /* the target reads it; no withdrawal */
};

enum reference_kind {
	REFERENCE_ARENA = 0,   /* `address` is an offset in the arena */
	REFERENCE_PROCESS = 1, /* `address` is in the origin's address space */
	REFERENCE_ACCESS = 2,  /* `address`: offset of an emulated access */
};

/*
 * An emulated access, staged in the arena by the origin and executed by the
 * owner of the window. The target writes the results, and for a get the bytes
 * that follow, before the reference is DONE.
 */
struct emulated_access {
	uint16_t command, window;
	uint32_t reserved;
	uint64_t capability, offset, length;
	uint64_t operand[2];
	uint64_t result, previous;
	/* `length` bytes follow, if the command is PUT or GET. */
};

/*
 * Written by the origin; the target (or the node, for a dead target) sets the
 * state to DONE. `state`: sequence 63:32, enum reference_state 7:0. The cookie
 * is a random number that the origin keeps at cookie_address: a target that
 * reads the origin's memory reads the cookie in the same call, which proves
 * that the process number still names the origin.
 */
struct reference {
	_Atomic uint64_t state;
	uint64_t address;
	uint64_t length;
	/* 31:0; API tag 63:32: the node completes it for a dead target */
	uint64_t cookie;
	uint64_t cookie_address;
	uint64_t tag; /* user tag, for the same */
	uint32_t pid; /* in the origin's PID namespace */
	uint32_t target_epoch;
	uint16_t target_vpid;
	uint8_t kind;  /* enum reference_kind */
	uint8_t flags; /* REFERENCE_PROBE; CAY_COMMAND_ACK of the message */
	/* Target: result, enum cay_error 7:0; PROBED. */
	_Atomic uint32_t outcome;
};

#define REFERENCE_API_TAG_SHIFT 32 /* in `cookie` */

#define REFERENCE_PROBE 1u /* the target reads the cookie, sets PROBED */

#define REFERENCE_ERROR_MASK 0xffu
#define REFERENCE_PROBED     (1u << 8) /* the cookie could be read */

#define REFERENCE_SEQUENCE_SHIFT 32
#define REFERENCE_STATE_MASK	 0xffull

/*
 * Co-copy of the message of a slot below REFERENCE_COPIED; see port/cocopy.h.
 * One line for each such slot, after all slots. `claim`: sequence 63:32, chunks
 * that the origin has claimed 31:16, OPEN 15, chunks that the target has
 * claimed 14:0; the target opens it, and both claim by CAS. `staged` and
 * `consumed`: sequence 63:32, chunks 31:0. The ring has COCOPY_RING places of
 * COCOPY_CHUNK bytes in the heap; the chunk that is staged as number i, from
 * the end of the message, is in place i % COCOPY_RING.
 */
struct cocopy {
	_Atomic uint64_t claim;
	_Atomic uint64_t staged;   /* origin */
	_Atomic uint64_t consumed; /* target */
	_Atomic uint64_t ring;	   /* origin: offset of the ring in the arena */
	uint64_t reserved[4];
};

#define COCOPY_CHUNK	  (64u << 10)
#define COCOPY_RING	  4u
#define COCOPY_RING_BYTES ((uint64_t)COCOPY_RING * COCOPY_CHUNK)

#define COCOPY_SEQUENCE_SHIFT 32
#define COCOPY_BACK	      (1ull << 16)
#define COCOPY_BACK_MASK      0xffff0000ull
#define COCOPY_OPEN	      (1ull << 15)
#define COCOPY_CHUNKS_MAX     (COCOPY_OPEN - 1)

/* Chunks that the target has claimed. */
static inline uint32_t cocopy_front(uint64_t claim)
{
	return (uint32_t)(claim & (COCOPY_OPEN - 1));
}

/* Chunks that the origin has claimed. */
static inline uint32_t cocopy_back(uint64_t claim)
{
	return (uint32_t)((claim & COCOPY_BACK_MASK) / COCOPY_BACK);
}

/* ---- op records: the operation that a thread is executing ---- */

enum op_state {
	OP_IDLE = 0,
	OP_TRY = 1,    /* stored before the CAS on W */
	OP_OWN = 2,    /* stored after it: this thread owns [w_old, w_new) */
	OP_ACCESS = 3, /* accesses memory that its owner may revoke */
};

/*
 * Entries that one claim can have: a record that says more is damaged. It
 * bounds what the repair of a record examines.
 */
#define QUEUE_CLAIM_MAX 64

/*
 * Written by the issuing thread, one per thread and arena. `state`: enum
 * op_state 1:0, target VPID 31:16, target epoch 63:32. The node reads it after
 * the death of the process; node/repair.c says what it may conclude from the
 * record of a live one.
 */
struct op_record {
	_Alignas(ARENA_APART) _Atomic uint64_t state;
	_Atomic uint64_t w_old, w_new;
	_Atomic uint64_t window; /* 1 + Win-ID being accessed; 0: none */
	_Atomic uint64_t posted; /* 1 + slot being filled 31:0, VPID 47:32 */
	_Atomic uint64_t issued; /* operations since `port` was set */
	_Atomic uint32_t port;	 /* origin VPID */
	_Atomic uint32_t thread; /* kernel thread id; 0: record not in use */
	_Atomic uint32_t step;	 /* last step passed, for diagnosis */
};

#define OP_STATE_MASK  0x3ull
#define OP_ABANDONED   (1ull << 2) /* the thread left the call early */
#define OP_VPID_SHIFT  16
#define OP_EPOCH_SHIFT 32

#define OP_RECORDS_PER_PAGE (ARENA_PAGE / sizeof(struct op_record))

/* ---- layout ---- */

CAY_STATIC_ASSERT(sizeof(struct arena_header) <= ARENA_PAGE, "header");
CAY_STATIC_ASSERT(sizeof(struct arena_entry) == 8, "directory entry");
CAY_STATIC_ASSERT(sizeof(struct queue_config) <= ARENA_APART, "config");
CAY_STATIC_ASSERT(sizeof(struct queue_control) == 4 * ARENA_APART,
	"eight controls fill a page");
CAY_STATIC_ASSERT(offsetof(struct queue_control, w) == ARENA_APART, "W");
CAY_STATIC_ASSERT(offsetof(struct queue_control, r) == 2 * ARENA_APART, "R");
CAY_STATIC_ASSERT(sizeof(struct peer_entry) == 16, "peer entry");
CAY_STATIC_ASSERT(sizeof(struct reference) == CAY_LINE, "reference");
CAY_STATIC_ASSERT(sizeof(struct cocopy) == CAY_LINE, "co-copy");
CAY_STATIC_ASSERT(sizeof(struct posted_head) == CAY_LINE, "posted head");
CAY_STATIC_ASSERT(
	sizeof(struct emulated_access) == CAY_LINE, "emulated access");
CAY_STATIC_ASSERT(sizeof(struct op_record) == ARENA_APART, "op record");
CAY_STATIC_ASSERT(sizeof(_Atomic uint64_t) == 8, "lock-free words");

#define ARENA_DIRECTORY_OFFSET ((uint64_t)ARENA_PAGE)
#define ARENA_DIRECTORY_BYTES  (CAY_VPIDS * sizeof(struct arena_entry))
#define ARENA_CONTROL_BYTES    (CAY_VPIDS * sizeof(struct queue_control))
#define ARENA_CONTROL_OFFSET(parity)                      \
	(ARENA_DIRECTORY_OFFSET + ARENA_DIRECTORY_BYTES + \
		(parity)*ARENA_CONTROL_BYTES)
#define ARENA_HEAP_OFFSET ARENA_CONTROL_OFFSET(2ull)

/* Strides: controls next to each other, or each on a page of its own. */
#define ARENA_STRIDE_PACKED ((uint32_t)sizeof(struct queue_control))
#define ARENA_STRIDE_PAGE   ARENA_PAGE
/* Bytes of an arena with a heap of this size. */
#define ARENA_SIZE_FOR(heap_bytes, stride)                                     \
	(ARENA_HEAP_OFFSET + (heap_bytes) +                                    \
		((stride) == ARENA_STRIDE_PAGE ? 2ull * CAY_VPIDS * ARENA_PAGE \
					       : 0))

/* Limits and defaults of the sizes that a port requests. */
#define QUEUE_NQ_LOG2_MIN      4
#define QUEUE_NQ_LOG2_MAX      20
#define QUEUE_NQ_LOG2_DEFAULT  9
#define QUEUE_RDR_LOG2_MIN     10 /* eight payloads of the largest size */
#define QUEUE_RDR_LOG2_MAX     19
#define QUEUE_RDR_LOG2_DEFAULT 12 /* 256 KiB */
#define QUEUE_WQ_LOG2_MIN      5
#define QUEUE_WQ_LOG2_MAX      16
#define QUEUE_WQ_LOG2_DEFAULT  6
#define QUEUE_SDR_LOG2_MIN     6
#define QUEUE_SDR_LOG2_MAX     19
#define QUEUE_SDR_LOG2_DEFAULT 10 /* 64 KiB */
#define QUEUE_REFS_LOG2	       7  /* 64 for each kind; see below */
/* Bytes of the slots and of the lines for co-copy after them. */
#define QUEUE_REFS_BYTES                                           \
	(((uint64_t)sizeof(struct reference) << QUEUE_REFS_LOG2) + \
		REFERENCE_COPIED * sizeof(struct cocopy))
#define QUEUE_PEERS_DEFAULT	  1024
#define QUEUE_WINDOWS_DEFAULT	  64
#define QUEUE_POSTED_LOG2_MAX	  16
#define QUEUE_POSTED_LOG2_DEFAULT 6
#define QUEUE_PAYLOAD_MAX	  8192u /* bytes; longer ones go by reference */

/* Returns the line for co-copy of a slot below REFERENCE_COPIED. */
static inline struct cocopy *reference_cocopy(
	struct reference *slots, uint32_t index)
{
	return (struct cocopy *)(void *)(slots + (1u << QUEUE_REFS_LOG2)) +
	       index;
}

/* ---- checkers (arena.c); each checks a private copy ---- */

/*
 * Fills in the sizes and offsets of an arena of this size. Without room for a
 * heap, arena_header_valid() refuses it.
 */
void arena_header_layout(
	struct arena_header *, uint64_t bytes, uint32_t control_stride);
/*
 * Returns 0, -EPROTO (not an arena), -EPROTONOSUPPORT (version) or -EBADMSG
 * (sizes).
 */
int arena_header_valid(const struct arena_header *copy, uint64_t mapped_bytes);
bool queue_config_valid(const struct queue_config *copy, uint64_t arena_bytes);
bool queue_position_valid(
	uint64_t w, uint64_t r, uint8_t nq_log2, uint8_t rdr_log2);
/* The header is a valid copy. */
bool peer_entry_valid(
	const struct peer_entry *copy, const struct arena_header *);
bool window_valid(
	const struct cay_window_descriptor *copy, uint64_t arena_bytes);
bool posted_valid(const struct cay_posted_receive *copy, uint64_t arena_bytes);
bool reference_valid(const struct reference *copy, uint64_t arena_bytes);
bool op_record_valid(uint64_t state, uint64_t w_old, uint64_t w_new);
bool vci_valid(const struct cay_vci *copy);
bool nqe_valid(const struct cay_nqe *copy);

#endif
