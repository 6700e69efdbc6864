/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fencing off: a member that neither dies nor moves (stopped in a debugger)
 * may have claimed entries that it does not publish, and everybody behind them
 * waits. Its targets get new queue sets with the next epoch; the old ones are
 * closed, and what the stuck member had claimed there counts as void.
 *
 * Exactly once, whatever the member does when it moves again: it publishes its
 * entry (word 7) and then looks at `migration`. We store `migration`, then make
 * a membarrier, then look at word 7. So either we see its word 7, and the entry
 * is a message like any other; or it sees `migration`, waits for our verdict
 * and issues again if its entry is listed as fenced. The receiver looks at
 * `migration` after it has seen an entry, and goes by the same list, not by
 * what is stored there: an entry that was published after our look at it was
 * published after the barrier, so whoever sees it sees `migration` too. It does
 * not matter whose entry it is: a record that says TRY may name one that
 * another thread has won, and then that thread issues again.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"
#include "node/doorbell.h"
#include "node/record.h"

int barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
		return 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return 0;
	return -EOPNOTSUPP;
}

/* The set that was replaced before must be done with. */
static int former_release(struct vport *p)
{
	struct realm *r = p->realm;
	if (!p->former.epoch)
		return 0;
	struct queue_control *c =
		arena_control(&r->arena, p->former.vpid, p->former.epoch);
	if (!(atomic_load_explicit(&c->r, memory_order_acquire) & R_DONE) ||
		!repair_quiet(r, p->former.vpid, p->former.epoch))
		return -EBUSY;
	realm_put(r, p->former.queues_offset, p->former.queues_bytes);
	p->former.epoch = 0;
	return 0;
}

/* The new set goes on counting where the old one stands. */
static void set_open(struct vport *p, const struct queue_control *old)
{
	struct queue_control *new =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	uint64_t w = atomic_load_explicit(&old->w, memory_order_relaxed);
	uint64_t before = atomic_load_explicit(&new->w, memory_order_relaxed);
	/* The larger one: no W of either control may ever come again. */
	if (queue_ahead(queue_nq(before), queue_nq(w)) < QUEUE_NQ_MASK / 2)
		w = before;
	atomic_store_explicit(&new->w, queue_word(queue_nq(w), 0) | W_CLOSED,
		memory_order_relaxed);
	queue_set_open(&p->realm->arena, &p->config, p->first_epoch,
		(enum posted_mode)atomic_load_explicit(
			&old->posted, memory_order_relaxed));
	atomic_store_explicit(
		&new->doorbell, p->doorbell >= 0, memory_order_release);
}

static int set_replace(struct vport *p)
{
	struct node *n = p->process->node;
	int r = former_release(p);
	if (r)
		return r;
	uint64_t queues = realm_take(p->realm, p->config.queues_bytes);
	if (!queues)
		return -ENOSPC;
	struct queue_control *old =
		arena_control(&p->realm->arena, p->config.vpid, p->epoch);
	p->former = p->config;
	p->config.queues_offset = queues;
	p->config.epoch = p->epoch = epoch_next(n, p->config.vpid);
	set_open(p, old);
	watch_moved(p);
	queue_set_close(&p->realm->arena, p->former.vpid, p->former.epoch);
	return 0;
}

/*
 * Is this a claim in the old set that nobody can see the end of? A claim is
 * one entry; a record that was torn in reading is not.
 */
static bool record_stuck(const struct record_seen *s, struct context *to)
{
	uint64_t from = queue_nq(s->w_old);
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_acquire);
	uint64_t behind = queue_ahead(queue_nq(w), from);
	return record_is_at(s, to->vpid, to->epoch) && behind != 0 &&
	       behind <= to->nq_entries && record_entries(s) == 1 &&
	       !device_peek(to, from);
}

static uint32_t records_stuck_at(struct process *stuck, const struct vport *p)
{
	uint32_t count = 0;
	struct op_record *op;
	for (uint32_t i = 0; (op = record_at(stuck, i)); i++) {
		struct record_seen s = record_read(op);
		count += record_claims(&s) &&
			 record_is_at(&s, p->config.vpid, p->epoch);
	}
	return count;
}

/* Counted here: what stands in the arena, a member may have written. */
static void fence_list(struct process *stuck, struct context *to)
{
	struct queue_control *old = to->control;
	uint32_t count = 0;
	struct op_record *op;
	for (uint32_t i = 0; (op = record_at(stuck, i)); i++) {
		struct record_seen s = record_read(op);
		if (count < QUEUE_FENCED_MAX && record_stuck(&s, to))
			old->fenced[count++] = (struct queue_range){
				queue_nq(s.w_old), queue_nq(s.w_new)
			};
	}
	old->fenced_count = count;
}

static int fence_port(struct process *stuck, struct vport *p)
{
	struct realm *r = p->realm;
	struct queue_control *old =
		arena_control(&r->arena, p->config.vpid, p->epoch);
	struct context to;
	int e = context_load(&r->arena, p->config.vpid, p->epoch, &to);
	if (e)
		return e;
	/* Order: this store, the barrier, the looks at word 7. */
	atomic_store_explicit(
		&old->migration, QUEUE_MIGRATING, memory_order_seq_cst);
	e = set_replace(p);
	if (e) {
		atomic_store_explicit(
			&old->migration, QUEUE_STABLE, memory_order_release);
		return e;
	}
	barrier_everywhere();
	fence_list(stuck, &to);
	/* Release: the list is complete. notify_await_migration(),
	 * intake_peek(). */
	atomic_store_explicit(
		&old->migration, QUEUE_MIGRATED, memory_order_release);
	futex_wake_upper(&old->w);
	doorbell_ring_port(p);
	r->node->count.fenced++;
	return 0;
}

static struct process *process_of(struct node *n, pid_t pid)
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

/* One that cannot be replaced does not keep the others from it. */
static int fence_ports(struct node *n, struct process *stuck, uint32_t *moved)
{
	int first = 0;
	for (uint32_t vpid = 1; vpid < CAY_VPIDS; vpid++) {
		struct vport *p = n->ports[vpid];
		if (!p || p->realm != stuck->realm || p->state != VPORT_OPEN)
			continue;
		uint32_t count = records_stuck_at(stuck, p);
		if (count == 0)
			continue;
		int r = count > QUEUE_FENCED_MAX ? -E2BIG
						 : fence_port(stuck, p);
		*moved += r == 0;
		if (r && !first)
			first = r;
	}
	return first;
}

int fence_process(struct node *n, pid_t pid, uint32_t *moved)
{
	struct process *stuck = process_of(n, pid);
	*moved = 0;
	if (!stuck)
		return -ESRCH;
	int r = barrier_everywhere();
	return r ? r : fence_ports(n, stuck, moved);
}
