/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows as the node sees them: who holds a lock, and whether anybody is in
 * the middle of an access. Only the node writes locks, so it needs no atomic to
 * take one; accesses read them, and name their window before they do (X4 in
 * device/record.c). So: store the lock (or, the owner, its rights), make a
 * membarrier, read the records: whoever is not there has seen the store.
 */
#include <errno.h>
#include <stdlib.h>

#include "node/record.h"

/* That a port has locked windows of this one; which, the windows tell. */
struct lock {
	struct list link;
	uint16_t target;
};

static struct cay_window_descriptor *window_table(const struct vport *p)
{
	return (struct cay_window_descriptor *)(void
			*)(p->realm->arena.base + p->config.tables_offset +
			   (uint64_t)p->config.wdt_at * CAY_LINE);
}

static _Atomic uint64_t *window_lock_of(struct cay_window_descriptor *d)
{
	return (_Atomic uint64_t *)&d->lock;
}

static uint64_t window_locked(struct cay_window_descriptor *d)
{
	return atomic_load_explicit(window_lock_of(d), memory_order_relaxed);
}

/* Is this thread at memory of the port, or of that window of it? */
static bool record_accesses(
	const struct op_record *op, uint16_t vpid, uint32_t window)
{
	struct record_seen s = record_read(op);
	uint64_t named =
		atomic_load_explicit(&op->window, memory_order_acquire);
	return s.state != OP_IDLE && s.vpid == vpid &&
	       (window ? named == window : named || s.state == OP_ACCESS);
}

/*
 * Whoever it is: a record tells where its thread is, but only after the call
 * for which port of its process.
 */
static bool access_under_way(const struct vport *target, uint32_t window)
{
	struct realm *r = target->realm;
	list_for_each (at, &r->processes) {
		struct process *p = list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0; process_lives(p) && (op = record_at(p, i));
			i++)
			if (record_accesses(op, target->config.vpid, window))
				return true;
	}
	return false;
}

int window_quiet(struct vport *p, uint32_t window)
{
	int r = barrier_everywhere();
	if (r)
		return r;
	return access_under_way(p, window) ? -EAGAIN : 0;
}

/* Calls it for each window on the same memory; stops at the first failure. */
static int window_ring(struct vport *target, uint16_t window,
	int (*call)(struct vport *, uint16_t window, const struct vport *by),
	const struct vport *by)
{
	struct cay_window_descriptor *table = window_table(target);
	uint16_t at = window;
	int r = 0;
	/* The links are a member's word: no longer than the table. */
	for (uint32_t i = 0; r == 0 && i < target->config.windows; i++) {
		r = call(target, at, by);
		at = table[at].next;
		if (at == window || at >= target->config.windows)
			break;
	}
	return r;
}

static uint64_t lock_word(const struct vport *by)
{
	return window_lock_word(by->config.vpid, by->born);
}

static int ring_free(
	struct vport *target, uint16_t window, const struct vport *by)
{
	uint64_t lock = window_locked(&window_table(target)[window]);
	if (lock == 0)
		return 0;
	return lock == lock_word(by) ? -EALREADY : -EAGAIN;
}

static int ring_lock(
	struct vport *target, uint16_t window, const struct vport *by)
{
	atomic_store_explicit(window_lock_of(&window_table(target)[window]),
		lock_word(by), memory_order_release);
	return 0;
}

static int ring_quiet(
	struct vport *target, uint16_t window, const struct vport *by)
{
	(void)by;
	return access_under_way(target, window + 1u) ? -EINPROGRESS : 0;
}

/* The window that a request names, its capability checked. */
static int window_named(
	struct vport *by, const struct node_request *q, struct vport **target)
{
	struct vport *t = by->realm->node->ports[q->lock.target];
	if (!t || t->realm != by->realm || t->state != VPORT_OPEN ||
		q->lock.epoch < t->born || q->lock.epoch > t->epoch)
		return -EPIPE;
	if (q->lock.window >= t->config.windows)
		return -ENXIO;
	struct cay_window_descriptor d = window_table(t)[q->lock.window];
	if (d.rights == 0)
		return -ENXIO;
	if ((d.capability ^ q->lock.capability) & CAY_CAPABILITY_MASK)
		return -EACCES;
	*target = t;
	return 0;
}

static struct lock *lock_find(struct vport *by, uint16_t target)
{
	list_for_each (at, &by->locks) {
		struct lock *l = list_of(at, struct lock, link);
		if (l->target == target)
			return l;
	}
	return NULL;
}

static int lock_note(struct vport *by, uint16_t target)
{
	if (lock_find(by, target))
		return 0;
	struct lock *l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->target = target;
	list_append(&by->locks, &l->link);
	return 0;
}

int window_lock(struct vport *by, const struct node_request *q)
{
	struct vport *target;
	int r = window_named(by, q, &target);
	if (r)
		return r;
	if (!q->lock.waiting) {
		r = window_ring(target, q->lock.window, ring_free, by);
		if (r == 0)
			r = lock_note(by, target->config.vpid);
		if (r)
			return r;
		window_ring(target, q->lock.window, ring_lock, by);
	}
	r = barrier_everywhere();
	return r ? r : window_ring(target, q->lock.window, ring_quiet, by);
}

/* True if the window was locked by the port. */
static bool lock_drop_one(struct vport *by, struct cay_window_descriptor *d)
{
	if (window_locked(d) != lock_word(by))
		return false;
	/* Release: what its holder saw done is done for the next one. */
	atomic_store_explicit(window_lock_of(d), 0, memory_order_release);
	return true;
}

static int ring_unlock(
	struct vport *target, uint16_t window, const struct vport *by)
{
	lock_drop_one(
		(struct vport *)(uintptr_t)by, &window_table(target)[window]);
	return 0;
}

int window_unlock(struct vport *by, const struct node_request *q)
{
	struct vport *target;
	int r = window_named(by, q, &target);
	if (r)
		return r;
	if (window_locked(&window_table(target)[q->lock.window]) !=
		lock_word(by))
		return -EPERM;
	return window_ring(target, q->lock.window, ring_unlock, by);
}

void window_unlock_all(struct vport *by)
{
	list_for_each_safe (at, after, &by->locks) {
		struct lock *l = list_of(at, struct lock, link);
		struct vport *target = by->realm->node->ports[l->target];
		for (uint32_t i = 0; target && target->realm == by->realm &&
				     i < target->config.windows;
			i++)
			lock_drop_one(by, &window_table(target)[i]);
		list_remove(&l->link);
		free(l);
	}
}
