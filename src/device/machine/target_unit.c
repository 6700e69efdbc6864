/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completer and responder as pipelines. Their stages are context load, window
 * load and check or claim of an entry, payload (of a responder: fetch and
 * response), notification, acknowledge, context write-back. The units execute
 * what the direct path executes; the stages only separate it in time. Every
 * request is acknowledged, with or without A, so that its origin can retire it.
 *
 * A segmented transfer claims room for the whole with its first segment; the
 * notification follows the last. If the first has to wait for room, the others
 * are dropped and sent again. If the origin abandons it, the entry is void.
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
static struct acknowledge *acknowledge(
	struct machine *m, const struct arrival *a, enum cay_error error)
{
	struct acknowledge *k = &m->acks[ring_push(&m->ack, 0)];
	k->header = packet_answer(&a->header,
		(uint16_t)(CAY_ACKNOWLEDGE | error << CAY_COMMAND_ERROR_SHIFT),
		m->node);
	k->header.completed = a->header.command & CAY_COMMAND_MASK;
	k->remote = a->remote;
	k->node = a->header.origin_node;
	if (a->remote)
		k->string = a->string;
	m->busy = true;
	return k;
}

/* ---- segmented transfers ---- */

static bool assembly_is(const struct assembly *t, const struct arrival *a)
{
	return t->state != ASSEMBLY_FREE &&
	       t->first.origin_node == a->header.origin_node &&
	       t->first.request == a->header.request;
}

/* Returns the transfer that a segment belongs to, or NONE. */
static uint32_t assembly_find(const struct machine *m, const struct arrival *a)
{
	if (!arrival_segmented(a) || !m->assembly_used)
		return NONE;
	for (uint32_t i = 0; i < m->config.assemblies; i++)
		if (assembly_is(&m->assemblies[i], a))
			return i;
	return NONE;
}

static uint32_t assembly_allocate(struct machine *m, const struct arrival *a)
{
	for (uint32_t i = 0; i < m->config.assemblies; i++)
		if (m->assemblies[i].state == ASSEMBLY_FREE) {
			m->assemblies[i] =
				(struct assembly){ .first = a->header,
					.port = a->port,
					.state = ASSEMBLY_OPEN };
			m->assembly_used++;
			return i;
		}
	return NONE;
}

/* A packet that is parked may wait for an assembly: all are tried again. */
static void assembly_free(struct machine *m, struct assembly *t)
{
	t->state = ASSEMBLY_FREE;
	m->assembly_used--;
	m->assembly_resumed -= t->resumed;
	for (uint32_t port = 0; m->parked && port < m->port_max; port++)
		if (m->ports[port].parked)
			private_store32(&m->ports[port].own->room, 1);
}

/*
 * A segment repeats the header of the first, and begins where the last ended:
 * no other may use the room that the first has claimed.
 */
static bool assembly_continues(
	const struct assembly *t, const struct packet_header *h)
{
	const struct packet_header *f = &t->first;
	return f->command == (h->command & CAY_COMMAND_MASK) &&
	       f->origin_vpid == h->origin_vpid &&
	       f->target_vpid == h->target_vpid && f->window == h->window &&
	       f->offset == h->offset && f->length == h->length &&
	       t->arrived == h->segment;
}

/* Makes the entry that a transfer has claimed void. */
static void assembly_void(struct machine *m, struct assembly *t)
{
	if (!t->claimed || t->port == NONE)
		return;
	struct context *to = m->ports[t->port].own;
	if (t->posted)
		posted_unclaim(to, &m->op, t->slot_index);
	notify_void(to, queue_nq(t->claim.w_old),
		(int64_t)queue_rdr(t->claim.w_new));
	notify_wake(to, &m->op, &t->claim, 0);
	t->claimed = false;
	m->counts.voided++;
}

/* Drops a packet without an answer. */
static enum stage_result arrival_drop(struct machine *m, uint32_t at)
{
	m->counts.stale++;
	arrival_free(m, at);
	return STAGE_LEAVE;
}

