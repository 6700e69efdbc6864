/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes: from connect to burial. Death is what the pidfd reports and
 * nothing else: a socket that closes while its process lives closes the ports,
 * but nothing is repaired or reused until the process has exited, or has said
 * that it has unmapped everything.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "node/record.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static int peer_pidfd(int socket, pid_t pid)
{
	int fd = -1;
	socklen_t length = sizeof(fd);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0)
		return fd;
	/*
	 * An older kernel: by number. If the process had died and its number
	 * were another's by now, its socket would be closed, and the server
	 * drops it at the first read.
	 */
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

static int peer_check(int socket, pid_t *pid)
{
	struct ucred c;
	socklen_t length = sizeof(c);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0)
		return -errno;
	*pid = c.pid;
	return c.uid == geteuid() ? 0 : -EPERM;
}

static int source_add(struct node *n, int fd, struct source *source)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = source };
	return epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

struct process *process_add(struct node *n, int socket)
{
	struct process *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;
	if (!p)
		goto err;
	r = peer_check(socket, &p->pid);
	if (r)
		goto err;
	p->pidfd = r = peer_pidfd(socket, p->pid);
	if (r < 0)
		goto err;
	p->node = n;
	p->socket = socket;
	p->socket_source = (struct source){ SOURCE_SOCKET, p };
	p->pidfd_source = (struct source){ SOURCE_PIDFD, p };
	list_init(&p->ports);
	list_init(&p->blocks);
	r = source_add(n, socket, &p->socket_source);
	if (r == 0)
		r = source_add(n, p->pidfd, &p->pidfd_source);
	if (r == 0) {
		list_append(&n->greeting, &p->link);
		n->process_count++;
		return p;
	}
	close(p->pidfd);
err:
	free(p);
	errno = -r;
	return NULL;
}

