/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of a machine, one set per platform: MACHINE(name) is
 * machine_<name> on the counting platform and engine_<name> on the real one.
 */

/*
 * Opens a machine for up to `ports` ports. Returns 0, -ENOMEM, or -EINVAL if
 * the configuration is invalid.
 */
int MACHINE(open)(struct machine **, const struct machine_config *,
	uint32_t node, uint32_t ports);
void MACHINE(close)(struct machine *);

/*
 * Enables a port, whose queue set must be empty of claims. The machine keeps
 * `own`. Returns 0, -ENOSPC, -EEXIST or -EBADMSG.
 */
int MACHINE(attach)(struct machine *, struct context *own);
/*
 * Disables a port: forgets its work, aborts the transfers that it has begun,
 * answers packets for it with CAY_ERROR_GONE, releases the locks that it holds
 * here, and ends its ULTRA paths.
 */
void MACHINE(detach)(struct machine *, uint16_t vpid);
/*
 * Another node is gone: what it had begun here becomes void, its ports hold no
 * locks, and their ULTRA paths end.
 */
void MACHINE(node_gone)(struct machine *, uint32_t node);

/* The origin of a port, to set windows and routes; NULL if it has none. */
struct origin *MACHINE(origin)(struct machine *, uint16_t vpid);

/*
 * A route to a port of another node: VCIs whose routing offset is `index` and
 * whose routing length is not 1 take it. Returns 0 or -EINVAL.
 */
int MACHINE(route)(struct machine *, uint32_t index,
	const struct machine_peer *, const struct routing_string *);

/* Software: posts a VCI; false if the work queue is full. */
bool MACHINE(post)(struct machine *, uint16_t vpid, const struct cay_vci *);
struct cay_answer MACHINE(trigger)(
	struct machine *, uint16_t vpid, enum cay_issue, unsigned parameter);

/* Runs one cycle. Returns false if nothing is left to do. */
bool MACHINE(step)(struct machine *);
bool MACHINE(idle)(const struct machine *);

/* ---- management: what the node does on the real clock ---- */

/*
 * Locks a window, and all others of its port on the same memory: accesses that
 * arrive from now on are refused, but for those of the holder. Returns 0: no
 * other port has an access in progress; -EINPROGRESS: some have, the caller
 * runs the machine and calls machine_window_locked() until it returns 0, or
 * unlocks; -EAGAIN: another port holds a lock; -EALREADY: the holder has it;
 * -EPIPE, -ENXIO: no such port, window or holder; -EACCES: wrong capability;
 * -ENOSPC: too many ports of other nodes hold locks.
 */
int MACHINE(window_lock)(struct machine *, const struct machine_lock *);
/* Returns 0 or -EINPROGRESS; -EPERM: the holder has not locked it; as above. */
int MACHINE(window_locked)(struct machine *, const struct machine_lock *);
/* Returns 0 or -EPERM; -EPIPE, -ENXIO or -EACCES if it is not locked either. */
int MACHINE(window_unlock)(struct machine *, const struct machine_lock *);

/*
 * A port of this or another node is gone: releases its locks, and ends its
 * ULTRA paths.
 */
void MACHINE(holder_gone)(struct machine *, const struct machine_peer *);

/*
 * The owner has closed or revoked a window. Returns 0: no access to its memory
 * is in progress, and none will be; -EAGAIN: one is, for at most one cycle.
 */
int MACHINE(window_quiesce)(struct machine *, uint16_t vpid, uint16_t window);

/*
 * A packet from the wire. Returns 0, -EAGAIN (no room now), or an error of
 * packet_decode(), -EINVAL also if it claims to be of this node: it is dropped.
 */
int MACHINE(receive)(struct machine *, const void *bytes, size_t size);

/* The consumer's half. */
uint64_t MACHINE(peek)(struct context *own, uint64_t position);
void MACHINE(return_entries)(struct context *own, uint64_t r);
void MACHINE(completions_returned)(struct machine *, uint16_t vpid, uint32_t n);

/* Connects the machine with a wire; see struct wire_port. */
void MACHINE(connect)(struct machine *, struct wire_port *);

