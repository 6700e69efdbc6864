/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scoreboard: the ordering keys of everything in the units, an entry per
 * stage and per place in a wait queue. A key is inserted when a request or
 * packet is dispatched to a unit, advances with the stages, and is removed at
 * the end. A request whose key is present goes to the same unit, in which
 * nothing overtakes, or waits.
 */

/* Returns the unit that holds a key, or NONE. Key 0 has no order. */
static uint32_t scoreboard_find(
	const struct machine *m, enum unit_kind kind, uint64_t key)
{
	if (!key)
		return NONE;
	for (uint32_t u = 0; u < m->unit_count[kind]; u++) {
		const struct unit *unit = &m->units[kind][u];
		for (uint32_t s = 0; s < m->unit_stages[kind]; s++)
			if (unit->key[s] == key)
				return u;
		for (uint32_t i = 0; i < unit->wait.count; i++)
			if (unit->wait_key[ring_position(&unit->wait, i)] ==
				key)
				return u;
	}
	return NONE;
}

static bool unit_accepts(const struct unit *u)
{
	return (u->item[0] == NONE && u->wait.count == 0) ||
	       !ring_full(&u->wait);
}

/* Returns the unit for a key, or NONE: it waits, for order or for a unit. */
static uint32_t scoreboard_unit(
	struct machine *m, enum unit_kind kind, uint64_t key)
{
	uint32_t best = scoreboard_find(m, kind, key);
	if (best != NONE) {
		if (!unit_accepts(&m->units[kind][best]))
			return NONE;
		m->counts.same_unit++;
		return best;
	}
	for (uint32_t u = 0; u < m->unit_count[kind]; u++) {
		const struct unit *unit = &m->units[kind][u];
		if (unit_accepts(unit) &&
			(best == NONE ||
				unit->wait.count <
					m->units[kind][best].wait.count))
			best = u;
	}
	return best;
}
