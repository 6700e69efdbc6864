/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ULTRA completer: a context table by TUPID, and a store unit. Its stages
 * are context load and checks, payload and tag, status, interrupt and context
 * write-back. It never holds a message: one that is not of the origin of its
 * port, or finds no free slice, is discarded and counted.
 *
 * The position that a target returns goes to its origin through the acknowledge
 * unit. A port has at most one ACK to send, with its latest position.
 */

enum ultra_completer_stage {
	ULTRA_COMPLETER_CONTEXT,
	ULTRA_COMPLETER_PAYLOAD,
	ULTRA_COMPLETER_STATUS,
	ULTRA_COMPLETER_WRITE_BACK,
};

static struct completer_port *completer_port_find(
	const struct machine *m, uint16_t upid)
{
	struct completer_port *c =
		&m->completer_ports[(upid - 1u) % m->config.ultra_ports];
	return c->end.state != PATH_FREE && c->end.upid == upid ? c : NULL;
}

/* Returns the port if it belongs to this VPID. */
static struct completer_port *completer_port_of(
	const struct machine *m, uint16_t vpid, uint16_t upid)
{
	struct completer_port *c = completer_port_find(m, upid);
	return c && c->end.port == port_find(m, vpid) ? c : NULL;
}

static enum stage_result ultra_discard(
	struct machine *m, uint32_t at, struct completer_port *c)
{
	if (c)
		c->discarded++;
	m->counts.ultra_discarded++;
	if (host_observed(m))
		host_note(m, observe_packet(&m->arrivals[at].header,
				     MACHINE_DISCARDED, false));
	arrival_free(m, at);
	return STAGE_LEAVE;
}

/* Returns true if a message is of the one origin that the port accepts. */
static bool ultra_admitted(const struct machine *m,
	const struct completer_port *c, const struct packet_header *h)
{
	return c->end.state == PATH_ENABLED &&
	       c->end.peer_upid == (uint16_t)h->request &&
	       c->end.peer.node == h->origin_node &&
	       c->end.peer.vpid == h->origin_vpid &&
	       c->end.peer.epoch == h->origin_epoch &&
	       c->end.port == arrival_port(m, h) &&
	       h->bytes <= ultra_payload_max(&c->next);
}

static enum stage_result ultra_check(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct completer_port *c = completer_port_find(
		m, (uint16_t)(a->header.request >> PACKET_UPID_SHIFT));
	if (!c || !ultra_admitted(m, c, &a->header))
		return ultra_discard(m, at, c);
	host_context_load(m, c->end.port);
	a->path = (uint32_t)(c - m->completer_ports);
	return STAGE_DONE;
}

static enum stage_result ultra_store(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct completer_port *c = &m->completer_ports[a->path];
	if (c->written - c->read == c->next.slices)
		return ultra_discard(m, at, c);
	a->slice = c->next;
	ultra_fill((uint64_t *)(void *)c->next.end, a->header.tag, a->bytes,
		a->header.bytes);
	ultra_cursor_advance(&c->next);
	c->written++;
	c->message = a->header;
	c->remote = a->remote;
	if (a->remote)
		c->string = a->string;
	return STAGE_DONE;
}

static enum stage_result ultra_completer_stage(
	struct machine *m, uint32_t at, uint32_t stage)
{
	struct arrival *a = &m->arrivals[at];
	const struct packet_header *h = &a->header;
	switch (stage) {
	case ULTRA_COMPLETER_CONTEXT:
		return ultra_check(m, at);
	case ULTRA_COMPLETER_PAYLOAD:
		return ultra_store(m, at);
	case ULTRA_COMPLETER_STATUS:
		/* Pairs with U2 of device/ultra.c. */
		host_store((_Atomic uint64_t *)(void *)a->slice.end - 1,
			h->bytes |
				(uint64_t)(h->command & CAY_COMMAND_MASK)
					<< CAY_ULTRA_FLAGS_SHIFT |
				a->slice.generation,
			HOST_SLICE);
		m->counts.ultra_stored++;
		return STAGE_DONE;
	default:
		if (h->command & CAY_ULTRA_IRQ) {
			const struct completer_port *c =
				&m->completer_ports[a->path];
			notify_interrupt(m->ports[c->end.port].own, true);
			if (host_observed(m))
				host_note(m, observe_path(m, &c->end,
						     MACHINE_INTERRUPTED,
						     h->tag, 0));
		}
		host_context_write_back(
			m, m->completer_ports[a->path].end.port);
		arrival_free(m, at);
		return STAGE_DONE;
	}
}

/* Passes the position of a port to the acknowledge unit. */
static void ultra_acknowledge(struct machine *m)
{
	if (!m->ultra_returning.count || ring_full(&m->ack))
		return;
	struct completer_port *c =
		&m->completer_ports[ring_pop(&m->ultra_returning)];
	c->returning = false;
	m->busy = true;
	if (c->end.state != PATH_ENABLED)
		return;
	struct acknowledge *k = &m->acks[ring_push(&m->ack, 0)];
	k->header = packet_answer(&c->message, CAY_ACKNOWLEDGE, m->node);
	k->header.completed = PACKET_ULTRA;
	k->header.tag = 0; /* it is of the path, not of a message */
	k->header.segment = c->read;
	k->header.last = false;
	k->remote = c->remote;
	k->node = c->end.peer.node;
	if (c->remote)
		k->string = c->string;
}

static void ultra_completer_step(struct machine *m)
{
	struct unit *unit = &m->units[UNIT_ULTRA_COMPLETER][0];
	if (!ultra_unit_empty(unit))
		pipeline_step(m, UNIT_ULTRA_COMPLETER, unit);
	ultra_acknowledge(m);
	if (m->ultra_incoming.count && unit->item[0] == NONE) {
		uint32_t at = ring_pop(&m->ultra_incoming);
		if (host_observed(m))
			observe_entered(m, UNIT_ULTRA_COMPLETER, 0, at, false);
		pipeline_place(m, unit, 0, at, 0);
		m->busy = true;
	}
}

/* ---- software of the target ---- */

int MACHINE(ultra_return)(
	struct machine *m, uint16_t vpid, uint16_t tupid, uint64_t position)
{
	struct completer_port *c = completer_port_of(m, vpid, tupid);
	if (!c)
		return -ENXIO;
	if (position - c->read > c->written - c->read)
		return -EINVAL;
	if (position == c->read)
		return 0;
	c->read = position;
	if (!c->returning && c->end.state == PATH_ENABLED) {
		ring_push(&m->ultra_returning,
			(uint32_t)(c - m->completer_ports));
		c->returning = true;
	}
	if (host_observed(m)) {
		struct machine_note n =
			observe_path(m, &c->end, MACHINE_RETURNED, 0, 0);
		n.position = position;
		host_note(m, n);
	}
	return 0;
}

int MACHINE(ultra_target_status)(struct machine *m, uint16_t vpid,
	uint16_t tupid, struct machine_ultra_status *s)
{
	const struct completer_port *c = completer_port_of(m, vpid, tupid);
	if (!c)
		return -ENXIO;
	*s = (struct machine_ultra_status){ .written = c->written,
		.read = c->read,
		.discarded = c->discarded,
		.peer_upid = c->end.peer_upid,
		.enabled = c->end.state == PATH_ENABLED,
		.gone = c->end.state == PATH_GONE };
	return 0;
}
