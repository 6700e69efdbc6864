/* SPDX-License-Identifier: BSD-2-Clause */
/* A counter of completions and errors. */
#ifndef CAY_PROVIDER_CNTR_H
#define CAY_PROVIDER_CNTR_H

#include "provider/completion/wait.h"

struct cntr {
	struct fid_cntr fid;
	struct domain *domain;
	struct wait wait;
	uint64_t value, errors;
	uint64_t changes;     /* number of changes of either */
	uint64_t settled;     /* changes when the application last set it */
	uint64_t seen;	      /* changes when the application last read it */
	bool tried;	      /* fi_trywait() returned 0, and no read since */
	struct list sleepers; /* threads in fi_cntr_wait() */
	struct list link;     /* domain->event_counters, once bound to an MR */
	int users;
};

static inline struct cntr *cntr_of(struct fid_cntr *fid)
{
	return (struct cntr *)(void *)fid;
}

static inline void cntr_count(struct cntr *c, bool error)
{
	if (error)
		c->errors++;
	else
		c->value++;
	c->changes++;
	if (unlikely(c->wait.watched))
		wait_wake(&c->wait);
}

/* fi_trywait(). Takes the lock. Returns 0, -FI_EAGAIN, or an error. */
int cntr_trywait(struct cntr *);

#endif
