/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the worklists and request arrays of a worker. */
#include <errno.h>
#include <stdlib.h>

#include "network/engine/parts.h"

bool worklist_grow(struct worker *w, struct worklist *l)
{
	uint32_t capacity = l->capacity ? 2 * l->capacity : 256;
	uint32_t *more = realloc(l->entry, capacity * sizeof(*more));
	if (!more) {
		worker_fail(w, -ENOMEM);
		return false;
	}
	l->entry = more;
	l->capacity = capacity;
	return true;
}

/*
 * Makes room in an array that is rewritten in each cycle; drops its contents.
 * Zeroed, because allocation prefetches the state of entries behind the last:
 * these are zero, or those of an earlier cycle.
 */
static void *reserve(struct worker *w, void *array, uint64_t *capacity,
	uint64_t count, uint64_t size)
{
	if (count <= *capacity)
		return array;
	uint64_t more = 2 * count + 256;
	free(array);
	array = calloc(more, size);
	*capacity = array ? more : 0;
	if (!array)
		worker_fail(w, -ENOMEM);
	return array;
}

static bool conflicts_reserve(struct worker *w, uint64_t count)
{
	w->conflicts = reserve(w, w->conflicts, &w->conflicts_capacity, count,
		sizeof(*w->conflicts));
	return w->conflicts_capacity >= count;
}

bool vc_requests_reserve(struct worker *w, uint64_t count)
{
	w->vc_request = reserve(w, w->vc_request, &w->vc_requests_capacity,
		count, sizeof(*w->vc_request));
	return w->vc_requests_capacity >= count && conflicts_reserve(w, count);
}

bool switch_requests_reserve(struct worker *w, uint64_t count)
{
	w->switch_request = reserve(w, w->switch_request,
		&w->switch_requests_capacity, count,
		sizeof(*w->switch_request));
	return w->switch_requests_capacity >= count &&
	       conflicts_reserve(w, count);
}
