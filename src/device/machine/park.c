/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parking: a packet whose target has no room leaves its unit and waits, behind
 * earlier packets for the same port, until the consumer returns entries, posts
 * receives, or a segmented transfer ends. What needs no room of the same kind
 * (accesses, priority messages) waits only behind packets with its key.
 *
 * Of a transfer of more segments than can be parked only the first one is. The
 * others are dropped, and sent again when the first has claimed room for the
 * whole: then the target asks for them, once, and packets with the same key
 * wait until the transfer has ended. An origin sends none of them before.
 *
 * If packets cannot arrive, or no request is free, a port that has not made
 * room for park_cycles loses what is parked for it, with
 * CAY_ERROR_NO_RESOURCES: a port that does not consume never blocks others for
 * longer, and not again until it has made room.
 *
 * Parking sets WAITERS in R and then looks at R again; the consumer exchanges R
 * and then looks at the old value. Either the consumer finds WAITERS, or the
 * machine finds the new R: no wake-up is lost. models/park.pml.
 */
static void arrival_refuse(struct machine *, uint32_t at, enum cay_error);
static uint32_t assembly_find(const struct machine *, const struct arrival *);

static void park(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct machine_port *p = &m->ports[a->port];
	if (!p->stuck_since)
		p->stuck_since = m->counts.cycles;
	a->next = NONE;
	if (p->parked_last == NONE)
		p->parked_first = at;
	else
		m->arrivals[p->parked_last].next = at;
	p->parked_last = at;
	p->parked++;
	m->counts.parked++;
	if (host_observed(m))
		host_note(m, observe_packet(&a->header, MACHINE_PARKED, false));
	m->parked++;
	uint64_t r = host_or(&p->own->control->r, R_WAITERS, HOST_R);
	/* A claim that failed has cached the R that it used. */
	if ((r ^ private_load(&p->own->r_seen)) & ~R_WAITERS) {
		private_store(&p->own->r_seen, r);
		private_store32(&p->own->room, 1);
	}
}

/* Removes a packet from those that are parked for its port. */
static void park_remove(struct machine *m, struct machine_port *p, uint32_t at)
{
	uint32_t previous = NONE, i = p->parked_first;
	for (; i != at; i = m->arrivals[i].next)
		previous = i;
	if (previous == NONE)
		p->parked_first = m->arrivals[at].next;
	else
		m->arrivals[previous].next = m->arrivals[at].next;
	if (p->parked_last == at)
		p->parked_last = previous;
	p->parked--;
	m->parked--;
}

/* Returns the first segment of a later one's transfer if it is parked. */
static uint32_t park_first(const struct machine *m, const struct arrival *a)
{
	uint32_t i = m->ports[a->port].parked_first;
	for (; i != NONE; i = m->arrivals[i].next) {
		const struct packet_header *h = &m->arrivals[i].header;
		if (!h->segment && !h->last &&
			h->origin_node == a->header.origin_node &&
			h->request == a->header.request)
			break;
	}
	return i;
}

/* Drops a later segment whose first is parked; an abort drops both. */
static void park_hold(struct machine *m, uint32_t at, uint32_t first)
{
	const struct packet_header *h = &m->arrivals[at].header;
	struct arrival *f = &m->arrivals[first];
	if (h->command & CAY_COMMAND_ERROR_MASK) {
		park_remove(m, &m->ports[f->port], first);
		arrival_free(m, first);
	} else {
		f->held = true;
		f->held_last |= h->last;
	}
	arrival_free(m, at);
}

/* Returns true if a transfer with this key is sent again. */
static bool park_resumed(const struct machine *m, uint64_t key)
{
	for (uint32_t i = 0; key && i < m->config.assemblies; i++)
		if (m->assemblies[i].state == ASSEMBLY_OPEN &&
			m->assemblies[i].resumed && m->assemblies[i].key == key)
			return true;
	return false;
}

/*
 * Returns true if a packet must wait behind what is parked for its port, or
 * behind a transfer that is sent again. A later segment never does: its room is
 * claimed, and its transfer must end.
 */
static bool park_blocks(const struct machine *m, const struct arrival *a)
{
	const struct machine_port *p = &m->ports[a->port];
	if ((!p->parked && !m->assembly_resumed) ||
		(a->header.segment && assembly_find(m, a) != NONE))
		return false;
	if (m->assembly_resumed && park_resumed(m, a->key))
		return true;
	if (!p->parked)
		return false;
	if (command_is_send(a->header.command) &&
		!(a->header.flags & CAY_VCI_PRIORITY))
		return true;
	for (uint32_t i = p->parked_first; a->key && i != NONE;
		i = m->arrivals[i].next)
		if (m->arrivals[i].key == a->key)
			return true;
	return false;
}

/* Returns true if a unit holds a packet with the key of a parked one. */
static bool unpark_blocked(const struct machine *m, uint32_t port)
{
	for (uint32_t i = m->ports[port].parked_first; i != NONE;
		i = m->arrivals[i].next)
		for (int kind = UNIT_COMPLETER; kind < UNIT_HOST_KINDS; kind++)
			if (scoreboard_find(m, (enum unit_kind)kind,
				    m->arrivals[i].key) != NONE)
				return true;
	return false;
}

/*
 * Returns the parked packets of a port to the front of the arrivals, in order.
 * Later packets with their keys have left the units, and were parked too.
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
	p->retried = true;
	m->busy = true;
}

/* Refuses the oldest packet that is parked for a port. */
static void park_evict(struct machine *m, uint32_t port)
{
	struct machine_port *p = &m->ports[port];
	uint32_t at = p->parked_first;
	park_remove(m, p, at);
	m->counts.evicted++;
	arrival_refuse(m, at, CAY_ERROR_NO_RESOURCES);
	m->busy = true;
}

/* Returns true if a port has had its time and others need the space. */
static bool park_expired(const struct machine *m, const struct machine_port *p)
{
	return m->pressed && !ring_full(&m->ack) &&
	       m->counts.cycles - p->stuck_since > m->config.park_cycles;
}

static void unpark_step(struct machine *m)
{
	for (uint32_t port = 0; m->parked && port < m->port_max; port++) {
		const struct machine_port *p = &m->ports[port];
		if (!p->parked || unpark_blocked(m, port))
			continue;
		bool expired = park_expired(m, p);
		if (host_room(p->own) && !(expired && p->retried))
			unpark(m, port);
		else if (expired)
			park_evict(m, port);
		/* Pressed, the machine is not idle until then. */
		m->busy |= m->pressed;
	}
	m->pressed = false;
}
