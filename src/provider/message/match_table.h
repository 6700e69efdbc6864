/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash table of a class of match.c: it maps keys (source and tag, as far as
 * the class compares them) to the nodes with this key, oldest first. It grows
 * with the number of different keys; without memory for that it gets slower.
 */
#ifndef CAY_PROVIDER_MATCH_TABLE_H
#define CAY_PROVIDER_MATCH_TABLE_H

#include <stdlib.h>

#include "provider/message/match.h"

#define TABLE_FIRST_BITS 4

struct match_table {
	struct list *buckets;
	unsigned shift; /* 64 - log2 of their number */
	size_t keys;	/* number of different keys */
	struct list first[1u << TABLE_FIRST_BITS];
};

static inline struct match_node *node_of_chain(struct list *chain)
{
	return list_of(chain, struct match_node, chain);
}

static inline struct match_node *node_of_same(struct list *same)
{
	return list_of(same, struct match_node, same);
}

static inline void buckets_init(struct list *buckets, unsigned bits)
{
	for (size_t i = 0; i < (size_t)1 << bits; i++)
		list_init(&buckets[i]);
}

static inline void table_init(struct match_table *t)
{
	t->buckets = t->first;
	t->shift = 64 - TABLE_FIRST_BITS;
	t->keys = 0;
	buckets_init(t->first, TABLE_FIRST_BITS);
}

static inline void table_free(struct match_table *t)
{
	if (t->buckets != t->first)
		free(t->buckets);
}

static inline struct list *table_bucket(
	const struct match_table *t, fi_addr_t source, uint64_t tag)
{
	uint64_t x = tag + source * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
	return &t->buckets[x >> t->shift];
}

/* Returns the oldest node with this key, or NULL. */
static inline struct match_node *bucket_find(
	struct list *bucket, fi_addr_t source, uint64_t tag)
{
	list_for_each (at, bucket) {
		struct match_node *n = node_of_chain(at);
		STEP();
		if (n->tag == tag && n->source == source)
			return n;
	}
	return NULL;
}

static inline struct match_node *table_find(
	const struct match_table *t, fi_addr_t source, uint64_t tag)
{
	return bucket_find(table_bucket(t, source, tag), source, tag);
}

static inline void table_grow(struct match_table *t)
{
	unsigned bits = 64 - t->shift;
	struct match_table new = { .shift = t->shift - 1 };
	new.buckets = malloc(sizeof(struct list) << (bits + 1));
	if (!new.buckets)
		return;
	buckets_init(new.buckets, bits + 1);
	for (size_t i = 0; i < (size_t)1 << bits; i++)
		list_for_each_safe (at, after, &t->buckets[i]) {
			struct match_node *n = node_of_chain(at);
			list_append(table_bucket(&new, n->source, n->tag), at);
		}
	table_free(t);
	t->buckets = new.buckets;
	t->shift = new.shift;
}

static inline void table_add_key(
	struct match_table *t, struct list *bucket, struct match_node *n)
{
	if (unlikely(t->keys >> (64 - t->shift))) {
		table_grow(t);
		bucket = table_bucket(t, n->source, n->tag);
	}
	list_init(&n->same);
	list_append(bucket, &n->chain);
	t->keys++;
}

/* Moves the place in the chain from one node to another. */
static inline void node_replace(struct match_node *old, struct match_node *new)
{
	new->chain = old->chain;
	new->chain.next->previous = &new->chain;
	new->chain.previous->next = &new->chain;
	old->chain.next = NULL;
}

/* n is nearly always the most recent, unless the source of a peer changed. */
static inline void table_add(struct match_table *t, struct match_node *n)
{
	struct list *bucket = table_bucket(t, n->source, n->tag);
	struct match_node *oldest = bucket_find(bucket, n->source, n->tag);
	if (!oldest) {
		table_add_key(t, bucket, n);
		return;
	}
	if (unlikely(n->sequence < oldest->sequence)) {
		list_append(&oldest->same, &n->same);
		node_replace(oldest, n);
		return;
	}
	struct list *after = &oldest->same;
	while (node_of_same(after->previous)->sequence > n->sequence) {
		STEP();
		after = after->previous;
	}
	list_append(after, &n->same);
	n->chain.next = NULL;
}

static inline void table_remove(struct match_table *t, struct match_node *n)
{
	if (list_empty(&n->same)) {
		list_remove(&n->chain);
		t->keys--;
		return;
	}
	if (n->chain.next)
		node_replace(n, node_of_same(n->same.next));
	list_remove(&n->same);
}

#endif
