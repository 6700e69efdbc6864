/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See av.h, fi_av(3). An address that is inserted twice has two indices; the
 * first one stands for both, so that a source is found whatever it is called.
 */
#include "provider/av/av.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"
#include "provider/fabric/eq.h"

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
	return &av->chains[name_hash(a) & (av->chain_room - 1)];
}

fi_addr_t av_find(const struct av *av, const struct address *a)
{
	for (uint32_t i = *av_chain(av, a); i != AV_END;
		i = av->entries[i].next)
		if (strcmp(av->entries[i].address.name, a->name) == 0)
			return i;
	return FI_ADDR_NOTAVAIL;
}

/* ---- entries ---- */

static int av_rehash(struct av *av, uint32_t room)
{
	uint32_t *chains = malloc(room * sizeof(*chains));
	if (!chains)
		return -FI_ENOMEM;
	free(av->chains);
	av->chains = chains;
	av->chain_room = room;
	memset(chains, 0xff, room * sizeof(*chains));
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

static int av_grow(struct av *av)
{
	uint32_t room = av->room ? 2 * av->room : CHAINS_MIN;
	struct av_entry *entries =
		realloc(av->entries, room * sizeof(*entries));
	if (!entries)
		return -FI_ENOMEM;
	av->entries = entries;
	av->room = room;
	return room > av->chain_room ? av_rehash(av, room) : 0;
}

/* An unused index. A table's are in the order of insertion. */
static int av_index(struct av *av, uint32_t *at)
{
	if (av->free != AV_END) {
		*at = av->free;
		av->free = av->entries[*at].next;
		return 0;
	}
	if (av->count == av->room) {
		int r = av_grow(av);
		if (r)
			return r;
	}
	*at = av->count++;
	return 0;
}

static int av_enter(struct av *av, const struct address *a, fi_addr_t *out)
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
		e->first = (uint32_t)first;
		av->entries[first].users++;
		if (!av->entries[first].address.card)
			av->entries[first].address.card = a->card;
	}
	*out = at;
	return 0;
}

static void av_unchain(struct av *av, uint32_t at)
{
	uint32_t *link = av_chain(av, &av->entries[at].address);
	while (*link != at)
		link = &av->entries[*link].next;
	*link = av->entries[at].next;
}

static void av_give_back(struct av *av, uint32_t at)
{
	av->entries[at].next = av->free;
	av->free = at;
}

/* The first one stays for the sake of the others until the last is gone. */
static void av_leave(struct av *av, uint32_t at)
{
	uint32_t first = av->entries[at].first;
	av->entries[at].used = false;
	list_for_each (link, &av->endpoints)
		peer_removed(list_of(link, struct endpoint, av_link), at);
	if (at != first)
		av_give_back(av, at);
	if (--av->entries[first].users)
		return;
	av_unchain(av, first);
	av_give_back(av, first);
}

/* ---- calls ---- */

static int av_insert_one(struct av *av, const struct address *a, fi_addr_t *out)
{
	guard_enter(&av->domain->guard);
	int r = av_enter(av, a, out);
	if (r == 0)
		list_for_each (link, &av->endpoints)
			peer_inserted(
				list_of(link, struct endpoint, av_link), *out);
	guard_leave(&av->domain->guard);
	return r;
}

static void av_report_error(
	struct av *av, void *context, uint64_t index, int error)
{
	const struct fi_eq_err_entry e = { .fid = &av->fid.fid,
		.context = context,
		.data = index,
		.err = -error,
		.prov_errno = error };
	eq_report_error(av->eq, &e);
}

/* How an insertion tells what became of it. */
struct insertion {
	struct av *av;
	fi_addr_t *out;
	int *errors; /* FI_SYNC_ERR */
	void *context;
	bool event;
	int done;
};

static void insertion_one(
	struct insertion *n, size_t index, const struct address *a, int error)
{
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	if (error == 0)
		error = address_is_any(a) ? -FI_EINVAL
					  : av_insert_one(n->av, a, &at);
	if (n->out)
		n->out[index] = at;
	if (n->errors)
		n->errors[index] = -error;
	if (error == 0)
		n->done++;
	else if (n->event)
		av_report_error(n->av, n->context, index, error);
}

static int insertion_end(const struct insertion *n)
{
	if (!n->event)
		return n->done;
	const struct fi_eq_entry e = { .fid = &n->av->fid.fid,
		.context = n->context,
		.data = (uint64_t)n->done };
	return eq_report(n->av->eq, FI_AV_COMPLETE, &e, sizeof(e));
}

static int insertion_begin(struct insertion *n, struct fid_av *fid,
	fi_addr_t *out, uint64_t flags, void *context)
{
	struct av *av = av_of(fid);
	if (flags & ~(FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID))
		return -FI_EINVAL;
	if (flags & FI_AV_USER_ID || (flags & FI_SYNC_ERR && !context))
		return -FI_EINVAL;
	*n = (struct insertion){
		.av = av, .out = out, .context = context, .event = av->events
	};
	if (flags & FI_SYNC_ERR)
		n->errors = context;
	return av->events && !av->eq ? -FI_ENOEQ : 0;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count,
	fi_addr_t *out, uint64_t flags, void *context)
{
	struct insertion n;
	int r = insertion_begin(&n, fid, out, flags, context);
	if (r)
		return r;
	if (count && !addresses)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		struct address a;
		const char *text = (const char *)addresses + i * ADDRESS_BYTES;
		insertion_one(&n, i, &a, address_parse(text, &a));
	}
	return insertion_end(&n);
}

