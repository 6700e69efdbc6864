/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between the device and its host: kinds of memory, and accesses
 * to them. A platform (host_real.h, host_counting.h) defines these static
 * inline functions:
 *
 *	host_load(word, kind)            acquire load of a shared word
 *	host_load_relaxed(word, kind)    of a word that only this thread writes
 *	host_store(word, value, kind)    release store
 *	host_store_relaxed(...)          a later release store covers it
 *	host_cas(word, &expected, value, kind)  acq_rel, acquire on failure
 *	host_or, host_and(word, bits, kind)     acq_rel, return the old value
 *	host_swap(word, value, kind)            acq_rel, returns the old value
 *	host_add(word, value, kind)             acq_rel, returns the old value
 *	host_add32(word, value, kind)           relaxed, returns the old value
 *	host_store_fence()               earlier stores become visible first
 *	host_process(owner, at, local, bytes, write)  memory of a process
 *	host_mapped(at, bytes, write)    is it mapped in this process?
 *	host_write(to, value, kind)      plain store, covered by a release
 *	host_read(from, kind)            plain load, covered by an acquire
 *	host_copy(to, from, bytes, kind)
 *	host_step(op, step)              reports that a step is done
 *	host_interrupt(context, flags)   wakes the sleeping target
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
	HOST_KINDS,
};

#endif
