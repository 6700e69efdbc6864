/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing queue sets: how large one is, where its parts lie, and
 * in which order its words become visible. The node's thread does it, and the
 * fixture of the tests.
 *
 *	queue_set_layout(&config, &options)
 *	... find config.queues_bytes and config.tables_bytes in the heap,
 *zeroed, fill in queues_offset, tables_offset, vpid and epoch
 *	queue_set_open(arena, &config, first_epoch)
 *	... queue_set_close(arena, vpid, epoch)
 */
#ifndef CAY_DEVICE_QUEUE_SET_H
#define CAY_DEVICE_QUEUE_SET_H

#include "device/context.h"

/* What a port asks for; 0 is the default of contract/arena.h. */
struct queue_options {
	uint8_t nq_log2, wq_log2;   /* entries */
	uint8_t rdr_log2, sdr_log2; /* units of 64 bytes */
	uint8_t posted_log2;	    /* posted receives */
	uint32_t peers, windows;
};

/*
 * Computes a configuration: sizes, reserves, places, bytes of both extents.
 * Wishes must lie within the limits of contract/arena.h; queue_config_valid()
 * of the finished configuration tells.
 */
void queue_set_layout(struct queue_config *, const struct queue_options *);

/*
 * Makes a queue set visible. The extents must be zeroed, because a page of
 * zeros is invalid and leftovers may not be; the set that had this control
 * before must be closed. `first_epoch` is the first epoch of the port: the
 * set's own unless it replaces another one of the same port, whose posted mode
 * goes on.
 */
void queue_set_open(const struct arena *, const struct queue_config *,
	uint32_t first_epoch, enum posted_mode);

/*
 * No claim succeeds after it. Wakes a receiver that sleeps on W and senders
 * that wait for room. Does not touch the directory, and rings no descriptor:
 * gives the W that was closed, whose ARMED says whether one waits.
 */
uint64_t queue_set_close(const struct arena *, uint16_t vpid, uint32_t epoch);

/* Nobody has the VPID any more. */
void queue_set_forget(const struct arena *, uint16_t vpid);

#endif
