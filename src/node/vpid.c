/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VPIDs: free ones, in the order in which they were freed, and the epochs of
 * each.
 *
 * A notification names a VPID, not an epoch. A port therefore gets no VPID that
 * an entry in a queue of its realm names: the receiver of that entry would take
 * the new port for the one that is gone. An entry counts until it is returned,
 * and a NOTIFY_GONE as soon as it waits for room.
 *
 * One scan of the queues of a realm serves many ports: no new entry names a
 * free VPID, so a VPID that was free at the scan and not found there stays
 * usable. Each realm has its own result, because its members can write any VPID
 * into their queues.
 */
#include <string.h>

#include "base/bits.h"
#include "device/queue.h"
#include "node/node.h"

#define BITS 64 /* of a word of realm.named */

/*
 * Entries that one scan examines. Members of a realm choose the sizes of their
 * queues and write W and R, so without a limit they could occupy the node for
 * seconds. In a realm with more entries all VPIDs count as named.
 */
#define NAMED_ENTRIES_MAX (1u << 18)

static void named_add(struct realm *r, uint16_t vpid)
{
	r->named[vpid / BITS] |= 1ull << vpid % BITS;
}

/*
 * Adds the VPIDs that the entries between R and W of a queue set name. Returns
 * false if these are more than *left, which it reduces.
 */
static bool named_add_set(
	const struct vport *p, const struct queue_config *c, uint64_t *left)
{
	const struct arena *a = &p->realm->arena;
	struct queue_control *control = arena_control(a, c->vpid, c->epoch);
	struct cay_nqe *nq = (void *)(a->base + c->queues_offset +
				      (uint64_t)c->nq_at * CAY_LINE);
	uint64_t entries = 1ull << c->nq_log2;
	/* Acquire pairs with N2 and N3: entries of ports that are gone. */
	uint64_t r = atomic_load_explicit(&control->r, memory_order_acquire);
	uint64_t w = atomic_load_explicit(&control->w, memory_order_acquire);
	/* Members of the realm can write W and R. */
	uint64_t count = bits_min(queue_ahead(w, r), entries);
	if (count > *left)
		return false;
	*left -= count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t word = atomic_load_explicit(
			queue_valid_word(&nq[(r + i) & (entries - 1)]),
			memory_order_acquire);
		named_add(p->realm, (uint16_t)(word >> CAY_NQE_VPID_SHIFT));
	}
	return true;
}

/* Adds those of all queues. Returns false if there are too many entries. */
static bool named_add_all(struct realm *realm)
{
	uint64_t left = NAMED_ENTRIES_MAX;
	list_for_each (at_process, &realm->processes) {
		struct process *process =
			list_of(at_process, struct process, link);
		list_for_each (at, &process->ports) {
			struct vport *p = list_of(at, struct vport, link);
			if (p->state != VPORT_OPEN)
				continue;
			if (!named_add_set(p, &p->config, &left) ||
				(p->previous.epoch &&
					!named_add_set(p, &p->previous, &left)))
				return false;
		}
	}
	return true;
}

static void named_collect(struct realm *realm)
{
	struct node *n = realm->node;
	memset(realm->named, 0, sizeof(realm->named));
	if (!named_add_all(realm))
		memset(realm->named, 0xff, sizeof(realm->named));
	list_for_each (at, &realm->gone)
		named_add(realm, list_of(at, struct watch, link)->vpid);
	realm->named_freed = n->vpids_freed;
}

bool vpid_take(struct realm *realm, uint16_t *vpid)
{
	struct node *n = realm->node;
	/* Twice: a scan may be older than the return of the last entry. */
	for (uint32_t left = 2 * n->free_count; left; left--) {
		/* VPIDs are numbered in the order in which they are freed. */
		uint64_t number = n->vpids_freed - n->free_count;
		*vpid = n->free_vpids[n->free_first];
		n->free_first = (n->free_first + 1) % CAY_VPIDS;
		n->free_count--;
		if (n->epochs[*vpid] == 0)
			return true; /* it has never had a port */
		if (number >= realm->named_freed)
			named_collect(realm);
		if (!(realm->named[*vpid / BITS] >> *vpid % BITS & 1))
			return true;
		vpid_free(n, *vpid);
	}
	return false;
}

void vpid_free(struct node *n, uint16_t vpid)
{
	n->free_vpids[(n->free_first + n->free_count) % CAY_VPIDS] = vpid;
	n->free_count++;
	n->vpids_freed++;
}

uint32_t epoch_next(struct node *n, uint16_t vpid)
{
	/* Epoch 0 means none; after a wrap, 2 keeps the parity alternating. */
	if (++n->epochs[vpid] == 0)
		n->epochs[vpid] = 2;
	return n->epochs[vpid];
}
