/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came of a trace: what each instruction gave its caller, what each port
 * was notified of, what is in the windows' memory. The device's platforms and
 * the oracle each make one, and then they are compared.
 *
 * Left out is what depends on where things lie and not on what happened:
 * generations, places in the RDR, reference slots.
 */
#ifndef CAY_TRACE_OUTCOME_H
#define CAY_TRACE_OUTCOME_H

#include "trace/trace.h"

/* A notification, as its port took it. */
struct outcome_note {
	uint16_t command; /* command word, with the error */
	uint16_t bytes;	  /* immediate */
	uint16_t peer;	  /* port */
	uint16_t completed;
	uint32_t api_tag;
	uint64_t tag;
	uint64_t word[3]; /* words 2 to 4, where they mean something */
	uint64_t payload; /* its digest; 0: none */
};

struct outcome_port {
	struct outcome_note *note;
	uint32_t count, room;
};

/* What an instruction gave whoever issued it. */
struct outcome_result {
	int result;   /* 0; 1: refused, a notification says why; -errno */
	bool held;    /* there was no room at first */
	uint64_t got; /* digest of what came into memory; 0: nothing */
};

struct outcome {
	const struct trace *trace;
	struct outcome_port *port;     /* by port */
	struct outcome_result *result; /* by instruction */
	unsigned char **memory;	       /* by region */
	bool failed;		       /* for want of memory */
};

/* 0 or -ENOMEM. The trace must outlive it. */
int outcome_open(struct outcome *, const struct trace *);
void outcome_free(struct outcome *);

/* Adds a notification; if there is no memory, `failed` says so in the end. */
void outcome_note(struct outcome *, uint32_t port, const struct outcome_note *);

uint64_t outcome_memory_digest(const struct outcome *, uint32_t region);

/* Of all that a port was notified of, in order. */
uint64_t outcome_notes_digest(const struct outcome *, uint32_t port);

bool outcome_note_same(
	const struct outcome_note *, const struct outcome_note *);

/* The first difference, in words; false if there is none. */
bool outcome_differs(const struct outcome *, const struct outcome *, char *text,
	size_t room);

/*
 * The same for origins that raced: of what each port was notified, only the
 * order of what came from one origin counts, and refusals that a window's owner
 * was told of do not count, because they are told once for many.
 */
bool outcome_differs_by_origin(const struct outcome *, const struct outcome *,
	char *text, size_t room);

/* A notification in words. */
void outcome_describe(const struct outcome_note *, char *text, size_t room);

static inline unsigned outcome_error(const struct outcome_note *n)
{
	return (n->command & CAY_COMMAND_ERROR_MASK) >> CAY_COMMAND_ERROR_SHIFT;
}

static inline unsigned outcome_command(const struct outcome_note *n)
{
	return n->command & CAY_COMMAND_MASK;
}

#endif
