/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes: within one host a routing offset is an index in the port's peer
 * table, which the node writes and the port reads.
 */

/* The first check that fails decides; *to is set only on CAY_ERROR_NONE. */
static inline enum cay_error route_fetch(const struct origin *o,
	uint32_t routing_offset, uint8_t routing_length,
	_Atomic(struct context *) **to)
{
	if (routing_length == 0 || routing_offset >= o->peer_count)
		return CAY_ERROR_ROUTE;
	/* A longer route would use a link, and there is none. */
	if (routing_length > 1)
		return CAY_ERROR_UNREACHABLE;
	const struct peer_entry *entry = &o->peers[routing_offset];
	uint32_t epoch = host_load32(&entry->epoch, HOST_PEER);
	_Atomic(struct context *) *slot =
		epoch && o->routes ? o->routes[routing_offset] : NULL;
	if (!slot)
		return !epoch && host_read8(&entry->path, HOST_PEER) ==
					       PATH_FORBIDDEN
			       ? CAY_ERROR_REALM
			       : CAY_ERROR_ROUTE;
	struct context *c = host_context(slot);
	if (epoch != c->epoch && !host_follow(slot, c))
		return CAY_ERROR_GONE;
	*to = slot;
	return CAY_ERROR_NONE;
}
