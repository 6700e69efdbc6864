/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The key table of an endpoint maps the keys of its memory regions to windows.
 * It is in device memory behind window 0 of the endpoint's port, so that peers
 * read it with gets; the endpoint's address contains the capability of that
 * window.
 */
#ifndef CAY_PROVIDER_KEY_TABLE_H
#define CAY_PROVIDER_KEY_TABLE_H

#include "provider/provider.h"

struct endpoint;
struct peer;

enum key_flag {
	KEY_READ = 1 << 0,
	KEY_WRITE = 1 << 1,
	KEY_MAPPED = 1 << 2, /* device memory: the device executes atomics */
	/* Origins tell the owner of their reads and writes: WIRE_ACCESS. */
	KEY_COUNT_READ = 1 << 3,
	KEY_COUNT_WRITE = 1 << 4,
	KEY_COUNT = KEY_COUNT_READ | KEY_COUNT_WRITE,
};

struct key_entry {
	uint64_t key;
	uint64_t base;	 /* address of the first byte, as origins use it */
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

struct key_table;

/* Opens the table of an endpoint. Must be the first window of its port. */
int key_table_open(struct endpoint *, struct key_table **);
void key_table_close(struct endpoint *, struct key_table *);
/* Returns the capability of window 0, for the endpoint's address. */
uint64_t key_table_capability(const struct key_table *);
/* Returns 0 or -FI_ENOSPC. */
int key_table_add(struct key_table *, const struct key_entry *);
void key_table_remove(struct key_table *, uint64_t key);
/* Sets flags of an entry. Peers see them before their next access. */
void key_table_flag(struct key_table *, uint64_t key, uint64_t flags);

/*
 * Key of the atomic read that asks a peer for its capability, where the address
 * did not contain it. No memory region has this key.
 */
#define KEY_TABLE_QUERY FI_KEY_NOTAVAIL

/*
 * Finds a key in the table of a peer; the entry is valid until the next call. A
 * cached entry is used only if its version in the peer's table is unchanged, so
 * a key that was registered again is never mistaken for the old one. Returns 0,
 * -FI_EAGAIN (the capability is not known yet, or backpressure),
 * -FI_EKEYREJECTED
 * (no such key), -FI_EHOSTUNREACH, -FI_ENOMEM.
 */
int key_find(struct peer *, uint64_t key, const struct key_entry **);
void key_cache_free(struct peer *);

#endif