/* Delays stages by 0 to `max` cycles, chosen by the seed. */
void MACHINE(delay)(struct machine *, uint32_t max, uint64_t seed);

/* Calls a function for every event; NULL: none. See observe.h. */
void MACHINE(observe)(struct machine *, machine_observer, void *to);

const struct machine_counts *MACHINE(counts)(const struct machine *);
/* NULL if there is no such port. */
const struct machine_port_counts *MACHINE(port_counts)(
	const struct machine *, uint16_t vpid);
const struct machine_config *MACHINE(configuration)(const struct machine *);

/* ---- ULTRA: set-up, as the node does on the real clock; see ultra.h ---- */

/*
 * Step 1. Returns 0, -ENXIO (no such port), -EINVAL (sizes; a slice is longer
 * than the MTU allows) or -ENOSPC (no port of the completer is free).
 */
int MACHINE(ultra_accept)(
	struct machine *, const struct machine_ultra_queue *, uint16_t *tupid);
/*
 * Step 3. `route` is one of machine_route() if the target is on another node.
 * The slice of the packet queue has `entries` messages, a power of two. Returns
 * as above, or -EHOSTUNREACH (no such route), -EPIPE (the target's node is
 * gone); -ENOSPC also if the packet queue has no room.
 */
int MACHINE(ultra_connect)(struct machine *, uint16_t vpid,
	const struct machine_ultra_target *, uint32_t route, uint32_t entries,
	uint16_t *oupid);
/* Step 5. Returns 0, -ENXIO (no such port) or -EINVAL (it is enabled). */
int MACHINE(ultra_admit)(
	struct machine *, uint16_t tupid, const struct machine_ultra_origin *);
/* Step 7. The same. */
int MACHINE(ultra_enable)(struct machine *, uint16_t oupid);

/* All steps. On failure, returned as by the step, the earlier are undone. */
int MACHINE(ultra_path)(
	const struct machine_ultra_ends *, uint16_t *oupid, uint16_t *tupid);

/*
 * Frees a port. The other end of the path is not told: see below. Messages of a
 * requester port that are not injected are lost; what asks for a notification
 * gets it with CAY_ERROR_GONE. No effect if there is no such port.
 */
void MACHINE(ultra_close_origin)(struct machine *, uint16_t oupid);
void MACHINE(ultra_close_target)(struct machine *, uint16_t tupid);
/*
 * The other end is closed. The origin's writes fail, and what it waits for ends
 * with CAY_ERROR_GONE; at the target what is stored stays.
 */
void MACHINE(ultra_target_gone)(struct machine *, uint16_t oupid);
void MACHINE(ultra_origin_gone)(struct machine *, uint16_t tupid);

/* ---- software: its mapped page is the identity of a port ---- */

/*
 * Writes a message into the packet queue. Flags are enum cay_ultra_flag.
 * Returns 0; -EAGAIN: refused, because the port's slice of the queue is full,
 * with NOTIFY also reported as NOTIFY_ULTRA with CAY_ERROR_NO_RESOURCES, or
 * because the NQ or the notification unit has no room for what it asks for;
 * -EMSGSIZE; -EINVAL (flags); -ENXIO (no such port, or it belongs to another,
 * or is not enabled); -EPIPE (the target is gone).
 */
int MACHINE(ultra_write)(struct machine *, uint16_t vpid, uint16_t oupid,
	uint64_t tag, const void *data, size_t length, unsigned flags);
/*
 * The target has taken all messages before a position. Returns 0, -ENXIO, or
 * -EINVAL: it is before an earlier one, or behind what is stored.
 */
int MACHINE(ultra_return)(
	struct machine *, uint16_t vpid, uint16_t tupid, uint64_t position);

/* The read pointer of a requester port, and more. Returns 0 or -ENXIO. */
int MACHINE(ultra_origin_status)(struct machine *, uint16_t vpid,
	uint16_t oupid, struct machine_ultra_status *);
int MACHINE(ultra_target_status)(struct machine *, uint16_t vpid,
	uint16_t tupid, struct machine_ultra_status *);
