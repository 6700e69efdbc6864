/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completer and responder as pipelines. Their stages are context load, window
 * load and check or claim of an entry, payload (of a responder: fetch and
 * response), notification, acknowledge, context write-back. The units execute
 * what the direct path executes; the stages only separate it in time. Every
 * request is acknowledged, with or without A, so that its origin can retire it.
 *
 * A segmented transfer claims room for the whole with its first segment; the
 * notification follows the last. If the origin abandons it, the entry is void.
 */

enum target_stage {
	TARGET_CONTEXT,
	TARGET_WINDOW,
	TARGET_PAYLOAD,
	TARGET_NOTIFICATION,
	TARGET_ACKNOWLEDGE,
	TARGET_WRITE_BACK,
	TARGET_STAGES,
};

static bool arrival_segmented(const struct arrival *a)
{
	return !a->header.last || a->header.segment != 0;
}

static bool arrival_aborts(const struct arrival *a)
{
	return a->header.command & CAY_COMMAND_ERROR_MASK;
}

/* Queues the acknowledge of a request; the caller has checked for room. */
static void acknowledge(
	struct machine *m, const struct arrival *a, enum cay_error error)
{
	struct acknowledge *k = &m->acks[ring_push(&m->ack, 0)];
	k->header = packet_answer(&a->header,
		(uint16_t)(CAY_ACKNOWLEDGE | error << CAY_COMMAND_ERROR_SHIFT),
		m->node);
	k->header.completed = a->header.command;
	k->remote = a->remote;
	k->node = a->header.origin_node;
	if (a->remote)
		k->string = a->string;
	m->busy = true;
}

/* ---- segmented transfers ---- */

static uint32_t assembly_find(const struct machine *m, const struct arrival *a)
{
	for (uint32_t i = 0; i < m->config.assemblies; i++)
		if (m->assemblies[i].state != ASSEMBLY_FREE &&
			m->assemblies[i].node == a->header.origin_node &&
			m->assemblies[i].request == a->header.request)
			return i;
	return NONE;
}

static uint32_t assembly_allocate(struct machine *m, const struct arrival *a)
{
	for (uint32_t i = 0; i < m->config.assemblies; i++)
		if (m->assemblies[i].state == ASSEMBLY_FREE) {
			m->assemblies[i] = (struct assembly){
				.node = a->header.origin_node,
				.request = a->header.request,
				.port = a->port,
				.state = ASSEMBLY_OPEN
			};
			return i;
		}
	return NONE;
}

/* Makes the entry that a transfer has claimed void. */
static void assembly_void(struct machine *m, struct assembly *s)
{
	struct context *to = m->ports[s->port].own;
	bool claimed = s->send || s->access.notifies;
	const struct claim *claim = s->send ? &s->claim : &s->access.claim;
	if (s->state == ASSEMBLY_OPEN && to && claimed) {
		if (s->posted)
			posted_unclaim(to, &m->op, s->slot_index);
		notify_void(to, queue_nq(claim->w_old),
			(int64_t)queue_rdr(claim->w_new));
		notify_wake(to, &m->op, claim, 0);
		m->counts.voided++;
	}
	s->state = ASSEMBLY_FREE;
}

/*
 * Refuses a packet. The other segments of its transfer are dropped, and only
 * the last is not followed by others.
 */
static void arrival_refuse(struct machine *m, uint32_t at, enum cay_error error)
{
	struct arrival *a = &m->arrivals[at];
	if (arrival_segmented(a)) {
		uint32_t s = a->assembly != NONE ? a->assembly
						 : assembly_find(m, a);
		if (s == NONE && !a->header.last)
			s = assembly_allocate(m, a);
		if (s != NONE && m->assemblies[s].state == ASSEMBLY_OPEN &&
			a->header.segment)
			assembly_void(m, &m->assemblies[s]);
		if (s != NONE)
			m->assemblies[s].state = a->header.last
							 ? ASSEMBLY_FREE
							 : ASSEMBLY_REFUSED;
	}
	acknowledge(m, a, error);
	arrival_free(m, at);
}

