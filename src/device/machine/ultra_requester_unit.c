/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ULTRA requester: a context table by OUPID, a packet queue that is divided
 * into slices of the ports, the unit that accepts writes, and the injection
 * scheduler, which serves ports with work in turn, one message per cycle. Its
 * stages are context load, route and frame, payload and transmit, notification
 * and context write-back. An entry of the queue has the format of a slice, and
 * is named by its first line.
 *
 * A port injects only what has a free slice at the target. Messages with ACK
 * are noted until the returned position has passed them.
 *
 * Where room for packets is short, ULTRA and the requesters of the host port
 * take turns: the one that has transmitted is last in the next cycle.
 */

enum ultra_requester_stage {
	ULTRA_REQUESTER_CONTEXT,
	ULTRA_REQUESTER_FRAME,
	ULTRA_REQUESTER_TRANSMIT,
	ULTRA_REQUESTER_WRITE_BACK,
	ULTRA_STAGES, /* of the completer, too */
};

/* Returns the end of an entry as words: status and tag are the last two. */
static uint64_t *ultra_entry_end(const struct machine *m, uint32_t line)
{
	const struct requester_port *c =
		&m->requester_ports[m->line_owner[line]];
	return (uint64_t *)(void *)(m->ultra_queue + (uint64_t)line * CAY_LINE +
				    c->entry_bytes);
}

static uint64_t ultra_entry_tag(const struct machine *m, uint32_t line)
{
	return ultra_entry_end(m, line)[-2];
}

static uint32_t ultra_entry_length(const struct machine *m, uint32_t line)
{
	return ultra_entry_end(m, line)[-1] & 0xffff;
}

static unsigned ultra_entry_flags(const struct machine *m, uint32_t line)
{
	return ultra_entry_end(m, line)[-1] >> CAY_ULTRA_FLAGS_SHIFT & 0xff;
}

/* Returns the line of the entry at a position. */
static uint32_t ultra_entry_at(
	const struct requester_port *c, uint64_t position)
{
	return c->line + (uint32_t)(position & (c->entries - 1)) *
				 (c->entry_bytes / CAY_LINE);
}

/* The lines of a port's queue also number its notes of messages with ACK. */
static struct ultra_note *ultra_note_at(
	const struct machine *m, const struct requester_port *c, uint32_t i)
{
	return &m->ultra_notes[c->line +
			       ((c->note_first + i) & (c->entries - 1))];
}

/* ---- notifications of the origin; the caller has checked for room ---- */

static void ultra_notify(struct machine *m, const struct requester_port *c,
	const struct ultra_note *n, enum cay_ultra_flag flag,
	enum cay_error error)
{
	m->notices[ring_push(&m->notify, 0)] = (struct notice){
		.kind = NOTICE_ULTRA,
		.port = c->end.port,
		.completion = { .tag = n->tag,
			.command = (uint16_t)(PACKET_ULTRA | flag),
			.error = (uint8_t)error,
			.peer_node = c->end.peer.node,
			.peer_vpid = c->end.peer.vpid,
			.length = n->length,
			.result = n->position,
			.previous =
				packet_upids(c->end.upid, c->end.peer_upid) },
	};
	m->busy = true;
}

static struct ultra_note ultra_entry_note(
	const struct machine *m, uint32_t line, uint64_t position)
{
	return (struct ultra_note){ position, ultra_entry_tag(m, line),
		ultra_entry_length(m, line) };
}

static bool ultra_ended(const struct requester_port *c)
{
	return c->end.state == PATH_GONE || c->end.state == PATH_CLOSED;
}

/*
 * Writes the next notification that is due: of a message that the target has
 * taken, or if the path has ended of one that it never will. Returns false if
 * none is due, or if the notification unit has no room.
 */
static bool ultra_event(struct machine *m, struct requester_port *c)
{
	bool ended = ultra_ended(c);
	if (ring_full(&m->notify))
		return false;
	if (ended && c->read != c->written) {
		uint32_t line = ultra_entry_at(c, c->read);
		const struct ultra_note n = ultra_entry_note(m, line, c->read);
		if (ultra_entry_flags(m, line) & CAY_ULTRA_NOTIFY)
			ultra_notify(m, c, &n, CAY_ULTRA_NOTIFY,
				c->read < c->returned ? CAY_ERROR_NONE
						      : CAY_ERROR_GONE);
		c->read++;
		return true;
	}
	const struct ultra_note *n = ultra_note_at(m, c, 0);
	bool taken = c->notes && n->position < c->returned;
	if (!c->notes || (!taken && !ended))
		return false;
	ultra_notify(m, c, n, CAY_ULTRA_ACK,
		taken ? CAY_ERROR_NONE : CAY_ERROR_GONE);
	c->note_first++;
	c->notes--;
	return true;
}

/* ---- injection scheduler ---- */

