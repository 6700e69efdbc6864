/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host as the device sees it: what kinds of memory there are. A platform
 * (host_real.h, host_counting.h) gives the accesses as static inline functions
 * with these names and meanings:
 *
 *	host_load(word, kind)            acquire load of a shared word
 *	host_load_relaxed(word, kind)    of a word that only we write
 *	host_store(word, value, kind)    release store
 *	host_store_relaxed(...)          a later release store covers it
 *	host_cas(word, &expected, value, kind)  acq_rel, acquire on failure
 *	host_or, host_and(word, bits, kind)     acq_rel, give the old value
 *	host_swap(word, value, kind)            acq_rel, gives the old value
 *	host_add(word, value, kind)             acq_rel, gives the old value
 *	host_add32(word, value, kind)           relaxed, likewise
 *	host_store_fence()                     what follows is seen after what
 *was host_process(owner, at, local, bytes, write)  memory of a process
 *	host_mapped(at, bytes, write)    may this process touch it?
 *	host_write(to, value, kind)      plain store, covered by a release
 *	host_read(from, kind)            plain load, covered by an acquire
 *	host_copy(to, from, bytes, kind)
 *	host_step(op, step)              a numbered step is done
 *	host_interrupt(context, flags)   wake whoever sleeps at the target
 */
#ifndef CAY_DEVICE_HOST_H
#define CAY_DEVICE_HOST_H

enum host_kind {
	HOST_W,		/* the target's write word: every sender swaps it */
	HOST_R,		/* its read word */
	HOST_MIGRATION, /* whether the set is being replaced; hardly written */
	HOST_NQE,	/* a notification entry */
	HOST_RDR,	/* payload */
	HOST_REFERENCE, /* a reference slot */
	HOST_RECORD,	/* the issuing thread's own op record */
	HOST_PEER,	/* the port's peer table */
	HOST_WQ,	/* the port's work queue */
	HOST_WINDOW,	/* a window descriptor */
	HOST_MEMORY,	/* what a window gives access to */
	HOST_POSTED,	/* a posted receive */
	HOST_KINDS,
};

#endif
