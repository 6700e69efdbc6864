/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device contract, version 1: the record layouts and codes shared by a
 * device and its software. This header defines them and contains no logic;
 * cay_contract(7) describes them in prose.
 *
 * All records are little-endian, consist of 64-bit words and fill whole
 * 64-byte lines.
 */
#ifndef CAY_CONTRACT_H
#define CAY_CONTRACT_H

#include <assert.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define CAY_STATIC_ASSERT(e, s) static_assert(e, s)
#else
#define CAY_STATIC_ASSERT(e, s) _Static_assert(e, s)
#endif

#define CAY_CONTRACT_MAJOR 1
#define CAY_CONTRACT_MINOR 1

#define CAY_LINE  64 /* bytes of a cache line and of every record */
#define CAY_WORDS 8  /* 64-bit words of a line */

/* ---- command word, 16 bits: error 15:11, group 10:8, command 7:0 ---- */

#define CAY_COMMAND_MASK	0x00ffu
#define CAY_COMMAND_GROUP_SHIFT 8
#define CAY_COMMAND_GROUP_MASK	0x0700u
#define CAY_COMMAND_ERROR_SHIFT 11
#define CAY_COMMAND_ERROR_MASK	0xf800u

enum cay_group {
	CAY_GROUP_HOST = 0,
	CAY_GROUP_ULTRA = 1,
	CAY_GROUP_MULTICAST = 2,
	CAY_GROUP_BARRIER = 3,
	CAY_GROUP_PROCESSOR = 4,
};

/*
 * Commands. Bits 7:4 are the operation; A (bit 3) requests an acknowledgement,
 * R (bit 2) marks a response, LL or LLL is the number of immediate words.
 */
enum cay_command {
	CAY_NQE_INVALID = 0x00, /* with the current generation: void */
	CAY_FAST_SEND = 0x10,
	CAY_FAST_PUT = 0x20,
	CAY_FAST_GET = 0x30,
	CAY_FAST_GET_RESPONSE = 0x34,
	CAY_MISALIGNED_PUT = 0x40,
	CAY_FAA = 0x62,
	CAY_FAA_RESPONSE = 0x66,
	CAY_CAS = 0x73,
	CAY_CAS_RESPONSE = 0x77,
	CAY_RESOLVE = 0x80, /* only in a NOTIFY_CC: executed by the node */
	CAY_SEND = 0x90,
	CAY_PUT = 0xa0,
	CAY_GET = 0xb0,
	CAY_GET_RESPONSE = 0xb4,
	CAY_NOTIFY_CC = 0xf0,
	CAY_NOTIFY_RMA = 0xf1,
	CAY_NOTIFY_FAST_RECV = 0xf2,
	CAY_NOTIFY_RECV = 0xf3,
	CAY_NOTIFY_STATUS = 0xf4,
	CAY_NOTIFY_POSTED_RECV = 0xf5,
	CAY_NOTIFY_ULTRA = 0xf6,
	CAY_NOTIFY_BARRIER = 0xf7,
	CAY_NOTIFY_GONE = 0xf8,
	CAY_ACKNOWLEDGE = 0xff,
};

#define CAY_COMMAND_OPERATION 0xf0u /* bits 7:4 */
#define CAY_COMMAND_ACK	      0x08u /* A */
#define CAY_COMMAND_RESPONSE  0x04u /* R */
#define CAY_COMMAND_LENGTH    0x07u /* LLL of FAST_SEND */
#define CAY_COMMAND_LENGTH2   0x03u /* LL of FAST_PUT and FAST_GET */

#define CAY_FAST_SEND_WORDS 5
#define CAY_FAST_SEND_BYTES 40
#define CAY_FAST_PUT_WORDS  3
#define CAY_FAST_PUT_BYTES  24

/* ---- error codes, 5 bits; the first failing check sets the code ---- */

