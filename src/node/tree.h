/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An intrusive ordered tree with unique 64-bit keys. Each member has a weight,
 * and each subtree knows its greatest one. It is a treap: random priorities
 * balance it whatever keys a client causes, so that each call visits O(log n)
 * members.
 */
#ifndef CAY_NODE_TREE_H
#define CAY_NODE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree_link {
	struct tree_link *left, *right;
	uint64_t key, weight;
	uint64_t heaviest; /* weight in this subtree */
	uint64_t priority; /* not less than in the subtrees */
};

struct tree {
	struct tree_link *root;
	uint64_t random; /* state of the generator */
	uint64_t visits; /* of members, by all calls */
};

/* The seed should not be known to those who choose the keys. */
static inline void tree_init(struct tree *t, uint64_t seed)
{
	*t = (struct tree){ .random = seed | 1 };
}

/* The member's key and weight are set, and the key is not in the tree. */
void tree_insert(struct tree *, struct tree_link *member);

/* Returns the removed member, or NULL if no member has the key. */
struct tree_link *tree_remove(struct tree *, uint64_t key);

/* Returns the member with the key, or NULL. */
struct tree_link *tree_find(struct tree *, uint64_t key);

/* Returns the last member with a key of at most this, or NULL. */
struct tree_link *tree_find_before(struct tree *, uint64_t key);

/*
 * Returns the first member with a key of at least `from` and at least this
 * weight, or NULL.
 */
struct tree_link *tree_find_heavy(
	struct tree *, uint64_t from, uint64_t weight);

/* Removes and returns any member; NULL if the tree is empty. */
struct tree_link *tree_take(struct tree *);

#endif
