/* SPDX-License-Identifier: BSD-2-Clause */
/* See wheel.h. */
#include "network/engine/wheel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

int wheel_open(struct wheel *w, unsigned delay, unsigned readers)
{
	*w = (struct wheel){ .mask = (1u << bits_log2_up(delay + 1ull)) - 1,
		.readers = readers };
	w->list = calloc(wheel_list_count(w), sizeof(*w->list));
	return w->list ? 0 : -ENOMEM;
}

void wheel_close(struct wheel *w)
{
	for (uint64_t i = 0; w->list && i < wheel_list_count(w); i++)
		free(w->list[i].event);
	free(w->list);
	w->list = NULL;
}

/* The lists of the current cycle belong to their readers. */
bool wheel_busy(const struct wheel *w, uint64_t now)
{
	uint64_t width = w->readers * WHEEL_KINDS;
	for (uint64_t slot = 0; slot <= w->mask; slot++)
		for (uint64_t i = 0; i < width && slot != (now & w->mask); i++)
			if (w->list[slot * width + i].count)
				return true;
	return false;
}

bool wheel_grow(struct wheel *w, struct wheel_list *l)
{
	uint32_t capacity = l->capacity ? 2 * l->capacity : 64;
	struct wheel_event *more = realloc(l->event, capacity * sizeof(*more));
	if (!more) {
		w->full = true;
		return false;
	}
	l->event = more;
	l->capacity = capacity;
	return true;
}
