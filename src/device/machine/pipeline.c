/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pipeline of a unit: each item executes one stage per cycle, or later if
 * the platform delays it, and never overtakes another item of the same unit.
 */

enum stage_result {
	STAGE_DONE,  /* continue with the next stage */
	STAGE_HOLD,  /* execute this stage again in a later cycle */
	STAGE_LEAVE, /* the item leaves the unit */
};

/* An executed item that waits for the next stage to be free. */
#define EXECUTED UINT64_MAX

static uint64_t pipeline_ready(struct machine *m)
{
	if (!m->delay_max)
		return m->counts.cycles + 1;
	m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
	return m->counts.cycles + 1 + (m->random >> 33) % (m->delay_max + 1);
}

static void pipeline_place(struct machine *m, struct unit *u, uint32_t stage,
	uint32_t item, uint64_t key)
{
	u->item[stage] = item;
	u->key[stage] = key;
	u->ready[stage] = pipeline_ready(m);
}

static void pipeline_clear(struct unit *u, uint32_t stage)
{
	u->item[stage] = NONE;
	u->key[stage] = 0;
}

/* The caller has checked unit_accepts(). */
static void pipeline_enter(
	struct machine *m, struct unit *u, uint32_t item, uint64_t key)
{
	if (u->item[0] == NONE && u->wait.count == 0)
		pipeline_place(m, u, 0, item, key);
	else
		u->wait_key[ring_push(&u->wait, item)] = key;
}

static enum stage_result unit_execute(
	struct machine *, enum unit_kind, uint32_t item, uint32_t stage);

/* Executes a stage and notes it, with what the item was: it may be freed. */
static enum stage_result unit_observe(struct machine *m, enum unit_kind kind,
	const struct unit *u, uint32_t stage)
{
	struct machine_note n = observe_item(m, kind, u->item[stage]);
	enum stage_result r = unit_execute(m, kind, u->item[stage], stage);
	n.packet = NULL;
	n.kind = kind;
	n.unit = (uint32_t)(u - m->units[kind]);
	n.stage = stage;
	if (r != STAGE_HOLD)
		host_note(m, n);
	return r;
}

/*
 * Advances all items of a unit, the oldest first. An item that holds its stage
 * does not make the machine busy: it waits for another unit or for software.
 */
static void pipeline_step(
	struct machine *m, enum unit_kind kind, struct unit *u)
{
	uint32_t stages = m->unit_stages[kind];
	for (uint32_t s = stages; s-- > 0;) {
		if (u->item[s] == NONE)
			continue;
		if (u->ready[s] != EXECUTED) {
			enum stage_result r = STAGE_HOLD;
			if (u->ready[s] > m->counts.cycles)
				m->busy = true;
			else if (host_observed(m))
				r = unit_observe(m, kind, u, s);
			else
				r = unit_execute(m, kind, u->item[s], s);
			if (r == STAGE_HOLD)
				continue;
			m->busy = true;
			if (r == STAGE_LEAVE || s + 1 == stages) {
				pipeline_clear(u, s);
				continue;
			}
			u->ready[s] = EXECUTED;
		}
		if (u->item[s + 1] == NONE) {
			pipeline_place(m, u, s + 1, u->item[s], u->key[s]);
			pipeline_clear(u, s);
			m->busy = true;
		}
	}
	if (u->item[0] == NONE && u->wait.count) {
		uint64_t key = u->wait_key[u->wait.first];
		pipeline_place(m, u, 0, ring_pop(&u->wait), key);
		m->busy = true;
	}
}