enum cay_error {
	CAY_ERROR_NONE = 0,
	CAY_ERROR_COMMAND = 1,
	CAY_ERROR_ORIGIN_VPID = 2,
	CAY_ERROR_ROUTE = 3,
	CAY_ERROR_ORIGIN_WINDOW = 4,
	CAY_ERROR_ORIGIN_BOUNDS = 5,
	CAY_ERROR_ORIGIN_OFFSET_ALIGN = 6,
	CAY_ERROR_ORIGIN_LENGTH_ALIGN = 7,
	CAY_ERROR_TARGET_VPID = 8,
	CAY_ERROR_TARGET_WINDOW = 9,
	CAY_ERROR_CAPABILITY = 10,
	CAY_ERROR_TARGET_BOUNDS = 11,
	CAY_ERROR_TARGET_OFFSET_ALIGN = 12,
	CAY_ERROR_TARGET_LENGTH_ALIGN = 13,
	CAY_ERROR_UNREACHABLE = 14,
	CAY_ERROR_POSTED_PHYSICAL = 15,
	CAY_ERROR_POSTED_ADDRESS = 16,
	CAY_ERROR_POSTED_TRUNCATED = 17,
	CAY_ERROR_ORIGIN_LOCKED = 18,
	CAY_ERROR_TARGET_LOCKED = 19,
	CAY_ERROR_RIGHTS = 20,
	CAY_ERROR_GONE = 21,
	CAY_ERROR_TIMEOUT = 22,
	CAY_ERROR_REALM = 23,
	CAY_ERROR_NO_RESOURCES = 24,
	CAY_ERROR_MEMORY = 25,
	CAY_ERROR_COUNT = 26,
};

/* ---- VCI: a work request ---- */

enum cay_vci_flag {
	CAY_VCI_NOTIFY = 1 << 0,     /* request a completion */
	CAY_VCI_FREE_ORDER = 1 << 1, /* may be reordered */
	CAY_VCI_FENCE = 1 << 2,	     /* start after all earlier requests */
	CAY_VCI_INTERRUPT = 1 << 3,  /* interrupt the target */
	CAY_VCI_PRIORITY = 1 << 4,
};
#define CAY_VCI_FLAGS 0x1fu

/*
 * Word 0: command 15:0, routing length 23:16, flags 31:24, routing offset
 * 55:32, generation 63:56. It is stored last, with release, so that an engine
 * can poll the VCI.
 * Word 1: target VPID 15:0, payload bytes of a fast operation 31:16, API tag
 * 63:32. Word 2: user tag. Words 3 to 7 depend on the command.
 */
struct cay_vci {
	uint64_t word[CAY_WORDS];
};

#define CAY_VCI_ROUTING_LENGTH_SHIFT 16
#define CAY_VCI_FLAGS_SHIFT	     24
#define CAY_VCI_ROUTING_OFFSET_SHIFT 32
#define CAY_VCI_ROUTING_OFFSET_MASK  0xffffffull
#define CAY_VCI_GENERATION_SHIFT     56
#define CAY_VCI_BYTES_SHIFT	     16
#define CAY_VCI_API_TAG_SHIFT	     32

/* Routing length of every route within a host; 0 is invalid. */
#define CAY_VCI_ROUTE_LOCAL (1ull << CAY_VCI_ROUTING_LENGTH_SHIFT)

#define CAY_VCI_WORD_COMMAND	   0
#define CAY_VCI_WORD_TARGET	   1
#define CAY_VCI_WORD_TAG	   2
#define CAY_VCI_WORD_DATA	   3 /* FAST_SEND: 40 bytes of payload */
#define CAY_VCI_WORD_SDR_OFFSET	   3 /* SEND */
#define CAY_VCI_WORD_LENGTH	   4 /* SEND */
#define CAY_VCI_WORD_WINDOW	   3 /* accesses: Win-ID 15:0, capability 63:16 */
#define CAY_VCI_WORD_OFFSET	   4 /* in the target window */
#define CAY_VCI_WORD_OPERAND	   5 /* FAST_PUT, MISALIGNED_PUT, FAA, CAS */
#define CAY_VCI_WORD_ORIGIN	   5 /* PUT, GET: Win-ID of the origin */
#define CAY_VCI_WORD_ORIGIN_OFFSET 6 /* PUT, GET: offset in that window */
#define CAY_VCI_WORD_BYTES	   7 /* PUT, GET: length */

#define CAY_VCI_CAPABILITY_SHIFT 16
#define CAY_CAPABILITY_MASK	 0xffffffffffffull /* 48 bits */

/* ---- ULTRA: a slice ---- */

