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

struct machine_ultra_ends {
	struct machine *origin, *target;
	uint16_t vpid; /* of the origin */
	struct machine_ultra_queue queue;
	uint32_t route, entries;
};

struct machine_ultra_status {
	uint64_t written;   /* messages: into the queue, or into slices */
	uint64_t read;	    /* injected; of a target: its position */
	uint64_t returned;  /* of an origin: the position of the target */
	uint64_t discarded; /* of a target */
	uint16_t peer_upid;
	bool enabled, gone; /* gone: the other end is */
};

#endif
