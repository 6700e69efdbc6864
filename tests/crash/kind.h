/* SPDX-License-Identifier: BSD-2-Clause */
/* What the victim of a scenario does when it strikes. */
#ifndef CAY_TESTS_CRASH_KIND_H
#define CAY_TESTS_CRASH_KIND_H

#include <stdbool.h>

#include "device/step.h"
#include "page.h"

enum family {
	FAMILY_SEND,   /* it sends messages */
	FAMILY_ACCESS, /* it accesses a window of the receiver */
	FAMILY_LOCK,   /* the same, and has locked it */
	FAMILY_TAKE,   /* it receives long messages */
	FAMILY_SERVE,  /* it makes the accesses of others to its own memory */
};

enum message {
	MESSAGE_FAST,	/* 40 bytes and less */
	MESSAGE_SEND,	/* through the RDR */
	MESSAGE_LONG,	/* by reference from cay_alloc() memory */
	MESSAGE_STAGED, /* by reference from ordinary memory */
	MESSAGE_ACK,	/* with a completion in the sender's own queue */
	MESSAGE_SHORT,	/* 100 bytes */
	MESSAGE_BULK,	/* 64 KiB of ordinary memory */
};

/* Has the receiver posted buffers, and what becomes of those without? */
enum posting {
	POSTING_NOTHING,
	POSTING_RDR,
	POSTING_HELD,
};

struct kind {
	const char *name;
	enum family family;
	enum message message;
	enum posting posting;
	enum place place;
	enum access access;
};

extern const struct kind kinds[];
extern const unsigned kind_count;

/* NULL: there is none of this name. */
const struct kind *kind_named(const char *name);

/* Could it pass this step? Some that could do so only in some ways. */
bool kind_passes(const struct kind *, enum device_step);

/* Whoever stops after it keeps the receiver from what comes behind it. */
bool kind_blocks(const struct kind *, enum device_step);

/* Whoever stops after it is in the middle of an access to the window. */
bool kind_inside(const struct kind *, enum device_step);

#endif
