/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of an endpoint: where each memory region that others may reach lies,
 * and the device's key to it. The table is in cay_alloc() memory behind window
 * 0 of the endpoint's port, so that peers read it without the endpoint's help;
 * the capability of that window is in the endpoint's address.
 */
#ifndef CAY_PROVIDER_KEY_TABLE_H
#define CAY_PROVIDER_KEY_TABLE_H

#include "provider/provider.h"

struct endpoint;
struct peer;
struct mr;

enum key_flag {
	KEY_READ = 1 << 0,
	KEY_WRITE = 1 << 1,
	KEY_MAPPED = 1 << 2, /* cay_alloc() memory: atomics go directly */
};

/* What an initiator needs of a target's region. */
struct key_entry {
	uint64_t key;
	uint64_t base; /* the address of its first byte, as initiators say it */
	uint64_t length; /* bytes */
	uint64_t flags;	 /* enum key_flag */
	struct cay_key window;
};

/* The last step of splitmix64: a permutation in which every bit counts. */
static inline uint64_t key_mix(uint64_t key)
{
	key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ key >> 27) * 0x94d049bb133111ebull;
	return key ^ key >> 31;
}

/* Shared format and private state are in key_table.c. */
struct key_table;

/* When an endpoint is enabled; it must be its port's first window. */
int key_table_open(struct endpoint *, struct key_table **);
void key_table_close(struct endpoint *, struct key_table *);
/* The capability of window 0, for the endpoint's address. */
uint64_t key_table_card(const struct key_table *);
/* 0, -FI_ENOSPC. */
int key_table_add(struct key_table *, const struct key_entry *);
void key_table_remove(struct key_table *, uint64_t key);

/*
 * The entry of a peer's table for this key, which stays until the next call.
 * What was read before is believed if the peer has not changed it since: so a
 * key that was registered anew is never taken for the old one. 0, or
 * -FI_EAGAIN (the peer's card is not known yet, or no room),
 * -FI_EKEYREJECTED (it has no such key), -FI_EHOSTUNREACH, -FI_ENOMEM.
 */
int key_find(struct peer *, uint64_t key, const struct key_entry **);
void key_cache_free(struct peer *);

#endif
