/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quotas: what one process, and the processes of one realm together, may take
 * of a node. They keep a process that takes all it can get from starving
 * others; a request beyond them fails with -EDQUOT. All connections of a
 * process count together.
 */
#ifndef CAY_NODE_QUOTA_H
#define CAY_NODE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"

struct node;
struct process;
struct realm;

enum quota_kind {
	QUOTA_PORTS,
	QUOTA_BLOCKS,  /* of cay_alloc() */
	QUOTA_HEAP,    /* bytes of the arena: queues, tables, records, blocks */
	QUOTA_RECORDS, /* pages of op records but the first */
	QUOTA_PEERS,   /* entries of peer tables, watches, ports with locks */
	QUOTA_CONNECTIONS,
	QUOTA_MAPPINGS, /* of cay_window_map() */
	QUOTA_PATHS,	/* ends of ULTRA paths */
	QUOTA_OFFERS,	/* accepted paths that no origin has connected */
	QUOTA_KINDS
};

struct quota {
	uint64_t process[QUOTA_KINDS], realm[QUOTA_KINDS];
	uint64_t realms;
	uint64_t waiting; /* connections that have not joined a realm */
};

/* What the connections of one process have taken. */
struct account {
	struct list link; /* of a bucket of node.accounts */
	pid_t pid;
	uint64_t used[QUOTA_KINDS];
};

/* Replaces zeros by the defaults of a node with this heap in each arena. */
void quota_default(struct quota *, uint64_t heap_bytes);

/*
 * Sets the quota of this name, such as "process-ports". Returns false if there
 * is none.
 */
bool quota_set(struct quota *, const char *name, uint64_t value);
/* The names, NULL at the end. */
extern const char *const quota_names[];

/*
 * Finds or adds the account of a process and takes a connection. Returns 0,
 * -EDQUOT or -ENOMEM.
 */
int quota_open(struct process *);
void quota_close(struct process *);

/* Takes so much for a process, or returns -EDQUOT. */
int quota_take(struct process *, enum quota_kind, uint64_t amount);
/* Takes it even beyond the quota: for the node's own decisions. */
void quota_force(struct process *, enum quota_kind, uint64_t amount);
void quota_return(struct process *, enum quota_kind, uint64_t amount);
/*
 * Returns the share of a process that ends while its realm keeps what it took,
 * and later the share of the realm.
 */
void quota_return_process(struct process *, enum quota_kind, uint64_t amount);
void quota_return_realm(struct realm *, enum quota_kind, uint64_t amount);

#endif
