/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The complete unit: finds the request that a response names, stores its data,
 * and retires requests: per origin and target in order of issue, however the
 * responses came. A request that is retired frees its reserved completion, or
 * passes it to the notification unit.
 */

/*
 * Returns true if a request can have this response. Before its last packet is
 * sent, it can only be refused or resumed; after that, an ACK that is not
 * negative is no response of a get or an atomic.
 */
static bool complete_fits(const struct request *r,
	const struct packet_header *h, uint32_t mtu, bool negative, bool ack)
{
	unsigned command = r->packet.command;
	bool responds = command_is_get(command) || command_is_atomic(command);
	bool resume = ack && h->segment;
	if (r->state == REQUEST_EXECUTING &&
		(!r->sent || !(negative || resume)))
		return false;
	if (resume &&
		(r->resumed || h->segment > r->sent ||
			h->segment >= r->data.iov_len || h->segment % mtu))
		return false;
	if (ack)
		return !((h->completed ^ command) & ~CAY_COMMAND_ACK) &&
		       (negative || !responds);
	return h->command == (command | CAY_COMMAND_RESPONSE) &&
	       (command_is_atomic(command) || h->length == r->packet.length);
}

/* Returns the request that a response names, or NULL. */
static struct request *complete_find(
	struct machine *m, const struct packet_header *h)
{
	uint32_t at = h->request & 0xffff;
	bool negative = h->command & CAY_COMMAND_ERROR_MASK;
	bool ack = (h->command & CAY_COMMAND_MASK) == CAY_ACKNOWLEDGE;
	if (at >= m->config.requests)
		return NULL;
	struct request *r = &m->requests[at];
	if ((r->generation & 0xffff) != h->request >> 16 ||
		(r->state != REQUEST_SENT && r->state != REQUEST_EXECUTING))
		return NULL;
	return m->ports[r->port].origin.vpid == h->target_vpid &&
			       m->ports[r->port].first_epoch ==
				       h->target_epoch &&
			       h->origin_node == r->peer.node &&
			       h->origin_epoch == r->peer.epoch &&
			       h->origin_vpid == r->target_vpid &&
			       complete_fits(r, h, m->config.mtu, negative, ack)
		       ? r
		       : NULL;
}

/* Stores the data of a response. Returns the error of the request. */
static enum cay_error complete_data(
	struct machine *m, struct request *r, const struct arrival *a)
{
	const struct packet_header *h = &a->header;
	if (command_is_atomic(r->packet.command)) {
		r->response = (struct response){ h->operand[0], h->operand[1] };
		return CAY_ERROR_NONE;
	}
	if (command_operation(r->packet.command) == CAY_GET) {
		enum cay_error error = request_window(m, r);
		if (error)
			return error;
	}
	if (h->segment != r->arrived ||
		!bits_inside(h->segment, h->bytes, r->data.iov_len))
		return CAY_ERROR_UNREACHABLE;
	host_copy((unsigned char *)r->data.iov_base + h->segment, a->bytes,
		h->bytes, HOST_MEMORY);
	r->arrived += h->bytes;
	return CAY_ERROR_NONE;
}

/* The target has room now: what it has dropped is sent again, once. */
static void complete_resume(
	struct machine *m, struct request *r, uint64_t offset)
{
	r->resumed = true;
	r->sent = offset;
	m->counts.resumed++;
	if (r->state == REQUEST_SENT)
		ring_push(&m->resume, (uint32_t)(r - m->requests));
	r->state = REQUEST_EXECUTING;
}

static void complete_answer(struct machine *m, const struct arrival *a)
{
	const struct packet_header *h = &a->header;
	if (packet_is_ultra(h->completed)) {
		ultra_returned_to(m, h);
		return;
	}
	struct request *r = complete_find(m, h);
	enum cay_error error =
		(enum cay_error)(h->command >> CAY_COMMAND_ERROR_SHIFT);
	bool ack = (h->command & CAY_COMMAND_MASK) == CAY_ACKNOWLEDGE;
	if (!r) {
		m->counts.stale++;
		return;
	}
	if (host_observed(m))
		host_note(m, observe_request(m, r, MACHINE_ANSWERED));
	if (ack && h->segment) {
		complete_resume(m, r, h->segment);
		return;
	}
	if (r->state == REQUEST_EXECUTING) {
		/* A segmented transfer was refused: its unit ends it. */
		r->refused = true;
		r->error = (uint8_t)error;
		return;
	}
	if (!ack)
		error = r->abandoned ? CAY_ERROR_GONE : complete_data(m, r, a);
	if (ack || error || h->last)
		request_complete(m, r, error);
}

