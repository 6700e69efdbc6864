/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapped windows of peers; see cay_window(3). The arena is mapped anyway; the
 * node counts the mapping, so that the memory stays and its owner learns of it.
 * Set-up path, any thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "port/lock.h"
#include "port/window.h"

/* A mapping of this process. Under member.lock. */
struct window_mapping {
	struct list link;
	void *memory;
	uint64_t number; /* at the node */
};

int cay_window_map(struct cay_port *port, struct cay_peer *peer,
	struct cay_key key, void **memory, size_t *bytes)
{
	struct node_reply reply;
	struct lock_guard guard;
	if (!port_usable(port))
		return port_error(port);
	if (!port_has_peer(port, peer) || key.reserved)
		return -EINVAL;
	if (!memory || !bytes)
		return -EFAULT;
	if (key.window > UINT16_MAX)
		return -ENXIO;
	struct member *m = port->member;
	struct window_mapping *w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	struct node_request request = window_request(port, peer, key, NODE_MAP);
	int r = control_call(m, &request, &reply, NULL);
	if (r == -EACCES)
		port_invalid_capability(port);
	/* The capability is valid, but not all rights are granted. */
	if (r == -EPERM)
		r = -EACCES;
	if (r == 0 &&
		!bits_inside(reply.map.offset, reply.map.bytes, m->arena.bytes))
		r = -EPROTO;
	if (r) {
		free(w);
		return r;
	}
	w->memory = m->arena.base + reply.map.offset;
	w->number = reply.map.number;
	lock_take(&m->lock, &guard);
	list_append(&m->mappings, &w->link);
	lock_drop(&m->lock, &guard);
	*memory = w->memory;
	*bytes = reply.map.bytes;
	return 0;
}

int cay_window_unmap(struct cay_port *port, void *memory)
{
	struct node_request request = { .kind = NODE_UNMAP };
	struct node_reply reply;
	struct window_mapping *found = NULL;
	struct lock_guard guard;
	if (!port_usable(port))
		return port_error(port);
	struct member *m = port->member;
	lock_take(&m->lock, &guard);
	list_for_each (at, &m->mappings) {
		struct window_mapping *w =
			list_of(at, struct window_mapping, link);
		if (w->memory == memory)
			found = w;
	}
	if (found)
		list_remove(&found->link);
	lock_drop(&m->lock, &guard);
	if (!found)
		return -EINVAL;
	request.unmap.number = found->number;
	free(found);
	/* Stores through the mapping are visible before it ends. */
	atomic_thread_fence(memory_order_seq_cst);
	return control_call(m, &request, &reply, NULL);
}

void window_mappings_discard(struct member *m)
{
	list_for_each_safe (at, after, &m->mappings)
		free(list_of(at, struct window_mapping, link));
	list_init(&m->mappings);
}
