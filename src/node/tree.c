/* SPDX-License-Identifier: BSD-2-Clause */
/* See tree.h. */
#include "node/tree.h"

/* xorshift64: the state is never 0. */
static uint64_t random_next(struct tree *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

static void link_update(struct tree_link *l)
{
	l->heaviest = l->weight;
	if (l->left && l->left->heaviest > l->heaviest)
		l->heaviest = l->left->heaviest;
	if (l->right && l->right->heaviest > l->heaviest)
		l->heaviest = l->right->heaviest;
}

/* Splits a subtree into keys below `key` and the others. */
static void split(struct tree *t, struct tree_link *l, uint64_t key,
	struct tree_link **below, struct tree_link **others)
{
	if (!l) {
		*below = *others = NULL;
		return;
	}
	t->visits++;
	if (l->key < key) {
		split(t, l->right, key, &l->right, others);
		*below = l;
	} else {
		split(t, l->left, key, below, &l->left);
		*others = l;
	}
	link_update(l);
}

/* Joins two subtrees; all keys of `a` are below those of `b`. */
static struct tree_link *join(
	struct tree *t, struct tree_link *a, struct tree_link *b)
{
	if (!a || !b)
		return a ? a : b;
	t->visits++;
	if (a->priority > b->priority) {
		a->right = join(t, a->right, b);
		link_update(a);
		return a;
	}
	b->left = join(t, a, b->left);
	link_update(b);
	return b;
}

void tree_insert(struct tree *t, struct tree_link *member)
{
	struct tree_link *below, *others;
	member->left = member->right = NULL;
	member->heaviest = member->weight;
	member->priority = random_next(t);
	split(t, t->root, member->key, &below, &others);
	t->root = join(t, join(t, below, member), others);
}

/* Removes the first member of a subtree. */
static struct tree_link *first_remove(struct tree *t, struct tree_link **l)
{
	struct tree_link *first;
	if (!*l)
		return NULL;
	t->visits++;
	if ((*l)->left) {
		first = first_remove(t, &(*l)->left);
		link_update(*l);
		return first;
	}
	first = *l;
	*l = first->right;
	return first;
}

struct tree_link *tree_remove(struct tree *t, uint64_t key)
{
	struct tree_link *below, *others;
	if (!tree_find(t, key))
		return NULL;
	split(t, t->root, key, &below, &others);
	struct tree_link *member = first_remove(t, &others);
	t->root = join(t, below, others);
	return member;
}

struct tree_link *tree_find(struct tree *t, uint64_t key)
{
	struct tree_link *l = t->root;
	while (l && l->key != key) {
		t->visits++;
		l = key < l->key ? l->left : l->right;
	}
	return l;
}

struct tree_link *tree_find_before(struct tree *t, uint64_t key)
{
	struct tree_link *found = NULL;
	for (struct tree_link *l = t->root; l;) {
		t->visits++;
		if (l->key <= key)
			found = l;
		l = l->key <= key ? l->right : l->left;
	}
	return found;
}

/*
 * At most one path goes along `from`; beyond it, a subtree that is heavy enough
 * contains the result.
 */
static struct tree_link *find_heavy(
	struct tree *t, struct tree_link *l, uint64_t from, uint64_t weight)
{
	struct tree_link *found;
	if (!l || l->heaviest < weight)
		return NULL;
	t->visits++;
	if (l->key < from)
		return find_heavy(t, l->right, from, weight);
	found = find_heavy(t, l->left, from, weight);
	if (found)
		return found;
	return l->weight >= weight ? l : find_heavy(t, l->right, from, weight);
}

struct tree_link *tree_find_heavy(
	struct tree *t, uint64_t from, uint64_t weight)
{
	return find_heavy(t, t->root, from, weight);
}

struct tree_link *tree_take(struct tree *t)
{
	struct tree_link *l = t->root;
	if (l)
		t->root = join(t, l->left, l->right);
	return l;
}
