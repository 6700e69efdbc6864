/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control protocol between a process and its node, over a SOCK_SEQPACKET
 * Unix socket. Each request has one reply, both of fixed size, except
 * RESOLVE_START and ULTRA_WAKE, which have none; the first request is HELLO. It
 * is for set-up only and not on the path of a message. Replies may carry a
 * descriptor, requests never do. The node disconnects a client whose request
 * does not conform to this header.
 */
#ifndef CAY_NODE_PROTOCOL_H
#define CAY_NODE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cay/contract.h"

#define NODE_MAGIC 0x65646f6e2d796163ull /* "cay-node" */
#define NODE_MAJOR 2
#define NODE_MINOR 0

#define NODE_NAME_MAX 64 /* of nodes, realms and ports, with the terminator */

/*
 * Exit status of `cay node serve --background`: 0 when a node listens, else
 * NODE_EXIT_ERRNO plus errno, or another status. 126 and 127 are those of a
 * shell that cannot execute a program.
 */
#define NODE_EXIT_ERRNO	    64
#define NODE_EXIT_ERRNO_MAX 125

enum node_request_kind {
	NODE_HELLO = 1,	  /* joins a realm; the reply carries the arena */
	NODE_LEAVE = 2,	  /* the arena is unmapped: reclaim everything */
	NODE_OPEN = 3,	  /* a port */
	NODE_CLOSE = 4,	  /* a port */
	NODE_RESOLVE = 5, /* an address or a name, into the peer table */
	NODE_RELEASE = 6, /* an entry of the peer table */
	NODE_ALLOC = 7,	  /* pages of the arena's heap */
	NODE_FREE = 8,
	NODE_RECORDS = 9,	 /* another page of op records */
	NODE_RECOVER = 10,	 /* repair an abandoned record of the caller */
	NODE_DOORBELL_SET = 11,	 /* the reply carries its reading end */
	NODE_DOORBELL_GET = 12,	 /* the reply carries the writing end */
	NODE_DOORBELL_RING = 13, /* rings it for the caller; no reply */
	NODE_STATUS = 14,     /* the reply carries a memfd with node_status */
	NODE_FENCE = 15,      /* fence a stopped process */
	NODE_REFERENCES = 16, /* a port will send by reference */
	NODE_QUIESCE = 17,    /* is no access in progress? */
	NODE_LOCK = 18,	      /* a window of a peer */
	NODE_UNLOCK = 19,
	NODE_DISABLE = 20, /* a port of the caller */
	NODE_MAP = 21,	   /* counts a mapping of a window of a peer */
	NODE_UNMAP = 22,
	/* As RESOLVE, without a reply: a NOTIFY_CC of RESOLVE follows. */
	NODE_RESOLVE_START = 24,
	/* ULTRA paths, in the order of their set-up; see node/ultra.c. */
	NODE_ULTRA_ACCEPT = 25,	 /* the reply carries the slices */
	NODE_ULTRA_CONNECT = 26, /* the same */
	NODE_ULTRA_RETURN = 27,	 /* the reply carries the return page */
	NODE_ULTRA_READY = 28,	 /* the caller has mapped both */
	NODE_ULTRA_WAKE = 29,	 /* the port at the other end; no reply */
	NODE_ULTRA_CLOSE = 30,
};

/* Returns false if the node replies only to an invalid request. */
static inline bool node_request_has_reply(uint32_t kind)
{
	return kind != NODE_DOORBELL_RING && kind != NODE_RESOLVE_START &&
	       kind != NODE_ULTRA_WAKE;
}

enum node_hello_flag {
	/* The process has registered for MEMBARRIER_CMD_GLOBAL_EXPEDITED. */
	NODE_HELLO_BARRIER = 1 << 0,
};

struct node_request {
	uint32_t kind; /* enum node_request_kind */
	uint32_t reserved;
	union {
		/* First, so that an initializer clears all of it. */
		uint8_t padding[120];
		struct {
			uint64_t magic;
			uint32_t major, minor;
			char realm[NODE_NAME_MAX];
			uint32_t flags; /* enum node_hello_flag */
		} hello;
		struct {
			uint8_t nq_log2, rdr_log2, wq_log2, sdr_log2;
			uint8_t posted_log2, reserved[3];
			uint32_t peers, windows;
			uint64_t flags; /* enum cay_port_flag */
			char name[NODE_NAME_MAX];
		} open;
		struct {
			uint16_t vpid;
		} close; /* and NODE_REFERENCES, NODE_DISABLE */
		struct {
			uint16_t vpid; /* of the caller's port */
			uint16_t target;
			uint32_t node;
			char name[NODE_NAME_MAX]; /* if not empty: by name */
			uint64_t tag; /* RESOLVE_START: of the NOTIFY_CC */
		} resolve;
		struct {
			uint16_t vpid;
			uint32_t index;
		} release;
		struct {
			uint64_t bytes;
			uint32_t huge; /* 1: align to huge pages */
		} alloc;
		struct {
			uint64_t offset;
		} free;
		struct {
			uint64_t offset;
		} recover;
		struct {
			uint16_t vpid;
			uint32_t epoch;
		} doorbell;
		struct {
			uint32_t pid;
		} fence;
		struct {
			uint16_t vpid;
			uint32_t window; /* 1 + Win-ID; 0: any of the port's */
			uint32_t mapped; /* 1: mappings may continue */
		} quiesce;
		struct {
			uint16_t vpid; /* of the caller's port */
			uint16_t target, window;
			uint16_t poll;	/* 1: locked already; is it quiesced? */
			uint32_t epoch; /* any epoch of the target port */
			uint64_t capability;
		} lock; /* and NODE_MAP */
		struct {
			uint64_t number;
		} unmap;
		struct {
			uint16_t vpid; /* of the caller's port */
			uint16_t peer; /* ACCEPT: 0: any port of the realm */
			uint32_t node; /* of the peer */
			uint8_t slice_log2; /* ACCEPT */
		} ultra;
		struct {
			uint16_t upid; /* of the caller's end */
			uint8_t ring;  /* WAKE: even if it is not armed */
		} ultra_end;
	};
};

