/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between the units and a platform. The units access shared
 * memory, fences and private words through host_access.h, and everything else
 * through these functions, which a platform defines as static inline:
 *
 *	host_before(), host_after(...)   enclose each access; see host_access.h
 *	host_process(owner, at, local, bytes, write)  memory of a process;
 *		returns 0, -EPERM, -ESRCH or -EFAULT
 *	host_mapped(at, bytes, write)    is it mapped in this process?
 *	host_context(slot)               loads the context of a peer
 *	host_follow(slot, closed)        follows a migration of a peer
 *	host_records()                   are op records kept? a constant
 *	host_epoch(context)              the epoch of the control, after W
 *	host_migration(context)          its enum queue_migration
 *	host_step(op, step)              reports that a step is done
 *	host_step_unrecorded(step)       the same, of a thread without a record
 *	host_interrupt(context, flags)   wakes the sleeping target
 *	host_wake_senders(own)           wakes senders that wait for room
 *	host_sleep_consumer(own, w, deadline), host_sleep_sender(to, r,
 *deadline) sleeps while W, or R, is this; returns 0, -ETIMEDOUT or -EINTR
 *	host_pause(arena, &deadline)     waits for another process; false: the
 *		platform does not wait, or the wait would never end, or it has
 *		taken too long; deadline starts at 0
 *	host_retry(&tries)               false: ends a loop that failed because
 *		another process changed a word; tries starts at 0
 *	host_can_emulate(origin), host_emulate(origin, op, slot, packet)
 *		passes an access to the owner of the window
 *	host_refused(origin, slot)       an access to this peer was refused
 */
#ifndef CAY_DEVICE_HOST_H
#define CAY_DEVICE_HOST_H

enum host_kind {
	HOST_W,		/* the target's write word: every sender changes it */
	HOST_R,		/* its read word */
	HOST_MIGRATION, /* migration state and access_epoch; hardly written */
	HOST_NQE,	/* a notification entry */
	HOST_RDR,	/* payload */
	HOST_REFERENCE, /* a reference slot */
	HOST_STAGING,	/* payload of a copied message */
	HOST_RECORD,	/* the issuing thread's own op record */
	HOST_PEER,	/* the port's peer table */
	HOST_WQ,	/* the port's work queue */
	HOST_WINDOW,	/* a window descriptor */
	HOST_MEMORY,	/* memory of a window */
	HOST_POSTED,	/* a posted receive */
	HOST_CONTEXT,	/* the context table of a machine */
	HOST_PACKET,	/* payload of a packet in a machine */
	HOST_SLICE,	/* a slice of an ULTRA path */
	HOST_RETURN,	/* its return page, and its origin page */
	HOST_KINDS,
};

enum host_access {
	HOST_LOAD,
	HOST_STORE,
	HOST_ATOMIC, /* a read-modify-write, also one that fails */
	HOST_COPY,
};

#endif
