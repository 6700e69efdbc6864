/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of an address vector: a hash table by name. See av.h. */
#include <stdlib.h>
#include <string.h>

#include "provider/av/av.h"

#define CHAINS_MIN 64

/* FNV-1a; names are random or short. */
static uint32_t name_hash(const struct address *a)
{
	uint32_t h = 2166136261u;
	for (const char *c = a->name; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	return h;
}

static uint32_t *av_chain(const struct av *av, const struct address *a)
{
	return &av->chains[name_hash(a) & (av->chain_count - 1)];
}

fi_addr_t av_find(const struct av *av, const struct address *a)
{
	for (uint32_t i = *av_chain(av, a); i != AV_END;
		i = av->entries[i].next)
		if (strcmp(av->entries[i].address.name, a->name) == 0)
			return i;
	return FI_ADDR_NOTAVAIL;
}

static int av_rehash(struct av *av, uint32_t n)
{
	uint32_t *chains = malloc(n * sizeof(*chains));
	if (!chains)
		return -FI_ENOMEM;
	free(av->chains);
	av->chains = chains;
	av->chain_count = n;
	for (uint32_t i = 0; i < n; i++)
		chains[i] = AV_END;
	for (uint32_t i = 0; i < av->count; i++) {
		struct av_entry *e = &av->entries[i];
		if (e->users == 0)
			continue;
		uint32_t *chain = av_chain(av, &e->address);
		e->next = *chain;
		*chain = i;
	}
	return 0;
}

int av_table_init(struct av *av)
{
	av->free = AV_END;
	return av_rehash(av, CHAINS_MIN);
}

void av_table_free(struct av *av)
{
	free(av->chains);
	free(av->entries);
}

/* Returns an unused index. Those of a table are in the order of insertion. */
static int av_index(struct av *av, uint32_t *at)
{
	if (av->free != AV_END) {
		*at = av->free;
		av->free = av->entries[*at].next;
		return 0;
	}
	if (av->count == av->capacity) {
		uint32_t n = av->capacity ? 2 * av->capacity : CHAINS_MIN;
		struct av_entry *entries =
			realloc(av->entries, n * sizeof(*entries));
		if (!entries)
			return -FI_ENOMEM;
		av->entries = entries;
		av->capacity = n;
		int r = n > av->chain_count ? av_rehash(av, n) : 0;
		if (r)
			return r;
	}
	*at = av->count++;
	return 0;
}

int av_add(struct av *av, const struct address *a, fi_addr_t *out)
{
	uint32_t at;
	fi_addr_t first = av_find(av, a);
	int r = av_index(av, &at);
	if (r)
		return r;
	struct av_entry *e = &av->entries[at];
	*e = (struct av_entry){ .address = *a, .used = true, .first = at };
	if (first == FI_ADDR_NOTAVAIL) {
		uint32_t *chain = av_chain(av, a);
		e->next = *chain;
		*chain = at;
		e->users = 1;
	} else {
		struct av_entry *f = &av->entries[first];
		e->first = (uint32_t)first;
		f->users++;
		if (!f->address.capability)
			f->address.capability = a->capability;
	}
	*out = at;
	return 0;
}

static void entry_free(struct av *av, uint32_t at)
{
	av->entries[at].next = av->free;
	av->free = at;
}

void av_drop(struct av *av, uint32_t at)
{
	uint32_t first = av->entries[at].first;
	if (at != first)
		entry_free(av, at);
	/* The first index stays until its last alias is dropped. */
	if (--av->entries[first].users)
		return;
	uint32_t *link = av_chain(av, &av->entries[first].address);
	while (*link != first)
		link = &av->entries[*link].next;
	*link = av->entries[first].next;
	entry_free(av, first);
}
