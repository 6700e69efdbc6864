/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As much of a node around a fixture as its repair needs: the ports of the
 * fixture, and processes with op records of their own. So what is tested is
 * src/node/repair.c and posted.c, not what a test believes of them.
 *
 *	struct small_node n;
 *	small_node_open(&n, &bench, processes);
 *	... n.op[i] is the record of process i's thread ...
 *	small_node_reap(&n, i)	process i has exited; true when it is repaired
 *	small_node_close(&n);
 */
#ifndef CAY_TESTS_DEVICE_SMALL_NODE_H
#define CAY_TESTS_DEVICE_SMALL_NODE_H

#include <stdlib.h>

#include "device/fixture.h"
#include "node/node.h"

#define SMALL_NODE_PROCESSES_MAX 8

struct small_node {
	struct node *node;
	struct realm realm;
	struct vport *port;
	uint32_t processes;
	struct process process[SMALL_NODE_PROCESSES_MAX];
	uint64_t page[SMALL_NODE_PROCESSES_MAX];
	struct op_record *op[SMALL_NODE_PROCESSES_MAX];
};

static inline void small_node_port(
	struct small_node *n, const struct fixture *b, uint32_t i)
{
	struct vport *p = &n->port[i];
	p->realm = &n->realm;
	p->config = b->port[i].config;
	p->epoch = p->config.epoch;
	p->first_epoch = b->port[i].first_epoch;
	p->doorbell = -1;
	n->node->ports[p->config.vpid] = p;
}

static inline void small_node_process(
	struct small_node *n, struct fixture *b, uint32_t i)
{
	struct process *p = &n->process[i];
	n->page[i] = fixture_memory(b, ARENA_PAGE);
	n->op[i] = fixture_at(b, n->page[i]);
	*p = (struct process){ .node = n->node,
		.realm = &n->realm,
		.state = PROCESS_MEMBER,
		.record_pages = &n->page[i],
		.record_page_count = 1 };
	list_append(&n->realm.processes, &p->link);
}

/* 0 or -1: no memory. */
static inline int small_node_open(
	struct small_node *n, struct fixture *b, uint32_t processes)
{
	*n = (struct small_node){ .processes = processes };
	n->node = calloc(1, sizeof(*n->node));
	n->port = calloc(b->ports, sizeof(*n->port));
	if (!n->node || !n->port)
		return -1;
	n->realm.node = n->node;
	n->realm.arena = b->arena;
	list_init(&n->realm.processes);
	list_init(&n->realm.reference_origins);
	for (uint32_t i = 0; i < b->ports; i++)
		small_node_port(n, b, i);
	for (uint32_t i = 0; i < processes; i++)
		small_node_process(n, b, i);
	return 0;
}

/* Again if it is false: a living thread must go on first. */
static inline bool small_node_reap(struct small_node *n, uint32_t i)
{
	n->process[i].state = PROCESS_EXITED;
	return repair_record(&n->realm, n->op[i]) == 0;
}

static inline void small_node_close(struct small_node *n)
{
	free(n->node);
	free(n->port);
}

#endif
