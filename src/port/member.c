/* SPDX-License-Identifier: BSD-2-Clause */
/* Joining and leaving a realm. Set-up path, any thread. */
#include "port/member.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/valgrind.h"
#include "node/address.h"
#include "port/allocation.h"
#include "port/doorbell.h"
#include "port/heap.h"
#include "port/lock.h"
#include "port/process.h"
#include "port/record.h"
#include "port/window.h"

static pthread_mutex_t members_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list members = { &members, &members };
static uint64_t serials;

/* ---- fork ---- */

/*
 * The locks are taken around fork(), so that the child inherits them unlocked.
 */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_lock(void)
{
	pthread_mutex_lock(&members_lock);
	record_fork_lock();
}

static void fork_unlock(void)
{
	record_fork_unlock();
	pthread_mutex_unlock(&members_lock);
}

static void fork_handlers(void)
{
	pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}

/*
 * In a forked child: drops the members of the parent. The child may have closed
 * a socket itself and reused its descriptor, so the inode is compared.
 */
static void members_drop(void)
{
	list_for_each (at, &members) {
		struct member *m = list_of(at, struct member, link);
		struct stat st;
		if (fstat(m->socket, &st) == 0 &&
			st.st_dev == m->socket_device &&
			st.st_ino == m->socket_inode)
			close(m->socket);
	}
	list_init(&members);
}

/* ---- arena ---- */

static bool member_orphaned(const struct arena *a)
{
	return !member_node_alive(list_of(a, struct member, arena));
}

/* Reserves address space for the arena, aligned for huge pages. */
static void *arena_reserve(uint64_t bytes)
{
	unsigned char *p = mmap(NULL, bytes + ARENA_HUGE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return p;
	uint64_t before =
		bits_round_up((uintptr_t)p, ARENA_HUGE) - (uintptr_t)p;
	if (before)
		munmap(p, before);
	if (before < ARENA_HUGE)
		munmap(p + before + bits_round_up(bytes, ARENA_PAGE),
			ARENA_HUGE - before);
	return p + before;
}

/* Maps the arena after checking its seals, size and header. */
static int arena_map(int fd, uint64_t bytes, struct arena *a)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) != 0 ||
		(uint64_t)st.st_size != bytes || bytes < ARENA_HEAP_OFFSET)
		return -EBADMSG;
	void *p = arena_reserve(bytes);
	if (p == MAP_FAILED)
		return -errno;
	if (mmap(p, bytes, valgrind_arena_protection(),
		    MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd,
		    0) == MAP_FAILED) {
		int e = -errno;
		munmap(p, bytes);
		return e;
	}
	/*
	 * A child must not write to the queues; a core need not contain them.
	 */
	madvise(p, bytes, MADV_DONTFORK);
	madvise(p, bytes, MADV_DONTDUMP);
	a->base = p;
	a->mapped_bytes = bytes;
	a->ring_doorbell = doorbell_ring;
	a->orphaned = member_orphaned;
	struct arena_header header;
	memcpy(&header, a->base, sizeof(header));
	int r = arena_header_valid(&header, bytes);
	if (r)
		munmap(p, bytes);
	else
		arena_set_layout(a, &header);
	return r;
}

/* ---- join and leave ---- */

static void member_delete(struct member *m)
{
	if (m->socket >= 0)
		close(m->socket);
	doorbells_close(m);
	for (uint32_t i = 0; m->origins && i < CAY_VPIDS; i++)
		context_free(m->origins[i]);
	free((void *)m->origins);
	free((void *)m->issued);
	free(m->record_pages);
	free(m->owed);
	pthread_mutex_destroy(&m->control);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->allocations_lock);
	allocations_free(m);
	free(m);
}

static struct member *member_new(const char *realm)
{
	struct member *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	pthread_mutex_init(&m->control, NULL);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->allocations_lock, NULL);
	memcpy(m->realm, realm, NODE_NAME_MAX);
	m->serial = ++serials;
	m->incarnation = *process_incarnation;
	list_init(&m->live);
	list_init(&m->copied);
	list_init(&m->mappings);
	m->socket = -1;
	m->owed = calloc(MEMBER_OWED_MAX, sizeof(*m->owed));
	if (!m->owed) {
		member_delete(m);
		return NULL;
	}
	return m;
}

/* Sent after unmapping, so that the node need not wait for the exit. */
static void member_send_leave(struct member *m)
{
	struct node_request request = { .kind = NODE_LEAVE };
	control_tell(m, &request);
}

/* Greets the node, and maps the arena that it passes. */
static int member_hello(struct member *m)
{
	struct node_request request = { .kind = NODE_HELLO };
	struct node_reply reply;
	int fd = -1;

	request.hello.magic = NODE_MAGIC;
	request.hello.major = NODE_MAJOR;
	request.hello.minor = NODE_MINOR;
	/*
	 * Before the arena is mapped: the node's expedited memory barriers
	 * reach only registered processes. See realm_barrier() in node/realm.c.
	 */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
		    0) == 0)
		request.hello.flags |= NODE_HELLO_BARRIER;
	memcpy(request.hello.realm, m->realm, sizeof(m->realm));
	int r = control_call(m, &request, &reply, &fd);
	if (r)
		return r;
	r = fd < 0 ? -EPROTO
		   : arena_map(fd, reply.hello.arena_bytes, &m->arena);
	if (fd >= 0)
		close(fd);
	if (r)
		return r;
	m->node = reply.hello.node;
	m->block_bytes_max = bits_min(reply.hello.block_bytes_max,
		m->arena.bytes - ARENA_HEAP_OFFSET);
	r = record_page_add(m, reply.hello.records);
	if (r)
		munmap(m->arena.base, m->arena.mapped_bytes);
	return r;
}