/*
 * Refuses a packet with a negative ACK. Of a segmented transfer only one packet
 * is answered; its other segments, up to the last or an abort, are dropped.
 */
static void arrival_refuse(struct machine *m, uint32_t at, enum cay_error error)
{
	struct arrival *a = &m->arrivals[at];
	uint32_t s = assembly_find(m, a);
	bool told = a->header.segment != 0;
	if (s == NONE && arrival_segmented(a) && a->header.segment == 0 &&
		!a->held_last)
		s = assembly_allocate(m, a);
	if (s != NONE) {
		struct assembly *t = &m->assemblies[s];
		told = t->told || arrival_aborts(a);
		assembly_void(m, t);
		t->state = ASSEMBLY_REFUSED;
		t->told = true;
		if (a->header.last || a->held_last)
			assembly_free(m, t);
	}
	if (!told)
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
		/* Neither behind W nor before it: not even when it is empty. */
		uint32_t at = (uint32_t)queue_rdr(to->w) & (to->rdr_units - 1);
		if (at + units > to->rdr_units && units > at)
			return CAY_ERROR_NO_RESOURCES;
	}
	int r = claim_try(to, &m->op, 1, units, keep, &a->claim);
	if (r && slot >= 0)
		posted_unclaim(to, &m->op, (uint32_t)slot);
	a->posted = slot >= 0;
	a->slot_index = (uint32_t)slot;
	return r;
}

/* The first packet of a transfer, or the only one. */
static int target_begin(struct machine *m, struct arrival *a)
{
	struct machine_port *port = &m->ports[a->port];
	bool send = command_is_send(a->packet.command);
	if (!a->header.last) {
		uint32_t old = assembly_find(m, a);
		if (old != NONE) { /* the node has begun again */
			assembly_void(m, &m->assemblies[old]);
			assembly_free(m, &m->assemblies[old]);
		}
		a->assembly = assembly_allocate(m, a);
		if (a->assembly == NONE)
			return -EAGAIN;
	}
	int r = 0;
	if (!send && a->header.flags & PACKET_WORD_MODE)
		r = window_check_words(port->own, &m->op, &a->packet);
	if (!r)
		r = send ? target_claim(m, a)
			 : window_enter(
				   port->own, &m->op, &a->packet, &a->access);
	/* Private memory of the owner: no machine reaches it. */
	if (!r && !send && a->access.owner.pid)
		r = window_leave(port->own, &m->op, &a->packet, &a->access,
			CAY_ERROR_MEMORY);
	bool claimed = !r && (send || a->access.notifies);
	if (claimed && !port->parked && !(a->packet.flags & CAY_VCI_PRIORITY)) {
		port->stuck_since = 0;
		port->retried = false;
	}
	if (a->assembly == NONE)
		return r;
	struct assembly *t = &m->assemblies[a->assembly];
	if (r == -EAGAIN) {
		t->state = ASSEMBLY_FREE;
		m->assembly_used--;
		a->assembly = NONE;
		return r;
	}
	if (!r && a->held) {
		/* The room is claimed: asks for what was dropped. */
		struct acknowledge *k = acknowledge(m, a, CAY_ERROR_NONE);
		k->header.segment = a->header.bytes;
		k->header.last = false;
		t->resumed = t->resuming = true;
		t->key = a->key;
		m->assembly_resumed++;
	}
	t->claimed = claimed;
	t->claim = send ? a->claim : a->access.claim;
	t->posted = a->posted;
	t->slot = a->slot;
	t->slot_index = a->slot_index;
	return r;
}

/*
 * Checks the window again: its owner may have closed it. A transfer that has
 * begun ends under a lock, which is not granted before.
 */
