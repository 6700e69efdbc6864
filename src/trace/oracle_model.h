/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State and steps of the oracle's model: windows, queues as arrays of entries,
 * reservations as counters. The oracle must not include headers of the device.
 */
#ifndef CAY_TRACE_ORACLE_MODEL_H
#define CAY_TRACE_ORACLE_MODEL_H

#include "contract/arena.h"
#include "trace/oracle.h"

#define REFERENCES 64 /* borrowed messages a port may have in flight */
#define COPIED	   64 /* and copied ones */
#define NO_PORT	   UINT32_MAX

struct model_window {
	unsigned rights; /* 0: not open */
	uint64_t key;
	uint32_t region;
	uint64_t at, bytes;    /* in the region */
	bool refusal_notified; /* and the owner has not polled since */
};

/* A notification that its port has not consumed yet. */
struct model_entry {
	struct outcome_nqe nqe;
	bool reserved;	  /* a completion, for which an entry was reserved */
	bool reference;	  /* consuming it frees a reference of the port */
	uint32_t sender;  /* of a by-reference message, else NO_PORT */
	bool copied;	  /* that message has no completion */
	uint16_t command; /* of that message: its completion names it */
	uint32_t slot;	  /* 1 + posted receive that it has filled, or 0 */
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
	uint32_t completions; /* reserved and not yet consumed */
	uint32_t references;  /* in use */
	uint32_t copied;      /* copied messages that are not consumed */
	uint32_t *pending;    /* borrowed messages in flight, by target */
	enum posted_mode mode;
	struct model_slot *slot;
	uint32_t slot_post, slot_take; /* next slot to post and to fill */
	bool words, closed;
};

struct oracle {
	const struct trace *trace;
	enum oracle_fault fault;
	struct outcome *out;
	struct model_port *port;
	uint32_t *lock; /* by region: 1 + port, or 0 */
	uint32_t nq_entries;
	uint32_t keep_completions; /* entries that only completions may use */
	uint32_t keep_priority; /* entries that CAY_PRIORITY may use as well */
	unsigned char *data;	/* payload of one message */
};

/* ---- oracle.c ---- */

/* Fills `out`, which the caller frees. Returns NULL if memory is exhausted. */
struct oracle *oracle_open(
	const struct trace *, enum oracle_fault, struct outcome *out);
void oracle_close(struct oracle *);

/* Executes instruction n, with a retry as described in trace.h. */
void oracle_step(struct oracle *, uint32_t n);

/* ---- oracle_notify.c ---- */

/* The completion of an instruction, without the data that it has read. */
struct outcome_nqe oracle_completion(
	const struct trace_instruction *, enum cay_error);

/* The notification of a window's owner about an access. */
struct outcome_nqe oracle_access_notice(
	const struct trace_instruction *, enum cay_error);

/* Free NQ entries of a port for messages with these flags. */
uint32_t oracle_free_entries(
	const struct oracle *, uint32_t port, unsigned flags);

/* Reserves the entry of a completion. Returns false if there is none. */
bool oracle_reserve(struct oracle *, uint32_t port);

/* Adds an entry to a port's queue; the caller has checked that it fits. */
void oracle_notify(struct oracle *, uint32_t port, const struct model_entry *);
void oracle_complete(
	struct oracle *, uint32_t port, const struct outcome_nqe *);

static inline uint16_t oracle_command(unsigned command, enum cay_error error)
{
	return (uint16_t)(command | (unsigned)error << CAY_COMMAND_ERROR_SHIFT);
}

/* ---- oracle_send.c ---- */

/* Sends a message whose completion is reserved. Returns 0 or -EAGAIN. */
int oracle_send(struct oracle *, const struct trace_instruction *);

/* The notification of a message that is not received into a posted buffer. */
struct outcome_nqe oracle_message(
	const struct oracle *, const struct trace_instruction *);

/* ---- oracle_access.c ---- */

/*
 * Executes an access; `reserved` if its completion is reserved. Returns 0, 1 if
 * the access was refused, or -EAGAIN. `data_digest` is set if it reads into
 * memory.
 */
int oracle_access(struct oracle *, const struct trace_instruction *,
	bool reserved, uint64_t *data_digest);

/* The error with which a window would refuse the access now. */
enum cay_error oracle_refusal(
	const struct oracle *, const struct trace_instruction *);

/* Returns the region that a permitted access touches, and the offset in it. */
uint32_t oracle_region(
	const struct oracle *, const struct trace_instruction *, uint64_t *at);

/* Returns true if a permitted access notifies the window's owner. */
bool oracle_notifies_owner(
	const struct oracle *, const struct trace_instruction *);

/* Applies an atomic or a masked put; `result`: result and previous value. */
void oracle_operate(const struct trace_instruction *, enum oracle_fault,
	uint64_t *word, uint64_t result[2]);

#endif