static void complete_step(struct machine *m)
{
	if (!m->answers.count)
		return;
	uint32_t at = ring_pop(&m->answers);
	complete_answer(m, &m->arrivals[at]);
	arrival_free(m, at);
	m->busy = true;
}

/* ---- retirement ---- */

static struct completion retire_completion(
	const struct machine *m, const struct request *r)
{
	const struct packet *p = &r->packet;
	bool access = command_is_access((unsigned)r->vci.word[0]);
	struct completion c = { .tag = r->vci.word[CAY_VCI_WORD_TAG],
		.api_tag = (uint32_t)(r->vci.word[CAY_VCI_WORD_TARGET] >>
				      CAY_VCI_API_TAG_SHIFT),
		.command = (uint16_t)r->vci.word[0],
		.error = r->error,
		.peer_node = r->remote ? r->peer.node : m->node,
		.peer_vpid = r->target_vpid };
	if (access || !r->error)
		c.length = p->length;
	if (access) {
		c.result = p->offset;
		c.previous = p->window;
	}
	if (!r->error)
		completion_results(&c, &r->response, r->fetched, p->length);
	return c;
}

static bool retire_notifies(const struct request *r)
{
	const struct packet *p = &r->packet;
	if (r->error)
		return true;
	if (!command_is_send(p->command))
		return packet_completes(p);
	return p->flags & CAY_VCI_NOTIFY || p->command & CAY_COMMAND_ACK ||
	       p->length > QUEUE_PAYLOAD_MAX;
}

/* Returns true if an earlier request of the port with this key is not retired.
 */
static bool retire_behind(
	const struct machine *m, const struct machine_port *p, uint32_t at)
{
	uint64_t key = m->requests[at].key;
	uint32_t i = p->request_first;
	while (key && i != at && m->requests[i].key != key)
		i = m->requests[i].next;
	return key && i != at;
}

/* Returns false if the notification unit has no room. */
static bool retire_request(struct machine *m, uint32_t at)
{
	struct request *r = &m->requests[at];
	struct machine_port *p = &m->ports[r->port];
	if (r->abandoned || !p->own)
		return true;
	if (!retire_notifies(r)) {
		ack_unreserve(&p->origin, 1);
		return true;
	}
	if (ring_full(&m->notify))
		return false;
	m->notices[ring_push(&m->notify, 0)] =
		(struct notice){ .kind = NOTICE_COMPLETION,
			.port = r->port,
			.completion = retire_completion(m, r) };
	return true;
}

/* Retires what can be retired of a port; false if something must wait. */
static bool retire_port(struct machine *m, struct machine_port *p)
{
	uint32_t previous = NONE, at = p->request_first;
	while (at != NONE) {
		struct request *r = &m->requests[at];
		uint32_t next = r->next;
		if (r->state != REQUEST_ANSWERED || retire_behind(m, p, at)) {
			previous = at;
			at = next;
			continue;
		}
		if (!retire_request(m, at))
			return false;
		if (previous == NONE)
			p->request_first = next;
		else
			m->requests[previous].next = next;
		if (p->request_last == at)
			p->request_last = previous;
		p->requests--;
		p->long_transfers -= r->is_long;
		r->state = REQUEST_FREE;
		m->request_free[m->request_free_count++] = at;
		m->counts.retired++;
		if (host_observed(m))
			host_note(m, observe_request(m, r, MACHINE_RETIRED));
		m->busy = true;
		at = next;
	}
	return true;
}

static void retire_step(struct machine *m)
{
	for (uint32_t n = m->retiring.count; n; n--) {
		uint32_t port = ring_pop(&m->retiring);
		struct machine_port *p = &m->ports[port];
		p->retiring = !retire_port(m, p);
		if (p->retiring)
			ring_push(&m->retiring, port);
	}
}
