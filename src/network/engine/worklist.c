/* SPDX-License-Identifier: BSD-2-Clause */
/* Room for the lists of a worker. */
#include <errno.h>
#include <stdlib.h>

#include "network/engine/parts.h"

bool places_grow(struct worker *w, struct places *l)
{
	uint32_t room = l->room ? 2 * l->room : 256;
	uint32_t *more = realloc(l->of, room * sizeof(*more));
	if (!more) {
		worker_fail(w, -ENOMEM);
		return false;
	}
	l->of = more;
	l->room = room;
	return true;
}

/* What is in it does not count: it is written anew in each cycle. */
static bool scratch(struct worker *w, void **of, uint64_t *room, uint64_t count,
	uint64_t size)
{
	if (count <= *room)
		return true;
	uint64_t more = 2 * count + 256;
	free(*of);
	*of = malloc(more * size);
	*room = *of ? more : 0;
	if (!*of)
		worker_fail(w, -ENOMEM);
	return *of;
}

static bool contested_room(struct worker *w, uint64_t count)
{
	void *of = w->contested;
	bool done = scratch(
		w, &of, &w->contested_room, count, sizeof(*w->contested));
	w->contested = of;
	return done;
}

bool places_askers(struct worker *w, uint64_t count)
{
	void *of = w->asker;
	bool done = scratch(w, &of, &w->askers_room, count, sizeof(*w->asker));
	w->asker = of;
	return done && contested_room(w, count);
}

bool places_movers(struct worker *w, uint64_t count)
{
	void *of = w->mover;
	bool done = scratch(w, &of, &w->movers_room, count, sizeof(*w->mover));
	w->mover = of;
	return done && contested_room(w, count);
}
