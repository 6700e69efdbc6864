/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Realms: domains of trust, each with one arena. The memfd is sparse: its size
 * is address space, not memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/valgrind.h"
#include "node/doorbell.h"
#include "node/record.h"

/*
 * The node never waits for a migration to end: only the node itself ends one,
 * and a member may have overwritten `migration`.
 */
static bool realm_orphaned(const struct arena *a)
{
	(void)a;
	return true;
}

int realm_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Clients take -EPERM for a node of another user. */
	return fd >= 0 ? fd : errno == EPERM ? -ENOSYS : -errno;
}

static int arena_create(struct realm *r, uint64_t bytes, uint32_t stride)
{
	struct arena_header h = { .magic = ARENA_MAGIC,
		.major = ARENA_MAJOR,
		.minor = ARENA_MINOR,
		.node = r->node->id };
	memcpy(h.realm, r->name, sizeof(h.realm));
	arena_header_layout(&h, bytes, stride);
	if (arena_header_valid(&h, bytes) != 0)
		return -EINVAL;
	r->fd = realm_memfd("cay-realm");
	if (r->fd < 0)
		return r->fd;
	int e = 0;
	void *p = MAP_FAILED;
	if (ftruncate(r->fd, (off_t)bytes) != 0 ||
		fcntl(r->fd, F_ADD_SEALS,
			F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		e = -errno;
	if (!e) {
		p = mmap(NULL, bytes, valgrind_arena_protection(),
			MAP_SHARED | MAP_NORESERVE, r->fd, 0);
		if (p == MAP_FAILED)
			e = -errno;
	}
	if (e) {
		close(r->fd);
		return e;
	}
	madvise(p, bytes, MADV_DONTDUMP);
	r->arena = (struct arena){ .base = p,
		.mapped_bytes = bytes,
		.ring_doorbell = doorbell_ring_node,
		.orphaned = realm_orphaned };
	arena_set_layout(&r->arena, &h);
	memcpy(p, &h, sizeof(h));
	return 0;
}

static int realm_new(struct node *n, const char *name, struct realm **out)
{
	if (n->realm_count >= n->quota.realms) {
		n->count.over_quota++;
		return -EDQUOT;
	}
	struct realm *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->node = n;
	r->serial = ++n->realm_serial;
	snprintf(r->name, sizeof(r->name), "%s", name);
	list_init(&r->processes);
	list_init(&r->reference_origins);
	list_init(&r->gone);
	r->record_left = r->reference_left = NODE_READS_MAX;
	r->op = aligned_alloc(ARENA_APART, sizeof(*r->op));
	int e = r->op ? arena_create(r, n->arena_bytes, n->control_stride)
		      : -ENOMEM;
	if (e)
		goto err_realm;
	memset(r->op, 0, sizeof(*r->op));
	e = extents_init(&r->heap, ARENA_HEAP_OFFSET,
		r->arena.bytes - ARENA_HEAP_OFFSET, n->random++);
	if (e)
		goto err_arena;
	list_append(&n->realms, &r->link);
	n->realm_count++;
	*out = r;
	return 0;

err_arena:
	munmap(r->arena.base, r->arena.mapped_bytes);
	close(r->fd);
err_realm:
	free(r->op);
	free(r);
	return e;
}

int realm_find(struct node *n, const char *name, struct realm **out)
{
	list_for_each (at, &n->realms) {
		struct realm *r = list_of(at, struct realm, link);
		if (strcmp(r->name, name) == 0) {
			*out = r;
			return 0;
		}
	}
	return realm_new(n, name, out);
}

void realm_end_if_empty(struct realm *r)
{
	if (!list_empty(&r->processes))
		return;
	list_remove(&r->link);
	r->node->realm_count--;
	munmap(r->arena.base, r->arena.mapped_bytes);
	close(r->fd);
	extents_end(&r->heap);
	free(r->op);
	free(r);
}

uint64_t realm_allocate(struct realm *r, uint64_t bytes)
{
	return extents_allocate(&r->heap, bytes, ARENA_PAGE);
}

void realm_free(struct realm *r, uint64_t offset, uint64_t bytes)
{
	/* The next owner finds zeros, and the kernel gets the pages back. */
	if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)offset, (off_t)bytes) != 0)
		return; /* Not zeroed: the extent cannot be reused. */
	extents_free(&r->heap, offset, bytes);
}

bool realm_barrier_slow(const struct realm *r)
{
	list_for_each (at, &r->processes) {
		const struct process *p = list_of(at, struct process, link);
		if (!p->registered && process_lives(p))
			return true;
	}
	return false;
}

int realm_barrier_since(struct realm *r, uint64_t mark)
{
	if (r->node->slow_barriers > mark && realm_barrier_slow(r))
		return 0;
	return realm_barrier(r);
}

int realm_barrier(struct realm *r)
{
	bool registered = !realm_barrier_slow(r);
	/*
	 * The expedited command takes microseconds and skips processes that
	 * have not registered. The other one reaches all, but waits for an RCU
	 * grace period, about 10 ms.
	 */
	if (!registered ||
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0,
			0) != 0) {
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
			return -EOPNOTSUPP;
		r->node->slow_barriers++;
	}
	r->node->count.barriers++;
	return 0;
}
