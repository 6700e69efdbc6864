/* SPDX-License-Identifier: BSD-2-Clause */
/* See resolved.h. */
#include "port/resolved.h"

#include <errno.h>
#include <stdlib.h>

#include "port/lock.h"

static struct resolved_leaf leaf_none;
struct resolved resolved_none = { .leaves = { [0 ... RESOLVED_SLOTS - 1] =
						      &leaf_none } };

/*
 * Under port->lock. Returns the slot of a VPID, or NULL: it has none.
 * Relaxed, here and below: the lock orders these accesses.
 */
static _Atomic(struct cay_peer *) *resolved_slot(
	const struct cay_port *port, uint16_t vpid)
{
	struct resolved *root =
		atomic_load_explicit(&port->resolved, memory_order_relaxed);
	struct resolved_leaf *leaf = atomic_load_explicit(
		&root->leaves[vpid / RESOLVED_SLOTS], memory_order_relaxed);
	return leaf == &leaf_none ? NULL : &leaf->peers[vpid % RESOLVED_SLOTS];
}

/* Under port->lock. As resolved_slot(), but allocates the levels. */
static _Atomic(struct cay_peer *) *resolved_slot_new(
	struct cay_port *port, uint16_t vpid)
{
	struct resolved *root =
		atomic_load_explicit(&port->resolved, memory_order_relaxed);
	if (root == &resolved_none) {
		root = malloc(sizeof(*root));
		if (!root)
			return NULL;
		for (unsigned i = 0; i < RESOLVED_SLOTS; i++)
			atomic_init(&root->leaves[i], &leaf_none);
		atomic_store_explicit(
			&port->resolved, root, memory_order_release);
	}
	if (!resolved_slot(port, vpid)) {
		struct resolved_leaf *leaf = calloc(1, sizeof(*leaf));
		if (!leaf)
			return NULL;
		atomic_store_explicit(&root->leaves[vpid / RESOLVED_SLOTS],
			leaf, memory_order_release);
	}
	return resolved_slot(port, vpid);
}

int resolved_reserve(struct cay_port *port, uint16_t vpid)
{
	return resolved_slot_new(port, vpid) ? 0 : -ENOMEM;
}

void resolved_provide(
	struct cay_port *port, uint16_t vpid, struct resolved_leaf **leaf)
{
	struct resolved *root =
		atomic_load_explicit(&port->resolved, memory_order_relaxed);
	if (resolved_slot(port, vpid))
		return;
	atomic_store_explicit(&root->leaves[vpid / RESOLVED_SLOTS], *leaf,
		memory_order_release);
	*leaf = NULL;
}

int resolved_add(struct cay_port *port, struct cay_peer *peer)
{
	_Atomic(struct cay_peer *) *slot = resolved_slot_new(port, peer->vpid);
	if (!slot)
		return -ENOMEM;
	struct cay_peer *at = atomic_load_explicit(slot, memory_order_relaxed);
	peer->younger = NULL;
	if (!at) {
		atomic_store_explicit(slot, peer, memory_order_release);
		return 0;
	}
	while (at->younger)
		at = at->younger;
	at->younger = peer;
	return 0;
}

void resolved_remove(struct cay_port *port, struct cay_peer *peer)
{
	_Atomic(struct cay_peer *) *slot = resolved_slot(port, peer->vpid);
	struct cay_peer *at =
		slot ? atomic_load_explicit(slot, memory_order_relaxed) : NULL;
	if (at == peer) {
		atomic_store_explicit(
			slot, peer->younger, memory_order_release);
		return;
	}
	while (at && at->younger != peer)
		at = at->younger;
	if (at)
		at->younger = peer->younger;
}

void resolved_free(struct cay_port *port)
{
	struct resolved *root =
		atomic_load_explicit(&port->resolved, memory_order_relaxed);
	if (root == &resolved_none)
		return;
	for (unsigned i = 0; i < RESOLVED_SLOTS; i++) {
		struct resolved_leaf *leaf = atomic_load_explicit(
			&root->leaves[i], memory_order_relaxed);
		if (leaf != &leaf_none)
			free(leaf);
	}
	free(root);
}

bool resolved_gone(struct cay_port *port, uint16_t vpid, uint64_t position,
	struct cay_peer **out)
{
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	struct cay_peer *peer = resolved_find(port, vpid);
	if (peer) {
		resolved_remove(port, peer);
		peer->gone_at = position;
	}
	lock_drop(&port->lock, &guard);
	*out = peer;
	if (!port->heard)
		return true;
	bool heard = port->heard[vpid / 64] >> vpid % 64 & 1;
	port->heard[vpid / 64] &= ~(1ull << vpid % 64);
	return peer || heard;
}

void resolved_gone_released(struct cay_port *port, uint64_t position)
{
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	list_for_each (at, &port->replied) {
		struct cay_peer *peer = list_of(at, struct cay_peer, link);
		if (peer->gone_at == position)
			peer->unused = true;
	}
	lock_drop(&port->lock, &guard);
}
