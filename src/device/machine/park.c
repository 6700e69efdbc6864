/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parking: a packet whose target has no room leaves its unit and waits, behind
 * earlier packets for the same port, until the consumer returns entries. If
 * other packets cannot arrive for lack of space, a port that has not made room
 * for park_cycles loses what is parked for it, with CAY_ERROR_NO_RESOURCES: a
 * port that does not consume never blocks others for longer.
 *
 * Parking sets WAITERS in R and then looks at R again; the consumer exchanges R
 * and then looks at the old value. Either the consumer finds WAITERS, or the
 * machine finds the new R: no wake-up is lost. models/park.pml.
 */
static void arrival_refuse(struct machine *, uint32_t at, enum cay_error);

static void park(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct machine_port *p = &m->ports[a->port];
	if (!p->parked)
		p->parked_since = m->counts.cycles;
	a->next = NONE;
	if (p->parked_last == NONE)
		p->parked_first = at;
	else
		m->arrivals[p->parked_last].next = at;
	p->parked_last = at;
	p->parked++;
	m->counts.parked++;
	m->parked++;
	uint64_t r = host_or(&p->own->control->r, R_WAITERS, HOST_R);
	/* The failed claim has cached the R that it used. */
	if ((r ^ private_load(&p->own->r_seen)) & ~R_WAITERS)
		private_store32(&p->own->room, 1);
}

/* Returns true if a unit holds a packet for a port. */
static bool unpark_blocked(const struct machine *m, uint32_t port)
{
	for (int kind = UNIT_COMPLETER; kind < UNIT_KINDS; kind++)
		for (uint32_t u = 0; u < m->unit_count[kind]; u++) {
			const struct unit *unit = &m->units[kind][u];
			for (uint32_t s = 0; s < m->unit_stages[kind]; s++)
				if (unit->item[s] != NONE &&
					m->arrivals[unit->item[s]].port == port)
					return true;
			for (uint32_t i = 0; i < unit->wait.count; i++)
				if (m->arrivals[ring_at(&unit->wait, i)].port ==
					port)
					return true;
		}
	return false;
}

/*
 * Returns the parked packets of a port to the front of the arrivals, in order,
 * once its units are empty: packets that entered them before park behind.
 */
static void unpark(struct machine *m, uint32_t port)
{
	struct machine_port *p = &m->ports[port];
	private_store32(&p->own->room, 0);
	m->incoming.first = (m->incoming.first + m->incoming.size - p->parked) %
			    m->incoming.size;
	m->incoming.count += p->parked;
	uint32_t at = p->parked_first;
	for (uint32_t i = 0; at != NONE; i++) {
		m->incoming.item[ring_position(&m->incoming, i)] = at;
		at = m->arrivals[at].next;
	}
	p->parked_first = p->parked_last = NONE;
	m->parked -= p->parked;
	p->parked = 0;
	m->busy = true;
}

/* Refuses the oldest packet that is parked for a port. */
static void park_evict(struct machine *m, uint32_t port)
{
	struct machine_port *p = &m->ports[port];
	uint32_t at = p->parked_first;
	p->parked_first = m->arrivals[at].next;
	if (p->parked_first == NONE)
		p->parked_last = NONE;
	p->parked--;
	m->parked--;
	m->counts.evicted++;
	arrival_refuse(m, at, CAY_ERROR_NO_RESOURCES);
	m->busy = true;
}

static void unpark_step(struct machine *m)
{
	for (uint32_t port = 0; m->parked && port < m->port_max; port++) {
		const struct machine_port *p = &m->ports[port];
		if (!p->own || !p->parked || unpark_blocked(m, port))
			continue;
		if (private_load32(&p->own->room))
			unpark(m, port);
		else if (m->pressed && !ring_full(&m->ack) &&
			 m->counts.cycles - p->parked_since >
				 m->config.park_cycles)
			park_evict(m, port);
		/* Pressed, the machine is not idle until then. */
		m->busy |= m->pressed;
	}
	m->pressed = false;
}
