/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address vector: fi_addr_t is the index, for maps and for tables. The state
 * of an endpoint about the peer of an index is in peer.h.
 *
 * An address that is inserted twice has two indices. The first stands for both,
 * so that the source of a message is unambiguous.
 */
#ifndef CAY_PROVIDER_AV_H
#define CAY_PROVIDER_AV_H

#include "provider/av/address.h"
#include "provider/fabric/domain.h"

struct av_entry {
	struct address address;
	bool used;
	uint32_t first; /* the index that stands for this address */
	uint32_t users; /* of the first index: how many it stands for */
	uint32_t next;	/* in the hash chain or the free list; AV_END */
};

#define AV_END UINT32_MAX

struct av {
	struct fid_av fid;
	struct domain *domain;
	enum fi_av_type type;
	struct av_entry *entries;
	uint32_t count;	       /* entries ever used */
	uint32_t capacity;     /* entries allocated */
	uint32_t free;	       /* list of unused entries */
	uint32_t *chains;      /* hash table by name */
	uint32_t chain_count;  /* a power of two */
	struct list endpoints; /* bound: endpoint.av_link */
	struct eq *eq;
	bool events; /* FI_EVENT: insertions complete with events */
};

static inline struct av *av_of(struct fid_av *fid)
{
	return (struct av *)(void *)fid;
}

static inline fi_addr_t av_first(const struct av *av, fi_addr_t at)
{
	return av->entries[at].first;
}

static inline bool av_has(const struct av *av, fi_addr_t at)
{
	return at < av->count && av->entries[at].used;
}

/* ---- av_table.c ---- */

/* Initializes the table. Returns 0 or -FI_ENOMEM. */
int av_table_init(struct av *);
void av_table_free(struct av *);
/* Returns the first index of an address, or FI_ADDR_NOTAVAIL. */
fi_addr_t av_find(const struct av *, const struct address *);
/* Adds an address. Returns 0 or -FI_ENOMEM. */
int av_add(struct av *, const struct address *, fi_addr_t *);
/* Frees an index, whose entry is marked unused. */
void av_drop(struct av *, uint32_t at);

#endif
