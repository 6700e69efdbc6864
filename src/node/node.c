/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node without its sockets: how it starts, and what it does between two
 * events to finish what could not be finished at once.
 */
#include "node/node.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

/* Twice that is what tools such as valgrind have for a whole process. */
#define NODE_ARENA_BYTES (32ull << 30)

void node_init(struct node *n, const struct node_options *o)
{
	n->started_ns = clock_now_ns();
	n->arena_bytes = o->arena_bytes ? o->arena_bytes : NODE_ARENA_BYTES;
	n->stay = o->stay;
	n->listener = n->epoll = n->spare = -1;
	list_init(&n->realms);
	list_init(&n->greeting);
	list_init(&n->closing);
	list_init(&n->buried);
	list_init(&n->gone);
	for (uint32_t i = 0; i < NODE_NAME_BUCKETS; i++)
		list_init(&n->names[i]);
	for (uint32_t i = 1; i < CAY_VPIDS; i++)
		n->free_vpids[n->free_count++] = (uint16_t)i;
	while (n->id == 0)
		if (getrandom(&n->id, sizeof(n->id), 0) != sizeof(n->id))
			n->id = (uint32_t)n->started_ns;
}

static bool process_over(const struct process *p)
{
	return p->state == PROCESS_DEAD ||
	       (p->hung_up && p->state != PROCESS_CLOSED) ||
	       p->state == PROCESS_LEFT;
}

/* True while one of them is not finished. */
static bool bury_all(struct list *processes)
{
	bool left = false;
	list_for_each_safe (at, after, processes) {
		struct process *p = list_of(at, struct process, link);
		/* The last process takes its realm, and this list, along. */
		bool last = after == processes;
		if (process_over(p))
			left |= !process_bury(p);
		else
			left |= !process_recover_all(p);
		if (last)
			break;
	}
	return left;
}

static void buried_free(struct node *n)
{
	while (!list_empty(&n->buried)) {
		struct process *p =
			list_of(n->buried.next, struct process, link);
		list_remove(&p->link);
		free(p);
	}
}

bool node_tick(struct node *n)
{
	bool left = bury_all(&n->greeting);
	list_for_each_safe (at, after, &n->realms)
		left |= bury_all(&list_of(at, struct realm, link)->processes);
	list_for_each_safe (at, after, &n->closing) {
		struct vport *p = list_of(at, struct vport, closing_link);
		/* Those of the dead are theirs; of the closed, later. */
		if (p->process->state == PROCESS_MEMBER)
			left |= !vport_reclaim(p);
	}
	left |= !watch_retry(n);
	block_sweep(n);
	left |= n->deferred_blocks != 0;
	buried_free(n);
	return left;
}

void node_end(struct node *n)
{
	if (n->listener >= 0)
		close(n->listener);
	if (n->epoll >= 0)
		close(n->epoll);
	if (n->spare >= 0)
		close(n->spare);
	free(n);
}
