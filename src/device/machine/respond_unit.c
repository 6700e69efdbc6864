/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder's fetch and response: one packet per cycle. A response that
 * finds no room on its way is sent in a later cycle; an atomic is not executed
 * again. For each packet of a long get the window has been checked again.
 */
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
		a->entered = false;
		h.operand[0] = a->answer.result;
		h.operand[1] = a->answer.previous;
	} else {
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
	a->entered &= !h.last;
	return h.last ? STAGE_DONE : STAGE_HOLD;
}
