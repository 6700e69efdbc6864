/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages of an arena exist. Reading an untouched page would allocate it,
 * so a reader of statistics checks first.
 *
 *	struct pages p = { .fd = -1 };
 *	if (pages_of(&p, realm) && page_exists(&p, offset))
 *		... read it
 *	pages_end(&p);
 */
#ifndef CAY_NODE_PAGES_H
#define CAY_NODE_PAGES_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "node/node.h"

/* A file description of the arena that only the node uses. */
struct pages {
	uint64_t realm; /* its serial number; 0: none yet */
	int fd;
};

/*
 * Opens the arena again: members share the node's file description, and a
 * read() in progress on it would delay the node's lseek(). Returns false if
 * that fails; then it is unknown which pages exist.
 */
static inline bool pages_of(struct pages *p, const struct realm *r)
{
	char path[64];
	/* A realm may end during a report, and another have its address. */
	if (p->realm == r->serial)
		return p->fd >= 0;
	if (p->fd >= 0)
		close(p->fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	p->fd = open(path, O_RDONLY | O_CLOEXEC);
	p->realm = r->serial;
	return p->fd >= 0;
}

static inline void pages_end(struct pages *p)
{
	if (p->fd >= 0)
		close(p->fd);
}

/* Returns the first existing page from here on, or `end`. */
static inline uint64_t pages_next(
	const struct pages *p, uint64_t from, uint64_t end)
{
	off_t at = lseek(p->fd, (off_t)from, SEEK_DATA);
	return at < 0 || (uint64_t)at >= end ? end : (uint64_t)at;
}

static inline bool page_exists(const struct pages *p, uint64_t offset)
{
	return pages_next(p, offset, offset + ARENA_PAGE) == offset;
}

#endif
