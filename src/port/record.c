/* SPDX-License-Identifier: BSD-2-Clause */
/* See record.h. All but record_of() is a cold path. */
#include "port/record.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "port/lock.h"
#include "port/process.h"

_Thread_local struct record_cache record_cache;

/* All records of one thread, to be returned when it exits. */
struct thread_records {
	struct record_cache *entries;
	uint32_t count;
};

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

/*
 * Members whose arena is mapped, for threads that exit. This list has its own
 * lock, because a thread may exit while another one joins a realm.
 */
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list live = { &live, &live };

static struct member *live_find(uint64_t serial)
{
	list_for_each (at, &live) {
		struct member *m = list_of(at, struct member, live);
		if (m->serial == serial &&
			process_incarnation_valid(m->incarnation))
			return m;
	}
	return NULL;
}

void record_register(struct member *m)
{
	struct lock_guard guard;
	lock_take(&live_lock, &guard);
	list_append(&live, &m->live);
	lock_drop(&live_lock, &guard);
}

void record_unregister(struct member *m)
{
	struct lock_guard guard;
	lock_take(&live_lock, &guard);
	list_remove(&m->live);
	lock_drop(&live_lock, &guard);
}

void record_fork_lock(void)
{
	pthread_mutex_lock(&live_lock);
}

void record_fork_unlock(void)
{
	pthread_mutex_unlock(&live_lock);
}

/* ---- counts of issued operations ---- */

/* Adds the count of the record to that of its port. */
static void record_save_count(struct member *m, struct op_record *op)
{
	uint64_t issued =
		atomic_load_explicit(&op->issued, memory_order_relaxed);
	uint32_t vpid = atomic_load_explicit(&op->port, memory_order_relaxed) %
			CAY_VPIDS;
	if (issued == 0)
		return;
	/* Acquire pairs with the release below: the table is zeroed. */
	_Atomic uint64_t *table =
		atomic_load_explicit(&m->issued, memory_order_acquire);
	if (unlikely(!table)) {
		struct lock_guard guard;
		lock_take(&m->lock, &guard);
		table = atomic_load_explicit(&m->issued, memory_order_relaxed);
		if (!table) {
			table = calloc(CAY_VPIDS, sizeof(*table));
			atomic_store_explicit(
				&m->issued, table, memory_order_release);
		}
		lock_drop(&m->lock, &guard);
	}
	if (table)
		atomic_fetch_add_explicit(
			&table[vpid], issued, memory_order_relaxed);
	atomic_store_explicit(&op->issued, 0, memory_order_relaxed);
}

__attribute__((cold)) void record_switch_port(
	struct member *m, struct op_record *op, uint16_t vpid)
{
	record_save_count(m, op);
	atomic_store_explicit(&op->port, vpid, memory_order_relaxed);
}

/* Sums up the counts that records of this port have not saved. */
static uint64_t record_sum(struct member *m, uint16_t vpid, bool clear)
{
	uint64_t sum = 0;
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	for (uint32_t i = 0; i < m->record_page_count; i++)
		for (uint32_t j = 0; j < OP_RECORDS_PER_PAGE; j++) {
			struct op_record *op = &m->record_pages[i][j];
			if (atomic_load_explicit(
				    &op->port, memory_order_relaxed) != vpid)
				continue;
			sum += atomic_load_explicit(
				&op->issued, memory_order_relaxed);
			if (clear)
				atomic_store_explicit(
					&op->issued, 0, memory_order_relaxed);
		}
	_Atomic uint64_t *table =
		atomic_load_explicit(&m->issued, memory_order_acquire);
	if (table)
		sum += atomic_load_explicit(&table[vpid], memory_order_relaxed);
	if (table && clear)
		atomic_store_explicit(&table[vpid], 0, memory_order_relaxed);
	lock_drop(&m->lock, &guard);
	return sum;
}

uint64_t record_issued(struct member *m, uint16_t vpid)
{
	return record_sum(m, vpid, false);
}

void record_clear(struct member *m, uint16_t vpid)
{
	record_sum(m, vpid, true);
}

/* ---- repair and thread exit ---- */

/*
 * Asks the node to void what the record claims. Returns false if another
 * thread's record covers the same entry: that thread may have left its call,
 * too, so this thread does not wait; the node keeps the record and repairs it
 * later, as it does if it does not reply in time. Without a node there is no
 * repair.
 */
static bool record_repair(struct member *m, struct op_record *op)
{
	struct node_request request = { .kind = NODE_RECOVER };
	struct node_reply reply;
	request.recover.offset =
		(uint64_t)((unsigned char *)op - m->arena.base);
	/* Two abandoned records must not wait for each other. */
	atomic_fetch_or_explicit(
		&op->state, OP_ABANDONED, memory_order_release);
	int r = control_call(m, &request, &reply, NULL);
	if (r == -EAGAIN || r == -ETIMEDOUT)
		return false;
	atomic_store_explicit(&op->state, OP_IDLE, memory_order_release);
	return true;
}