/*
 * A slice is a power of two of 64 to 4096 bytes and holds one message, aligned
 * to its end: the status is its last word, the user tag the word before, and
 * the payload, padded to whole words, ends before the tag. Messages of up to
 * 48 bytes therefore touch one line.
 *
 * Status: length 15:0, flags 23:16, generation 63:32. It is stored last, with
 * release. The generation is 1 + the lap of the slice, modulo 2^32.
 */
#define CAY_ULTRA_SLICE_MIN	   64
#define CAY_ULTRA_SLICE_MAX	   4096
#define CAY_ULTRA_TRAILER	   16 /* bytes of tag and status */
#define CAY_ULTRA_FLAGS_SHIFT	   16
#define CAY_ULTRA_GENERATION_SHIFT 32

enum cay_ultra_flag {
	CAY_ULTRA_NOTIFY = 1 << 0, /* NOTIFY_ULTRA when it is injected */
	CAY_ULTRA_ACK = 1 << 1,	   /* when the target has taken it */
	CAY_ULTRA_IRQ = 1 << 2,	   /* interrupt the target */
};

/* ---- NQE: a notification ---- */

/*
 * Word 0: user tag. Word 1: peer node 31:0, API tag 63:32.
 * NOTIFY_FAST_RECV: words 2 to 6 are 40 bytes of payload.
 * Other notifications: word 2 length; word 3 RDR start in 64-byte units, window
 * offset, result, or cookie; word 4 Win-ID, second result, reference, or posted
 * receive; word 5 WQ read position 31:0, RDR write position 63:32; word 6
 * completed command 15:0 and, in a NOTIFY_CC, the reference that it frees 31:16
 * and the sequence number of that reference 63:32.
 * A NOTIFY_ULTRA has the position of the message on its path in word 3, the
 * UPIDs in word 4 (origin 15:0, target 31:16), and in word 6 the flags of the
 * message, in the group ULTRA.
 * The NOTIFY_CC of a FAST_GET holds its 1 to 24 bytes in words 2 to 4, that of
 * a RESOLVE the epoch of the peer in word 3 and its peer index in word 4.
 * A NOTIFY_STATUS has the positions in the posted receive queue in word 0
 * (write 31:0, read 63:32), the WQ write position in word 2, W in word 3, R in
 * word 4. Word 7: command word 15:0, immediate bytes 31:16, peer VPID 47:32,
 * generation 63:48. It is stored last, with release.
 *
 * A message by reference is a NOTIFY_RECV with a nonzero word 4: 1 + the index
 * of the reference slot at the origin; word 3 is the sequence number of the
 * slot. An emulated access has the same form and its own command (PUT, GET,
 * FAA, ...); the port library of the target executes it. The immediate bytes of
 * a void entry are CAY_VOID_EXTENT if word 5 holds the RDR write position, else
 * CAY_VOID_UNKNOWN; they are never 0, so that a void entry differs from a
 * zeroed page.
 */
#define CAY_VOID_EXTENT	 1
#define CAY_VOID_UNKNOWN 2

struct cay_nqe {
	uint64_t word[CAY_WORDS];
};

#define CAY_NQE_WORD_TAG       0
#define CAY_NQE_WORD_PEER      1
#define CAY_NQE_WORD_DATA      2
#define CAY_NQE_WORD_LENGTH    2
#define CAY_NQE_WORD_START     3
#define CAY_NQE_WORD_RESULT    3
#define CAY_NQE_WORD_WINDOW    4
#define CAY_NQE_WORD_PREVIOUS  4
#define CAY_NQE_WORD_REFERENCE 4
#define CAY_NQE_WORD_OFFSET    3
#define CAY_NQE_WORD_COOKIE    3
#define CAY_NQE_WORD_POSTED    4
#define CAY_NQE_WORD_POINTERS  5
#define CAY_NQE_WORD_COMPLETED 6
#define CAY_NQE_WORD_VALID     7

#define CAY_NQE_API_TAG_SHIFT	  32
#define CAY_NQE_POSTED_READ_SHIFT 32 /* in word 0 of a NOTIFY_STATUS */
#define CAY_NQE_RDR_WRITE_SHIFT	  32
#define CAY_NQE_REFERENCE_SHIFT	  16 /* in word 6 of a NOTIFY_CC */
#define CAY_NQE_SEQUENCE_SHIFT	  32
#define CAY_NQE_BYTES_SHIFT	  16
#define CAY_NQE_VPID_SHIFT	  32
#define CAY_NQE_GENERATION_SHIFT  48