static int target_window_again(struct machine *m, struct arrival *a)
{
	struct access before = a->access;
	struct packet p = a->packet;
	p.origin_lock = a->header.segment || a->fetched
				? lock_load(m, a->port, p.window)
				: lock_word_of_origin(m, &a->header);
	int r = window_grant(m->ports[a->port].own, &m->op, &p, &a->access);
	if (!r && a->access.owner.pid)
		r = CAY_ERROR_MEMORY;
	a->access.claim = before.claim;
	a->access.notifies = before.notifies;
	return r;
}

/* A later segment: the room is there. */
static int target_continue(struct machine *m, struct arrival *a)
{
	const struct assembly *t = &m->assemblies[a->assembly];
	if (command_is_send(a->packet.command)) {
		a->claim = t->claim;
		a->posted = t->posted;
		a->slot = t->slot;
		a->slot_index = t->slot_index;
		return 0;
	}
	a->access.claim = t->claim;
	a->access.notifies = t->claimed;
	return target_window_again(m, a);
}

/*
 * Returns true if a segment belongs to no transfer, is not the next one of its
 * transfer, or is one that no origin sends: a short message is not segmented.
 */
static bool target_stray(const struct machine *m, const struct arrival *a)
{
	const struct packet_header *h = &a->header;
	uint32_t s = assembly_find(m, a);
	if (!arrival_segmented(a))
		return false;
	if (h->segment == 0)
		return command_is_send(h->command) &&
		       h->length <= CAY_FAST_SEND_BYTES;
	if (s == NONE)
		return true;
	const struct assembly *t = &m->assemblies[s];
	return t->state == ASSEMBLY_OPEN && !assembly_continues(t, h) &&
	       !(t->resuming && arrival_aborts(a));
}

/*
 * Drops a later segment that will be sent again: its first one is parked, or
 * its origin does not know yet that there is room. Returns false if it stays.
 */
static bool target_hold(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	uint32_t s = assembly_find(m, a);
	if (!a->header.segment)
		return false;
	if (s == NONE) {
		uint32_t first = transfer_is_long(m, a->header.length)
					 ? park_first(m, a)
					 : NONE;
		if (first != NONE)
			park_hold(m, at, first);
		return first != NONE;
	}
	struct assembly *t = &m->assemblies[s];
	if (!t->resuming || t->state != ASSEMBLY_OPEN || arrival_aborts(a))
		return false;
	t->resuming = a->header.segment != t->arrived;
	if (t->resuming)
		arrival_free(m, at);
	return t->resuming;
}

static enum cay_error target_error(int r)
{
	return r > 0	     ? (enum cay_error)r
	       : r == -EPIPE ? CAY_ERROR_GONE
			     : CAY_ERROR_MEMORY;
}

static enum stage_result target_window(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	int r;
	if (ring_full(&m->ack))
		return STAGE_HOLD;
	if (target_hold(m, at))
		return STAGE_LEAVE;
	if (park_blocks(m, a)) {
		park(m, at);
		return STAGE_LEAVE;
	}
	if (target_stray(m, a)) {
		/* Its request, if there is one, must end. */
		if (a->header.last && !arrival_aborts(a))
			acknowledge(m, a, CAY_ERROR_GONE);
		return arrival_drop(m, at);
	}
	if (a->header.segment) {
		a->assembly = assembly_find(m, a);
		struct assembly *t = &m->assemblies[a->assembly];
		r = t->state == ASSEMBLY_REFUSED || arrival_aborts(a)
			    ? CAY_ERROR_GONE
			    : target_continue(m, a);
	} else {
		a->packet.origin_lock = lock_word_of_origin(m, &a->header);
		r = target_begin(m, a);
	}
	if (r == -EAGAIN) {
		park(m, at);
		return STAGE_LEAVE;
	}
	if (r) {
		arrival_refuse(m, at, target_error(r));
		return STAGE_LEAVE;
	}
	if (a->assembly != NONE)
		m->assemblies[a->assembly].arrived += a->header.bytes;
	a->entered = !command_is_send(a->packet.command);
	a->granted = m->counts.cycles;
	return STAGE_DONE;
}