static bool ultra_injectable(const struct requester_port *c)
{
	return c->end.state == PATH_ENABLED && c->issued != c->written &&
	       c->issued - c->returned < c->slices;
}

static bool ultra_ready(const struct machine *m, const struct requester_port *c)
{
	if (ultra_ended(c))
		return c->read != c->written || c->notes;
	return ultra_injectable(c) ||
	       (c->notes && ultra_note_at(m, c, 0)->position < c->returned);
}

static void ultra_activate(struct machine *m, struct requester_port *c)
{
	if (!c->active && ultra_ready(m, c)) {
		ring_push(&m->ultra_active, (uint32_t)(c - m->requester_ports));
		c->active = true;
	}
}

static void requester_port_free(struct machine *m, struct requester_port *c);

static void ultra_schedule(struct machine *m)
{
	struct unit *unit = &m->units[UNIT_ULTRA_REQUESTER][0];
	for (uint32_t turns = m->ultra_active.count; turns; turns--) {
		uint32_t at = ring_pop(&m->ultra_active);
		struct requester_port *c = &m->requester_ports[at];
		bool done = ultra_event(m, c);
		if (ultra_injectable(c) && unit->item[0] == NONE) {
			pipeline_place(
				m, unit, 0, ultra_entry_at(c, c->issued++), 0);
			done = true;
		}
		c->active = false;
		ultra_activate(m, c);
		if (c->end.state == PATH_CLOSED && !c->active)
			requester_port_free(m, c);
		m->busy |= done;
		if (done)
			return;
	}
}

/* ---- stages ---- */

static enum stage_result ultra_transmit(
	struct machine *m, struct requester_port *c, uint32_t line)
{
	uint32_t length = ultra_entry_length(m, line);
	const struct packet_header h = {
		.command =
			(uint16_t)(PACKET_ULTRA | ultra_entry_flags(m, line)),
		.last = true,
		.origin_vpid = m->ports[c->end.port].origin.vpid,
		.target_vpid = c->end.peer.vpid,
		.origin_node = m->node,
		.origin_epoch = m->ports[c->end.port].first_epoch,
		.target_epoch = c->end.peer.epoch,
		.tag = ultra_entry_tag(m, line),
		.length = length,
		.bytes = length,
		.request = packet_upids(c->end.upid, c->end.peer_upid)
	};
	bool sent = transmit(m, &h, c->remote ? &c->string : NULL,
		c->end.peer.node,
		ultra_entry_end(m, line) - 2 - (length + 7) / 8);
	m->ultra_first = !sent;
	m->counts.ultra_injected += sent;
	return sent ? STAGE_DONE : STAGE_HOLD;
}

static enum stage_result ultra_requester_stage(
	struct machine *m, uint32_t line, uint32_t stage)
{
	struct requester_port *c = &m->requester_ports[m->line_owner[line]];
	switch (stage) {
	case ULTRA_REQUESTER_CONTEXT:
		host_context_load(m, c->end.port);
		break;
	case ULTRA_REQUESTER_FRAME:
		/* The context has the route and all of the frame but the tag.
		 */
		break;
	case ULTRA_REQUESTER_TRANSMIT:
		return ultra_transmit(m, c, line);
	default:
		if (ultra_entry_flags(m, line) & CAY_ULTRA_NOTIFY) {
			if (ring_full(&m->notify))
				return STAGE_HOLD;
			const struct ultra_note n =
				ultra_entry_note(m, line, c->read);
			ultra_notify(
				m, c, &n, CAY_ULTRA_NOTIFY, CAY_ERROR_NONE);
		}
		c->read++;
		host_context_write_back(m, c->end.port);
	}
	return STAGE_DONE;
}

/* Returns true if no stage of an ULTRA unit holds a message. */
static bool ultra_unit_empty(const struct unit *unit)
{
	for (uint32_t s = 0; s < ULTRA_STAGES; s++)
		if (unit->item[s] != NONE)
			return false;
	return true;
}

static void ultra_requester_step(struct machine *m)
{
	struct unit *unit = &m->units[UNIT_ULTRA_REQUESTER][0];
	if (!ultra_unit_empty(unit))
		pipeline_step(m, UNIT_ULTRA_REQUESTER, unit);
	ultra_schedule(m);
}

/* ---- the acknowledge: the position of the target ---- */

static struct requester_port *requester_port_find(
	const struct machine *m, uint16_t upid)
{
	struct requester_port *c =
		&m->requester_ports[(upid - 1u) % m->config.ultra_ports];
	return c->end.state != PATH_FREE && c->end.upid == upid ? c : NULL;
}

