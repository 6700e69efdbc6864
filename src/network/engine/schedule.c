/* SPDX-License-Identifier: BSD-2-Clause */
/* See schedule.h. */
#include "network/engine/schedule.h"

#include <errno.h>
#include <stdlib.h>

static bool before(
	const struct scheduled_event *a, const struct scheduled_event *b)
{
	return a->time < b->time ||
	       (a->time == b->time && a->number < b->number);
}

static void swap(struct scheduled_event *a, struct scheduled_event *b)
{
	struct scheduled_event c = *a;
	*a = *b;
	*b = c;
}

int schedule_add(struct schedule *s, const struct scheduled_event *event)
{
	if (s->count == s->capacity) {
		uint64_t capacity = s->capacity ? 2 * s->capacity : 64;
		void *more = realloc(s->event, capacity * sizeof(*s->event));
		if (!more)
			return -ENOMEM;
		s->event = more;
		s->capacity = capacity;
	}
	uint64_t i = s->count++;
	s->event[i] = *event;
	s->event[i].number = s->numbers++;
	for (; i && before(&s->event[i], &s->event[(i - 1) / 2]);
		i = (i - 1) / 2)
		swap(&s->event[i], &s->event[(i - 1) / 2]);
	return 0;
}

bool schedule_pop(
	struct schedule *s, uint64_t now, struct scheduled_event *event)
{
	if (s->count == 0 || s->event[0].time > now)
		return false;
	*event = s->event[0];
	s->event[0] = s->event[--s->count];
	for (uint64_t i = 0, child; (child = 2 * i + 1) < s->count; i = child) {
		if (child + 1 < s->count &&
			before(&s->event[child + 1], &s->event[child]))
			child++;
		if (!before(&s->event[child], &s->event[i]))
			break;
		swap(&s->event[child], &s->event[i]);
	}
	return true;
}

uint64_t schedule_next(const struct schedule *s)
{
	return s->count ? s->event[0].time : UINT64_MAX;
}

void schedule_free(struct schedule *s)
{
	free(s->event);
	*s = (struct schedule){ 0 };
}
