/* SPDX-License-Identifier: BSD-2-Clause */
/* The operation during which the victim fails. */
#ifndef CAY_TESTS_CRASH_KIND_H
#define CAY_TESTS_CRASH_KIND_H

#include <stdbool.h>

#include "device/step.h"
#include "page.h"

enum family {
	FAMILY_SEND,	/* sends messages */
	FAMILY_ACCESS,	/* accesses a window of the receiver */
	FAMILY_LOCK,	/* accesses a window and holds its lock */
	FAMILY_RECEIVE, /* receives long messages */
	FAMILY_EXECUTE, /* executes emulated accesses to its memory */
};

#define PARTY_BURST 4 /* messages of a burst */

enum message {
	MESSAGE_FAST,	/* up to 40 bytes */
	MESSAGE_SEND,	/* through the RDR */
	MESSAGE_LONG,	/* borrowed from cay_alloc() memory */
	MESSAGE_STAGED, /* borrowed from ordinary memory */
	MESSAGE_COPIED, /* long, copied */
	MESSAGE_ACK,	/* with a completion in the sender's own queue */
	MESSAGE_BURST,	/* PARTY_BURST messages of up to 40 bytes at once */
	MESSAGE_SHORT,	/* 100 bytes */
	MESSAGE_BULK,	/* 64 KiB of ordinary memory */
};

/* Receive mode of the receiver. */
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
	enum window window;
	enum access access;
};

extern const struct kind kinds[];
extern const unsigned kind_count;

/* Returns NULL if there is no kind of this name. */
const struct kind *kind_named(const char *name);

/* Returns true if the kind can pass this step, possibly only in some modes. */
bool kind_passes(const struct kind *, enum device_step);

/*
 * Returns how often an operation passes the step: with an acknowledgement all
 * steps twice, in a burst some of them for each message.
 */
unsigned kind_times(const struct kind *, enum device_step);

/*
 * Returns true if a process that stops after the step blocks the receiver's
 * queue.
 */
bool kind_blocks(const struct kind *, enum device_step);

/* Returns true if an access is in progress after the step. */
bool kind_inside(const struct kind *, enum device_step);

#endif
