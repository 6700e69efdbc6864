/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reaping processes that have exited, or have left after they unmapped the
 * arena. The whole path of a `kill -9`:
 *
 *	server.c	the pidfd becomes readable
 *	process.c	process_exited() closes the ports: claims fail
 *	node.c		node_tick() calls reap_list(), until nothing is left
 *	reap.c		process_reap() repairs, reclaims the ports, frees
 *	repair.c	entries that the process claimed and did not publish
 *	repair_posted.c	posted receives that it claimed
 *	repair_reference.c
 *			its messages by reference, and those sent to it
 *	vport.c		vport_reclaim(): GONE to the watchers, then, when no
 *			thread accesses the port, its memory and its VPID
 */
#include <stdlib.h>
#include <unistd.h>

#include "node/record.h"

#define REAP_PORTS_MAX 256 /* in a tick */

/* Frees a process whose ports and blocks are all reclaimed. */
static void process_free(struct process *p)
{
	struct realm *realm = p->realm;
	status_forget(p);
	list_remove(&p->link);
	if (realm) {
		for (uint32_t i = 0; i < p->record_page_count; i++)
			realm_free(realm, p->record_pages[i], ARENA_PAGE);
		quota_return(p, QUOTA_RECORDS, p->record_page_count - 1);
		quota_return(p, QUOTA_HEAP,
			(uint64_t)p->record_page_count * ARENA_PAGE);
	}
	quota_close(p);
	if (realm)
		realm_end_if_empty(realm);
	/* Allocated even if HELLO failed for lack of arena memory. */
	free(p->record_pages);
	process_close_socket(p);
	close(p->pidfd);
	p->node->process_count--;
	/* An event of this round may still point to the process. */
	list_append(&p->node->reaped, &p->link);
}

/*
 * Repairs all op records, then the references of all ports, with limited work.
 * Returns true at the end.
 */
static bool process_repair(struct process *p)
{
	struct op_record *op;
	for (; (op = record_at(p, p->repair_at)); p->repair_at++)
		if (p->realm->record_left-- <= 0 ||
			repair_record(p->realm, op) != 0)
			return false;
	list_for_each (at, &p->ports)
		if (!repair_references_of(list_of(at, struct vport, link)))
			return false;
	return true;
}

/* Continues to reap a process; returns true at the end. */
static bool process_reap(struct process *p)
{
	/* Before any port is reclaimed: GONE must follow the last message. */
	if (!p->repaired)
		p->repaired = !p->realm || process_repair(p);
	if (!p->repaired)
		return false;
	/*
	 * Limited work in each tick, because other processes wait for it. Ports
	 * that stay move to the end of the list.
	 */
	const struct list *last = p->ports.previous, *at = NULL;
	p->node->notify_left = NODE_NOTIFY_MAX;
	for (unsigned i = 0;
		i < REAP_PORTS_MAX && p->node->notify_left > 0 && at != last;
		i++) {
		at = p->ports.next;
		if (at == &p->ports)
			break;
		struct vport *port = list_of(at, struct vport, link);
		list_remove(&port->link);
		list_append(&p->ports, &port->link);
		vport_reclaim(port);
	}
	if (!list_empty(&p->ports) || !block_free_all(p))
		return false;
	/* A process that left stays until its socket closes. */
	if (p->socket_closed)
		process_free(p);
	return true;
}

bool reap_list(struct list *processes)
{
	bool left = false;
	list_for_each_safe (at, after, processes) {
		struct process *p = list_of(at, struct process, link);
		/* Freeing the last process frees its realm with this list. */
		bool last = after == processes;
		bool over = !process_lives(p) ||
			    (p->state == PROCESS_CONNECTED && p->socket_closed);
		left |= !(over ? process_reap(p) : repair_all_abandoned(p));
		if (last)
			break;
	}
	return left;
}

void reap_free(struct node *n)
{
	list_for_each_safe (at, after, &n->reaped)
		free(list_of(at, struct process, link));
	list_init(&n->reaped);
}
