/* SPDX-License-Identifier: BSD-2-Clause */
/* See schedule.h. */
#include "network/engine/schedule.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const struct agenda_item *a, const struct agenda_item *b)
{
	return a->time < b->time ||
	       (a->time == b->time && a->number < b->number);
}

static void swap(struct agenda_item *a, struct agenda_item *b)
{
	struct agenda_item c = *a;
	*a = *b;
	*b = c;
}

static void sift_up(struct agenda *a, uint64_t i)
{
	for (; i && before(&a->item[i], &a->item[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&a->item[i], &a->item[(i - 1) / 2]);
}

static void sift_down(struct agenda *a)
{
	uint64_t i = 0, child;
	while ((child = 2 * i + 1) < a->count) {
		if (child + 1 < a->count &&
			before(&a->item[child + 1], &a->item[child]))
			child++;
		if (!before(&a->item[child], &a->item[i]))
			return;
		swap(&a->item[child], &a->item[i]);
		i = child;
	}
}

int agenda_put(struct agenda *a, const struct agenda_item *item)
{
	if (a->count == a->room) {
		uint64_t room = a->room ? 2 * a->room : 64;
		void *more = realloc(a->item, room * sizeof(*a->item));
		if (!more)
			return -ENOMEM;
		a->item = more;
		a->room = room;
	}
	a->item[a->count] = *item;
	a->item[a->count].number = a->numbers++;
	sift_up(a, a->count++);
	return 0;
}

bool agenda_take(struct agenda *a, uint64_t now, struct agenda_item *item)
{
	if (a->count == 0 || a->item[0].time > now)
		return false;
	*item = a->item[0];
	a->item[0] = a->item[--a->count];
	sift_down(a);
	return true;
}

uint64_t agenda_next(const struct agenda *a)
{
	return a->count ? a->item[0].time : UINT64_MAX;
}

void agenda_free(struct agenda *a)
{
	free(a->item);
	*a = (struct agenda){ 0 };
}
