/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler: passes requests from the issue queue to the requesters, by one
 * of three policies. A request stays in the queue while the scoreboard has no
 * unit for it; then it has none for a later one with the same key either, since
 * in a cycle units only become fuller here.
 */
static void issue_step(struct machine *m)
{
	/* Target and scoreboard keep the order of what is sent again. */
	if (m->resume.count) {
		uint32_t at = ring_at(&m->resume, 0);
		uint64_t key = m->requests[at].key;
		uint32_t unit = scoreboard_unit(m, UNIT_REQUESTER, key);
		if (unit != NONE) {
			ring_pop(&m->resume);
			pipeline_enter(
				m, &m->units[UNIT_REQUESTER][unit], at, key);
			m->busy = true;
		}
	}
	bool single = m->config.policy == MACHINE_SINGLE_ISSUE;
	uint32_t look = single ? 1 : m->config.window;
	uint32_t left = m->config.policy == MACHINE_MULTI_ISSUE ? look : 1;

	for (uint32_t i = 0; look && left && i < m->issue.count; look--) {
		uint32_t at = ring_at(&m->issue, i);
		struct request *r = &m->requests[at];
		uint32_t unit = scoreboard_unit(m, UNIT_REQUESTER, r->key);
		if (unit == NONE) {
			m->counts.order_stalls++;
			if (host_observed(m))
				observe_held(m, UNIT_REQUESTER, at,
					scoreboard_find(m, UNIT_REQUESTER,
						r->key) != NONE);
			i++;
			continue;
		}
		r->state = REQUEST_EXECUTING;
		if (host_observed(m))
			observe_entered(m, UNIT_REQUESTER, unit, at,
				scoreboard_find(m, UNIT_REQUESTER, r->key) !=
					NONE);
		pipeline_enter(m, &m->units[UNIT_REQUESTER][unit], at, r->key);
		ring_remove(&m->issue, i);
		struct machine_port_counts *c = &m->ports[r->port].counts;
		uint64_t delay = m->counts.cycles - r->accepted;
		if (delay > c->issue_delay_max)
			c->issue_delay_max = delay;
		c->issued++;
		m->counts.issued++;
		m->busy = true;
		left--;
	}
}
