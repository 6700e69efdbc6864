/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder's fetch and response: one packet per cycle. A response that
 * finds no room on its way is sent in a later cycle; an atomic is not executed
 * again. For each packet of a long get the window is checked again.
 */
static int target_window_again(struct machine *, struct arrival *);
static enum cay_error target_error(int);

static enum stage_result responder_stage(struct machine *m, uint32_t at)
{
	struct arrival *a = &m->arrivals[at];
	struct context *to = m->ports[a->port].own;
	unsigned command = a->packet.command;
	struct packet_header h = packet_answer(&a->header,
		(uint16_t)(a->header.command | CAY_COMMAND_RESPONSE), m->node);

	if (command_is_atomic(command)) {
		if (!a->fetched)
			a->answer = responder_operate(
				translate_word(to, &a->access), command,
				a->packet.operand);
		a->fetched = 1;
		h.operand[0] = a->answer.result;
		h.operand[1] = a->answer.previous;
	} else {
		int r = a->fetched ? target_window_again(m, a) : 0;
		if (r && ring_full(&m->ack))
			return STAGE_HOLD;
		if (r) {
			window_leave(to, &m->op, &a->packet, &a->access, r);
			arrival_refuse(m, at, target_error(r));
			return STAGE_LEAVE;
		}
		const unsigned char *from = translate_arena(to, &a->access);
		h.length = a->packet.length;
		h.segment = a->fetched;
		h.bytes =
			bits_min(a->packet.length - a->fetched, m->config.mtu);
		responder_load(a->bytes, from + a->fetched, h.bytes);
	}
	h.last = command_is_atomic(command) ||
		 h.segment + h.bytes == a->packet.length;
	if (!answer_transmit(m, &h, a->remote ? &a->string : NULL,
		    a->header.origin_node, a->bytes))
		return STAGE_HOLD;
	m->busy = true;
	if (!command_is_atomic(command))
		a->fetched += h.bytes;
	a->answered = true;
	return h.last ? STAGE_DONE : STAGE_HOLD;
}
