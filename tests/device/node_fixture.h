/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node for a device fixture, without sockets or processes: it knows the
 * fixture's ports and simulated processes, each with an op record, so that
 * tests run the real repair code of src/node.
 *
 *	struct node_fixture n;
 *	node_fixture_open(&n, &fixture, processes);
 *	... n.op[i] is the op record of process i's only thread ...
 *	while (!node_fixture_reap(&n, i))
 *		... let the other processes continue ...
 *	node_fixture_close(&n);
 */
#ifndef CAY_TESTS_DEVICE_NODE_FIXTURE_H
#define CAY_TESTS_DEVICE_NODE_FIXTURE_H

#include <stdlib.h>

#include "device/fixture.h"
#include "node/node.h"

#define NODE_FIXTURE_PROCESSES_MAX 8

struct node_fixture {
	struct node *node;
	struct realm realm;
	struct vport *port;
	uint32_t processes;
	struct process process[NODE_FIXTURE_PROCESSES_MAX];
	uint64_t page[NODE_FIXTURE_PROCESSES_MAX];
	struct op_record *op[NODE_FIXTURE_PROCESSES_MAX];
};

static inline void node_fixture_port(
	struct node_fixture *n, const struct fixture *f, uint32_t i)
{
	struct vport *p = &n->port[i];
	p->realm = &n->realm;
	p->config = f->port[i].config;
	p->epoch = p->config.epoch;
	p->first_epoch = f->port[i].first_epoch;
	p->doorbell = -1;
	n->node->ports[p->config.vpid] = p;
}

static inline void node_fixture_process(
	struct node_fixture *n, struct fixture *f, uint32_t i)
{
	struct process *p = &n->process[i];
	n->page[i] = fixture_memory(f, ARENA_PAGE);
	n->op[i] = fixture_at(f, n->page[i]);
	*p = (struct process){ .node = n->node,
		.realm = &n->realm,
		.state = PROCESS_MEMBER,
		.record_pages = &n->page[i],
		.record_page_count = 1 };
	list_append(&n->realm.processes, &p->link);
}

/* Returns 0, or -1 if out of memory. */
static inline int node_fixture_open(
	struct node_fixture *n, struct fixture *f, uint32_t processes)
{
	*n = (struct node_fixture){ .processes = processes };
	n->node = calloc(1, sizeof(*n->node));
	n->port = calloc(f->ports, sizeof(*n->port));
	if (!n->node || !n->port)
		return -1;
	n->realm.node = n->node;
	n->realm.arena = f->arena;
	list_init(&n->realm.processes);
	list_init(&n->realm.reference_origins);
	for (uint32_t i = 0; i < f->ports; i++)
		node_fixture_port(n, f, i);
	for (uint32_t i = 0; i < processes; i++)
		node_fixture_process(n, f, i);
	return 0;
}

/*
 * Marks process i as exited and repairs its op record. Returns false if a
 * thread of another process must continue first; the caller tries again.
 */
static inline bool node_fixture_reap(struct node_fixture *n, uint32_t i)
{
	n->process[i].state = PROCESS_EXITED;
	return repair_record(&n->realm, n->op[i]) == 0;
}

static inline void node_fixture_close(struct node_fixture *n)
{
	free(n->node);
	free(n->port);
}

#endif
