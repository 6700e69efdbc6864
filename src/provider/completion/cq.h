/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue: a ring that grows. A slot is reserved when an operation
 * is posted, so completing it never fails:
 *
 *	cq_reserve()			at posting; -FI_EAGAIN without memory
 *	cq_complete() or cq_fail()	at the end, or
 *	cq_unreserve()			if it ends silently
 */
#ifndef CAY_PROVIDER_CQ_H
#define CAY_PROVIDER_CQ_H

#include "provider/completion/wait.h"

/* One line. The rest of an error is in cq.failures. */
struct cq_slot {
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;
	uint64_t failed; /* 0: a completion */
};

_Static_assert(sizeof(struct cq_slot) == 64, "one line");

struct cq_failure {
	size_t olen;
	int err, prov_errno;
};

struct cq {
	struct fid_cq fid;
	struct domain *domain;
	struct wait wait;
	enum fi_cq_format format;
	size_t entry_bytes;
	struct cq_slot *slots;
	struct cq_failure *failures; /* of the slots that are errors */
	uint64_t head, tail; /* read at head, written at tail; 0 if empty */
	uint64_t capacity;   /* slots, a power of two */
	uint64_t reserved;   /* tail - head + reserved <= capacity */
	uint64_t errors;     /* entries that are errors */
	unsigned reads;	     /* since the last progress */
	bool drained;	     /* the last read got fewer than it asked for */
	bool thresholds;     /* FI_CQ_COND_THRESHOLD: a condition is a count */
	int users;
};

static inline struct cq *cq_of(struct fid_cq *fid)
{
	return (struct cq *)(void *)fid;
}

/* Allocates the slots. Returns 0 or -FI_ENOMEM. */
int cq_slots_alloc(struct cq *, uint64_t capacity);
/* Doubles the ring. Returns 0 or -FI_EAGAIN. */
int cq_grow(struct cq *);

static inline bool cq_has_room(const struct cq *q)
{
	return q->tail - q->head + q->reserved != q->capacity;
}

static inline int cq_reserve(struct cq *q)
{
	if (unlikely(!cq_has_room(q))) {
		int r = cq_grow(q);
		if (r)
			return r;
	}
	q->reserved++;
	return 0;
}

static inline void cq_unreserve(struct cq *q)
{
	q->reserved--;
}

/* Turns a reservation into the next slot; the caller sets all its members. */
static inline struct cq_slot *cq_slot(struct cq *q)
{
	q->reserved--;
	return &q->slots[q->tail++ & (q->capacity - 1)];
}

/*
 * Appends a completion. Uses a reservation. Each word is stored where it stays:
 * a copy of words that were just stored would wait until they, and the stores
 * to the peer's queue before them, have left the store buffer.
 */
static inline void cq_complete(
	struct cq *q, const struct fi_cq_tagged_entry *e, fi_addr_t source)
{
	struct cq_slot *slot = cq_slot(q);
	slot->entry.op_context = e->op_context;
	slot->entry.flags = e->flags;
	slot->entry.len = e->len;
	slot->entry.buf = e->buf;
	slot->entry.data = e->data;
	slot->entry.tag = e->tag;
	slot->source = source;
	slot->failed = 0;
	if (unlikely(q->wait.watched))
		wait_wake(&q->wait);
}

/* Appends an error. Uses a reservation. */
void cq_fail(struct cq *, const struct fi_cq_err_entry *, fi_addr_t source);

/* fi_trywait(). Takes the lock. Returns 0, -FI_EAGAIN, or an error. */
int cq_trywait(struct cq *);

#endif
