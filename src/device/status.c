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
	notify_head(nqe, 0, o->node, 0);
	notify_fill(
		nqe, &(struct notify_body){ o->client.wq_write, claim.w_new,
			     host_load(&own->control->r, HOST_R),
			     o->device.wq_read | notify_pointers(&claim), 0 });
	notify_publish(
		nqe, notify_word(own, position, CAY_NOTIFY_STATUS, 0, o->vpid));
	return notify_finish(own, op, &claim, 0);
}
