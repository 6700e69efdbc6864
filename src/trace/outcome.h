/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The outcome of a trace: the result of each instruction, the notifications of
 * each port in order, the memory of the windows. The platforms of the device
 * and the oracle each produce one, and outcomes are compared.
 *
 * Details that depend on placement are left out: generations, RDR offsets,
 * reference slots.
 */
#ifndef CAY_TRACE_OUTCOME_H
#define CAY_TRACE_OUTCOME_H

#include "trace/trace.h"

/* A notification as its port consumed it. */
struct outcome_nqe {
	uint16_t command; /* command word, with the error */
	uint16_t bytes;	  /* immediate */
	uint16_t peer;	  /* port */
	uint16_t completed;
	uint32_t api_tag;
	uint64_t tag;
	uint64_t word[3]; /* words 2 to 4, where they have a meaning */
	uint64_t payload; /* its digest; 0: none */
};

struct outcome_port {
	struct outcome_nqe *nqe;
	uint32_t count, capacity;
};

/* The result of an instruction. */
struct outcome_result {
	int result;	      /* 0; 1: refused, see its completion; -errno */
	bool retried;	      /* a queue was full at first */
	uint64_t data_digest; /* of the data read into memory; 0: none */
};

struct outcome {
	const struct trace *trace;
	struct outcome_port *port;     /* by port */
	struct outcome_result *result; /* by instruction */
	unsigned char **memory;	       /* by region */
	bool failed;		       /* memory was exhausted */
};

/* Returns 0 or -ENOMEM. The trace must outlive the outcome. */
int outcome_open(struct outcome *, const struct trace *);
void outcome_free(struct outcome *);

/* Appends a notification; sets `failed` if memory is exhausted. */
void outcome_add(struct outcome *, uint32_t port, const struct outcome_nqe *);

uint64_t outcome_memory_digest(const struct outcome *, uint32_t region);

/* Digest of all notifications of a port, in order. */
uint64_t outcome_nqes_digest(const struct outcome *, uint32_t port);

bool outcome_nqe_equal(const struct outcome_nqe *, const struct outcome_nqe *);

/* Returns true and describes the first difference if the outcomes differ. */
bool outcome_differs(const struct outcome *, const struct outcome *, char *text,
	size_t size);

/*
 * Compares outcomes of which one depends on the order between origins: on
 * threads, or on machines. Notifications are compared per origin and target, in
 * their order; messages and accesses at the target apart from completions at
 * the origin. Ignored are, and nothing else,
 *
 * - the order between pairs of origin and target;
 * - retries: how often queues were full;
 * - the place of the completion of a message by reference, which is written
 *   when the target reads the message, among the other completions; and the
 *   completion itself if its port is closed by then;
 * - notifications of refusals, of which one stands for all until the owner
 *   polls, if the owners have not polled at the same time: something was
 *   retried, or flush waited for a message by reference.
 */
bool outcome_pairs_differ(const struct outcome *, const struct outcome *,
	char *text, size_t size);

/* Formats a notification for a message. */
void outcome_describe(const struct outcome_nqe *, char *text, size_t size);

static inline unsigned outcome_error(const struct outcome_nqe *n)
{
	return (n->command & CAY_COMMAND_ERROR_MASK) >> CAY_COMMAND_ERROR_SHIFT;
}

static inline unsigned outcome_command(const struct outcome_nqe *n)
{
	return n->command & CAY_COMMAND_MASK;
}

#endif
