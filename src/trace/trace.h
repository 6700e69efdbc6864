/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace: ports and their instructions in one total order. cay-trace(1)
 * describes the file. All of it is private memory of one thread.
 *
 *	struct trace t;
 *	struct trace_error e;
 *	if (trace_parse(text, length, &t, &e) == 0) {
 *		... t.instruction[i] ...
 *		trace_free(&t);
 *	}
 *
 * Instructions have the names and the semantics of the public calls. The replay
 * performs those that need a node or a process (locks, windows, closing a port)
 * itself. `drain` stands for polling: the port consumes all its notifications.
 *
 * An instruction that finds a queue full is retried once, after all ports have
 * drained.
 */
#ifndef CAY_TRACE_TRACE_H
#define CAY_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cay/message.h"
#include "cay/posted.h"

#define TRACE_PORTS_MAX 256
#define TRACE_DATA_MAX	64	     /* bytes of payload in the trace itself */
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
	TRACE_PORT_OPEN, /* only in the files of the recorder */
	TRACE_KINDS,
};

struct trace_instruction {
	enum trace_kind kind;
	uint32_t line;	      /* of the file; 0: none */
	uint64_t time_ns;     /* since the first instruction */
	uint64_t duration_ns; /* of the recorded call */
	uint32_t thread;      /* that made it; 0: not known */
	uint16_t port;	      /* origin */
	uint16_t peer;	      /* target; the origin if there is none */
	uint32_t node;	      /* recorder: ports are VPIDs of this node */
	uint16_t window;      /* Win-ID, at the peer if there is one */
	uint8_t flags;	      /* enum cay_flag */
	uint8_t rights;	      /* enum cay_right */
	bool event; /* data is read into the event instead of memory */
	bool words; /* port_open: word mode */
	uint8_t data_bytes;
	enum cay_receive_mode mode;
	uint32_t api_tag;
	uint64_t tag;
	uint64_t key;	 /* capability, 48 bits */
	uint64_t offset; /* in the window */
	uint64_t bytes;
	uint64_t operand[2]; /* addend; compare, swap; word, enables */
	uint64_t cookie;
	uint64_t base; /* window: address in the owner; 0: memory of its own */
	/*
	 * The payload is `data` if data_bytes is not 0, else it is generated
	 * from `seed`; seed 0 gives zeros.
	 */
	uint64_t seed;
	unsigned char data[TRACE_DATA_MAX];
	/* window: its place in memory, set by trace_check() */
	uint32_t region;
	uint64_t region_at;
};

/* Sizes of the queues, the same for all ports. */
struct trace_queues {
	uint32_t nq_entries, windows, posted;
	uint64_t rdr_bytes;
};

struct trace_port {
	bool words;	  /* word mode */
	uint32_t process; /* that was recorded; 0: not known */
};

/* Memory of a port; windows whose addresses overlap share a region. */
struct trace_region {
	uint16_t port;
	uint32_t skew; /* address modulo the page size */
	uint64_t bytes;
};

struct trace {
	uint32_t process; /* of a part: the process that wrote it */
	struct trace_queues queues;
	uint32_t ports;
	struct trace_port port[TRACE_PORTS_MAX];
	uint32_t count, capacity;
	struct trace_instruction *instruction;
	uint32_t regions;
	struct trace_region *region;
};

/* The first error in a trace, and its line; line 0: the trace as a whole. */
struct trace_error {
	uint32_t line;
	char text[160];
};

/* Makes a trace without ports, with queues of the default sizes. */
void trace_open(struct trace *);
void trace_free(struct trace *);

/* Raises each size to at least that of the second argument. */
void trace_queues_join(struct trace_queues *, const struct trace_queues *);

/* Appends an instruction. Returns 0 or -ENOMEM. */
int trace_add(struct trace *, const struct trace_instruction *);

/*
 * Checks a trace as a whole and assigns windows to regions. Returns 0, -EINVAL
 * or -ENOMEM. trace_parse() has done so; a trace built with trace_add() needs
 * the call.
 */
int trace_check(struct trace *, struct trace_error *);

/* Sets the error. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int trace_reject(
	struct trace_error *, uint32_t line, const char *format, ...);

/* Writes i->bytes bytes: a payload, or the initial contents of a window. */
void trace_payload(const struct trace_instruction *, unsigned char *to);

/* Returns true for instructions that the device executes. */
static inline bool trace_issues(enum trace_kind kind)
{
	return kind >= TRACE_SEND && kind <= TRACE_COMPARE_SWAP;
}

/* Returns true for instructions that are retried when a queue is full. */
static inline bool trace_retries(enum trace_kind kind)
{
	return trace_issues(kind) || kind == TRACE_RECEIVE_POST;
}

static inline bool trace_is_atomic(enum trace_kind kind)
{
	return kind == TRACE_FETCH_ADD || kind == TRACE_COMPARE_SWAP;
}

/* Returns true for accesses to one word. */
static inline bool trace_is_word(enum trace_kind kind)
{
	return trace_is_atomic(kind) || kind == TRACE_PUT_MASKED;
}

/* Bytes that a message or an access transfers. */
static inline uint64_t trace_length(const struct trace_instruction *i)
{
	return trace_is_word(i->kind) ? 8 : i->bytes;
}

/* Returns true if an instruction completes with a notification on success. */
static inline bool trace_completes(const struct trace_instruction *i)
{
	if (i->flags & (CAY_NOTIFY | CAY_ACK | CAY_BORROW))
		return true;
	return (trace_is_atomic(i->kind) || i->kind == TRACE_GET) && i->event;
}

/* ---- the file; format.c, parse.c, write.c ---- */

/* Returns 0, -EINVAL with the error set, or -ENOMEM. */
int trace_parse(
	const char *text, size_t length, struct trace *, struct trace_error *);

/*
 * Parses the file that the recorder wrote in one process: ports are VPIDs,
 * times are absolute, trace_check() is not applied. An unterminated last line
 * is ignored.
 */
int trace_parse_part(
	const char *text, size_t length, struct trace *, struct trace_error *);

/* The longest line, with its newline and the terminating 0. */
#define TRACE_LINE_MAX 512

/* Formats an instruction as a line. Returns its length. */
size_t trace_line(const struct trace_instruction *, char line[TRACE_LINE_MAX]);

/*
 * Formats the lines before the first instruction. Returns their length, also if
 * that exceeds `size`.
 */
size_t trace_head(const struct trace *, char *to, size_t size);

/* Formats the line of the queue sizes. Returns its length. */
size_t trace_queues_line(
	const struct trace_queues *, char line[TRACE_LINE_MAX]);

/* "put" and so on. */
const char *trace_kind_name(enum trace_kind);

#endif
