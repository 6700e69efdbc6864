/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address vector: fi_addr_t is the index, for maps and for tables. What an
 * endpoint knows of the peer behind an index is the endpoint's: see peer.h.
 */
#ifndef CAY_PROVIDER_AV_H
#define CAY_PROVIDER_AV_H

#include "provider/av/address.h"
#include "provider/fabric/domain.h"

struct av_entry {
	struct address address;
	bool used;
	uint32_t first; /* index of the same address that stands for all */
	uint32_t users; /* of the first: how many indices it stands for */
	uint32_t next;	/* in its hash chain, or in the free list; AV_END */
};

#define AV_END UINT32_MAX

struct av {
	struct fid_av fid;
	struct domain *domain;
	enum fi_av_type type;
	struct av_entry *entries;
	uint32_t count, room, free; /* entries ever used; allocated; unused */
	uint32_t *chains;	    /* by name; room a power of two */
	uint32_t chain_room;
	struct list endpoints; /* bound: endpoint.av_link */
	struct eq *eq;
	bool events; /* insertions end in events */
};

static inline struct av *av_of(struct fid_av *fid)
{
	return (struct av *)(void *)fid;
}

/* FI_ADDR_NOTAVAIL if it is not in it. */
fi_addr_t av_find(const struct av *, const struct address *);

/* Of those that are the same address, the one that stands for all. */
static inline fi_addr_t av_first(const struct av *av, fi_addr_t at)
{
	return av->entries[at].first;
}

static inline bool av_has(const struct av *av, fi_addr_t at)
{
	return at < av->count && av->entries[at].used;
}

#endif
