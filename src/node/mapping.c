/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows that processes have mapped with cay_window_map(). All members map the
 * arena, so a mapping is only a count: it keeps the block allocated, and
 * cay_window_close(), cay_window_revoke() and cay_window_lock() from saying
 * that no access is in progress. It ends with NODE_UNMAP, or when the mapping
 * process leaves the realm or exits.
 *
 * The owner withdraws rights or capability before it asks for quiescence, and
 * the node executes one request at a time: either a mapping is counted before
 * that question, or its request finds the window withdrawn. A descriptor is
 * reused only after the question is answered, so all its fields are of one
 * opening of the window.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "node/node.h"

#define RIGHTS_MAP (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

struct mapping {
	struct tree_link link; /* of process.mappings; the key is its number */
	struct list port_link; /* of vport.mappings; empty: it is closed */
	struct process *process;
	struct block *block;
	uint16_t window;
	uint64_t start, length; /* in the arena */
};

static struct mapping *mapping_of(struct tree_link *l)
{
	return l ? list_of(l, struct mapping, link) : NULL;
}

int mapping_add(struct process *p, struct vport *target, uint16_t window,
	const struct cay_window_descriptor *d, struct node_reply *reply)
{
	/* Not -EACCES, which the library counts as a wrong capability. */
	if ((d->rights & RIGHTS_MAP) != RIGHTS_MAP)
		return -EPERM;
	if (d->lock)
		return -EBUSY;
	struct block *b =
		d->pid ? NULL
		       : block_around(target->process, d->start, d->length);
	if (!b)
		return -EOPNOTSUPP;
	int r = quota_take(p, QUOTA_MAPPINGS, 1);
	if (r)
		return r;
	struct mapping *m = calloc(1, sizeof(*m));
	if (!m) {
		quota_return(p, QUOTA_MAPPINGS, 1);
		return -ENOMEM;
	}
	m->link.key = ++p->mapping_serial;
	m->process = p;
	m->block = b;
	m->window = window;
	m->start = d->start;
	m->length = d->length;
	tree_insert(&p->mappings, &m->link);
	list_append(&target->mappings, &m->port_link);
	b->mapped++;
	reply->map.offset = d->start;
	reply->map.bytes = d->length;
	reply->map.number = m->link.key;
	return 0;
}

static void mapping_end(struct mapping *m)
{
	list_remove(&m->port_link);
	quota_return(m->process, QUOTA_MAPPINGS, 1);
	block_unmapped(m->process->node, m->block);
	free(m);
}

int mapping_remove(struct process *p, uint64_t number)
{
	struct mapping *m = mapping_of(tree_remove(&p->mappings, number));
	if (!m)
		return -EINVAL;
	mapping_end(m);
	return 0;
}

void mapping_remove_all(struct process *p)
{
	struct tree_link *l;
	while ((l = tree_take(&p->mappings)))
		mapping_end(mapping_of(l));
}

bool mapping_of_window(const struct vport *target, uint32_t window)
{
	list_for_each (at, &target->mappings)
		if (list_of(at, struct mapping, port_link)->window == window)
			return true;
	return false;
}

bool mapping_overlaps(
	const struct vport *target, uint64_t start, uint64_t length)
{
	list_for_each (at, &target->mappings) {
		const struct mapping *m =
			list_of(at, struct mapping, port_link);
		/* Both are in the arena, unless the descriptor is damaged. */
		if (m->start - start < length || start - m->start < m->length)
			return true;
	}
	return false;
}

void mapping_detach(struct vport *target, uint32_t window)
{
	list_for_each_safe (at, after, &target->mappings)
		if (list_of(at, struct mapping, port_link)->window == window)
			list_remove(at);
}

void mapping_detach_all(struct vport *target)
{
	while (!list_empty(&target->mappings))
		list_remove(target->mappings.next);
}
