/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification and acknowledge units, shared by all others: each has a
 * queue and executes one item per cycle. An arrival is acknowledged when its
 * notification is published: an origin that has the acknowledge knows that the
 * target can see the message.
 */
static void notify_step(struct machine *m)
{
	if (!m->notify.count)
		return;
	struct notice *n = &m->notices[m->notify.first];
	struct machine_port *p = n->port == NONE ? NULL : &m->ports[n->port];
	bool arrival = n->kind >= NOTICE_MESSAGE;
	struct arrival *a = arrival ? &m->arrivals[n->arrival] : NULL;
	if (arrival && ring_full(&m->ack))
		return;
	ring_pop(&m->notify);
	m->busy = true;
	if (p) {
		switch (n->kind) {
		case NOTICE_COMPLETION:
		case NOTICE_ULTRA:
			ack_complete(p->own, &m->op, &n->completion,
				n->kind == NOTICE_ULTRA ? CAY_NOTIFY_ULTRA
							: CAY_NOTIFY_CC,
				0, private_load32(&p->origin.device.wq_read));
			break;
		case NOTICE_STATUS:
			status_write(&p->origin, &m->op, p->own);
			break;
		case NOTICE_MESSAGE:
			if (a->packet.length <= CAY_FAST_SEND_BYTES)
				completer_fast_entry(
					p->own, &m->op, &a->packet, &a->claim);
			else
				completer_entry(p->own, &m->op, &a->packet,
					NULL, &a->claim);
			break;
		case NOTICE_ACCESS:
			window_leave(p->own, &m->op, &a->packet, &a->access, 0);
			break;
		case NOTICE_POSTED:
			posted_publish(p->own, &m->op, &a->packet, &a->slot,
				a->slot_index, &a->claim);
			break;
		}
		m->counts.notifications++;
		if (host_observed(m))
			observe_notice(m, n);
	}
	if (!arrival)
		return;
	if (!a->answered)
		acknowledge(m, a, p ? CAY_ERROR_NONE : CAY_ERROR_GONE);
	if (p)
		host_context_write_back(m, n->port);
	arrival_free(m, n->arrival);
}

static void ack_step(struct machine *m)
{
	if (!m->ack.count)
		return;
	const struct acknowledge *k = &m->acks[m->ack.first];
	if (!answer_transmit(m, &k->header, k->remote ? &k->string : NULL,
		    k->node, NULL))
		return;
	ring_pop(&m->ack);
	m->counts.acknowledges++;
	m->busy = true;
}
