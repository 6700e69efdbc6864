/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors: the calls of fi_av(3). */
#include "provider/av/av.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"
#include "provider/fabric/eq.h"
#include "provider/unsupported.h"

/* The parameters and the results of an insertion. */
struct insertion {
	struct av *av;
	fi_addr_t *out;
	int *errors; /* FI_SYNC_ERR */
	void *context;
	bool event;
	int done;
};

/* Inserts one address, unless parsing it has failed with `error`. */
static void insertion_one(
	struct insertion *n, size_t index, const struct address *a, int error)
{
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	struct av *av = n->av;
	if (error == 0 && address_is_any(a))
		error = -FI_EINVAL;
	if (error == 0) {
		domain_lock(av->domain);
		error = av_add(av, a, &at);
		if (error == 0)
			list_for_each (link, &av->endpoints)
				peer_inserted(
					list_of(link, struct endpoint, av_link),
					at);
		domain_unlock(av->domain);
	}
	if (n->out)
		n->out[index] = at;
	if (n->errors)
		n->errors[index] = -error;
	if (error == 0)
		n->done++;
	else
		LOG_WARN(AV, "fi_av_insert: address %zu: %s\n", index,
			error == -FI_EINVAL
				? "not an address of an endpoint of "
				  "this provider"
				: fi_strerror(-error));
	if (error && n->event) {
		const struct fi_eq_err_entry e = { .fid = &av->fid.fid,
			.context = n->context,
			.data = index,
			.err = -error,
			.prov_errno = error };
		eq_report_error(av->eq, &e);
	}
}

/* Returns the number of insertions, or reports it by an event. */
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

/* Resolves a service of this host. */
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

/* One host, and services with consecutive numbers. */
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
	domain_lock(av->domain);
	for (size_t i = 0; i < count; i++) {
		if (!av_has(av, at[i])) {
			r = -FI_EINVAL;
			continue;
		}
		av->entries[at[i]].used = false;
		list_for_each (link, &av->endpoints)
			peer_removed(
				list_of(link, struct endpoint, av_link), at[i]);
		av_drop(av, (uint32_t)at[i]);
	}
	domain_unlock(av->domain);
	return r;
}

static int av_lookup(
	struct fid_av *fid, fi_addr_t at, void *address, size_t *length)
{
	struct av *av = av_of(fid);
	char text[ADDRESS_BYTES];
	domain_lock(av->domain);
	bool there = av_has(av, at);
	if (there)
		address_print(&av->entries[at].address, text);
	domain_unlock(av->domain);
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
	domain_lock(av->domain);
	bool busy = !list_empty(&av->endpoints);
	domain_unlock(av->domain);
	if (busy)
		return -FI_EBUSY;
	if (av->eq)
		eq_use(av->eq, -1);
	atomic_fetch_sub_explicit(&av->domain->users, 1, memory_order_relaxed);
	av_table_free(av);
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

int av_open(struct fid_domain *fid, struct fi_av_attr *attr,
	struct fid_av **out, void *context)
{
	struct domain *domain = domain_of(fid);
	if (!attr)
		return -FI_EINVAL;
	if (attr->name) /* shared address vectors */
		return -FI_ENOSYS;
	if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC) || attr->rx_ctx_bits > 0 ||
		attr->type > FI_AV_TABLE)
		return -FI_EINVAL;
	struct av *av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	if (av_table_init(av)) {
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
