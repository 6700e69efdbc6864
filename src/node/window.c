/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Window locks, and quiescence of windows. Only the node writes locks, so
 * taking one needs no atomic operation; an access stores its window in the op
 * record before it loads the lock (X4 in device/record.c). The node (or the
 * owner) stores the lock (or the rights), issues a membarrier and reads the
 * records: an access that is not found there has seen the store.
 */
#include <errno.h>
#include <stdlib.h>

#include "node/record.h"

/*
 * A port whose windows are locked; the descriptors say which windows. It counts
 * as a peer of the holder, and ends with the holder or the target.
 */
struct lock {
	struct tree_link link; /* of holder->locks; the key is the VPID */
	struct list lockers_link;
	struct vport *holder, *target;
	uint64_t mark; /* node.slow_barriers at the latest lock */
};

static struct cay_window_descriptor *window_descriptor(
	const struct vport *p, uint64_t window)
{
	struct cay_window_descriptor *wdt = vport_table(p, p->config.wdt_at);
	return &wdt[window];
}

static uint64_t lock_load(const struct vport *target, uint64_t window)
{
	return atomic_load_explicit(
		(_Atomic uint64_t *)&window_descriptor(target, window)->lock,
		memory_order_seq_cst);
}

static void lock_store(
	const struct vport *target, uint64_t window, uint64_t lock)
{
	atomic_store_explicit(
		(_Atomic uint64_t *)&window_descriptor(target, window)->lock,
		lock, memory_order_seq_cst);
}

static uint64_t lock_word(const struct vport *holder)
{
	return window_lock_word(holder->config.vpid, holder->first_epoch);
}

/* ---- quiescence ---- */

/* One window of a port (1 + Win-ID; 0: any memory), or all with this lock. */
struct accessed {
	const struct vport *target;
	uint32_t window;
	uint64_t lock;
};

static bool record_accesses(const struct op_record *op, const void *argument)
{
	const struct accessed *a = argument;
	struct record_copy c = record_read(op);
	uint64_t named =
		atomic_load_explicit(&op->window, memory_order_acquire);
	return c.state != OP_IDLE && c.vpid == a->target->config.vpid &&
	       (a->window ? named == a->window : named || c.state == OP_ACCESS);
}

static bool record_accesses_locked(
	const struct op_record *op, const void *argument)
{
	const struct accessed *a = argument;
	struct record_copy c = record_read(op);
	uint64_t window =
		atomic_load_explicit(&op->window, memory_order_acquire) - 1;
	return c.state != OP_IDLE && c.vpid == a->target->config.vpid &&
	       window < a->target->config.windows &&
	       lock_load(a->target, window) == a->lock;
}

int window_quiesce(struct vport *p, uint32_t window, bool mapped)
{
	const struct accessed a = { .target = p, .window = window };
	if (window && !mapped && mapping_of_window(p, window - 1))
		return -EBUSY;
	/* The owner has withdrawn the window before this round began. */
	int r = realm_barrier_since(p->realm, p->realm->node->round_barriers);
	if (r)
		return r;
	if (record_any(p->realm, record_accesses, &a))
		return -EAGAIN;
	/* The owner may reuse the Win-ID. */
	if (window)
		mapping_detach(p, window - 1);
	return 0;
}

/* ---- locks ---- */

typedef int window_call(
	struct vport *target, uint16_t window, const struct vport *holder);

/*
 * Calls a function for each window on the same memory; stops at the first
 * failure. The links between these windows are written by a member, which may
 * be changing them: returns -EAGAIN if they do not lead back.
 */
static int aliases_call(struct vport *target, uint16_t window,
	window_call *call, const struct vport *holder)
{
	uint16_t at = window;
	for (uint32_t i = 0; i < target->config.windows; i++) {
		int r = call(target, at, holder);
		at = atomic_load_explicit(
			(_Atomic uint16_t *)&window_descriptor(target, at)
				->next,
			memory_order_seq_cst);
		if (r || at == window)
			return r;
		if (at >= target->config.windows)
			break;
	}
	return -EAGAIN;
}

/*
 * Calls a function that stores locks. A window that its owner links at the same
 * time inherits the lock of the others: either the owner loads the lock that
 * was stored here, or the second round finds the new window. All these accesses
 * are sequentially consistent: window_inherit() in port/window.c.
 */
static int aliases_store(struct vport *target, uint16_t window,
	window_call *call, const struct vport *holder)
{
	aliases_call(target, window, call, holder);
	return aliases_call(target, window, call, holder);
}

/* Returns 0 if the window is free, or locked by the same port. */
static int alias_check(
	struct vport *target, uint16_t window, const struct vport *holder)
{
	uint64_t lock = lock_load(target, window);
	return lock == 0 || lock == lock_word(holder) ? 0 : -EAGAIN;
}

static int alias_lock(
	struct vport *target, uint16_t window, const struct vport *holder)
{
	int r = alias_check(target, window, holder);
	if (r == 0)
		lock_store(target, window, lock_word(holder));
	return r;
}

static int alias_unlock(
	struct vport *target, uint16_t window, const struct vport *holder)
{
	/* The next holder sees what this one saw done. */
	if (lock_load(target, window) == lock_word(holder))
		lock_store(target, window, 0);
	return 0;
}

/*
 * Finds the window that a request names and checks its capability. *target is
 * set if there is a descriptor with this number.
 */
