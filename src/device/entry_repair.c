/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of the device that the node uses too. */

int DEVICE(complete)(struct context *origin, struct op_record *op,
	const struct completion *c, uint32_t keep)
{
	return ack_complete(origin, op, c, CAY_NOTIFY_CC, keep, 0);
}

/* Writes a NOTIFY_GONE; it leaves as many entries free as a message. */
int DEVICE(notify_gone)(
	struct context *to, struct op_record *op, uint32_t node, uint16_t vpid)
{
	struct claim claim;
	int r = notify_claim(to, op, 0, completer_reserve(to, 0), &claim);
	if (r)
		return r;
	const struct packet p = { .origin_vpid = vpid, .origin_node = node };
	uint64_t position = queue_nq(claim.w_old);
	struct cay_nqe *nqe = notify_entry(to, position);
	completer_recv_entry(nqe, &p, 0, &claim);
	notify_publish(nqe,
		notify_word(to, position,
			(uint16_t)(CAY_NOTIFY_GONE |
				   CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT),
			0, vpid));
	return notify_finish(to, op, &claim, 0);
}

uint64_t DEVICE(peek)(struct context *own, uint64_t position)
{
	uint64_t word = notify_peek(own, position);
	if (word)
		host_step_unrecorded(STEP_TAKE);
	return word;
}

bool DEVICE(reference_done)(struct reference *slot, uint32_t sequence)
{
	bool done = reference_done(slot, sequence);
	host_step_unrecorded(STEP_DONE);
	return done;
}

bool DEVICE(reference_published)(struct context *to, uint16_t origin_vpid,
	uint32_t index, uint32_t sequence)
{
	return reference_published(to, origin_vpid, index, sequence);
}

bool DEVICE(void_entry)(
	struct context *to, uint64_t position, int64_t rdr_write)
{
	return notify_void(to, position, rdr_write);
}

void DEVICE(interrupt)(struct context *to, bool ring)
{
	notify_interrupt(to, ring);
}
