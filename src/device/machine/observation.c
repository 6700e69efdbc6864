/* SPDX-License-Identifier: BSD-2-Clause */
/* What the units tell an observer: notes about requests, packets and stages. */

static uint16_t observe_vpid(const struct machine *m, uint32_t port)
{
	return port == NONE ? 0 : m->ports[port].origin.vpid;
}

/* A note about a request of this node. */
static struct machine_note observe_request(const struct machine *m,
	const struct request *r, enum machine_event event)
{
	return (struct machine_note){ .event = event,
		.vpid = observe_vpid(m, r->port),
		.tag = r->vci.word[CAY_VCI_WORD_TAG],
		.command = (uint16_t)(r->vci.word[0] & CAY_COMMAND_MASK) |
			   (uint16_t)(r->error << CAY_COMMAND_ERROR_SHIFT) };
}

/* A note about a packet that this node sends or has received. */
static struct machine_note observe_packet(
	const struct packet_header *h, enum machine_event event, bool sent)
{
	return (struct machine_note){ .event = event,
		.vpid = sent ? h->origin_vpid : h->target_vpid,
		.tag = h->tag,
		.command = h->command,
		.packet = h };
}

/* A packet leaves; `size` is 0 if it is handed over, not encoded. */
static void observe_sent(
	const struct machine *m, const struct packet_header *h, size_t size)
{
	if (!host_observed(m))
		return;
	struct machine_note n = observe_packet(h, MACHINE_TRANSMITTED, true);
	n.bytes = size ? m->encoded : NULL;
	n.size = size;
	host_note(m, n);
}

static uint64_t ultra_entry_tag(const struct machine *, uint32_t line);
static unsigned ultra_entry_flags(const struct machine *, uint32_t line);

/* A note about a port of an ULTRA unit. */
static struct machine_note observe_path(const struct machine *m,
	const struct ultra_end *e, enum machine_event event, uint64_t tag,
	unsigned flags)
{
	return (struct machine_note){ .event = event,
		.vpid = observe_vpid(m, e->port),
		.tag = tag,
		.command = (uint16_t)(PACKET_ULTRA | flags),
		.upid = e->upid };
}

static struct machine_note observe_item(
	const struct machine *m, enum unit_kind kind, uint32_t item)
{
	if (kind == UNIT_ULTRA_REQUESTER)
		return observe_path(m,
			&m->requester_ports[m->line_owner[item]].end,
			MACHINE_STAGE, ultra_entry_tag(m, item),
			ultra_entry_flags(m, item));
	return kind == UNIT_REQUESTER
		       ? observe_request(m, &m->requests[item], MACHINE_STAGE)
		       : observe_packet(&m->arrivals[item].header,
				 MACHINE_STAGE, false);
}

/* An item enters a unit, or its wait queue. */
static void observe_entered(const struct machine *m, enum unit_kind kind,
	uint32_t unit, uint32_t item, bool ordered)
{
	const struct unit *u = &m->units[kind][unit];
	struct machine_note n = observe_item(m, kind, item);
	n.event = kind == UNIT_REQUESTER ? MACHINE_ISSUED : MACHINE_DISPATCHED;
	n.packet = NULL;
	n.kind = kind;
	n.unit = unit;
	n.ordered = ordered;
	n.waits = u->item[0] != NONE || u->wait.count;
	host_note(m, n);
}

/* An item stays in the queue in front of the units. */
static void observe_held(const struct machine *m, enum unit_kind kind,
	uint32_t item, bool ordered)
{
	struct machine_note n = observe_item(m, kind, item);
	n.event = MACHINE_HELD;
	n.packet = NULL;
	n.kind = kind;
	n.ordered = ordered;
	host_note(m, n);
}

static void observe_notice(const struct machine *m, const struct notice *q)
{
	struct machine_note n = { .event = MACHINE_NOTIFIED,
		.vpid = observe_vpid(m, q->port),
		.command = CAY_NOTIFY_STATUS };
	if (q->kind == NOTICE_COMPLETION || q->kind == NOTICE_ULTRA) {
		n.command = q->kind == NOTICE_ULTRA ? CAY_NOTIFY_ULTRA
						    : CAY_NOTIFY_CC;
		n.command |= (uint16_t)(q->completion.error
					<< CAY_COMMAND_ERROR_SHIFT);
		n.tag = q->completion.tag;
	} else if (q->kind != NOTICE_STATUS) {
		const struct packet_header *h = &m->arrivals[q->arrival].header;
		n.tag = h->tag;
		n.command = q->kind == NOTICE_ACCESS   ? CAY_NOTIFY_RMA
			    : q->kind == NOTICE_POSTED ? CAY_NOTIFY_POSTED_RECV
			    : h->length <= CAY_FAST_SEND_BYTES
				    ? CAY_NOTIFY_FAST_RECV
				    : CAY_NOTIFY_RECV;
	}
	host_note(m, n);
}
