/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a completion queue, as operations use it. See cq.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "provider/completion/cq.h"

int cq_slots_alloc(struct cq *q, uint64_t capacity)
{
	/* Not cleared: most slots are never used. */
	struct cq_slot *slots =
		aligned_alloc(sizeof(*slots), capacity * sizeof(*slots));
	struct cq_failure *failures =
		reallocarray(NULL, capacity, sizeof(*failures));
	if (!slots || !failures) {
		free(slots);
		free(failures);
		return -FI_ENOMEM;
	}
	q->slots = slots;
	q->failures = failures;
	q->capacity = capacity;
	return 0;
}

int cq_grow(struct cq *q)
{
	const struct cq old = *q;
	if (cq_slots_alloc(q, 2 * old.capacity))
		return -FI_EAGAIN;
	for (uint64_t i = old.head; i != old.tail; i++) {
		uint64_t from = i & (old.capacity - 1);
		uint64_t to = i & (q->capacity - 1);
		q->slots[to] = old.slots[from];
		q->failures[to] = old.failures[from];
	}
	free(old.slots);
	free(old.failures);
	return 0;
}

void cq_fail(struct cq *q, const struct fi_cq_err_entry *e, fi_addr_t source)
{
	assert(e->err && q->reserved);
	q->failures[q->tail & (q->capacity - 1)] = (struct cq_failure){
		.olen = e->olen, .err = e->err, .prov_errno = e->prov_errno
	};
	struct cq_slot *slot = cq_slot(q);
	/* The first members of an error entry are those of a tagged entry. */
	memcpy(&slot->entry, e, sizeof(slot->entry));
	slot->source = source;
	slot->failed = 1;
	q->errors++;
	wait_wake(&q->wait);
}
