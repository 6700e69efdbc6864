/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmit: where packets leave the machine, or return to it. A packet for a
 * port of this machine is handed over as a header and its payload; others are
 * encoded. A packet that finds no room is transmitted again in a later cycle.
 */

/* A quarter of the packets is for responses: they never wait for requests. */
static uint32_t arrival_requests_max(const struct machine *m)
{
	return m->config.packets - m->config.packets / 4;
}

/* Returns true for a transfer whose segments cannot all wait for room. */
static bool transfer_is_long(const struct machine *m, uint64_t length)
{
	return length > (uint64_t)m->config.mtu * arrival_requests_max(m);
}

static bool packet_is_response(unsigned command)
{
	unsigned plain = command & CAY_COMMAND_MASK;
	if (plain == CAY_ACKNOWLEDGE)
		return true;
	return (command_is_get(plain) || command_is_atomic(plain)) &&
	       plain & CAY_COMMAND_RESPONSE;
}

/*
 * Returns true if there is room for a packet. ULTRA messages have room of their
 * own: neither they nor other packets keep each other out.
 */
static bool arrival_room(struct machine *m, unsigned command)
{
	if (packet_is_ultra((uint16_t)command))
		return m->arrival_ultra < m->config.ultra_packets;
	uint32_t used =
		m->arrival_count - m->arrival_free_count - m->arrival_ultra;
	bool response = packet_is_response(command);
	bool room = used < m->config.packets &&
		    (response || used - m->arrival_responses <
					 arrival_requests_max(m));
	m->pressed |= !room && !response;
	return room;
}

static uint32_t arrival_allocate(struct machine *m, unsigned command)
{
	uint32_t at = m->arrival_free[--m->arrival_free_count];
	struct arrival *a = &m->arrivals[at];
	unsigned char *bytes = a->bytes;
	memset(a, 0, offsetof(struct arrival, string));
	a->bytes = bytes;
	a->assembly = a->next = a->port = a->path = NONE;
	a->response = packet_is_response(command);
	a->ultra = packet_is_ultra((uint16_t)command);
	m->arrival_responses += a->response;
	m->arrival_ultra += a->ultra;
	return at;
}

static void arrival_free(struct machine *m, uint32_t at)
{
	m->arrival_responses -= m->arrivals[at].response;
	m->arrival_ultra -= m->arrivals[at].ultra;
	m->arrivals[at].entered = false;
	m->arrival_free[m->arrival_free_count++] = at;
}

static void arrival_enqueue(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	ring_push(a->response ? &m->answers
		  : a->ultra  ? &m->ultra_incoming
			      : &m->incoming,
		at);
	if (host_observed(m))
		host_note(
			m, observe_packet(&a->header, MACHINE_ARRIVED, false));
	m->counts.received++;
	m->busy = true;
}

static int arrival_decode(
	struct machine *, const void *bytes, size_t size, bool local);

/*
 * Transmits a packet to a node, over a string if it is another one. Returns
 * false if there is no room.
 */
static bool transmit(struct machine *m, const struct packet_header *h,
	const struct routing_string *string, uint32_t node, const void *data)
{
	bool response = packet_is_response(h->command);
	if (node == m->node && !m->config.encode_local) {
		if (!arrival_room(m, h->command))
			return false;
		observe_sent(m, h, 0);
		uint32_t at = arrival_allocate(m, h->command);
		struct arrival *a = &m->arrivals[at];
		a->header = *h;
		if (h->bytes)
			host_copy(a->bytes, data, h->bytes, HOST_PACKET);
		arrival_enqueue(m, at);
		m->counts.transmitted++;
		return true;
	}
	/* To a port of the same node, encoded: no hops, there and back. */
	struct routing_string here = { .tag = (uint16_t)node,
		.count = response ? 1 : 2,
		.phit = { STRING_PORT_ANY | (response ? 0 : STRING_RETURN),
			response ? 0 : STRING_PORT_ANY } };
	struct iovec payload = { (void *)(uintptr_t)data, h->bytes };
	int size = packet_encode(h, string ? string : &here, &payload, 1,
		m->config.mtu, m->encoded, PACKET_BYTES_MAX(m->config.mtu));
	assert(size > 0);
	bool sent;
	if (node == m->node) {
		if (!arrival_room(m, h->command))
			return false;
		observe_sent(m, h, (size_t)size);
		sent = arrival_decode(m, m->encoded, (size_t)size, true) == 0;
	} else {
		sent = host_wire(m, node,
			response || packet_is_ultra(h->command), m->encoded,
			(size_t)size);
		if (sent)
			observe_sent(m, h, (size_t)size);
	}
	m->counts.transmitted += sent;
	return sent;
}

/*
 * Transmits a response over the return path of the request; NULL: the request
 * was not encoded.
 */
static bool answer_transmit(struct machine *m, const struct packet_header *h,
	const struct routing_string *request, uint32_t node, const void *data)
{
	struct routing_string string;
	if (request &&
		routing_string_reverse(request, (uint16_t)node, &string) != 0)
		return true; /* no way back: nothing can be sent */
	if (node != m->node && !m->wire)
		return true;
	return transmit(m, h, request ? &string : NULL, node, data);
}
