/* SPDX-License-Identifier: BSD-2-Clause */
/* The snapshot of a port's pointers, in a NOTIFY_STATUS. */

/* Writes a NOTIFY_STATUS with all current pointers. Its entry is reserved. */
static inline int status_write(
	struct origin *o, struct op_record *op, struct context *own)
{
	struct claim claim;
	int r = notify_claim(own, op, 0, 0, &claim);
	if (r)
		return r;
	uint64_t position = queue_nq(claim.w_old);
	struct cay_nqe *nqe = notify_entry(own, position);
	uint32_t slots = own->posted_entries - 1;
	uint64_t fill =
		host_load_relaxed(&own->posted_head->next, HOST_POSTED) & slots;
	notify_head(nqe,
		(private_load32(&o->client.posted_write) & slots) |
			fill << CAY_NQE_POSTED_READ_SHIFT,
		o->node, 0);
	notify_fill(
		nqe, &(struct notify_body){ private_load32(&o->client.wq_write),
			     claim.w_new, host_load(&own->control->r, HOST_R),
			     private_load32(&o->device.wq_read) |
				     notify_pointers(&claim),
			     0 });
	notify_publish(
		nqe, notify_word(own, position, CAY_NOTIFY_STATUS, 0, o->vpid));
	return notify_finish(own, op, &claim, 0);
}
