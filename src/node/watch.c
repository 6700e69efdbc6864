/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who has resolved whom: the peer tables that ports read, and the word to each
 * of them when a peer is gone, which comes after its last message.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "node/node.h"

static struct peer_entry *watch_entry(const struct vport *by, uint32_t index)
{
	const struct queue_config *c = &by->config;
	unsigned char *table = by->realm->arena.base + c->tables_offset +
			       (uint64_t)c->peers_at * CAY_LINE;
	return &((struct peer_entry *)(void *)table)[index];
}

static void entry_write(const struct watch *w)
{
	struct peer_entry *e = watch_entry(w->by, w->index);
	uint32_t epoch = w->target->epoch;
	e->vpid = w->vpid;
	e->path = PATH_DIRECT;
	e->control_offset = ARENA_CONTROL_OFFSET((uint64_t)(epoch & 1)) +
			    (uint64_t)w->vpid * sizeof(struct queue_control);
	/* Release pairs with the load in route_fetch(). */
	atomic_store_explicit(&e->epoch, epoch, memory_order_release);
}

static int watch_room(struct vport *by)
{
	if (by->peer_count < by->peer_room)
		return 0;
	if (by->peer_room == by->config.peers)
		return -ENOSPC;
	uint32_t room = (uint32_t)bits_min(
		by->peer_room ? 2 * by->peer_room : 4, by->config.peers);
	struct watch **peers = realloc(by->peers, room * sizeof(*peers));
	if (!peers)
		return -ENOMEM;
	for (uint32_t i = by->peer_room; i < room; i++)
		peers[i] = NULL;
	by->peers = peers;
	by->peer_room = room;
	return 0;
}

int watch_add(struct vport *by, struct vport *target, uint32_t *index)
{
	int r = watch_room(by);
	if (r)
		return r;
	struct watch *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	while (by->peers[w->index])
		w->index++;
	w->by = by;
	w->target = target;
	w->vpid = target->config.vpid;
	by->peers[w->index] = w;
	by->peer_count++;
	list_append(&target->watchers, &w->link);
	entry_write(w);
	*index = w->index;
	return 0;
}

void watch_forbid(struct vport *by, uint16_t vpid)
{
	uint32_t index = 0;
	if (watch_room(by) != 0)
		return;
	while (by->peers[index])
		index++;
	struct peer_entry *e = watch_entry(by, index);
	e->vpid = vpid;
	e->path = PATH_FORBIDDEN;
}

int watch_remove(struct vport *by, uint32_t index)
{
	if (index >= by->peer_room || !by->peers[index])
		return -ENXIO;
	struct watch *w = by->peers[index];
	atomic_store_explicit(
		&watch_entry(by, index)->epoch, 0, memory_order_release);
	list_remove(&w->link);
	by->peers[index] = NULL;
	by->peer_count--;
	free(w);
	return 0;
}

/* True when there is no more to say to this one. */
static bool watch_tell(struct watch *w)
{
	struct realm *r = w->by->realm;
	struct context to;
	if (w->by->state != VPORT_OPEN ||
		context_load(
			&r->arena, w->by->config.vpid, w->by->epoch, &to) != 0)
		return true;
	int e = device_notify_gone(&to, r->op, r->node->id, w->vpid);
	if (e == 0)
		r->node->count.gone_sent++;
	return e != -EAGAIN;
}

static void watch_say(struct watch *w)
{
	list_remove(&w->link);
	if (!watch_tell(w))
		list_append(&w->by->realm->node->gone, &w->link);
}

void watch_gone(struct vport *target, bool all)
{
	list_for_each_safe (at, after, &target->watchers) {
		struct watch *w = list_of(at, struct watch, link);
		if (!all && repair_owed(w->by, target))
			continue;
		w->target = NULL;
		watch_say(w);
	}
}

bool watch_retry(struct node *n)
{
	struct list again;
	if (list_empty(&n->gone))
		return true;
	again = n->gone;
	again.next->previous = &again;
	again.previous->next = &again;
	list_init(&n->gone);
	while (!list_empty(&again))
		watch_say(list_of(again.next, struct watch, link));
	return list_empty(&n->gone);
}

void watch_moved(struct vport *target)
{
	list_for_each (at, &target->watchers)
		entry_write(list_of(at, struct watch, link));
}
