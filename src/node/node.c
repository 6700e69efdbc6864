/* SPDX-License-Identifier: BSD-2-Clause */
/* The node without its sockets: initialization and deferred work. */
#include "node/node.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * Members decide how many ports, locks, references and op records there are, up
 * to their quotas. The limits keep a round at some milliseconds. Those of reads
 * are of each realm, so that one does not use up what another needs; window
 * descriptors are all those of two ports, twice.
 */
static void round_begin(struct node *n)
{
	n->round++;
	n->unlock_left = 4ll * CAY_VPIDS;
	n->notify_left = NODE_NOTIFY_MAX;
	list_for_each (at, &n->realms) {
		struct realm *r = list_of(at, struct realm, link);
		r->record_left = r->reference_left = NODE_READS_MAX;
	}
}

void node_init(struct node *n, const struct node_options *o)
{
	n->started_ns = clock_now_ns();
	n->arena_bytes = o->arena_bytes ? o->arena_bytes : NODE_ARENA_BYTES;
	n->stay = o->stay;
	n->quota = o->quota;
	n->control_stride = o->control_stride ? o->control_stride
					      : ARENA_STRIDE_PACKED;
	quota_default(&n->quota,
		n->arena_bytes - ARENA_SIZE_FOR(0ull, n->control_stride));
	n->listener = n->path_listener = n->epoll = n->spare = -1;
	list_init(&n->realms);
	list_init(&n->connected);
	list_init(&n->closing);
	list_init(&n->reaped);
	list_init(&n->freed);
	list_init(&n->report_waiting);
	list_init(&n->report_later);
	round_begin(n);
	for (uint32_t i = 0; i < NODE_NAME_BUCKETS; i++)
		list_init(&n->names[i]);
	for (uint32_t i = 0; i < NODE_ACCOUNT_BUCKETS; i++)
		list_init(&n->accounts[i]);
	for (uint32_t i = 1; i < CAY_VPIDS; i++)
		vpid_free(n, (uint16_t)i);
	if (getrandom(&n->random, sizeof(n->random), 0) != sizeof(n->random))
		n->random = (uintptr_t)n;
	while (n->id == 0)
		if (getrandom(&n->id, sizeof(n->id), 0) != sizeof(n->id))
			n->id = (uint32_t)n->started_ns;
}

bool node_tick(struct node *n)
{
	round_begin(n);
	bool left = reap_list(&n->connected);
	list_for_each_safe (at, after, &n->realms)
		left |= reap_list(&list_of(at, struct realm, link)->processes);
	left |= vport_continue(n);
	left |= !watch_retry_gone(n);
	left |= block_sweep(n);
	left |= status_continue(n);
	reap_free(n);
	/* A request of the next round is sent after these. */
	n->round_barriers = n->slow_barriers;
	return left;
}

void node_end(struct node *n)
{
	status_end(n);
	listen_close(n);
	if (n->epoll >= 0)
		close(n->epoll);
	if (n->spare >= 0)
		close(n->spare);
	free(n);
}