static void thread_exit(void *p)
{
	struct thread_records *t = p;
	struct lock_guard guard;
	lock_take(&live_lock, &guard);
	for (uint32_t i = 0; i < t->count; i++) {
		struct member *m = live_find(t->entries[i].serial);
		struct op_record *op = t->entries[i].op;
		if (!m)
			continue;
		record_save_count(m, op);
		if (atomic_load_explicit(&op->state, memory_order_relaxed) !=
				OP_IDLE &&
			!record_repair(m, op))
			continue;
		/* Release pairs with the acquire in record_claim(). */
		atomic_store_explicit(&op->thread, 0, memory_order_release);
	}
	lock_drop(&live_lock, &guard);
	free(t->entries);
	free(t);
	record_cache = (struct record_cache){ 0 };
}

static void key_make(void)
{
	pthread_key_create(&key, thread_exit);
}

/* ---- records of a thread ---- */

int record_page_add(struct member *m, uint64_t offset)
{
	if (offset < ARENA_HEAP_OFFSET || offset % ARENA_PAGE != 0 ||
		!bits_inside(offset, ARENA_PAGE, m->arena.bytes))
		return -EPROTO;
	struct op_record **pages = realloc(
		m->record_pages, (m->record_page_count + 1) * sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	m->record_pages = pages;
	pages[m->record_page_count++] =
		(struct op_record *)(void *)(m->arena.base + offset);
	return 0;
}

/* Under m->lock: claims a free record, or returns NULL. */
static struct op_record *record_claim(struct member *m)
{
	for (uint32_t i = 0; i < m->record_page_count; i++)
		for (uint32_t j = 0; j < OP_RECORDS_PER_PAGE; j++) {
			struct op_record *op = &m->record_pages[i][j];
			if (atomic_load_explicit(
				    &op->thread, memory_order_acquire) == 0) {
				atomic_store_explicit(&op->thread,
					(uint32_t)gettid(),
					memory_order_relaxed);
				return op;
			}
		}
	return NULL;
}

/* Claims a record, of a new page of the node if necessary. */
static struct op_record *record_new(struct member *m)
{
	struct node_request request = { .kind = NODE_RECORDS };
	struct node_reply reply;

	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	struct op_record *op = record_claim(m);
	if (!op && control_call(m, &request, &reply, NULL) == 0 &&
		record_page_add(m, reply.alloc.offset) == 0)
		op = record_claim(m);
	lock_drop(&m->lock, &guard);
	return op;
}

/* Enters the record into the list of the thread, for its exit. */
static int thread_keep(struct member *m, struct op_record *op)
{
	struct thread_records *t = pthread_getspecific(key);
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t || pthread_setspecific(key, t) != 0) {
			free(t);
			return -ENOMEM;
		}
	}
	/* Reuse the entry of a member that the process has left. */
	struct record_cache *entry = NULL;
	struct lock_guard guard;
	lock_take(&live_lock, &guard);
	for (uint32_t i = 0; !entry && i < t->count; i++)
		if (!live_find(t->entries[i].serial))
			entry = &t->entries[i];
	lock_drop(&live_lock, &guard);
	if (!entry) {
		struct record_cache *entries =
			realloc(t->entries, (t->count + 1) * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		t->entries = entries;
		entry = &entries[t->count++];
	}
	*entry = (struct record_cache){ m->serial, op };
	return 0;
}

__attribute__((cold)) struct op_record *record_find(struct member *m)
{
	struct op_record *op = NULL;
	struct lock_guard guard;
	lock_guard_begin(&guard);
	pthread_once(&key_once, key_make);
	struct thread_records *t = pthread_getspecific(key);
	for (uint32_t i = 0; t && !op && i < t->count; i++)
		if (t->entries[i].serial == m->serial)
			op = t->entries[i].op;
	if (!op) {
		op = record_new(m);
		if (op && thread_keep(m, op) != 0) {
			atomic_store_explicit(
				&op->thread, 0, memory_order_release);
			op = NULL;
		}
	}
	if (op)
		record_cache = (struct record_cache){ m->serial, op };
	lock_guard_end(&guard);
	return op;
}

__attribute__((cold)) struct op_record *record_recover(
	struct member *m, struct op_record *op)
{
	struct lock_guard guard;
	lock_guard_begin(&guard);
	if (!record_repair(m, op)) {
		/*
		 * The node keeps the record: claim another one. If there is
		 * none, forget the old one, which may get a new owner.
		 */
		struct thread_records *t = pthread_getspecific(key);
		op = record_new(m);
		struct record_cache entry = { op ? m->serial : 0, op };
		for (uint32_t i = 0; t && i < t->count; i++)
			if (t->entries[i].serial == m->serial)
				t->entries[i] = entry;
		record_cache = entry;
	}
	lock_guard_end(&guard);
	return op;
}
