/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrivals: decodes packets from the wire, and dispatches requests, in order of
 * arrival, to the completers and responders. The scoreboard keeps the order per
 * origin and target; responses go to the complete unit, and ULTRA messages to
 * the ULTRA completer.
 */

/* `local`: transmitted by this machine, and not from the wire. */
static int arrival_decode(
	struct machine *m, const void *bytes, size_t size, bool local)
{
	struct packet_header h;
	struct routing_string string;
	/* The class is not known before the packet is decoded. */
	if (!m->arrival_free_count)
		return -EAGAIN;
	uint32_t at = m->arrival_free[m->arrival_free_count - 1];
	int r = packet_decode(
		bytes, size, m->config.mtu, &h, &string, m->arrivals[at].bytes);
	/* No other node sends as this one. */
	if (r >= 0 && (h.origin_node == m->node) != local)
		r = -EINVAL;
	if (r < 0) {
		m->counts.stale++;
		return r;
	}
	if (!arrival_room(m, h.command))
		return -EAGAIN;
	arrival_allocate(m, h.command);
	m->arrivals[at].header = h;
	m->arrivals[at].string = string;
	m->arrivals[at].remote = true;
	arrival_enqueue(m, at);
	return 0;
}

int MACHINE(receive)(struct machine *m, const void *bytes, size_t size)
{
	return arrival_decode(m, bytes, size, false);
}

/* Returns the index of a port, or NONE. */
static uint32_t port_find(const struct machine *m, uint16_t vpid)
{
	uint32_t i = vpid * 0x9e3779b1u & m->by_vpid_mask;
	for (;; i = (i + 1) & m->by_vpid_mask) {
		uint32_t port = m->by_vpid[i];
		if (port == NONE)
			return NONE;
		if (m->ports[port].own && m->ports[port].origin.vpid == vpid)
			return port;
	}
}

/*
 * Returns the port that a packet is for, or NONE: no such port, or a former one
 * with this VPID.
 */
static uint32_t arrival_port(
	const struct machine *m, const struct packet_header *h)
{
	uint32_t port = port_find(m, h->target_vpid);
	return port == NONE || h->target_epoch < m->ports[port].first_epoch ||
			       h->target_epoch > m->ports[port].own->epoch
		       ? NONE
		       : port;
}

/* The packet as the units of the target see it. */
static void arrival_packet(struct arrival *a)
{
	const struct packet_header *h = &a->header;
	a->data = (struct iovec){ a->bytes, h->bytes };
	a->packet = (struct packet){
		.command = h->command & CAY_COMMAND_MASK,
		.flags = h->flags & CAY_VCI_FLAGS,
		.origin_vpid = h->origin_vpid,
		.origin_node = h->origin_node,
		.tag = h->tag,
		.api_tag = h->api_tag,
		.pieces = 1,
		.length = h->length,
		.payload = &a->data,
		.window = h->window,
		.capability = h->capability,
		.offset = h->offset,
		.operand = { h->operand[0], h->operand[1] },
	};
}

/* Segments of one transfer stay in order, whatever its flags. */
static uint64_t arrival_key(const struct machine *m, const struct arrival *a)
{
	const struct packet_header *h = &a->header;
	uint64_t type = m->config.key_type
				? (uint64_t)command_operation(h->command)
				: 0;
	if (h->flags & CAY_VCI_FREE_ORDER && h->last && h->segment == 0)
		return 0;
	uint64_t key =
		((uint64_t)h->origin_node << 32 |
			(uint64_t)h->origin_vpid << 16 | h->target_vpid) +
		(type << 20);
	return key ? key : 1;
}

static void dispatch_step(struct machine *m)
{
	while (m->incoming.count) {
		uint32_t at = ring_at(&m->incoming, 0);
		struct arrival *a = &m->arrivals[at];
		unsigned command = a->header.command & CAY_COMMAND_MASK;
		enum unit_kind kind = command_is_get(command) ||
						      command_is_atomic(command)
					      ? UNIT_RESPONDER
					      : UNIT_COMPLETER;
		enum unit_kind other = kind == UNIT_RESPONDER ? UNIT_COMPLETER
							      : UNIT_RESPONDER;
		a->key = arrival_key(m, a);
		a->port = arrival_port(m, &a->header);
		uint32_t unit = NONE;
		if (scoreboard_find(m, other, a->key) == NONE)
			unit = scoreboard_unit(m, kind, a->key);
		if (unit == NONE) {
			if (host_observed(m))
				observe_held(m, kind, at,
					scoreboard_find(m, other, a->key) !=
							NONE ||
						scoreboard_find(m, kind,
							a->key) != NONE);
			return;
		}
		ring_pop(&m->incoming);
		if (host_observed(m))
			observe_entered(m, kind, unit, at,
				scoreboard_find(m, kind, a->key) != NONE);
		pipeline_enter(m, &m->units[kind][unit], at, a->key);
		m->busy = true;
	}
}
