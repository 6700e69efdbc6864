/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing queue sets: their size, their layout, and the order in
 * which their words become visible. Called by the node and by the test fixture.
 *
 *	queue_set_layout(&config, &options)
 *	... allocate zeroed config.queues_bytes and config.tables_bytes,
 *	    set queues_offset, tables_offset, vpid and epoch
 *	queue_set_open(arena, &config, first_epoch)
 *	... queue_set_close(arena, vpid, epoch)
 */
#ifndef CAY_DEVICE_QUEUE_SET_H
#define CAY_DEVICE_QUEUE_SET_H

#include "device/context.h"

/* Requested sizes of a port; 0 selects the default of contract/arena.h. */
struct queue_options {
	uint8_t nq_log2, wq_log2;   /* entries */
	uint8_t rdr_log2, sdr_log2; /* units of 64 bytes */
	uint8_t posted_log2;	    /* posted receives */
	uint32_t peers, windows;
};

/*
 * Computes a configuration: sizes, reserves, layout, bytes of both extents. The
 * options must be within the limits of contract/arena.h; queue_config_valid()
 * checks the finished configuration.
 */
void queue_set_layout(struct queue_config *, const struct queue_options *);

/*
 * Makes a queue set visible. The extents must be zeroed, because zero words are
 * unpublished entries and old ones may not be; the previous set with this
 * control must be closed. first_epoch is the first epoch of the port: that of
 * this set, unless it replaces one of the same port. A replacement keeps the
 * posted mode.
 */
void queue_set_open(const struct arena *, const struct queue_config *,
	uint32_t first_epoch, enum posted_mode);

/*
 * Closes a queue set: every later claim fails. Wakes a receiver that sleeps on
 * W and senders that wait for room. Does not change the directory. Returns the
 * previous W: if it contains ARMED, the caller rings the doorbell.
 */
uint64_t queue_set_close(const struct arena *, uint16_t vpid, uint32_t epoch);

/* Marks the VPID as free in the directory. */
void queue_set_forget(const struct arena *, uint16_t vpid);

#endif