/* Is this host, and which endpoint of it? */
static int service_address(
	const char *node, const char *service, struct address *a)
{
	if (!service || !address_host_is_here(node, false))
		return -FI_EINVAL;
	return address_service(service, a);
}

static int av_insertsvc(struct fid_av *fid, const char *node,
	const char *service, fi_addr_t *out, uint64_t flags, void *context)
{
	struct insertion n;
	struct address a;
	int r = insertion_begin(&n, fid, out, flags, context);
	if (r)
		return r;
	insertion_one(&n, 0, &a, service_address(node, service, &a));
	return insertion_end(&n);
}

/* There is one host; services are numbers that follow each other. */
static int av_insertsym(struct fid_av *fid, const char *node, size_t nodes,
	const char *service, size_t services, fi_addr_t *out, uint64_t flags,
	void *context)
{
	struct insertion n;
	char *end;
	int r = insertion_begin(&n, fid, out, flags, context);
	if (r)
		return r;
	unsigned long base = service ? strtoul(service, &end, 10) : 0;
	if (!service || *end || end == service || nodes != 1)
		return -FI_EINVAL;
	for (size_t i = 0; i < services; i++) {
		char text[24];
		struct address a;
		snprintf(text, sizeof(text), "%lu", base + i);
		insertion_one(&n, i, &a, service_address(node, text, &a));
	}
	return insertion_end(&n);
}

static int av_remove(
	struct fid_av *fid, fi_addr_t *at, size_t count, uint64_t flags)
{
	struct av *av = av_of(fid);
	int r = 0;
	if (flags || (count && !at))
		return -FI_EINVAL;
	guard_enter(&av->domain->guard);
	for (size_t i = 0; i < count; i++) {
		if (av_has(av, at[i]))
			av_leave(av, (uint32_t)at[i]);
		else
			r = -FI_EINVAL;
	}
	guard_leave(&av->domain->guard);
	return r;
}

static int av_lookup(
	struct fid_av *fid, fi_addr_t at, void *address, size_t *length)
{
	struct av *av = av_of(fid);
	char text[ADDRESS_BYTES];
	guard_enter(&av->domain->guard);
	bool there = av_has(av, at);
	if (there)
		address_print(&av->entries[at].address, text);
	guard_leave(&av->domain->guard);
	if (!there)
		return -FI_EINVAL;
	memcpy(address, text, bits_min(*length, sizeof(text)));
	*length = sizeof(text);
	return 0;
}

static const char *av_straddr(
	struct fid_av *fid, const void *address, char *text, size_t *length)
{
	struct address a;
	char printed[ADDRESS_BYTES] = "fi_cay://(not an address)";
	(void)fid;
	if (address_parse(address, &a) == 0)
		address_print(&a, printed);
	if (text && *length)
		snprintf(text, *length, "%s", printed);
	*length = strlen(printed) + 1;
	return text;
}

static int av_set(struct fid_av *fid, struct fi_av_set_attr *attr,
	struct fid_av_set **set, void *context)
{
	(void)fid, (void)attr, (void)set, (void)context;
	return -FI_ENOSYS;
}

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct av *av = (struct av *)(void *)fid;
	if (!other || other->fclass != FI_CLASS_EQ || flags)
		return -FI_EINVAL;
	if (av->eq)
		return -FI_EBUSY;
	av->eq = eq_of((struct fid_eq *)(void *)other);
	eq_use(av->eq, 1);
	return 0;
}

static int av_close(struct fid *fid)
{
	struct av *av = (struct av *)(void *)fid;
	guard_enter(&av->domain->guard);
	bool busy = !list_empty(&av->endpoints);
	guard_leave(&av->domain->guard);
	if (busy)
		return -FI_EBUSY;
	if (av->eq)
		eq_use(av->eq, -1);
	atomic_fetch_sub_explicit(&av->domain->users, 1, memory_order_relaxed);
	free(av->chains);
	free(av->entries);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = av_set,
};

static int av_check(const struct fi_av_attr *a)
{
	if (a->name) /* shared address vectors */
		return -FI_ENOSYS;
	if (a->flags & ~(FI_EVENT | FI_SYMMETRIC) || a->rx_ctx_bits > 0 ||
		a->type > FI_AV_TABLE)
		return -FI_EINVAL;
	return 0;
}

int av_open(struct fid_domain *fid, struct fi_av_attr *attr,
	struct fid_av **out, void *context)
{
	struct domain *domain = domain_of(fid);
	int r = attr ? av_check(attr) : -FI_EINVAL;
	if (r)
		return r;
	struct av *av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->free = AV_END;
	if (av_rehash(av, CHAINS_MIN)) {
		free(av);
		return -FI_ENOMEM;
	}
	list_init(&av->endpoints);
	av->domain = domain;
	av->events = (attr->flags & FI_EVENT) != 0;
	av->type = attr->type == FI_AV_UNSPEC ? FI_AV_MAP : attr->type;
	attr->type = av->type;
	av->fid = (struct fid_av){ .fid = { FI_CLASS_AV, context, &av_fid_ops },
		.ops = &av_ops };
	atomic_fetch_add_explicit(&domain->users, 1, memory_order_relaxed);
	*out = &av->fid;
	return 0;
}
