/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths of machines. A path leads from a port of the ULTRA requester of
 * one machine to a port of the ULTRA completer of the same or another one; each
 * of them has a UPID, in a space of its own (OUPID, TUPID).
 *
 * The set-up starts at the target. The node executes the steps, and a step that
 * fails undoes those before it; machine_ultra_path() does both.
 *
 * 1. machine_ultra_accept(): a completer port is assigned, not enabled.
 * 2. The TUPID is sent to the origin's node.
 * 3. machine_ultra_connect(): a requester port is configured for it.
 * 4. The OUPID is sent to the target's node.
 * 5. machine_ultra_admit(): the completer port accepts only that origin, and is
 *    enabled.
 * 6. The target's node signals to the origin's node that the path is complete.
 * 7. machine_ultra_enable(): the requester port is enabled.
 *
 * A write goes into the port's slice of the requester's packet queue. Ports
 * with messages and free slices at the target inject in turn. The completer
 * stores payload, tag and status into the next slice of the target's memory, in
 * the format of cay_contract(7). The target polls the status, and returns its
 * position with machine_ultra_return(), lazily; the position travels to the
 * requester in an ACK. A requester never injects more than the target has free
 * slices, so that a message that finds none, as one of a foreign origin, is
 * discarded and counted.
 */
#ifndef CAY_DEVICE_MACHINE_ULTRA_H
#define CAY_DEVICE_MACHINE_ULTRA_H

#include "device/machine/machine.h"

/* ---- set-up: what the node does on the real clock ---- */

/* The target's queue. Its memory is valid until the completer port is closed.
 */
struct machine_ultra_queue {
	uint16_t vpid;
	uint8_t slice_log2, slices_log2;
	unsigned char *slices; /* zeroed; aligned to a line */
};

struct machine_ultra_target {
	struct machine_peer port; /* with its first epoch */
	uint16_t upid;
	uint8_t slice_log2, slices_log2;
};

struct machine_ultra_origin {
	struct machine_peer port; /* with its first epoch */
	uint16_t upid;
};

/*
 * Step 1. Returns 0, -ENXIO (no such port), -EINVAL (sizes; a slice is longer
 * than the MTU allows) or -ENOSPC (no port of the completer is free).
 */
int machine_ultra_accept(
	struct machine *, const struct machine_ultra_queue *, uint16_t *tupid);
/*
 * Step 3. `route` is one of machine_route() if the target is on another node.
 * The slice of the packet queue has `entries` messages, a power of two. Returns
 * as above, or -EHOSTUNREACH (no such route), -EPIPE (the target's node is
 * gone); -ENOSPC also if the packet queue has no room.
 */
int machine_ultra_connect(struct machine *, uint16_t vpid,
	const struct machine_ultra_target *, uint32_t route, uint32_t entries,
	uint16_t *oupid);
/* Step 5. Returns 0, -ENXIO (no such port) or -EINVAL (it is enabled). */
int machine_ultra_admit(
	struct machine *, uint16_t tupid, const struct machine_ultra_origin *);
/* Step 7. The same. */
int machine_ultra_enable(struct machine *, uint16_t oupid);

struct machine_ultra_ends {
	struct machine *origin, *target;
	uint16_t vpid; /* of the origin */
	struct machine_ultra_queue queue;
	uint32_t route, entries;
};

/* All steps. On failure, returned as by the step, the earlier are undone. */
int machine_ultra_path(
	const struct machine_ultra_ends *, uint16_t *oupid, uint16_t *tupid);

/*
 * Frees a port. The other end of the path is not told: see below. Messages of a
 * requester port that are not injected are lost; what asks for a notification
 * gets it with CAY_ERROR_GONE. No effect if there is no such port.
 */
void machine_ultra_close_origin(struct machine *, uint16_t oupid);
void machine_ultra_close_target(struct machine *, uint16_t tupid);
/*
 * The other end is closed. The origin's writes fail, and what it waits for ends
 * with CAY_ERROR_GONE; at the target what is stored stays.
 */
void machine_ultra_target_gone(struct machine *, uint16_t oupid);
void machine_ultra_origin_gone(struct machine *, uint16_t tupid);

/* ---- software: its mapped page is the identity of a port ---- */

/*
 * Writes a message into the packet queue. Flags are enum cay_ultra_flag.
 * Returns 0; -EAGAIN: refused, because the port's slice of the queue is full,
 * with NOTIFY also reported as NOTIFY_ULTRA with CAY_ERROR_NO_RESOURCES, or
 * because the NQ or the notification unit has no room for what it asks for;
 * -EMSGSIZE; -EINVAL (flags); -ENXIO (no such port, or it belongs to another,
 * or is not enabled); -EPIPE (the target is gone).
 */
int machine_ultra_write(struct machine *, uint16_t vpid, uint16_t oupid,
	uint64_t tag, const void *data, size_t length, unsigned flags);
/*
 * The target has taken all messages before a position. Returns 0, -ENXIO, or
 * -EINVAL: it is before an earlier one, or behind what is stored.
 */
int machine_ultra_return(
	struct machine *, uint16_t vpid, uint16_t tupid, uint64_t position);

struct machine_ultra_status {
	uint64_t written;   /* messages: into the queue, or into slices */
	uint64_t read;	    /* injected; of a target: its position */
	uint64_t returned;  /* of an origin: the position of the target */
	uint64_t discarded; /* of a target */
	uint16_t peer_upid;
	bool enabled, gone; /* gone: the other end is */
};

/* The read pointer of a requester port, and more. Returns 0 or -ENXIO. */
int machine_ultra_origin_status(struct machine *, uint16_t vpid, uint16_t oupid,
	struct machine_ultra_status *);
int machine_ultra_target_status(struct machine *, uint16_t vpid, uint16_t tupid,
	struct machine_ultra_status *);

#endif