CAY_STATIC_ASSERT(sizeof(struct cay_vci) == CAY_LINE, "a VCI is one line");
CAY_STATIC_ASSERT(sizeof(struct cay_nqe) == CAY_LINE, "an NQE is one line");

/* ---- Triggerpage: offset bits 11:8 command, 7:3 parameter (0 is 32) ---- */

enum cay_issue {
	CAY_ISSUE_VCI = 0,	/* execute n posted VCIs */
	CAY_ISSUE_SNAPSHOT = 1, /* write a NOTIFY_STATUS with all pointers */
	CAY_ISSUE_NQ = 2,	/* return n notification entries */
	CAY_ISSUE_RDR = 3,	/* return n messages */
	CAY_ISSUE_BARRIER = 4,	/* arrive at barrier n */
	CAY_ISSUE_POSTED = 5,	/* add n posted receives */
	CAY_ISSUE_STATUS = 8,	/* bit: then write a NOTIFY_STATUS, too */
};
#define CAY_ISSUE_PARAMETER_MAX 32

#define CAY_TRIGGER_COMMAND_SHIFT   8
#define CAY_TRIGGER_PARAMETER_SHIFT 3

/* The result of a trigger. */
struct cay_answer {
	uint32_t accepted; /* number of accepted items */
	uint32_t reason;   /* enum cay_error if fewer than requested */
	uint32_t free;	   /* free entries of the queue that refused */
	uint32_t wait_ns;  /* hint: time to wait before a retry */
};

/* ---- port numbers ---- */

#define CAY_VPIDS     65536
#define CAY_VPID_NODE 0 /* management port, owned by the node */

/* ---- window descriptor: one line; see cay_contract(7) ---- */

enum cay_right {
	CAY_RIGHT_READ = 1 << 0,
	CAY_RIGHT_WRITE = 1 << 1,
	CAY_RIGHT_ATOMIC = 1 << 2,
	CAY_RIGHT_NOTIFY_ACCESS = 1 << 3,
	CAY_RIGHT_NOTIFY_REFUSAL = 1 << 4,
};

struct cay_window_descriptor {
	uint64_t start;	     /* arena offset, or address in the owner */
	uint64_t length;     /* bytes */
	uint64_t capability; /* 47:0 random; 63:48 generation */
	uint64_t lock;	     /* holder: VPID 15:0, epoch 63:32; 0: none */
	uint32_t rights;     /* enum cay_right; 0: not in use */
	uint16_t previous;   /* ring of the windows on this memory */
	uint16_t next;
	uint32_t pid;	 /* of the owner if the memory is private; else 0 */
	uint32_t cookie; /* value at cookie_address in the owner */
	uint64_t cookie_address;
	uint32_t refusals; /* number of refused accesses */
	uint32_t notified; /* 1 + NQ position of the last refusal NQE, or 0 */
};
CAY_STATIC_ASSERT(sizeof(struct cay_window_descriptor) == CAY_LINE,
	"a window descriptor is one line");

/* ---- posted receive ---- */

enum cay_posted_flag {
	CAY_POSTED_PHYSICAL = 1 << 0, /* `offset` is a physical address */
	CAY_POSTED_PRIVATE = 1 << 1,  /* an address in the receiver's process */
};

struct cay_posted_receive {
	uint64_t offset; /* arena offset of the buffer */
	uint64_t length; /* bytes */
	uint64_t cookie; /* returned in the NQE */
	uint64_t flags;	 /* enum cay_posted_flag */
	uint64_t state;	 /* owned by the device */
	/* With PRIVATE, written by the library: */
	uint32_t pid;		 /* of the receiver */
	uint32_t process_cookie; /* value at cookie_address there */
	uint64_t cookie_address;
	uint64_t reserved;
};
CAY_STATIC_ASSERT(sizeof(struct cay_posted_receive) == CAY_LINE,
	"a posted receive is one line");

#ifdef __cplusplus
}
#endif

#endif
