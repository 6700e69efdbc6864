/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The oracle's own state: memory, queues that are lists, room that is counted.
 * Nothing of the oracle may include a header of the device.
 */
#ifndef CAY_TRACE_ORACLE_MODEL_H
#define CAY_TRACE_ORACLE_MODEL_H

#include "contract/arena.h"
#include "trace/oracle.h"

#define REFERENCES 64 /* long messages that a port may have under way */
#define NOBODY	   UINT32_MAX

struct model_window {
	unsigned rights; /* 0: not open */
	uint64_t key;
	uint32_t region;
	uint64_t at, bytes;
	bool told; /* of a refusal, and it was not taken yet */
};

/* A notification that waits to be taken. */
struct model_entry {
	struct outcome_note note;
	bool reserved;	/* a completion, for which room was reserved */
	bool reference; /* it frees a reference */
	uint32_t from;	/* whose long message it is, or NOBODY */
	uint16_t ends;	/* the command that it then completes */
	uint32_t slot;	/* 1 + posted receive that it has filled */
};

enum slot_state {
	SLOT_FREE,
	SLOT_READY,
	SLOT_FILLED,
};

struct model_slot {
	enum slot_state state;
	uint64_t bytes, cookie;
};

struct model_port {
	struct model_window *window;
	struct model_entry *entry;
	uint32_t count; /* of the entries */
	uint64_t rdr_write, rdr_read;
	uint32_t completions; /* reserved and not yet taken */
	uint32_t references;  /* in use */
	uint32_t *pending;    /* long messages not taken, by target */
	enum posted_mode mode;
	struct model_slot *slot;
	uint32_t slot_post, slot_take; /* where to look next */
	bool words, closed;
};

struct oracle {
	const struct trace *trace;
	enum oracle_fault fault;
	struct outcome *out;
	struct model_port *port;
	uint32_t *lock; /* by region: 1 + port, or 0 */
	uint32_t nq_entries, keep_completions, keep_priority;
	unsigned char *data;
};

static inline uint16_t model_command(unsigned command, enum cay_error error)
{
	return (uint16_t)(command | (unsigned)error << CAY_COMMAND_ERROR_SHIFT);
}

/* ---- oracle_access.c ---- */

/*
 * Whatever the device executes. 0; 1: refused; -EAGAIN; -EPIPE. `got` is the
 * digest of what came to memory.
 */
int model_issue(
	struct oracle *, const struct trace_instruction *, uint64_t *got);

/* ---- oracle_send.c ---- */

/* The same for a message; room for its completion was reserved. */
int model_send(struct oracle *, const struct trace_instruction *);

/* Room for a completion; false if there is none. */
bool model_reserve(struct oracle *, uint32_t port);

/* Adds a notification to a port's queue, in which there is room. */
void model_notify(struct oracle *, uint32_t port, const struct model_entry *);
void model_complete(
	struct oracle *, uint32_t port, const struct outcome_note *);

#endif
