/* SPDX-License-Identifier: BSD-2-Clause */
/* An intrusive, circular, doubly linked list. */
#ifndef CAY_BASE_LIST_H
#define CAY_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *previous;
};

static inline void list_init(struct list *l)
{
	l->next = l->previous = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *l, struct list *member)
{
	member->next = l;
	member->previous = l->previous;
	l->previous->next = member;
	l->previous = member;
}

/* Removing a member twice is harmless. */
static inline void list_remove(struct list *member)
{
	member->next->previous = member->previous;
	member->previous->next = member->next;
	list_init(member);
}

#define list_of(link, type, field) \
	((type *)(void *)((char *)(link)-offsetof(type, field)))

#define list_for_each(at, l) \
	for (struct list *at = (l)->next; at != (l); at = at->next)

/* The body may remove `at`. */
#define list_for_each_safe(at, after, l)                                \
	for (struct list *at = (l)->next, *after = at->next; at != (l); \
		at = after, after = at->next)

#endif