/*
 * An access was checked in the cycle before, or is checked again: a window that
 * is closed or locked in between is not accessed later than a cycle after that.
 * Returns STAGE_DONE if it may proceed.
 */
static enum stage_result target_recheck(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	if (m->counts.cycles == a->granted + 1 && !a->fetched)
		return STAGE_DONE;
	int r = a->error ? a->error : target_window_again(m, a);
	if (!r)
		return STAGE_DONE;
	a->error = (uint8_t)target_error(r);
	a->entered = false;
	if (ring_full(&m->ack))
		return STAGE_HOLD;
	if (a->assembly == NONE)
		window_leave(m->ports[a->port].own, &m->op, &a->packet,
			&a->access, r);
	arrival_refuse(m, at, (enum cay_error)a->error);
	return STAGE_LEAVE;
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
	/* An atomic that is executed only waits for room on its way. */
	if (!(command_is_atomic(command) && a->fetched)) {
		enum stage_result r = target_recheck(m, at);
		if (r != STAGE_DONE)
			return r;
	}
	if (command_is_put(command))
		completer_store(
			translate_arena(to, &a->access) + a->header.segment,
			a->bytes, a->header.bytes);
	else if (command_operation(command) != CAY_MISALIGNED_PUT)
		return responder_stage(m, at);
	else if (completer_put_masked(to, &a->access, &a->packet) != 0)
		return STAGE_HOLD;
	a->entered = false;
	return STAGE_DONE;
}

/* The notification unit acknowledges what it has written. */
static enum stage_result target_notify(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	bool send = command_is_send(a->packet.command);
	if (!a->header.last || !(send || a->access.notifies))
		return STAGE_DONE;
	if (ring_full(&m->notify))
		return STAGE_HOLD;
	if (a->assembly != NONE)
		assembly_free(m, &m->assemblies[a->assembly]);
	m->notices[ring_push(&m->notify, 0)] =
		(struct notice){ .kind = !send	     ? NOTICE_ACCESS
					 : a->posted ? NOTICE_POSTED
						     : NOTICE_MESSAGE,
			.port = a->port,
			.arrival = at };
	return STAGE_LEAVE;
}

static enum stage_result target_acknowledge(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	if (!a->header.last)
		return STAGE_DONE;
	if (!a->answered) {
		if (ring_full(&m->ack))
			return STAGE_HOLD;
		acknowledge(m, a, CAY_ERROR_NONE);
	}
	if (a->assembly != NONE)
		assembly_free(m, &m->assemblies[a->assembly]);
	a->assembly = NONE;
	return STAGE_DONE;
}

static enum stage_result target_stage(
	struct machine *m, uint32_t at, uint32_t stage)
{
	struct arrival *a = &m->arrivals[at];
	if (a->dropped)
		return arrival_drop(m, at);
	if (a->port == NONE && stage != TARGET_WRITE_BACK) {
		if (ring_full(&m->ack))
			return STAGE_HOLD;
		arrival_refuse(m, at, CAY_ERROR_GONE);
		return STAGE_LEAVE;
	}
	/* An earlier segment may have been refused since. */
	if (a->assembly != NONE &&
		(!assembly_is(&m->assemblies[a->assembly], a) ||
			m->assemblies[a->assembly].state != ASSEMBLY_OPEN))
		return arrival_drop(m, at);
	switch (stage) {
	case TARGET_CONTEXT:
		arrival_packet(a);
		host_context_load(m, a->port);
		return STAGE_DONE;
	case TARGET_WINDOW:
		return target_window(m, at);
	case TARGET_PAYLOAD:
		return target_payload(m, at);
	case TARGET_NOTIFICATION:
		return target_notify(m, at);
	case TARGET_ACKNOWLEDGE:
		return target_acknowledge(m, at);
	default:
		if (a->port != NONE)
			host_context_write_back(m, a->port);
		arrival_free(m, at);
		return STAGE_DONE;
	}
}
