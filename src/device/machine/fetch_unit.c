/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fetch unit: takes accepted work, the ports in turn and one item per
 * cycle, and copies VCIs into the issue queue. It takes a VCI only if its
 * completion can be reserved and a request is free for it, so that a port that
 * does not return its completions, or whose targets are full, never blocks the
 * issue queue. A VCI behind a transfer of very many segments to the same target
 * waits until that has ended. A VCI that is not filled in fails with
 * CAY_ERROR_COMMAND, ends its trigger, and stays in the work queue, as on the
 * direct path.
 */

/* Returns the ordering key of a VCI: context, destination, and the command. */
static uint64_t fetch_key(
	const struct machine *m, uint16_t vpid, const struct cay_vci *v)
{
	uint64_t route = v->word[0] >> CAY_VCI_ROUTING_OFFSET_SHIFT &
			 CAY_VCI_ROUTING_OFFSET_MASK;
	uint64_t type = m->config.key_type ? v->word[0] & CAY_COMMAND_OPERATION
					   : 0;
	if (v->word[0] >> CAY_VCI_FLAGS_SHIFT & CAY_VCI_FREE_ORDER)
		return 0;
	return (uint64_t)vpid << 48 |
	       (v->word[CAY_VCI_WORD_TARGET] & 0xffff) << 32 | route << 8 |
	       type | 1;
}

static void request_complete(
	struct machine *m, struct request *r, enum cay_error error)
{
	struct machine_port *p = &m->ports[r->port];
	r->error = (uint8_t)error;
	r->state = REQUEST_ANSWERED;
	if (!p->retiring)
		ring_push(&m->retiring, r->port);
	p->retiring = true;
	m->busy = true;
}

static bool transfer_is_long(const struct machine *, uint64_t length);

/* Returns true if the segments of a VCI cannot all wait at its target. */
static bool fetch_is_long(const struct machine *m, const struct cay_vci *v)
{
	unsigned operation = command_operation((unsigned)v->word[0]);
	if (operation != CAY_SEND && operation != CAY_PUT)
		return false;
	return transfer_is_long(
		m, v->word[operation == CAY_SEND ? CAY_VCI_WORD_LENGTH
						 : CAY_VCI_WORD_BYTES]);
}

/*
 * Returns true if a VCI must wait for the end of a long transfer with its key:
 * the target may ask for its segments again.
 */
static bool fetch_behind_long(const struct machine *m,
	const struct machine_port *p, const struct cay_vci *v)
{
	uint64_t key = fetch_key(m, p->origin.vpid, v);
	uint32_t i = p->long_transfers && key ? p->request_first : NONE;
	while (i != NONE &&
		!(m->requests[i].is_long && m->requests[i].key == key))
		i = m->requests[i].next;
	return i != NONE;
}