/* ---- stages ---- */

/* Claims the entry of a message, and where its payload goes. */
static int target_claim(struct machine *m, struct arrival *a)
{
	struct context *to = m->ports[a->port].own;
	const struct packet *p = &a->packet;
	uint32_t keep = completer_reserve(to, p->flags);
	uint32_t units = 0;
	int slot = -1;
	if (p->length > CAY_FAST_SEND_BYTES) {
		uint32_t mode = host_load32(&to->control->posted, HOST_W);
		if (p->length > (uint64_t)to->rdr_units * RDR_UNIT &&
			mode == POSTED_NONE)
			return CAY_ERROR_NO_RESOURCES;
		if (mode != POSTED_NONE) {
			if (claim_would_fail(to, keep))
				return -EAGAIN;
			slot = posted_claim(to, &m->op, &a->slot);
			if (slot < 0 && mode == POSTED_ONLY)
				return -EAGAIN;
		}
		if (slot < 0 && p->length > (uint64_t)to->rdr_units * RDR_UNIT)
			return CAY_ERROR_NO_RESOURCES;
		if (slot < 0)
			units = (uint32_t)((p->length + RDR_UNIT - 1) /
					   RDR_UNIT);
	}
	int r = claim_try(to, &m->op, units, keep, &a->claim);
	if (r && slot >= 0)
		posted_unclaim(to, &m->op, (uint32_t)slot);
	a->posted = slot >= 0;
	a->slot_index = (uint32_t)slot;
	return r;
}

/* The first packet of a transfer, or the only one. */
static int target_begin(struct machine *m, struct arrival *a)
{
	bool send = command_is_send(a->packet.command);
	uint32_t s = NONE;
	if (!a->header.last) {
		s = assembly_allocate(m, a);
		if (s == NONE)
			return -EAGAIN;
		a->assembly = s;
	}
	int r = send ? target_claim(m, a)
		     : window_enter(m->ports[a->port].own, &m->op, &a->packet,
			       &a->access);
	if (s == NONE)
		return r;
	struct assembly *t = &m->assemblies[s];
	t->send = send;
	t->claim = a->claim;
	t->access = a->access;
	t->posted = a->posted;
	t->slot = a->slot;
	t->slot_index = a->slot_index;
	if (r == -EAGAIN) {
		t->state = ASSEMBLY_FREE;
		a->assembly = NONE;
	}
	return r;
}

/* A later segment: the window is checked again, the room is there. */
static int target_continue(struct machine *m, struct arrival *a)
{
	struct assembly *t = &m->assemblies[a->assembly];
	a->claim = t->claim;
	a->posted = t->posted;
	a->slot = t->slot;
	a->slot_index = t->slot_index;
	if (t->send)
		return 0;
	int r = window_grant(
		m->ports[a->port].own, &m->op, &a->packet, &a->access);
	a->access.claim = t->access.claim;
	a->access.notifies = t->access.notifies;
	return r;
}

static enum stage_result target_window(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	int r;
	if (ring_full(&m->ack))
		return STAGE_HOLD;
	if (m->ports[a->port].parked) {
		park(m, at);
		return STAGE_LEAVE;
	}
	if (a->header.segment) {
		a->assembly = assembly_find(m, a);
		struct assembly *t = a->assembly == NONE
					     ? NULL
					     : &m->assemblies[a->assembly];
		if (!t || t->state == ASSEMBLY_REFUSED || arrival_aborts(a)) {
			if (t && a->header.last)
				assembly_void(m, t);
			m->counts.stale += !t;
			arrival_free(m, at);
			return STAGE_LEAVE;
		}
		r = target_continue(m, a);
	} else {
		r = target_begin(m, a);
	}
	/* Private memory of the owner: no machine reaches it. */
	if (!r && !command_is_send(a->packet.command) && a->access.owner.pid)
		r = window_leave(m->ports[a->port].own, &m->op, &a->packet,
			&a->access, CAY_ERROR_MEMORY);
	if (r == -EAGAIN) {
		park(m, at);
		return STAGE_LEAVE;
	}
	if (r) {
		arrival_refuse(m, at,
			r > 0	      ? (enum cay_error)r
			: r == -EPIPE ? CAY_ERROR_GONE
				      : CAY_ERROR_MEMORY);
		return STAGE_LEAVE;
	}
	return STAGE_DONE;
}

