/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditional store buffer: holds the triggers of all ports until fetch
 * takes them. A port may use a part of it, so that no port keeps others out.
 */

/*
 * The wait hint: the time until an entry of the port, or if it has none one of
 * the port whose turn is next, is fetched. Active ports take turns, behind what
 * is in the issue queue.
 */
static uint32_t csb_wait_ns(
	const struct machine *m, const struct machine_port *p)
{
	uint32_t next = p->csb_first;
	uint64_t turns = m->active.count ? m->active.count : 1;
	if (next == NONE && m->active.count)
		next = m->ports[ring_at(&m->active, 0)].csb_first;
	uint64_t work = next == NONE ? 1 : m->csb[next].count;
	uint64_t ns = (work * turns + m->issue.count) * m->config.service_ns /
		      m->config.requesters;
	return (uint32_t)bits_min(ns, UINT32_MAX);
}

static uint32_t csb_free(const struct machine *m, const struct machine_port *p)
{
	return (uint32_t)bits_min(m->config.csb_entries - m->csb_used,
		m->config.csb_port_entries - p->csb_count);
}

/* Accepts a trigger of `count` items, or refuses it. */
static struct cay_answer csb_insert(
	struct machine *m, uint32_t port, unsigned command, uint32_t count)
{
	struct machine_port *p = &m->ports[port];
	if (csb_free(m, p) == 0) {
		uint32_t wait_ns = csb_wait_ns(m, p);
		m->counts.refused++;
		if (host_observed(m))
			host_note(m,
				(struct machine_note){ .event = MACHINE_REFUSED,
					.vpid = p->origin.vpid,
					.left = wait_ns });
		return (struct cay_answer){ .reason = CAY_ERROR_NO_RESOURCES,
			.wait_ns = wait_ns };
	}
	uint32_t at = m->csb_free;
	struct csb_entry *e = &m->csb[at];
	m->csb_free = e->next;
	*e = (struct csb_entry){ .command = (uint8_t)command,
		.count = count,
		.accepted = m->counts.cycles,
		.next = NONE };
	if (p->csb_last == NONE)
		p->csb_first = at;
	else
		m->csb[p->csb_last].next = at;
	p->csb_last = at;
	p->csb_count++;
	m->csb_used++;
	m->counts.accepted++;
	if (m->csb_used > m->counts.csb_max)
		m->counts.csb_max = m->csb_used;
	if (!p->active)
		ring_push(&m->active, port);
	p->active = true;
	if (host_observed(m))
		host_note(m, (struct machine_note){ .event = MACHINE_ACCEPTED,
				     .vpid = p->origin.vpid,
				     .items = count,
				     .left = csb_free(m, p) });
	return (struct cay_answer){ .accepted = count, .free = csb_free(m, p) };
}

/* Removes the oldest entry of a port. */
static void csb_remove(struct machine *m, struct machine_port *p)
{
	uint32_t at = p->csb_first;
	p->csb_first = m->csb[at].next;
	if (p->csb_first == NONE)
		p->csb_last = NONE;
	m->csb[at].next = m->csb_free;
	m->csb_free = at;
	p->csb_count--;
	m->csb_used--;
}