static int member_add(const char *node, const char *realm, struct member **out)
{
	struct member *m = member_new(realm);
	if (!m)
		return -ENOMEM;
	uint64_t deadline = clock_after_ns(MEMBER_TIMEOUT_NS);
	int r;
	for (;;) {
		r = m->socket = control_connect(node, m->node_name, deadline);
		if (r < 0)
			goto err;
		m->broken = false;
		m->owed_count = 0;
		r = member_hello(m);
		if (r)
			member_send_leave(m);
		/* A node that is exiting resets the connection: try again. */
		if (r != -ENOTCONN || clock_passed(deadline))
			break;
		close(m->socket);
		clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (r == -ENOTCONN)
		r = -ETIMEDOUT;
	if (r)
		goto err;
	struct stat st = { 0 };
	fstat(m->socket, &st);
	m->socket_device = st.st_dev;
	m->socket_inode = st.st_ino;
	record_register(m);
	list_append(&members, &m->link);
	*out = m;
	return 0;
err:
	member_delete(m);
	return r;
}

int member_join(const char *node, const char *realm, struct member **out)
{
	struct node_address address;
	char name[NODE_NAME_MAX];
	int r = node_realm(realm, name);
	if (r == 0)
		r = node_address(node, &address);
	if (r)
		return r;

	pthread_once(&fork_once, fork_handlers);
	struct lock_guard guard;
	lock_take(&members_lock, &guard);
	r = process_incarnation_begin();
	if (r > 0)
		members_drop();
	if (r >= 0) {
		struct member *found = NULL;
		list_for_each (at, &members) {
			struct member *m = list_of(at, struct member, link);
			if (strcmp(m->node_name, address.name) == 0 &&
				strcmp(m->realm, name) == 0 &&
				member_node_alive(m)) {
				found = m;
				break;
			}
		}
		r = found ? 0 : member_add(address.name, name, &found);
		if (r == 0) {
			found->users++;
			*out = found;
		}
	}
	lock_drop(&members_lock, &guard);
	return r;
}

void member_leave(struct member *m)
{
	struct lock_guard guard;
	lock_take(&members_lock, &guard);
	if (--m->users == 0) {
		list_remove(&m->link);
		record_unregister(m);
		staging_discard(m);
		window_mappings_discard(m);
		munmap(m->arena.base, m->arena.mapped_bytes);
		member_send_leave(m);
		member_delete(m);
	}
	lock_drop(&members_lock, &guard);
}

bool member_node_alive(struct member *m)
{
	char byte;
	struct lock_guard guard;
	lock_guard_begin(&guard);
	/* The thread that holds the lock is calling the node. */
	if (pthread_mutex_trylock(&m->control) != 0) {
		lock_guard_end(&guard);
		return true;
	}
	if (!m->broken) {
		ssize_t n = recv(m->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		m->broken = n == 0 || (n < 0 && errno != EAGAIN);
	}
	bool alive = !m->broken;
	lock_drop(&m->control, &guard);
	return alive;
}

/* ---- contexts of origins ---- */

/* Returns true if the slot holds the context of the VPID's current epoch. */
static bool origin_current(
	struct member *m, uint16_t vpid, _Atomic(struct context *) *slot)
{
	struct context *c = atomic_load_explicit(slot, memory_order_acquire);
	struct arena_entry *entry = &arena_directory(&m->arena)[vpid];
	return c && atomic_load_explicit(&entry->epoch, memory_order_acquire) ==
			    c->epoch;
}

/*
 * Under m->lock: loads the current context into the slot. The context that it
 * replaces is kept, since other threads may use it. Returns 0, -ENOMEM, or
 * -EPIPE (no port has the VPID).
 */
static int origin_load_current(
	struct member *m, uint16_t vpid, _Atomic(struct context *) *slot)
{
	if (origin_current(m, vpid, slot))
		return 0;
	struct arena_entry *entry = &arena_directory(&m->arena)[vpid];
	/* Pairs with the release in queue_set_open(). */
	uint32_t epoch =
		atomic_load_explicit(&entry->epoch, memory_order_acquire);
	if (!epoch)
		return -EPIPE;
	struct context *now = malloc(sizeof(*now));
	if (!now)
		return -ENOMEM;
	if (context_load(&m->arena, vpid, epoch, now) != 0) {
		free(now);
		return -EPIPE;
	}
	struct context *old = atomic_load_explicit(slot, memory_order_acquire);
	/* context_follow_migration() stores into the slot without the lock. */
	do
		now->previous = old;
	while (!atomic_compare_exchange_weak_explicit(
		slot, &old, now, memory_order_acq_rel, memory_order_acquire));
	return 0;
}

int member_origin(
	struct member *m, uint16_t vpid, _Atomic(struct context *) **out)
{
	/* Pairs with the release below: the table is zeroed. */
	_Atomic(struct context *) *table =
		atomic_load_explicit(&m->origins, memory_order_acquire);
	if (table && origin_current(m, vpid, &table[vpid])) {
		*out = &table[vpid];
		return 0;
	}
	struct lock_guard guard;
	int r = -ENOMEM;
	lock_take(&m->lock, &guard);
	table = atomic_load_explicit(&m->origins, memory_order_relaxed);
	if (!table) {
		table = calloc(CAY_VPIDS, sizeof(*table));
		atomic_store_explicit(&m->origins, table, memory_order_release);
	}
	if (table) {
		*out = &table[vpid];
		r = origin_load_current(m, vpid, *out);
	}
	lock_drop(&m->lock, &guard);
	return r;
}
