/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying borrowed messages, and messages polled without their bytes. */
#ifndef CAY_PORT_FETCH_H
#define CAY_PORT_FETCH_H

#include "port/port.h"

/* A message by reference that this port has started to read. */
struct fetch {
	uint64_t tag, length;
	uint32_t api_tag;
	uint32_t reference; /* 1 + index of the slot */
	uint32_t sequence;
	uint16_t vpid; /* of the origin */
	uint16_t command;
	bool alone; /* without help: an attempt has failed */
};

/*
 * Reads from the origin, after checking its cookie; 0 bytes check only that.
 * Returns as process_memory_read().
 */
int fetch_read(
	const struct reference *copy, uint64_t at, void *to, uint64_t bytes);

/*
 * Copies the first `bytes` of the message, from the arena or out of the origin.
 * Returns an enum cay_error, or -EFAULT: `to` cannot be written. Any thread.
 */
int fetch_copy(
	struct cay_port *, const struct fetch *, void *to, uint64_t bytes);

/* Ends the reference: its origin gets the completion. */
void fetch_complete(struct cay_port *, const struct fetch *, int error);

/*
 * CAY_PORT_FETCH: keeps the message for cay_event_fetch() and fills in the
 * event. Returns 0 or -ENOMEM. The consuming thread.
 */
int fetch_take(struct cay_port *, const struct fetch *, struct cay_event *);

#endif
