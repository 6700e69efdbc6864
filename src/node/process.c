/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes from connect to exit; reap.c continues from there. Only the pidfd
 * reports an exit. A socket that closes while its process runs closes the
 * ports, but nothing is repaired or reused until the process has exited, or has
 * said that it has unmapped the arena.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/closer.h"
#include "node/node.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Sets p->pid and p->pidfd of a peer of the same user. */
static int process_identify(struct process *p, int socket)
{
	struct ucred c;
	socklen_t length = sizeof(c);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0)
		return -errno;
	if (c.uid != geteuid())
		return -EPERM;
	p->pid = c.pid;
	length = sizeof(p->pidfd);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &p->pidfd, &length) ==
		0)
		return 0;
	/*
	 * An older kernel: by number. If the process had died and its number
	 * were reused, its socket would be closed, and the first read
	 * disconnects it.
	 */
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return p->pidfd < 0 ? -errno : 0;
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
	r = process_identify(p, socket);
	if (r)
		goto err;
	p->node = n;
	p->socket = socket;
	p->socket_source = (struct source){ SOURCE_SOCKET, p };
	p->pidfd_source = (struct source){ SOURCE_PIDFD, p };
	list_init(&p->report_link);
	list_init(&p->ports);
	list_init(&p->reference_origins);
	tree_init(&p->blocks, n->random++);
	tree_init(&p->mappings, n->random++);
	r = quota_open(p);
	if (r)
		goto err_pidfd;
	r = source_add(n, socket, &p->socket_source);
	if (r == 0)
		r = source_add(n, p->pidfd, &p->pidfd_source);
	if (r == 0) {
		list_append(&n->connected, &p->link);
		n->process_count++;
		return p;
	}
	quota_close(p);
err_pidfd:
	close(p->pidfd);
err:
	free(p);
	errno = -r;
	return NULL;
}

int process_records(struct process *p, uint64_t *offset)
{
	/* The first page comes with the connection. */
	uint64_t more = p->record_page_count != 0;
	int r = quota_take(p, QUOTA_RECORDS, more);
	if (r)
		return r;
	r = quota_take(p, QUOTA_HEAP, ARENA_PAGE);
	if (r)
		goto err_records;
	r = -ENOMEM;
	uint64_t *pages = realloc(
		p->record_pages, (p->record_page_count + 1) * sizeof(*pages));
	if (!pages)
		goto err_heap;
	p->record_pages = pages;
	*offset = realm_allocate(p->realm, ARENA_PAGE);
	r = -ENOSPC;
	if (!*offset)
		goto err_heap;
	pages[p->record_page_count++] = *offset;
	return 0;

err_heap:
	quota_return(p, QUOTA_HEAP, ARENA_PAGE);
err_records:
	quota_return(p, QUOTA_RECORDS, more);
	return r;
}

int process_hello(struct process *p, struct realm *realm, uint32_t flags)
{
	uint64_t offset;
	if (realm->used[QUOTA_CONNECTIONS] >=
		p->node->quota.realm[QUOTA_CONNECTIONS])
		return -EDQUOT;
	p->realm = realm;
	int r = process_records(p, &offset);
	if (r) {
		p->realm = NULL;
		return r;
	}
	realm->used[QUOTA_CONNECTIONS]++;
	p->node->waiting--;
	p->state = PROCESS_MEMBER;
	p->registered = flags & NODE_HELLO_BARRIER;
	list_remove(&p->link);
	list_append(&realm->processes, &p->link);
	return 0;
}

void process_close_socket(struct process *p)
{
	list_remove(&p->report_link);
	if (p->socket_closed)
		return;
	/* The socket may stay open longer than the process is known. */
	epoll_ctl(p->node->epoll, EPOLL_CTL_DEL, p->socket, NULL);
	closer_close(p->socket);
	p->socket_closed = true;
}

void process_leave(struct process *p)
{
	p->state = PROCESS_LEFT;
	mapping_remove_all(p);
	vport_close_all(p);
}

void process_disconnect(struct process *p)
{
	process_close_socket(p);
	if (p->state == PROCESS_MEMBER)
		p->state = PROCESS_DISCONNECTED;
	vport_close_all(p);
}

void process_exited(struct process *p)
{
	/* A process that left was not in the arena when it exited. */
	if (p->realm && p->state != PROCESS_LEFT)
		p->node->count.repaired++;
	p->state = PROCESS_EXITED;
	mapping_remove_all(p);
	process_close_socket(p);
	vport_close_all(p);
}