struct node_reply {
	int32_t error; /* 0 or -errno */
	uint32_t reserved;
	union {
		struct {
			uint64_t arena_bytes;
			uint64_t records; /* offset of a page of op records */
			uint32_t node;
			uint64_t block_bytes_max; /* of NODE_ALLOC */
		} hello;
		struct {
			uint32_t epoch;
			uint16_t vpid;
		} open;
		struct {
			uint32_t index, epoch;
			uint16_t vpid;
			uint8_t path; /* enum arena_path */
		} resolve;
		struct {
			uint64_t offset, bytes;
		} alloc;
		struct {
			uint64_t offset, bytes;
			uint64_t number; /* for NODE_UNMAP */
		} map;
		struct {
			uint64_t bytes; /* in the memfd */
			uint32_t ports, processes;
		} status;
		struct {
			uint32_t migrated; /* queue sets that were replaced */
		} fence;
		struct {
			uint16_t upid, peer_upid; /* 0: not connected */
			uint16_t peer;		  /* VPID */
			uint8_t slice_log2, slices_log2;
			uint8_t local; /* CONNECT: both are in one realm */
			uint8_t fence; /* CONNECT: the origin must fence */
		} ultra;
		uint8_t padding[56];
	};
};

CAY_STATIC_ASSERT(sizeof(struct node_request) == 128, "request");
CAY_STATIC_ASSERT(sizeof(struct node_reply) == 64, "reply");

/* ---- reply of NODE_STATUS: header, processes, ports, threads ---- */

#define NODE_UNKNOWN UINT32_MAX /* a count that is not available */

struct node_status {
	uint64_t magic;
	uint32_t node, pid;
	uint32_t processes, ports, threads;
	uint32_t realms;
	uint64_t uptime_ns;  /* at the time of the report */
	uint64_t repaired;   /* processes that exited as members */
	uint64_t voided;     /* entries that these had claimed */
	uint64_t gone_sent;  /* NOTIFY_GONE delivered */
	uint64_t fenced;     /* queue sets replaced */
	uint64_t refused;    /* connections and requests refused */
	uint64_t over_quota; /* requests refused with -EDQUOT */
	uint64_t barriers;   /* memory barriers in all members of a realm */
	uint64_t zombies; /* closed ports and exited processes, unreclaimed */
	uint64_t heap_bytes, heap_used; /* address space of all heaps */
	uint64_t memory_bytes;		/* allocated pages of it */
	char name[NODE_NAME_MAX];
};

struct node_status_process {
	uint32_t pid, ports;
	uint32_t records;     /* threads that have issued */
	uint32_t busy;	      /* of these, with an operation in progress */
	uint64_t heap_bytes;  /* queues, tables, op records and alloc_bytes */
	uint64_t alloc_bytes; /* by cay_alloc() */
	uint32_t blocks;      /* of these */
	uint32_t peers;	      /* that count for its quota */
	uint32_t mappings;    /* of cay_window_map() */
	uint32_t paths;	      /* ends of ULTRA paths */
	char realm[NODE_NAME_MAX];
};

#define NODE_STATUS_HOLDERS 4
#define NODE_STATUS_PATHS   4 /* by enum arena_path */

struct node_status_port {
	uint32_t pid, epoch;
	uint16_t vpid;
	uint8_t closed, doorbell;
	uint8_t disabled, posted_mode; /* enum posted_mode */
	uint16_t reserved;
	uint32_t peers;	     /* entries of its peer table in use */
	uint32_t peers_gone; /* of these, gone and not yet released */
	uint32_t paths[NODE_STATUS_PATHS]; /* the others, by path */
	uint32_t watchers;		   /* ports that have resolved it */
	uint32_t window_entries;
	uint64_t w, r;
	uint32_t nq_entries, rdr_units;
	uint32_t windows_open, windows_locked; /* or NODE_UNKNOWN */
	uint16_t holders[NODE_STATUS_HOLDERS]; /* VPIDs that hold locks on it */
	uint32_t posted_available; /* upper bound, or NODE_UNKNOWN */
	uint32_t posted_entries;
	uint32_t references_used, references_entries;
	uint32_t message_entries; /* of nq_entries, not reserved */
	uint32_t reserved2;
	char name[NODE_NAME_MAX];
};

/*
 * A thread that has issued operations. Its op record may have changed while it
 * was read.
 */
struct node_status_thread {
	uint32_t pid;
	uint32_t tid;	  /* in its own PID namespace */
	uint32_t process; /* index in this report */
	uint32_t step;	  /* enum device_step; only in test builds */
	uint64_t record;  /* offset in the arena */
	uint64_t issued;  /* operations since it last changed the port */
	uint16_t vpid;	  /* of the last operation; 0: none yet */
	uint16_t target;  /* unless IDLE */
	uint32_t target_epoch;
	uint8_t state;	   /* enum op_state */
	uint8_t abandoned; /* it left the call; the node repairs the record */
	uint16_t reserved;
	uint32_t window;	/* 1 + Win-ID, 0: none */
	uint64_t entry;		/* TRY, OWN: nq count of the first entry */
	uint32_t posted;	/* 1 + slot, 0: none */
	uint32_t posted_target; /* VPID */
};

#endif
