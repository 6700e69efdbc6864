/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peer tables, and NOTIFY_GONE to the watchers of a port that is gone, after
 * its last message. A port that has resolved the target and has a reverse watch
 * gets one NOTIFY_GONE for each; its library drops the second one, as it drops
 * that of a port which has resolved it and sent no message.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "node/node.h"

/*
 * Watches of a realm that are tried again in a tick. Members decide how many
 * wait, and for how long.
 */
#define RETRY_GONE_MAX 1024

static struct peer_entry *watch_entry(
	const struct vport *watcher, uint32_t index)
{
	struct peer_entry *peers =
		vport_table(watcher, watcher->config.peers_at);
	return &peers[index];
}

static void entry_write(const struct watch *w)
{
	struct peer_entry *e = watch_entry(w->watcher, w->index);
	uint32_t epoch = w->target->epoch;
	e->vpid = w->vpid;
	e->path = w->path;
	e->control_offset =
		arena_control_offset(&w->watcher->realm->arena, w->vpid, epoch);
	/* Release pairs with the load in route_fetch(). */
	atomic_store_explicit(&e->epoch, epoch, memory_order_release);
}

/* Finds the first free entry of the peer table. */
static int watch_room(struct vport *watcher, uint32_t *index)
{
	*index = 0;
	if (watcher->peer_count < watcher->peer_room) {
		while (watcher->peers[*index])
			++*index;
		return 0;
	}
	if (watcher->peer_room == watcher->config.peers)
		return -ENOSPC;
	uint32_t room = (uint32_t)bits_min(
		watcher->peer_room ? 2 * watcher->peer_room : 4,
		watcher->config.peers);
	struct watch **peers = realloc(watcher->peers, room * sizeof(*peers));
	if (!peers)
		return -ENOMEM;
	for (uint32_t i = watcher->peer_room; i < room; i++)
		peers[i] = NULL;
	*index = watcher->peer_room;
	watcher->peers = peers;
	watcher->peer_room = room;
	return 0;
}

int watch_add(struct vport *watcher, struct vport *target, uint32_t *index)
{
	uint32_t room;
	int r = quota_take(watcher->process, QUOTA_PEERS, 1);
	if (r)
		return r;
	r = watch_room(watcher, &room);
	struct watch *w = r ? NULL : calloc(1, sizeof(*w));
	if (!w) {
		quota_return(watcher->process, QUOTA_PEERS, 1);
		return r ? r : -ENOMEM;
	}
	w->index = room;
	w->watcher = watcher;
	w->target = target;
	w->vpid = target->config.vpid;
	w->path = PATH_DIRECT;
	watcher->peers[w->index] = w;
	watcher->peer_count++;
	list_append(&target->watchers, &w->link);
	target->watcher_count++;
	entry_write(w);
	*index = room;
	return 0;
}

static void reverse_free(struct watch *w)
{
	w->watcher->reversed[w->vpid / 64] &= ~(1ull << w->vpid % 64);
	list_remove(&w->link);
	list_remove(&w->reverse_link);
	quota_return(w->watcher->process, QUOTA_PEERS, 1);
	free(w);
}

int watch_add_reverse(struct vport *watcher, struct vport *target)
{
	uint16_t vpid = target->config.vpid;
	if (!watcher->tell_gone || watcher == target)
		return 0;
	if (!watcher->reversed)
		watcher->reversed =
			calloc(CAY_VPIDS / 64, sizeof(*watcher->reversed));
	if (!watcher->reversed)
		return -ENOMEM;
	/*
	 * A bit is of the target, not of the last port with its VPID: that
	 * port's VPID is not reused before its NOTIFY_GONE is delivered.
	 */
	if (watcher->reversed[vpid / 64] >> vpid % 64 & 1)
		return 0;
	/* It outlives the resolution, which is not charged then. */
	int r = quota_take(watcher->process, QUOTA_PEERS, 1);
	if (r)
		return r;
	struct watch *w = calloc(1, sizeof(*w));
	if (!w) {
		quota_return(watcher->process, QUOTA_PEERS, 1);
		return -ENOMEM;
	}
	w->index = WATCH_REVERSE;
	w->watcher = watcher;
	w->target = target;
	w->vpid = vpid;
	watcher->reversed[vpid / 64] |= 1ull << vpid % 64;
	list_append(&target->watchers, &w->link);
	list_append(&watcher->reverse, &w->reverse_link);
	return 0;
}

void watch_remove_reverse(struct vport *watcher)
{
	list_for_each_safe (at, after, &watcher->reverse)
		reverse_free(list_of(at, struct watch, reverse_link));
}

void watch_forbid(struct vport *watcher, uint16_t vpid)
{
	uint32_t index;
	if (watch_room(watcher, &index) != 0)
		return;
	struct peer_entry *e = watch_entry(watcher, index);
	e->vpid = vpid;
	e->path = PATH_FORBIDDEN;
}

int watch_remove(struct vport *watcher, uint32_t index)
{
	if (index >= watcher->peer_room || !watcher->peers[index])
		return -ENXIO;
	struct watch *w = watcher->peers[index];
	atomic_store_explicit(
		&watch_entry(watcher, index)->epoch, 0, memory_order_release);
	list_remove(&w->link);
	if (w->target)
		w->target->watcher_count--;
	watcher->peers[index] = NULL;
	watcher->peer_count--;
	quota_return(watcher->process, QUOTA_PEERS, 1);
	free(w);
	return 0;
}

/* Sends NOTIFY_GONE; without room the watch is put on the list for retries. */
static void watch_notify(struct watch *w)
{
	struct realm *r = w->watcher->realm;
	struct context to;
	int e = -EPIPE;
	list_remove(&w->link);
	if (w->watcher->state == VPORT_OPEN &&
		vport_context(w->watcher, w->watcher->epoch, &to) == 0)
		e = node_device_notify_gone(&to, r->op, r->node->id, w->vpid);
	if (e == 0)
		r->node->count.gone_sent++;
	if (e == -EAGAIN)
		list_append(&r->gone, &w->link);
	else if (w->index == WATCH_REVERSE)
		reverse_free(w);
}

bool watch_notify_gone(struct vport *target, bool all)
{
	struct node *n = target->realm->node;
	const struct list *last = target->watchers.previous, *at = NULL;
	/* Those with references move to the end of the list. */
	while (n->notify_left-- > 0 && at != last &&
		!list_empty(&target->watchers)) {
		at = target->watchers.next;
		struct watch *w = list_of(at, struct watch, link);
		list_remove(&w->link);
		list_append(&target->watchers, &w->link);
		if (!all && repair_has_references(w->watcher, target))
			continue;
		target->watcher_count -= w->index != WATCH_REVERSE;
		w->target = NULL;
		watch_notify(w);
	}
	return list_empty(&target->watchers);
}

static bool realm_retry_gone(struct realm *r)
{
	const struct list *last = r->gone.previous, *at = NULL;
	/* Those that find no room again move to the end of the list. */
	for (unsigned i = 0;
		i < RETRY_GONE_MAX && at != last && !list_empty(&r->gone);
		i++) {
		at = r->gone.next;
		watch_notify(list_of(at, struct watch, link));
	}
	return list_empty(&r->gone);
}

bool watch_retry_gone(struct node *n)
{
	bool all = true;
	list_for_each (at, &n->realms)
		all &= realm_retry_gone(list_of(at, struct realm, link));
	return all;
}

void watch_migrate(struct vport *target)
{
	list_for_each (at, &target->watchers) {
		struct watch *w = list_of(at, struct watch, link);
		if (w->index != WATCH_REVERSE)
			entry_write(w);
	}
}
