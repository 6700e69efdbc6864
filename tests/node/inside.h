/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node inside the test's process, without socket and event loop. Tests call
 * request_execute() and process_exited() directly; after the exit of all
 * processes the node must be empty. Include it in one file of a program.
 */
#ifndef CAY_TESTS_NODE_INSIDE_H
#define CAY_TESTS_NODE_INSIDE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "node/record.h"
#include "node/request.h"

#define INSIDE_TICKS_MAX 64 /* until no work is left */

/* Assertion that is also active with NDEBUG, and visible to a fuzzer. */
#define MUST(e)                                                          \
	do {                                                             \
		if (!(e)) {                                              \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, \
				__LINE__, #e);                           \
			abort();                                         \
		}                                                        \
	} while (0)

/* Creates a connected process. Returns NULL if memory is exhausted. */
static inline struct process *inside_connect(struct node *n, pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->node = n;
	p->pid = pid;
	p->socket = p->pidfd = -1;
	list_init(&p->report_link);
	list_init(&p->ports);
	list_init(&p->reference_origins);
	tree_init(&p->blocks, n->random++);
	tree_init(&p->mappings, n->random++);
	if (quota_open(p) != 0) {
		free(p);
		return NULL;
	}
	list_append(&n->connected, &p->link);
	n->process_count++;
	return p;
}

/* Returns the error of the reply. Closes a descriptor in the reply. */
static inline int inside_call(struct process *p, const struct node_request *q,
	struct node_reply *reply)
{
	int out = -1;
	if (request_execute(p, q, reply, &out) && out >= 0)
		close(out);
	return reply->error;
}

static inline struct node_request inside_hello(const char *realm)
{
	struct node_request q = { .kind = NODE_HELLO };
	q.hello.magic = NODE_MAGIC;
	q.hello.major = NODE_MAJOR;
	/* The process does not exist, so expedited barriers suffice. */
	q.hello.flags = NODE_HELLO_BARRIER;
	snprintf(q.hello.realm, sizeof(q.hello.realm), "%s", realm);
	return q;
}

/* Creates a process that has joined the realm. */
static inline struct process *inside_join(
	struct node *n, pid_t pid, const char *realm)
{
	struct node_request q = inside_hello(realm);
	struct node_reply reply;
	struct process *p = inside_connect(n, pid);
	MUST(p && inside_call(p, &q, &reply) == 0);
	return p;
}

/* Opens a port with 16 entries and flags. Returns the error of the reply. */
static inline int inside_port_open(
	struct process *p, uint32_t peers, uint32_t flags, uint16_t *vpid)
{
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	q.open.flags = flags;
	q.open.nq_log2 = 4;
	q.open.rdr_log2 = 10;
	q.open.sdr_log2 = 6;
	q.open.peers = peers;
	q.open.windows = 1;
	q.open.posted_log2 = 1;
	int r = inside_call(p, &q, &reply);
	*vpid = reply.open.vpid;
	return r;
}

static inline struct vport *inside_open(struct process *p)
{
	uint16_t vpid;
	MUST(inside_port_open(p, 4, 0, &vpid) == 0);
	return p->node->ports[vpid];
}

static inline void inside_settle(struct node *n)
{
	for (unsigned i = 0; i < INSIDE_TICKS_MAX && node_tick(n); i++)
		continue;
}

/* All processes have exited: the node holds none of their resources. */
static inline void inside_check_empty(struct node *n)
{
	inside_settle(n);
	MUST(n->process_count == 0);
	MUST(n->port_count == 0);
	MUST(list_empty(&n->freed));
	MUST(n->free_count == CAY_VPIDS - 1);
	MUST(n->realm_count == 0);
	MUST(n->waiting == 0);
	for (unsigned i = 0; i < NODE_ACCOUNT_BUCKETS; i++)
		MUST(list_empty(&n->accounts[i]));
	MUST(list_empty(&n->realms));
	MUST(list_empty(&n->connected));
	MUST(list_empty(&n->closing));
	MUST(list_empty(&n->reaped));
	for (unsigned i = 0; i < NODE_NAME_BUCKETS; i++)
		MUST(list_empty(&n->names[i]));
	for (unsigned i = 0; i < ULTRA_UPIDS; i++)
		MUST(!n->upids[i]);
	MUST(n->ultra_offers == 0);
}

/* A node with this distance between the controls in its arenas. */
static inline struct node *inside_node_stride(
	uint64_t heap_bytes, uint32_t control_stride)
{
	struct node_options o = { .arena_bytes = ARENA_SIZE_FOR(
					  heap_bytes, control_stride),
		.control_stride = control_stride };
	struct node *n = calloc(1, sizeof(*n));
	MUST(n);
	node_init(n, &o);
	return n;
}

static inline struct node *inside_node(uint64_t heap_bytes)
{
	return inside_node_stride(heap_bytes, ARENA_STRIDE_PACKED);
}

#endif
