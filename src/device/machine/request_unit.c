/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester as a pipeline. Its stages are context load, routing fetch,
 * command frame, origin window and address, payload and transmit, context
 * write-back. A unit never waits for a response: it ends when the last packet
 * of its request has left.
 */

enum requester_stage {
	REQUESTER_CONTEXT,
	REQUESTER_ROUTE,
	REQUESTER_FRAME,
	REQUESTER_WINDOW,
	REQUESTER_PAYLOAD,
	REQUESTER_WRITE_BACK,
	REQUESTER_STAGES,
};

static enum stage_result request_fail(
	struct machine *m, struct request *r, enum cay_error error)
{
	request_complete(m, r, error);
	return STAGE_LEAVE;
}

/* Finds the route: a peer of this node, or a string to another node. */
static enum cay_error request_route(struct machine *m, struct request *r)
{
	struct origin *o = &m->ports[r->port].origin;
	uint64_t word = r->vci.word[0] >> CAY_VCI_ROUTING_OFFSET_SHIFT;
	uint32_t offset = (uint32_t)(word & CAY_VCI_ROUTING_OFFSET_MASK);
	uint8_t length =
		(uint8_t)(r->vci.word[0] >> CAY_VCI_ROUTING_LENGTH_SHIFT);
	_Atomic(struct context *) *slot;
	if (length > 1) {
		if (offset >= MACHINE_ROUTES || !m->routes[offset].used)
			return CAY_ERROR_ROUTE;
		const struct machine_route *route = &m->routes[offset];
		if (route->gone || !m->wire)
			return route->gone ? CAY_ERROR_GONE
					   : CAY_ERROR_UNREACHABLE;
		r->remote = true;
		r->peer = route->peer;
		r->string = route->string;
		return CAY_ERROR_NONE;
	}
	enum cay_error error = route_fetch(o, offset, length, &slot);
	if (!error) {
		const struct context *to = host_context(slot);
		r->peer = (struct machine_peer){ m->node, to->epoch, to->vpid };
	}
	return error;
}

static struct packet_header request_header(
	const struct machine *m, uint32_t at, const struct request *r)
{
	const struct packet *p = &r->packet;
	bool words = m->ports[r->port].origin.word_mode;
	return (struct packet_header){ .command = p->command,
		.flags = (uint8_t)(p->flags | (words ? PACKET_WORD_MODE : 0)),
		.last = true,
		.origin_vpid = p->origin_vpid,
		.target_vpid = r->target_vpid,
		.origin_node = m->node,
		.origin_epoch = m->ports[r->port].first_epoch,
		.target_epoch = r->peer.epoch,
		.api_tag = p->api_tag,
		.tag = p->tag,
		.length = p->length,
		.request = at | r->generation << 16,
		.window = p->window,
		.capability = p->capability,
		.offset = p->offset,
		.operand = { p->operand[0], p->operand[1] } };
}

/*
 * Checks the origin's window again: software may have closed it, or opened
 * another one with its number, since the address was computed. A lock since
 * then is not granted before the request has ended.
 */
static enum cay_error request_window(
	const struct machine *m, const struct request *r)
{
	const struct origin *o = &m->ports[r->port].origin;
	uint64_t offset = r->vci.word[CAY_VCI_WORD_ORIGIN_OFFSET];
	struct origin_window w = o->windows[r->vci.word[CAY_VCI_WORD_ORIGIN]];
	return w.base && w.base + offset == r->data.iov_base &&
			       bits_inside(offset, r->data.iov_len, w.length)
		       ? CAY_ERROR_NONE
		       : CAY_ERROR_ORIGIN_WINDOW;
}

/* Transmits the next packet of a request. */
static enum stage_result request_transmit(
	struct machine *m, uint32_t at, struct request *r)
{
	unsigned operation = command_operation(r->packet.command);
	bool segmented = operation == CAY_SEND || operation == CAY_PUT;
	struct packet_header h = request_header(m, at, r);
	const unsigned char *data = r->data.iov_base;
	enum cay_error error = CAY_ERROR_NONE;

	if (r->abandoned)
		error = CAY_ERROR_GONE;
	else if (r->refused)
		error = (enum cay_error)r->error;
	else if (operation == CAY_PUT)
		error = request_window(m, r);
	if (error) {
		if (!r->sent)
			return request_fail(m, r, error);
		/* The target knows the transfer: an abort ends it. */
		h.command |= CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT;
		h.segment = r->sent;
	} else if (segmented) {
		h.segment = r->sent;
		h.bytes = bits_min(r->data.iov_len - r->sent, m->config.mtu);
		h.last = r->sent + h.bytes == r->data.iov_len;
		data += r->sent;
	} else if (operation == CAY_FAST_SEND || operation == CAY_FAST_PUT) {
		h.bytes = r->data.iov_len;
	}
	if (!transmit(m, &h, r->remote ? &r->string : NULL, r->peer.node, data))
		return STAGE_HOLD;
	r->sent += h.bytes;
	m->busy = true;
	if (!h.last)
		return STAGE_HOLD; /* the next segment, in the next cycle */
	if (error)
		return request_fail(m, r, error);
	r->state = REQUEST_SENT;
	return STAGE_DONE;
}

static enum stage_result requester_stage(
	struct machine *m, uint32_t at, uint32_t stage)
{
	struct request *r = &m->requests[at];
	struct origin *o = &m->ports[r->port].origin;
	unsigned operation = command_operation((unsigned)r->vci.word[0]);
	enum cay_error error = CAY_ERROR_NONE;

	if (r->resumed && stage < REQUESTER_PAYLOAD)
		return STAGE_DONE; /* the target has the first segment */
	if (r->abandoned && stage < REQUESTER_PAYLOAD)
		return request_fail(m, r, CAY_ERROR_GONE);
	switch (stage) {
	case REQUESTER_CONTEXT:
		host_context_load(m, r->port);
		if (!vci_valid(&r->vci))
			error = CAY_ERROR_COMMAND;
		break;
	case REQUESTER_ROUTE:
		error = request_route(m, r);
		break;
	case REQUESTER_FRAME:
		/* The origin's memory is checked before its address is used. */
		break;
	case REQUESTER_WINDOW:
		if (operation == CAY_SEND)
			error = requester_check_send(o, &r->vci);
		else if (requester_two_windows(operation))
			error = requester_check_origin(o, &r->vci);
		if (!error && r->peer.vpid != r->target_vpid)
			error = CAY_ERROR_TARGET_VPID;
		if (!error)
			requester_packet(
				o, &r->vci, r->fetched, &r->packet, &r->data);
		r->checked = !error;
		break;
	case REQUESTER_PAYLOAD:
		return request_transmit(m, at, r);
	default:
		host_context_write_back(m, r->port);
	}
	return error ? request_fail(m, r, error) : STAGE_DONE;
}
