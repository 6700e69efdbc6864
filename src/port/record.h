/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op records on the side of their threads: each thread that issues operations
 * has one per arena, found with one comparison.
 */
#ifndef CAY_PORT_RECORD_H
#define CAY_PORT_RECORD_H

#include "base/bits.h"
#include "port/member.h"

/* The record that this thread used last. */
struct record_cache {
	uint64_t serial; /* of the member; 0: none */
	struct op_record *op;
};

extern _Thread_local struct record_cache record_cache
	__attribute__((tls_model("initial-exec")));

int record_page_add(struct member *, uint64_t offset);

/* Between these calls, threads that exit return their records of the member. */
void record_register(struct member *);
void record_unregister(struct member *);

/* Around fork(), so that the child does not inherit a locked mutex. */
void record_fork_lock(void);
void record_fork_unlock(void);

/* Finds or claims a record of this thread. Returns NULL if all are in use. */
struct op_record *record_find(struct member *);

/*
 * Recovers from a call that this thread left inside the device, by longjmp from
 * a signal handler: the node voids the claimed entries. Returns the record to
 * use from now on, or NULL.
 */
struct op_record *record_recover(struct member *, struct op_record *);

/* Saves the count of the record's port; the record counts for `vpid` now. */
void record_switch_port(struct member *, struct op_record *, uint16_t vpid);

/* Returns the number of operations issued on a port; resets it. */
uint64_t record_issued(struct member *, uint16_t vpid);
void record_clear(struct member *, uint16_t vpid);

/* Returns the op record of this thread, or NULL if all are in use. */
static inline struct op_record *record_of(struct member *m)
{
	struct op_record *op = record_cache.op;
	if (unlikely(record_cache.serial != m->serial))
		op = record_find(m);
	/* Relaxed: only this thread writes it outside of the device. */
	if (unlikely(op && atomic_load_explicit(&op->state,
				   memory_order_relaxed) != OP_IDLE))
		return record_recover(m, op);
	return op;
}

#endif
