/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing a process: a process that is stopped (for example by a debugger) may
 * hold claimed entries that it does not publish, and receivers cannot pass
 * them. Its targets migrate to new queue sets with the next epoch; the old sets
 * are closed, and the entries that the stopped process claimed there are void.
 *
 * Each message is delivered exactly once, whatever the process does when it
 * continues. A thread publishes its entries (word 7) and then loads
 * `migration`. The node stores `migration`, issues a membarrier and then loads
 * word 7. So either the node sees word 7 and the entry is delivered, or the
 * thread sees `migration`, waits for the node's list and retries if its entry
 * is listed as fenced. The receiver loads `migration` after it has seen an
 * entry, and also goes by the list and not by the entry: an entry that was
 * published after the node's load was published after the barrier, so a
 * receiver that sees it also sees `migration`. A record in state TRY may name
 * an entry that another thread has claimed; that thread then retries.
 *
 * Messages stay in order, because the fenced entries of every claim are its
 * last ones: a sender publishes the entries of a claim in order, and the node
 * loads them in the opposite order, so it finds none published after one that
 * it finds unpublished; and it lists either all or none of those that it finds
 * unpublished next to each other, which contain all of one claim.
 *
 * A member that has waited too long for the list replaces MIGRATING by UNFENCED
 * and regards its entry as delivered. The node makes its list final with a CAS
 * that then fails, stores MIGRATING again, issues another membarrier and makes
 * a new list, which cannot contain that entry any more.
 */
#include <errno.h>
#include <string.h>

#include "base/futex.h"
#include "node/doorbell.h"
#include "node/record.h"

#define FENCE_TRIES 3

/* Frees the queue set of the previous migration, or returns -EBUSY. */
static int previous_free(struct vport *p)
{
	struct realm *r = p->realm;
	if (!p->previous.epoch)
		return 0;
	struct queue_control *c =
		arena_control(&r->arena, p->previous.vpid, p->previous.epoch);
	if (!(atomic_load_explicit(&c->r, memory_order_acquire) & R_DONE) ||
		!queue_set_quiesced(r, p->previous.vpid, p->previous.epoch))
		return -EBUSY;
	realm_free(r, p->previous.queues_offset, p->previous.queues_bytes);
	quota_return(p->process, QUOTA_HEAP, p->previous.queues_bytes);
	p->previous.epoch = 0;
	return 0;
}

/* Opens a new queue set for a port and closes the old one. */
static int queue_set_replace(struct vport *p)
{
	const struct arena *a = &p->realm->arena;
	int r = previous_free(p);
	if (r)
		return r;
	uint64_t queues = realm_allocate(p->realm, p->config.queues_bytes);
	if (!queues)
		return -ENOSPC;
	quota_force(p->process, QUOTA_HEAP, p->config.queues_bytes);
	const struct queue_control *old =
		arena_control(a, p->config.vpid, p->epoch);
	p->previous = p->config;
	p->config.queues_offset = queues;
	p->config.epoch = p->epoch =
		epoch_next(p->process->node, p->config.vpid);

	/* Counts continue from the larger W: no value may ever repeat. */
	struct queue_control *new = arena_control(a, p->config.vpid, p->epoch);
	uint64_t w = atomic_load_explicit(&old->w, memory_order_relaxed);
	uint64_t before = atomic_load_explicit(&new->w, memory_order_relaxed);
	if (queue_ahead(queue_nq(before), queue_nq(w)) < QUEUE_NQ_MASK / 2)
		w = before;
	atomic_store_explicit(&new->w, queue_word(queue_nq(w), 0) | W_CLOSED,
		memory_order_relaxed);
	/* The receiver writes the mode, but any member can. */
	uint32_t posted =
		atomic_load_explicit(&old->posted, memory_order_relaxed);
	queue_set_open(a, &p->config, p->first_epoch,
		posted > POSTED_ONLY ? POSTED_NONE : (enum posted_mode)posted);
	atomic_store_explicit(
		&new->doorbell, p->doorbell >= 0, memory_order_release);
	watch_migrate(p);
	queue_set_close(a, p->previous.vpid, p->previous.epoch);
	return 0;
}

/*
 * Finds the unpublished entries around the last one of a claim, which are all
 * that the claim has, and entries of its neighbours. No entry is claimed any
 * more. Returns false if the last one is published.
 */
static bool fence_range(struct context *to, uint64_t w,
	const struct record_copy *c, struct queue_range *range)
{
	uint64_t first = queue_nq(c->w_old), end = queue_nq(c->w_new);
	uint64_t last = (end - 1) & QUEUE_NQ_MASK;
	/* No claim has unpublished entries on both sides of a published one. */
	while (end != queue_nq(w) && !node_device_peek(to, end))
		end = (end + 1) & QUEUE_NQ_MASK;
	*range = (struct queue_range){ end, end };
	while (range->from != first) {
		uint64_t at = (range->from - 1) & QUEUE_NQ_MASK;
		if (!node_device_peek(to, at)) {
			range->from = at;
			continue;
		}
		if (at == last)
			return false;
		if (queue_in_range(at, first, last))
			return true;
		/* Published since the first loop has found it unpublished. */
		*range = (struct queue_range){ at, at };
	}
	return true;
}

/*
 * Lists the claimed and unpublished entries of the stopped process in the
 * replaced queue set of a port, and copies the list to the arena.
 */