/* Returns false if the port must wait. */
static bool fetch_request(struct machine *m, uint32_t port, struct csb_entry *e)
{
	struct machine_port *p = &m->ports[port];
	struct origin *o = &p->origin;
	struct cay_vci v;
	if (ring_full(&m->issue) || p->requests >= m->config.port_requests)
		return false;
	if (m->request_free_count == 0) {
		/* Ports that do not consume may hold them: park.c. */
		m->pressed = true;
		return false;
	}
	bool filled = fetch_vci(o, &v);
	if (!filled)
		v = (struct cay_vci){ 0 };
	bool fence = filled && v.word[0] >> CAY_VCI_FLAGS_SHIFT & CAY_VCI_FENCE;
	if ((fence && p->requests) || (filled && fetch_behind_long(m, p, &v)) ||
		!ack_reserve(o))
		return false;

	uint32_t at = m->request_free[--m->request_free_count];
	struct request *r = &m->requests[at];
	uint32_t generation = r->generation + 1;
	memset(r, 0, offsetof(struct request, string));
	r->vci = v;
	r->generation = generation;
	r->accepted = e->accepted;
	r->port = port;
	r->next = NONE;
	r->target_vpid = (uint16_t)v.word[CAY_VCI_WORD_TARGET];
	r->state = REQUEST_ISSUE;
	if (p->request_last == NONE)
		p->request_first = at;
	else
		m->requests[p->request_last].next = at;
	p->request_last = at;
	p->requests++;
	e->count--;
	m->counts.fetched++;
	if (host_observed(m))
		host_note(m, observe_request(m, r, MACHINE_FETCHED));
	uint64_t flight = m->config.requests - m->request_free_count;
	if (flight > m->counts.flight_max)
		m->counts.flight_max = flight;
	if (!filled) {
		e->count = 0;
		request_complete(m, r, CAY_ERROR_COMMAND);
		return true;
	}
	private_store32(
		&o->device.wq_read, private_load32(&o->device.wq_read) + 1);
	r->key = fetch_key(m, o->vpid, &v);
	r->is_long = fetch_is_long(m, &v);
	p->long_transfers += r->is_long;
	ring_push(&m->issue, at);
	if (m->issue.count > m->counts.issue_max)
		m->counts.issue_max = m->issue.count;
	return true;
}

/* Returns the oldest entries and their payload; those not written stay. */
static void fetch_return(struct machine_port *p, uint32_t count)
{
	struct context *own = p->own;
	uint64_t r = host_load(&own->control->r, HOST_R);
	uint64_t nq = queue_nq(r), rdr = queue_rdr(r);
	for (; count && nq != queue_nq(own->w); count--) {
		uint64_t word = notify_peek(own, nq);
		if (!word)
			break;
		if ((word & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
			rdr = host_read(&notify_entry(own, nq)
						 ->word[CAY_NQE_WORD_POINTERS],
				      HOST_NQE) >>
			      CAY_NQE_RDR_WRITE_SHIFT;
		nq++;
	}
	notify_return(own, queue_word(nq, rdr));
}

static bool fetch_status(struct machine *m, uint32_t port)
{
	if (ring_full(&m->notify) || !ack_reserve(&m->ports[port].origin))
		return false;
	m->notices[ring_push(&m->notify, 0)] =
		(struct notice){ .kind = NOTICE_STATUS, .port = port };
	return true;
}

/* Executes an item of the oldest entry; false if it must wait. */
static bool fetch_entry_item(struct machine *m, uint32_t port)
{
	struct machine_port *p = &m->ports[port];
	struct csb_entry *e = &m->csb[p->csb_first];
	switch (e->command & (MACHINE_STATUS - 1)) {
	case CAY_ISSUE_VCI:
		if (!fetch_request(m, port, e))
			return false;
		break;
	case CAY_ISSUE_SNAPSHOT: /* is a NOTIFY_STATUS in any case */
		if (!fetch_status(m, port))
			return false;
		*e = (struct csb_entry){ .next = e->next };
		break;
	case CAY_ISSUE_NQ:
	case CAY_ISSUE_RDR:
		fetch_return(p, e->count);
		e->count = 0;
		break;
	default: /* CAY_ISSUE_POSTED: the slots are READY already */
		private_store32(&p->own->room, 1);
		e->count = 0;
	}
	if (e->count)
		return true;
	if (e->command & MACHINE_STATUS)
		*e = (struct csb_entry){ .command = CAY_ISSUE_SNAPSHOT,
			.count = 1,
			.next = e->next };
	else
		csb_remove(m, p);
	return true;
}

static void fetch_step(struct machine *m)
{
	for (uint32_t turns = m->active.count; turns; turns--) {
		uint32_t port = ring_pop(&m->active);
		struct machine_port *p = &m->ports[port];
		bool done = fetch_entry_item(m, port);
		p->active = p->csb_first != NONE;
		if (p->active)
			ring_push(&m->active, port);
		if (done) {
			m->busy = true;
			return;
		}
	}
}