static void ultra_returned_to(struct machine *m, const struct packet_header *h)
{
	struct requester_port *c = requester_port_find(m, (uint16_t)h->request);
	if (!c || c->end.state != PATH_ENABLED ||
		c->end.peer_upid != h->request >> PACKET_UPID_SHIFT ||
		c->end.peer.node != h->origin_node ||
		c->end.peer.vpid != h->origin_vpid ||
		c->end.peer.epoch != h->origin_epoch ||
		m->ports[c->end.port].origin.vpid != h->target_vpid ||
		m->ports[c->end.port].first_epoch != h->target_epoch ||
		h->segment <= c->returned || h->segment > c->issued) {
		m->counts.stale++;
		return;
	}
	c->returned = h->segment;
	ultra_activate(m, c);
	m->busy = true;
	if (host_observed(m)) {
		struct machine_note n =
			observe_path(m, &c->end, MACHINE_ANSWERED, h->tag, 0);
		n.position = c->returned;
		host_note(m, n);
	}
}

/* ---- writes ---- */

/* Returns the port if it belongs to this VPID. */
static struct requester_port *requester_port_of(
	const struct machine *m, uint16_t vpid, uint16_t upid)
{
	struct requester_port *c = requester_port_find(m, upid);
	return c && c->end.state != PATH_CLOSED &&
			       c->end.port == port_find(m, vpid)
		       ? c
		       : NULL;
}

/* Refuses a write; the caller has reserved a completion if NOTIFY is set. */
static int ultra_refuse(struct machine *m, struct requester_port *c,
	const struct ultra_note *n, unsigned flags)
{
	m->counts.ultra_refused++;
	if (host_observed(m))
		host_note(m, observe_path(m, &c->end, MACHINE_REFUSED, n->tag,
				     flags));
	if (flags & CAY_ULTRA_NOTIFY)
		ultra_notify(m, c, n, CAY_ULTRA_NOTIFY, CAY_ERROR_NO_RESOURCES);
	return -EAGAIN;
}

/* Stores a message into the port's slice of the packet queue. */
static void ultra_enqueue(struct machine *m, struct requester_port *c,
	const struct ultra_note *n, const void *data, unsigned flags)
{
	uint32_t line = ultra_entry_at(c, c->written++);
	uint64_t *end = ultra_entry_end(m, line);
	if (n->length)
		host_copy(end - 2 - (n->length + 7) / 8, data, n->length,
			HOST_PACKET);
	end[-2] = n->tag;
	end[-1] = n->length | (uint64_t)flags << CAY_ULTRA_FLAGS_SHIFT;
	if (flags & CAY_ULTRA_ACK)
		*ultra_note_at(m, c, c->notes++) = *n;
	ultra_activate(m, c);
	if (host_observed(m)) {
		struct machine_note note = observe_path(
			m, &c->end, MACHINE_ACCEPTED, n->tag, flags);
		note.items = 1;
		note.left = c->entries - (uint32_t)(c->written - c->read);
		host_note(m, note);
	}
}

int MACHINE(ultra_write)(struct machine *m, uint16_t vpid, uint16_t oupid,
	uint64_t tag, const void *data, size_t length, unsigned flags)
{
	struct requester_port *c = requester_port_of(m, vpid, oupid);
	if (!c || c->end.state == PATH_OPEN)
		return -ENXIO;
	if (c->end.state == PATH_GONE)
		return -EPIPE;
	if (flags & ~(unsigned)PACKET_ULTRA_FLAGS)
		return -EINVAL;
	if (length > c->entry_bytes - CAY_ULTRA_TRAILER)
		return -EMSGSIZE;
	const struct ultra_note n = { c->written, tag, (uint32_t)length };
	struct origin *o = &m->ports[c->end.port].origin;
	bool notify = flags & CAY_ULTRA_NOTIFY, ack = flags & CAY_ULTRA_ACK;
	bool full = c->written - c->read == c->entries ||
		    (ack && c->notes == c->entries);
	uint32_t events = notify + (ack && !full), reserved = 0;
	/* A refusal is reported now, the rest by the scheduler. */
	if (notify && full && ring_full(&m->notify))
		return -EAGAIN;
	while (reserved < events && ack_reserve(o))
		reserved++;
	if (reserved < events) {
		ack_unreserve(o, reserved);
		return -EAGAIN;
	}
	if (full)
		return ultra_refuse(m, c, &n, flags);
	ultra_enqueue(m, c, &n, data, flags);
	return 0;
}

int MACHINE(ultra_origin_status)(struct machine *m, uint16_t vpid,
	uint16_t oupid, struct machine_ultra_status *s)
{
	const struct requester_port *c = requester_port_of(m, vpid, oupid);
	if (!c)
		return -ENXIO;
	*s = (struct machine_ultra_status){ .written = c->written,
		.read = c->read,
		.returned = c->returned,
		.peer_upid = c->end.peer_upid,
		.enabled = c->end.state == PATH_ENABLED,
		.gone = c->end.state == PATH_GONE };
	return 0;
}
