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
	return atomic_load_explicit(window_lock_of(d), memory_order_seq_cst);
}

/* What must be quiet: a window (1 + Win-ID; 0: all), or all that are locked. */
struct memory {
	const struct vport *of;
	uint32_t window;
	uint64_t lock;
};

/* Is this thread at memory of the port, or of that window of it? */
static bool record_accesses(const struct op_record *op, const void *of)
{
	const struct memory *m = of;
	struct record_seen s = record_read(op);
	uint64_t named =
		atomic_load_explicit(&op->window, memory_order_acquire);
	return s.state != OP_IDLE && s.vpid == m->of->config.vpid &&
	       (m->window ? named == m->window : named || s.state == OP_ACCESS);
}

/* Is this thread at a window that the port has locked? */
static bool record_at_locked(const struct op_record *op, const void *of)
{
	const struct memory *m = of;
	struct record_seen s = record_read(op);
	uint64_t window =
		atomic_load_explicit(&op->window, memory_order_acquire) - 1;
	return s.state != OP_IDLE && s.vpid == m->of->config.vpid &&
	       window < m->of->config.windows &&
	       window_locked(&window_table(m->of)[window]) == m->lock;
}

/*
 * At the window, or, if there is a lock, at any that has it. Whoever it is: a
 * record tells only after the call for which port of its process it was.
 */
static bool access_under_way(
	const struct vport *target, uint32_t window, uint64_t lock)
{
	const struct memory m = { target, window, lock };
	return record_any(
		target->realm, lock ? record_at_locked : record_accesses, &m);
}

int window_quiet(struct vport *p, uint32_t window)
{
	int r = barrier_everywhere();
	if (r)
		return r;
	return access_under_way(p, window, 0) ? -EAGAIN : 0;
}

/*
 * Calls it for each window on the same memory; stops at the first failure. The
 * links are a member's word, and it may be changing them: -EAGAIN if they do
 * not lead back.
 */
static int window_ring(struct vport *target, uint16_t window,
	int (*call)(struct vport *, uint16_t window, const struct vport *by),
	const struct vport *by)
{
	struct cay_window_descriptor *table = window_table(target);
	uint16_t at = window;
	for (uint32_t i = 0; i < target->config.windows; i++) {
		int r = call(target, at, by);
		at = atomic_load_explicit((_Atomic uint16_t *)&table[at].next,
			memory_order_seq_cst);
		if (r || at == window)
			return r;
		if (at >= target->config.windows)
			break;
	}
	return -EAGAIN;
}

/*
 * The same for what stores locks. A window that its owner links meanwhile
 * takes its lock from those in the ring: either the owner reads there what we
 * have stored, or we find the new one, at the latest when we come round again.
 * All sequentially consistent: window_inherit() in port/window.c.
 */
static int window_ring_store(struct vport *target, uint16_t window,
	int (*call)(struct vport *, uint16_t window, const struct vport *by),
	const struct vport *by)
{
	window_ring(target, window, call, by);
	return window_ring(target, window, call, by);
}

static uint64_t lock_word(const struct vport *by)
{
	return window_lock_word(by->config.vpid, by->first_epoch);
}

/* Not locked, or by the same port through another window. */
static int ring_free(
	struct vport *target, uint16_t window, const struct vport *by)
{
	uint64_t lock = window_locked(&window_table(target)[window]);
	return lock == 0 || lock == lock_word(by) ? 0 : -EAGAIN;
}

static int ring_lock(
	struct vport *target, uint16_t window, const struct vport *by)
{
	int r = ring_free(target, window, by);
	if (r == 0)
		atomic_store_explicit(
			window_lock_of(&window_table(target)[window]),
			lock_word(by), memory_order_seq_cst);
	return r;
}

/*
 * The window that a request names, its capability checked. *target is set if
 * there is a descriptor with this number at all.
 */
static int window_named(
	struct vport *by, const struct node_request *q, struct vport **target)
{
	struct vport *t = by->realm->node->ports[q->lock.target];
	if (!t || t->realm != by->realm || t->state != VPORT_OPEN ||
		q->lock.epoch < t->first_epoch || q->lock.epoch > t->epoch)
		return -EPIPE;
	if (q->lock.window >= t->config.windows)
		return -ENXIO;
	*target = t;
	struct cay_window_descriptor *d = &window_table(t)[q->lock.window];
	/*
	 * Rights first, with acquire: the key is then of that opening or of a
	 * later one, never of the one before. models/window.pml.
	 */
	if (atomic_load_explicit(
		    (_Atomic uint32_t *)&d->rights, memory_order_acquire) == 0)
		return -ENXIO;
	uint64_t key = atomic_load_explicit(
		(_Atomic uint64_t *)&d->capability, memory_order_relaxed);
	if ((key ^ q->lock.capability) & CAY_CAPABILITY_MASK)
		return -EACCES;
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

/* True if the window was locked by the port. */
static bool lock_drop_one(struct vport *by, struct cay_window_descriptor *d)
{
	if (window_locked(d) != lock_word(by))
		return false;
	/* What its holder saw done is done for the next one. */
	atomic_store_explicit(window_lock_of(d), 0, memory_order_seq_cst);
	return true;
}

static int ring_unlock(
	struct vport *target, uint16_t window, const struct vport *by)
{
	lock_drop_one(
		(struct vport *)(uintptr_t)by, &window_table(target)[window]);
	return 0;
}

int window_lock(struct vport *by, const struct node_request *q)
{
	struct vport *target;
	int r = window_named(by, q, &target);
	if (r)
		return r;
	bool ours = window_locked(&window_table(target)[q->lock.window]) ==
		    lock_word(by);
	if (ours != !!q->lock.poll)
		return ours ? -EALREADY : -EPERM;
	if (!ours)
		r = window_ring(target, q->lock.window, ring_free, by);
	if (r == 0)
		r = lock_note(by, target->config.vpid);
	if (r)
		return r;
	bool whole = window_ring_store(target, q->lock.window, ring_lock, by) ==
		     0;
	r = barrier_everywhere();
	if (r) {
		window_ring_store(target, q->lock.window, ring_unlock, by);
		return r;
	}
	return whole && !access_under_way(target, 0, lock_word(by))
		       ? 0
		       : -EINPROGRESS;
}

/*
 * Who holds it may give it back, whatever has become of the window and its
 * capability since.
 */
int window_unlock(struct vport *by, const struct node_request *q)
{
	struct vport *target = NULL;
	int r = window_named(by, q, &target);
	if (!target)
		return r;
	if (window_locked(&window_table(target)[q->lock.window]) !=
		lock_word(by))
		return r ? r : -EPERM;
	window_ring_store(target, q->lock.window, ring_unlock, by);
	return 0;
}

static void target_unlock(struct vport *by, struct vport *target)
{
	for (uint32_t i = 0; i < target->config.windows; i++)
		lock_drop_one(by, &window_table(target)[i]);
}

void window_unlock_all(struct vport *by)
{
	list_for_each_safe (at, after, &by->locks) {
		struct lock *l = list_of(at, struct lock, link);
		struct vport *target = by->realm->node->ports[l->target];
		if (target && target->realm == by->realm) {
			/* Twice, as in window_ring_store(). */
			target_unlock(by, target);
			target_unlock(by, target);
		}
		list_remove(&l->link);
		free(l);
	}
}
