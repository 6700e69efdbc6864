/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op records, from the side of the threads that write them: each issuing
 * thread has one per arena, found with one comparison.
 */
#ifndef CAY_PORT_RECORD_H
#define CAY_PORT_RECORD_H

#include "base/bits.h"
#include "port/member.h"

/* The record that this thread used last. */
struct record_cache {
	uint64_t serial; /* of the member; 0 is none */
	struct op_record *op;
};

extern _Thread_local struct record_cache record_cache
	__attribute__((tls_model("initial-exec")));

int record_page_add(struct member *, uint64_t offset);

/* From now on, or no longer, threads that exit give their records back. */
void record_begin(struct member *);
void record_forget(struct member *);

/* Around fork(), so that the child does not inherit a locked lock. */
void record_fork_lock(void);
void record_fork_unlock(void);

/* Finds or makes this thread's record; NULL if there are too many threads. */
struct op_record *record_find(struct member *);

/*
 * A former call of this thread did not come back from the device (a signal
 * handler jumped out of it): the node voids what it had claimed. The record to
 * go on with, or NULL.
 */
struct op_record *record_recover(struct member *, struct op_record *);

/* The thread goes on with another port: keep what it has issued on this one. */
void record_leave(struct member *, struct op_record *);

/* All that was issued on a port of ours; and forgetting it. */
uint64_t record_issued(struct member *, uint16_t vpid);
void record_clear(struct member *, uint16_t vpid);

static inline struct op_record *record_of(struct member *m)
{
	struct op_record *op = record_cache.op;
	if (unlikely(record_cache.serial != m->serial))
		op = record_find(m);
	/* Relaxed: nobody but us writes it while we are not in the device. */
	if (unlikely(op && atomic_load_explicit(&op->state,
				   memory_order_relaxed) != OP_IDLE))
		return record_recover(m, op);
	return op;
}

#endif
