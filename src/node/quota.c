/* SPDX-License-Identifier: BSD-2-Clause */
/* See quota.h. */
#include "node/quota.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "node/node.h"

/*
 * The defaults of a process are half, or three quarters, of what its realm may
 * take, and all realms but the one at its quota can still open ports.
 */
static const struct quota defaults = {
	.process = {
		[QUOTA_PORTS] = CAY_VPIDS / 2,
		[QUOTA_BLOCKS] = 64 << 10,
		[QUOTA_RECORDS] = 127, /* 4096 threads */
		[QUOTA_PEERS] = 512 << 10,
		[QUOTA_CONNECTIONS] = 2048,
		[QUOTA_MAPPINGS] = 16 << 10,
		[QUOTA_PATHS] = 4 << 10,
		/* Two descriptors of the node each. */
		[QUOTA_OFFERS] = 128,
	},
	.realm = {
		[QUOTA_PORTS] = CAY_VPIDS / 4 * 3,
		[QUOTA_BLOCKS] = 128 << 10,
		[QUOTA_HEAP] = UINT64_MAX, /* its arena */
		[QUOTA_RECORDS] = 1024,
		[QUOTA_PEERS] = 1 << 20,
		[QUOTA_CONNECTIONS] = 4096,
		[QUOTA_MAPPINGS] = 64 << 10,
		[QUOTA_PATHS] = 16 << 10,
		[QUOTA_OFFERS] = 1024,
	},
	.realms = 256,
	.waiting = 1024,
};

void quota_default(struct quota *q, uint64_t heap_bytes)
{
	for (unsigned i = 0; i < QUOTA_KINDS; i++) {
		if (!q->process[i])
			q->process[i] = defaults.process[i];
		if (!q->realm[i])
			q->realm[i] = defaults.realm[i];
	}
	if (!q->process[QUOTA_HEAP])
		q->process[QUOTA_HEAP] =
			bits_round_up(heap_bytes - heap_bytes / 4, ARENA_PAGE);
	if (!q->realms)
		q->realms = defaults.realms;
	if (!q->waiting)
		q->waiting = defaults.waiting;
}

/* ---- names ---- */

/* Those of the process and of the realm in the order of enum quota_kind. */
const char *const quota_names[] = { "process-ports", "process-blocks",
	"process-heap", "process-threads", "process-peers",
	"process-connections", "process-mappings", "process-paths",
	"process-offers", "realm-ports", "realm-blocks", "realm-heap",
	"realm-threads", "realm-peers", "realm-connections", "realm-mappings",
	"realm-paths", "realm-offers", "realms", "waiting-connections", NULL };

CAY_STATIC_ASSERT(ARRAY_COUNT(quota_names) == 2 * QUOTA_KINDS + 3,
	"a name for each quota");

bool quota_set(struct quota *q, const char *name, uint64_t value)
{
	unsigned i = 0;
	while (quota_names[i] && strcmp(quota_names[i], name) != 0)
		i++;
	/* Users count threads, the node pages of their records. */
	if (i % QUOTA_KINDS == QUOTA_RECORDS && i < 2 * QUOTA_KINDS)
		value = value <= OP_RECORDS_PER_PAGE
				? 1
				: (value - 1) / OP_RECORDS_PER_PAGE;
	if (i < QUOTA_KINDS)
		q->process[i] = value;
	else if (i < 2 * QUOTA_KINDS)
		q->realm[i - QUOTA_KINDS] = value;
	else if (i == 2 * QUOTA_KINDS)
		q->realms = value;
	else if (quota_names[i])
		q->waiting = value;
	return quota_names[i] != NULL;
}

/* ---- accounts ---- */

int quota_open(struct process *p)
{
	struct node *n = p->node;
	struct list *bucket =
		&n->accounts[(uint32_t)p->pid % ARRAY_COUNT(n->accounts)];
	struct account *a = NULL;
	list_for_each (at, bucket) {
		struct account *other = list_of(at, struct account, link);
		if (other->pid == p->pid)
			a = other;
	}
	if (n->waiting >= n->quota.waiting ||
		(a && a->used[QUOTA_CONNECTIONS] >=
				n->quota.process[QUOTA_CONNECTIONS]))
		return -EDQUOT;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return -ENOMEM;
		a->pid = p->pid;
		list_append(bucket, &a->link);
	}
	p->account = a;
	a->used[QUOTA_CONNECTIONS]++;
	n->waiting++;
	return 0;
}

void quota_close(struct process *p)
{
	struct account *a = p->account;
	if (p->realm)
		p->realm->used[QUOTA_CONNECTIONS]--;
	else
		p->node->waiting--;
	if (--a->used[QUOTA_CONNECTIONS] == 0) {
		list_remove(&a->link);
		free(a);
	}
	p->account = NULL;
}

void quota_force(struct process *p, enum quota_kind kind, uint64_t amount)
{
	p->used[kind] += amount;
	p->account->used[kind] += amount;
	p->realm->used[kind] += amount;
}

/* A raised use may exceed a quota already: see quota_force(). */
static bool fits(uint64_t used, uint64_t amount, uint64_t quota)
{
	return used <= quota && amount <= quota - used;
}

int quota_take(struct process *p, enum quota_kind kind, uint64_t amount)
{
	const struct quota *q = &p->node->quota;
	if (!fits(p->account->used[kind], amount, q->process[kind]) ||
		!fits(p->realm->used[kind], amount, q->realm[kind])) {
		p->node->count.over_quota++;
		return -EDQUOT;
	}
	quota_force(p, kind, amount);
	return 0;
}

void quota_return_process(
	struct process *p, enum quota_kind kind, uint64_t amount)
{
	p->used[kind] -= amount;
	p->account->used[kind] -= amount;
}

void quota_return_realm(struct realm *r, enum quota_kind kind, uint64_t amount)
{
	r->used[kind] -= amount;
}

void quota_return(struct process *p, enum quota_kind kind, uint64_t amount)
{
	quota_return_process(p, kind, amount);
	quota_return_realm(p->realm, kind, amount);
}
