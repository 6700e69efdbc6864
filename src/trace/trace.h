/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace: ports and what they did, in one order. cay-trace(1) describes the
 * file. Everything here is private memory of one thread.
 *
 *	struct trace t;
 *	struct trace_complaint c;
 *	if (trace_parse(text, length, &t, &c) == 0) {
 *		... t.instruction[i] ...
 *		trace_free(&t);
 *	}
 *
 * The instructions have the names of the public calls and mean what these
 * mean. What only a node or a process could do (locks, windows, closing a port)
 * whoever replays a trace does in their place. `drain` is what a consumer does:
 * it takes everything that its port has been notified of.
 *
 * An instruction that finds no room is held: everybody drains, and it is tried
 * once more.
 */
#ifndef CAY_TRACE_TRACE_H
#define CAY_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cay/message.h"
#include "cay/posted.h"

#define TRACE_VERSION	1
#define TRACE_PORTS_MAX 256
#define TRACE_DATA_MAX	64	     /* bytes that stand in the trace itself */
#define TRACE_BYTES_MAX (1ull << 30) /* of a payload or a window */

enum trace_kind {
	TRACE_WINDOW,
	TRACE_WINDOW_CLOSE,
	TRACE_WINDOW_REVOKE,
	TRACE_WINDOW_LOCK,
	TRACE_WINDOW_UNLOCK,
	TRACE_RECEIVE_MODE,
	TRACE_RECEIVE_POST,
	TRACE_RECEIVE_CANCEL,
	TRACE_PEER_RESOLVE,
	TRACE_PEER_RELEASE,
	TRACE_SEND,
	TRACE_PUT,
	TRACE_PUT_MASKED,
	TRACE_GET,
	TRACE_FETCH_ADD,
	TRACE_COMPARE_SWAP,
	TRACE_FLUSH,
	TRACE_DRAIN,
	TRACE_PORT_CLOSE,
	TRACE_PORT_OPEN, /* only in what a recorder writes */
	TRACE_KINDS,
};

struct trace_instruction {
	enum trace_kind kind;
	uint32_t line;	  /* of the file; 0: of none */
	uint64_t time_ns; /* since the first one */
	uint16_t port;	  /* whose instruction it is */
	uint16_t peer;	  /* to whom */
	uint32_t node;	  /* of a recorder: then ports are VPIDs there */
	uint16_t window;  /* Win-ID, at the peer if there is one */
	uint8_t flags;	  /* enum cay_flag */
	uint8_t rights;	  /* enum cay_right */
	bool event;	  /* what is read goes to the event, not to memory */
	bool words;	  /* of a port that is opened: word mode */
	uint8_t data_bytes;
	enum cay_receive_mode mode;
	uint32_t api_tag;
	uint64_t tag;
	uint64_t key;	 /* capability, 48 bits */
	uint64_t offset; /* in the window */
	uint64_t bytes;
	uint64_t operand[2]; /* addend; compare, swap; word, enables */
	uint64_t cookie;
	uint64_t base; /* of a window: its address at its owner's; 0: its own */
	/* data, if data_bytes is not 0; else bytes from the seed, 0 is zeros */
	uint64_t seed;
	unsigned char data[TRACE_DATA_MAX];
	/* Of a window: where it lies; trace_check() fills these in. */
	uint32_t region;
	uint64_t region_at;
};

/* All ports have the same queues. */
struct trace_queues {
	uint32_t nq_entries, windows, posted;
	uint64_t rdr_bytes;
};

struct trace_port {
	bool words; /* word mode */
};

/* Memory of a port: windows whose addresses overlap share one. */
struct trace_region {
	uint16_t port;
	uint32_t skew; /* its address modulo a page */
	uint64_t bytes;
};

struct trace {
	struct trace_queues queues;
	uint32_t ports;
	struct trace_port port[TRACE_PORTS_MAX];
	uint32_t count, room;
	struct trace_instruction *instruction;
	uint32_t regions;
	struct trace_region *region;
};

/* What is wrong, and where. */
struct trace_complaint {
	uint32_t line;
	char text[160];
};

/* Without ports, with the default queues. */
void trace_open(struct trace *);
void trace_free(struct trace *);

/* Queues that have room for either. */
void trace_queues_join(struct trace_queues *, const struct trace_queues *);

/* 0 or -ENOMEM. */
int trace_add(struct trace *, const struct trace_instruction *);

/*
 * Does it make sense as a whole? Finds the regions of its windows. 0, -EINVAL,
 * -ENOMEM. trace_parse() has done it; whoever builds a trace does it himself.
 */
int trace_check(struct trace *, struct trace_complaint *);

/* The bytes of a payload, or of a fresh window; `to` has i->bytes of room. */
void trace_payload(const struct trace_instruction *, unsigned char *to);

/* Is it one that the device executes? */
static inline bool trace_issues(enum trace_kind kind)
{
	return kind >= TRACE_SEND && kind <= TRACE_COMPARE_SWAP;
}

/* ---- the file; format.c, parse.c, write.c ---- */

/* 0, -EINVAL (the complaint says why), -ENOMEM. */
int trace_parse(const char *text, size_t length, struct trace *,
	struct trace_complaint *);

/*
 * What a recorder has written in one process: ports are VPIDs, times absolute,
 * and nothing is checked as a whole. A last line without an end is left out.
 */
int trace_parse_part(const char *text, size_t length, struct trace *,
	struct trace_complaint *);

/* Never more than this with the terminating 0. */
#define TRACE_LINE_MAX 512

/* One instruction as a line, with its end. Its length. */
size_t trace_line(const struct trace_instruction *, char line[TRACE_LINE_MAX]);

/* What comes before the first instruction. Its length, or what it would be. */
size_t trace_head(const struct trace *, char *to, size_t room);

/* The line of queues, with its end. Its length. */
size_t trace_queues_line(
	const struct trace_queues *, char line[TRACE_LINE_MAX]);

/* "put" and the like. */
const char *trace_kind_name(enum trace_kind);

#endif
