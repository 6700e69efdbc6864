/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a completion queue, as operations use it. See cq.h. */
#include <assert.h>
#include <stdlib.h>

#include "provider/completion/cq.h"

int cq_grow(struct cq *q)
{
	uint64_t capacity = 2 * q->capacity;
	struct cq_slot *slots = reallocarray(NULL, capacity, sizeof(*slots));
	if (!slots)
		return -FI_EAGAIN;
	for (uint64_t i = q->head; i != q->tail; i++)
		slots[i & (capacity - 1)] = q->slots[i & (q->capacity - 1)];
	free(q->slots);
	q->slots = slots;
	q->capacity = capacity;
	return 0;
}

void cq_fail(struct cq *q, const struct fi_cq_err_entry *e, fi_addr_t source)
{
	assert(e->err && q->reserved);
	struct cq_slot *slot = cq_slot(q);
	slot->entry = *e;
	slot->entry.err_data = NULL;
	slot->entry.err_data_size = 0;
	slot->source = source;
	q->errors++;
	wait_wake(&q->wait);
}
