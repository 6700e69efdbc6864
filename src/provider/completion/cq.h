/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue: a ring that grows. Room is reserved when an operation is
 * posted, so completing one never fails:
 *
 *	cq_reserve()			at posting; -FI_EAGAIN without memory
 *	cq_complete() or cq_fail()	at the end, or
 *	cq_unreserve()			if it ends silently
 */
#ifndef CAY_PROVIDER_CQ_H
#define CAY_PROVIDER_CQ_H

#include "provider/completion/wait.h"

/* The first members of an error entry are those of a tagged entry. */
struct cq_slot {
	struct fi_cq_err_entry entry; /* .err 0: a completion */
	fi_addr_t source;
};

struct cq {
	struct fid_cq fid;
	struct domain *domain;
	struct wait wait;
	enum fi_cq_format format;
	size_t entry_bytes;
	struct cq_slot *slots;
	uint64_t head, tail; /* read at head, written at tail */
	uint64_t room;	     /* slots, a power of two */
	uint64_t reserved;   /* tail - head + reserved <= room */
	uint64_t errors;     /* entries that are errors */
	unsigned reads;	     /* since the last progress */
	bool thresholds;     /* blocking reads say how many they want */
	int users;
};

static inline struct cq *cq_of(struct fid_cq *fid)
{
	return (struct cq *)(void *)fid;
}

int cq_grow(struct cq *); /* 0 or -FI_EAGAIN */

static inline int cq_reserve(struct cq *q)
{
	if (unlikely(q->tail - q->head + q->reserved == q->room)) {
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

/* The slot of a completion, which uses a reservation; all is to be set. */
static inline struct cq_slot *cq_slot(struct cq *q)
{
	q->reserved--;
	return &q->slots[q->tail++ & (q->room - 1)];
}

/* Uses a reservation. */
static inline void cq_complete(
	struct cq *q, const struct fi_cq_tagged_entry *e, fi_addr_t source)
{
	struct cq_slot *slot = cq_slot(q);
	__builtin_memcpy(&slot->entry, e, sizeof(*e));
	slot->entry.err = 0;
	slot->source = source;
	if (unlikely(q->wait.watched))
		wait_wake(&q->wait);
}

/* Uses a reservation. */
void cq_fail(struct cq *, const struct fi_cq_err_entry *, fi_addr_t source);

/* fi_trywait(): takes the guard. 0, -FI_EAGAIN, or an error. */
int cq_try(struct cq *);
/* The text for a prov_errno of ours, in the buffer if there is one. */
const char *cq_error_text(int error, char *buffer, size_t length);

#endif