static void fence_list(
	struct process *stopped, struct vport *p, struct context *to)
{
	struct queue_control *old = to->control;
	uint32_t count = 0;
	struct op_record *op;
	for (uint32_t i = 0; (op = record_at(stopped, i)); i++) {
		struct record_copy c = record_read(op);
		uint64_t w = atomic_load_explicit(
			&to->control->w, memory_order_acquire);
		uint64_t behind = queue_ahead(queue_nq(w), queue_nq(c.w_old));
		uint64_t entries = record_entries(&c);
		/* A torn record may say anything. */
		if (count < QUEUE_FENCED_MAX &&
			record_is_on(&c, to->vpid, to->epoch) && entries != 0 &&
			entries <= behind && behind <= to->nq_entries &&
			fence_range(to, w, &c, &p->fenced[count]))
			count++;
	}
	p->fenced_count = count;
	memcpy(old->fenced, p->fenced, sizeof(old->fenced));
	old->fenced_count = count;
}

static void migration_store(
	const struct vport *p, enum queue_migration state, memory_order order)
{
	atomic_store_explicit(
		&arena_control(&p->realm->arena, p->config.vpid, p->epoch)
			 ->migration,
		state, order);
}

/*
 * Makes the list of a replaced queue set final, unless a member has decided
 * first that no entry is fenced: then with another list. Each failure but those
 * by hostile members takes ten seconds, so the tries are few. Returns 0, or the
 * error after which no entry is fenced.
 */
static int fence_decide(
	struct process *stopped, struct vport *p, struct context *old)
{
	_Atomic uint32_t *migration = &old->control->migration;
	int e = -ECANCELED;
	for (unsigned i = 0; i < FENCE_TRIES; i++) {
		uint32_t expected = QUEUE_MIGRATING;
		fence_list(stopped, p, old);
		/*
		 * Release: the list is complete. Pairs with notify_fenced().
		 * Acquire pairs with notify_unfence().
		 */
		if (atomic_compare_exchange_strong_explicit(migration,
			    &expected, QUEUE_MIGRATED, memory_order_acq_rel,
			    memory_order_acquire))
			return 0;
		/* As in fence_begin(). */
		atomic_store_explicit(
			migration, QUEUE_MIGRATING, memory_order_seq_cst);
		int barrier = realm_barrier(p->realm);
		if (barrier) {
			e = barrier;
			break;
		}
	}
	p->fenced_count = 0;
	atomic_store_explicit(migration, QUEUE_UNFENCED, memory_order_release);
	return e;
}

/* Migrates a port whose queue set is MIGRATING, after the barrier. */
static int fence_port(struct process *stopped, struct vport *p)
{
	struct realm *r = p->realm;
	struct context old;
	int e = vport_context(p, p->epoch, &old);
	if (e == 0)
		e = queue_set_replace(p);
	if (e)
		return e;
	e = fence_decide(stopped, p, &old);
	futex_wake_upper(&old.control->w);
	doorbell_ring_port(p);
	r->node->count.fenced += e == 0;
	return e;
}

static struct process *process_find(struct node *n, pid_t pid)
{
	list_for_each (realm_at, &n->realms) {
		struct realm *r = list_of(realm_at, struct realm, link);
		list_for_each (at, &r->processes) {
			struct process *p = list_of(at, struct process, link);
			if (p->pid == pid && p->state == PROCESS_MEMBER)
				return p;
		}
	}
	return NULL;
}

/*
 * Stores MIGRATING in the queue sets of the ports on which the process claims
 * entries, and appends these ports to a list. Returns 0, or -E2BIG if it claims
 * more entries of a port than can be listed.
 */
static int fence_begin(struct process *stopped, struct list *ports)
{
	struct op_record *op;
	int first = 0;
	for (uint32_t i = 0; (op = record_at(stopped, i)); i++) {
		struct record_copy c = record_read(op);
		struct vport *p = stopped->node->ports[c.vpid];
		if (!p || p->realm != stopped->realm ||
			p->state != VPORT_OPEN || !record_claims(&c) ||
			!record_is_on(&c, p->config.vpid, p->epoch))
			continue;
		if (p->fence_claims++ == 0)
			list_append(ports, &p->fence_link);
	}
	list_for_each_safe (at, after, ports) {
		struct vport *p = list_of(at, struct vport, fence_link);
		if (p->fence_claims > QUEUE_FENCED_MAX) {
			first = -E2BIG;
			list_remove(at);
		} else {
			/* Before the barrier and the loads of word 7. */
			migration_store(
				p, QUEUE_MIGRATING, memory_order_seq_cst);
		}
		p->fence_claims = 0;
	}
	return first;
}

/*
 * The second barrier is for all ports together: the slow one takes
 * milliseconds, and a process can name any number of ports in its records.
 */
int fence_process(struct node *n, pid_t pid, uint32_t *migrated)
{
	struct process *stopped = process_find(n, pid);
	struct list ports;
	list_init(&ports);
	*migrated = 0;
	if (!stopped)
		return -ESRCH;
	int first = realm_barrier(stopped->realm);
	if (first)
		return first;
	first = fence_begin(stopped, &ports);
	if (list_empty(&ports))
		return first;
	/* If this fails, no port has changed. */
	int barrier = realm_barrier(stopped->realm);
	/* A port that cannot migrate does not prevent the others from it. */
	list_for_each_safe (at, after, &ports) {
		struct vport *p = list_of(at, struct vport, fence_link);
		int r = barrier ? barrier : fence_port(stopped, p);
		if (r)
			migration_store(p, QUEUE_STABLE, memory_order_release);
		*migrated += r == 0;
		if (r && !first)
			first = r;
		list_remove(&p->fence_link);
	}
	return first;
}