static enum stage_result target_payload(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct context *to = m->ports[a->port].own;
	unsigned command = a->packet.command;
	if (command_is_send(command)) {
		if (a->posted)
			posted_copy(
				to, &a->packet, &a->slot, a->header.segment);
		else if (a->packet.length > CAY_FAST_SEND_BYTES)
			host_copy(to->rdr +
					  (uint64_t)a->claim.start * RDR_UNIT +
					  a->header.segment,
				a->bytes, a->header.bytes, HOST_RDR);
		return STAGE_DONE;
	}
	if (command_is_put(command)) {
		completer_store(
			translate_arena(to, &a->access) + a->header.segment,
			a->bytes, a->header.bytes);
		return STAGE_DONE;
	}
	if (command_operation(command) == CAY_MISALIGNED_PUT)
		return completer_put_masked(to, &a->access, &a->packet)
			       ? STAGE_HOLD
			       : STAGE_DONE;
	return responder_stage(m, a);
}

static enum stage_result target_stage(
	struct machine *m, uint32_t at, uint32_t stage)
{
	struct arrival *a = &m->arrivals[at];
	bool notifies = a->header.last && (command_is_send(a->packet.command) ||
						  a->access.notifies);
	if (a->port != NONE && !m->ports[a->port].own)
		a->port = NONE; /* detached meanwhile */
	if (a->port == NONE && stage != TARGET_CONTEXT) {
		if (ring_full(&m->ack))
			return STAGE_HOLD;
		acknowledge(m, a, CAY_ERROR_GONE);
		arrival_free(m, at);
		return STAGE_LEAVE;
	}
	switch (stage) {
	case TARGET_CONTEXT:
		arrival_packet(a);
		if (a->port == NONE) {
			if (ring_full(&m->ack))
				return STAGE_HOLD;
			arrival_refuse(m, at, CAY_ERROR_GONE);
			return STAGE_LEAVE;
		}
		host_context_load(m, a->port);
		return STAGE_DONE;
	case TARGET_WINDOW:
		return target_window(m, at);
	case TARGET_PAYLOAD:
		return target_payload(m, at);
	case TARGET_NOTIFICATION:
		/* The notification unit acknowledges what it has written. */
		if (!notifies)
			return STAGE_DONE;
		if (ring_full(&m->notify))
			return STAGE_HOLD;
		if (a->assembly != NONE)
			m->assemblies[a->assembly].state = ASSEMBLY_FREE;
		m->notices[ring_push(&m->notify, 0)] = (struct notice){
			.kind = !command_is_send(a->packet.command)
					? NOTICE_ACCESS
				: a->posted ? NOTICE_POSTED
					    : NOTICE_MESSAGE,
			.port = a->port,
			.arrival = at
		};
		return STAGE_LEAVE;
	case TARGET_ACKNOWLEDGE:
		if (a->header.last && !a->answered) {
			if (ring_full(&m->ack))
				return STAGE_HOLD;
			acknowledge(m, a, CAY_ERROR_NONE);
		}
		if (a->header.last && a->assembly != NONE)
			m->assemblies[a->assembly].state = ASSEMBLY_FREE;
		return STAGE_DONE;
	default:
		host_context_write_back(m, a->port);
		arrival_free(m, at);
		return STAGE_DONE;
	}
}