static int window_named(struct vport *holder, const struct node_request *q,
	struct vport **target)
{
	struct vport *t = holder->realm->node->ports[q->lock.target];
	if (!t || t->realm != holder->realm || t->state != VPORT_OPEN ||
		q->lock.epoch < t->first_epoch || q->lock.epoch > t->epoch)
		return -EPIPE;
	if (q->lock.window >= t->config.windows)
		return -ENXIO;
	*target = t;
	struct cay_window_descriptor *d = window_descriptor(t, q->lock.window);
	/*
	 * Rights first, with acquire: the capability is then of the same or a
	 * later opening of the window, never of an earlier one.
	 * models/window.pml.
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

int window_copy(struct vport *port, const struct node_request *q,
	struct vport **target, struct cay_window_descriptor *copy)
{
	int r = window_named(port, q, target);
	if (r)
		return r;
	struct cay_window_descriptor *d =
		window_descriptor(*target, q->lock.window);
	*copy = (struct cay_window_descriptor){
		.rights = atomic_load_explicit(
			(_Atomic uint32_t *)&d->rights, memory_order_acquire),
		.start = atomic_load_explicit(
			(_Atomic uint64_t *)&d->start, memory_order_relaxed),
		.length = atomic_load_explicit(
			(_Atomic uint64_t *)&d->length, memory_order_relaxed),
		.pid = atomic_load_explicit(
			(_Atomic uint32_t *)&d->pid, memory_order_relaxed),
		.lock = lock_load(*target, q->lock.window),
	};
	return 0;
}

static struct lock *lock_of(struct tree_link *l)
{
	return l ? list_of(l, struct lock, link) : NULL;
}

/* Records that the holder has locks at the target. Returns 0 or -errno. */
static int lock_note(
	struct vport *holder, struct vport *target, struct lock **out)
{
	struct lock *l =
		lock_of(tree_find(&holder->locks, target->config.vpid));
	if (!l) {
		int r = quota_take(holder->process, QUOTA_PEERS, 1);
		if (r)
			return r;
		l = calloc(1, sizeof(*l));
		if (!l) {
			quota_return(holder->process, QUOTA_PEERS, 1);
			return -ENOMEM;
		}
		l->link.key = target->config.vpid;
		l->holder = holder;
		l->target = target;
		tree_insert(&holder->locks, &l->link);
		list_append(&target->lockers, &l->lockers_link);
	}
	*out = l;
	return 0;
}

/* Frees a note that is in no tree any more. */
static void lock_free(struct lock *l)
{
	list_remove(&l->lockers_link);
	quota_return(l->holder->process, QUOTA_PEERS, 1);
	free(l);
}

int window_lock(struct vport *holder, const struct node_request *q)
{
	uint16_t window = q->lock.window;
	struct vport *target;
	struct cay_window_descriptor copy;
	int r = window_copy(holder, q, &target, &copy);
	if (r)
		return r;
	/* The lock could not exclude accesses through a mapping. */
	if (!copy.pid && mapping_overlaps(target, copy.start, copy.length))
		return -EBUSY;
	bool held = lock_load(target, window) == lock_word(holder);
	if (held != !!q->lock.poll)
		return held ? -EALREADY : -EPERM;
	if (!held)
		r = aliases_call(target, window, alias_check, holder);
	if (r)
		return r;
	struct lock *l;
	r = lock_note(holder, target, &l);
	if (r)
		return r;
	bool whole = aliases_store(target, window, alias_lock, holder) == 0;
	if (!held) {
		l->mark = target->realm->node->slow_barriers;
		/* The polls of all that lock now share a slow barrier. */
		if (realm_barrier_slow(target->realm))
			return -EINPROGRESS;
	}
	r = realm_barrier_since(target->realm, l->mark);
	if (r) {
		aliases_store(target, window, alias_unlock, holder);
		return r;
	}
	/*
	 * Accesses of the holder's process count too: a record names the port
	 * only after the call.
	 */
	const struct accessed a = { .target = target,
		.lock = lock_word(holder) };
	return whole && !record_any(target->realm, record_accesses_locked, &a)
		       ? 0
		       : -EINPROGRESS;
}

/* The holder may unlock even if the window was closed or revoked since. */
int window_unlock(struct vport *holder, const struct node_request *q)
{
	struct vport *target = NULL;
	int r = window_named(holder, q, &target);
	if (!target)
		return r;
	if (lock_load(target, q->lock.window) != lock_word(holder))
		return r ? r : -EPERM;
	aliases_store(target, q->lock.window, alias_unlock, holder);
	return 0;
}

bool window_unlock_all(struct vport *holder)
{
	struct node *n = holder->realm->node;
	while (holder->locks.root && n->unlock_left > 0) {
		struct lock *l = lock_of(tree_take(&holder->locks));
		uint32_t windows = l->target->config.windows;
		/* Two rounds, as in aliases_store(). */
		for (uint32_t i = 0; i < 2 * windows; i++)
			alias_unlock(
				l->target, (uint16_t)(i % windows), holder);
		n->unlock_left -= 1 + 2 * (int64_t)windows;
		lock_free(l);
	}
	return !holder->locks.root;
}

void window_forget(struct vport *target)
{
	while (!list_empty(&target->lockers)) {
		struct lock *l = list_of(
			target->lockers.next, struct lock, lockers_link);
		tree_remove(&l->holder->locks, l->link.key);
		lock_free(l);
	}
}