int process_records(struct process *p, uint64_t *offset)
{
	uint64_t *pages = realloc(
		p->record_pages, (p->record_page_count + 1) * sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	p->record_pages = pages;
	*offset = realm_take(p->realm, ARENA_PAGE);
	if (!*offset)
		return -ENOSPC;
	pages[p->record_page_count++] = *offset;
	return 0;
}

int process_hello(struct process *p, struct realm *realm)
{
	uint64_t offset;
	p->realm = realm;
	int r = process_records(p, &offset);
	if (r)
		return r;
	p->state = PROCESS_MEMBER;
	list_remove(&p->link);
	list_append(&realm->processes, &p->link);
	return 0;
}

static void process_close_ports(struct process *p)
{
	list_for_each (at, &p->ports)
		vport_close(list_of(at, struct vport, link));
}

static void process_close_socket(struct process *p)
{
	if (!p->hung_up)
		close(p->socket);
	p->hung_up = true;
}

static void process_mourn(struct process *p)
{
	list_remove(&p->link);
	list_append(
		p->realm ? &p->realm->processes : &p->node->greeting, &p->link);
	process_close_ports(p);
}

void process_leave(struct process *p)
{
	p->state = PROCESS_LEFT;
	process_mourn(p);
}

/* EOF, or something that is not our protocol. */
void process_hang_up(struct process *p)
{
	process_close_socket(p);
	if (p->state == PROCESS_MEMBER)
		p->state = PROCESS_CLOSED;
	process_close_ports(p);
}

void process_exited(struct process *p)
{
	p->state = PROCESS_DEAD;
	process_close_socket(p);
	process_close_ports(p);
	if (p->realm)
		p->node->count.repaired++;
}

/* All records first: GONE must come after the last message. */
static bool process_repair(struct process *p)
{
	struct op_record *op;
	for (uint32_t i = 0; (op = record_at(p, i)); i++)
		if (repair_record(p->realm, op) != 0)
			return false;
	list_for_each (at, &p->ports)
		repair_ready(list_of(at, struct vport, link));
	return true;
}

int process_recover(struct process *p, struct op_record *op)
{
	int r = repair_record(p->realm, op);
	p->abandoned |= r == -EAGAIN;
	return r;
}

/* True if it is not, or no longer, an abandoned one. */
static bool record_settle(struct realm *r, struct op_record *op)
{
	uint64_t state = atomic_load_explicit(&op->state, memory_order_acquire);
	if (!(state & OP_ABANDONED))
		return true;
	if (repair_record(r, op) != 0)
		return false;
	/* Its thread has taken another one; release as in record.c. */
	atomic_store_explicit(&op->thread, 0, memory_order_release);
	return true;
}

bool process_recover_all(struct process *p)
{
	bool all = true;
	struct op_record *op;
	for (uint32_t i = 0; p->abandoned && (op = record_at(p, i)); i++)
		all &= record_settle(p->realm, op);
	p->abandoned = !all;
	return all;
}

static void process_free_memory(struct process *p)
{
	list_for_each_safe (at, after, &p->blocks) {
		struct block *b = list_of(at, struct block, link);
		p->node->deferred_blocks -= b->freed;
		realm_put(p->realm, b->offset, b->bytes);
		list_remove(&b->link);
		free(b);
	}
	for (uint32_t i = 0; i < p->record_page_count; i++)
		realm_put(p->realm, p->record_pages[i], ARENA_PAGE);
}

static void process_free(struct process *p)
{
	struct realm *realm = p->realm;
	list_remove(&p->link);
	if (realm) {
		process_free_memory(p);
		realm_maybe_end(realm);
	}
	/* Also of one whose HELLO found no room in the realm. */
	free(p->record_pages);
	process_close_socket(p);
	close(p->pidfd);
	p->node->process_count--;
	/* An event of this round may still name it. */
	list_append(&p->node->buried, &p->link);
}

bool process_bury(struct process *p)
{
	if (!p->repaired)
		p->repaired = !p->realm || process_repair(p);
	if (!p->repaired)
		return false;
	list_for_each_safe (at, after, &p->ports)
		vport_reclaim(list_of(at, struct vport, link));
	if (!list_empty(&p->ports))
		return false;
	/* One that left may come back on the same socket's end: wait for it. */
	if (!p->hung_up)
		return true;
	process_free(p);
	return true;
}

struct block *block_add(struct process *p, uint64_t bytes, bool huge)
{
	struct block *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	/* Whole pages, so that all of the last one goes back too. */
	b->bytes = bits_round_up(bytes, ARENA_PAGE);
	b->offset = huge ? realm_take_huge(p->realm, b->bytes)
			 : realm_take(p->realm, b->bytes);
	if (!b->offset) {
		free(b);
		return NULL;
	}
	list_append(&p->blocks, &b->link);
	return b;
}

static bool block_read(const struct process *p, const struct block *b)
{
	list_for_each (at, &p->ports)
		if (repair_pending(list_of(at, struct vport, link), b->offset,
			    b->bytes))
			return true;
	return false;
}

static void block_try_free(struct process *p, struct block *b)
{
	if (block_read(p, b))
		return;
	if (b->freed)
		p->node->deferred_blocks--;
	realm_put(p->realm, b->offset, b->bytes);
	list_remove(&b->link);
	free(b);
}

struct block *block_find(struct process *p, uint64_t offset)
{
	list_for_each (at, &p->blocks) {
		struct block *b = list_of(at, struct block, link);
		if (b->offset == offset && !b->freed)
			return b;
	}
	return NULL;
}

int block_free(struct process *p, uint64_t offset)
{
	struct block *b = block_find(p, offset);
	if (!b)
		return -EINVAL;
	b->freed = true;
	p->node->deferred_blocks++;
	block_try_free(p, b);
	return 0;
}

void block_sweep(struct node *n)
{
	if (n->deferred_blocks == 0)
		return;
	list_for_each (realm_at, &n->realms) {
		struct realm *r = list_of(realm_at, struct realm, link);
		list_for_each (at, &r->processes) {
			struct process *p = list_of(at, struct process, link);
			list_for_each_safe (b, after, &p->blocks)
				if (list_of(b, struct block, link)->freed)
					block_try_free(p,
						list_of(b, struct block, link));
		}
	}
}
