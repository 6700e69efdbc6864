/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of a libfabric provider: opening, posting and completing. */
#include "bench/fabric/link.h"

#include <stdlib.h>
#include <string.h>

enum {
	BURST = 16,
	CQ_ENTRIES = 1024,
};

int link_fail(const struct link *l, const char *call, int error)
{
	return group_fail(l->side->group, "%s: process %u: %s: %s",
		l->side->workload->name, l->side->rank, call,
		fi_strerror(error < 0 ? -error : error));
}

/* ---- opening ---- */

/* What an MPI requests, without capabilities that cost time. */
static int link_info(struct link *l, uint64_t capabilities)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return link_fail(l, "fi_allocinfo", FI_ENOMEM);
	hints->caps = capabilities;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(l->side->workload->name);
	int r = fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints, &l->info);
	fi_freeinfo(hints);
	return r ? link_fail(l, "fi_getinfo", r) : 0;
}

static int link_endpoint(struct link *l)
{
	struct fi_cq_attr cq = { .size = CQ_ENTRIES,
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	int r;

	if ((r = fi_fabric(l->info->fabric_attr, &l->fabric, NULL)))
		return link_fail(l, "fi_fabric", r);
	if ((r = fi_domain(l->fabric, l->info, &l->domain, NULL)))
		return link_fail(l, "fi_domain", r);
	if ((r = fi_av_open(l->domain, &av, &l->av, NULL)))
		return link_fail(l, "fi_av_open", r);
	if ((r = fi_cq_open(l->domain, &cq, &l->cq, NULL)))
		return link_fail(l, "fi_cq_open", r);
	if ((r = fi_endpoint(l->domain, l->info, &l->ep, NULL)))
		return link_fail(l, "fi_endpoint", r);
	if ((r = fi_ep_bind(l->ep, &l->av->fid, 0)))
		return link_fail(l, "fi_ep_bind", r);
	if ((r = fi_ep_bind(l->ep, &l->cq->fid, FI_TRANSMIT | FI_RECV)))
		return link_fail(l, "fi_ep_bind", r);
	if ((r = fi_enable(l->ep)))
		return link_fail(l, "fi_enable", r);
	return 0;
}

/* Exchanges the addresses over shared memory. */
static int link_connect(struct link *l)
{
	struct side *s = l->side;
	size_t length = LINK_NAME_MAX;
	int r = fi_getname(
		&l->ep->fid, s->shared + s->rank * LINK_NAME_MAX, &length);

	if (r)
		return link_fail(l, "fi_getname", r);
	if ((r = group_barrier(s->group, s->rank)))
		return r;
	r = fi_av_insert(l->av, s->shared + !s->rank * LINK_NAME_MAX, 1,
		&l->peer, 0, NULL);
	return r == 1 ? 0 : link_fail(l, "fi_av_insert", r < 0 ? r : FI_EINVAL);
}

int link_open(struct link *l, struct side *s, uint64_t capabilities)
{
	int r;

	size_t bytes = bits_round_up(s->bytes + link_at(LINK_WINDOW), 4096);
	*l = (struct link){ .side = s,
		.source = aligned_alloc(4096, bytes),
		.target = aligned_alloc(4096, bytes) };
	if (!l->source || !l->target)
		return link_fail(l, "buffers", FI_ENOMEM);
	memset(l->source, 1, bytes);
	memset(l->target, 1, bytes);
	for (unsigned i = 0; i < LINK_WINDOW; i++) {
		l->receives[i].index = l->sends[i].index = i;
		l->receives[i].receive = true;
	}
	link_rewind(l);
	if ((r = link_info(l, capabilities)) || (r = link_endpoint(l)))
		return r;
	return link_connect(l);
}

static void link_close_object(struct link *l, struct fid *fid, const char *what)
{
	int r = fid ? fi_close(fid) : 0;

	if (r)
		link_fail(l, what, r);
}

void link_close(struct link *l)
{
	link_close_object(
		l, l->ep ? &l->ep->fid : NULL, "closing the endpoint");
	link_close_object(l, l->cq ? &l->cq->fid : NULL, "closing the CQ");
	link_close_object(l, l->av ? &l->av->fid : NULL, "closing the AV");
	link_close_object(
		l, l->domain ? &l->domain->fid : NULL, "closing the domain");
	link_close_object(
		l, l->fabric ? &l->fabric->fid : NULL, "closing the fabric");
	if (l->info)
		fi_freeinfo(l->info);
	free(l->source);
	free(l->target);
}

/* ---- completions ---- */

void link_rewind(struct link *l)
{
	for (unsigned i = 0; i < LINK_WINDOW; i++)
		l->free[i] = LINK_WINDOW - 1 - i;
	l->free_count = LINK_WINDOW;
}

int link_poll(struct link *l)
{
	struct fi_cq_tagged_entry entry[BURST];
	ssize_t count = fi_cq_read(l->cq, entry, BURST);

	if (count == -FI_EAGAIN)
		return group_poll(l->side->group, &l->spins);
	if (count == -FI_EAVAIL) {
		struct fi_cq_err_entry error = { .err = FI_EOTHER };
		fi_cq_readerr(l->cq, &error, 0);
		return link_fail(l, "an operation", error.err);
	}
	if (count < 0)
		return link_fail(l, "fi_cq_read", (int)count);
	for (ssize_t i = 0; i < count; i++) {
		const struct slot *slot = entry[i].op_context;
		if (slot->receive)
			l->full[l->full_tail++ % LINK_WINDOW] = slot->index;
		else
			l->free[l->free_count++] = slot->index;
	}
	return 0;
}

int link_await_receive(struct link *l, unsigned *slot)
{
	int r = 0;

	while (!r && l->full_head == l->full_tail)
		r = link_poll(l);
	if (!r)
		*slot = l->full[l->full_head++ % LINK_WINDOW];
	return r;
}

int link_claim(struct link *l, unsigned window, unsigned *slot)
{
	int r = 0;

	while (!r && l->free_count <= LINK_WINDOW - window)
		r = link_poll(l);
	if (!r)
		*slot = l->free[--l->free_count];
	return r;
}

int link_drain(struct link *l)
{
	int r = 0;

	while (!r && l->free_count < LINK_WINDOW)
		r = link_poll(l);
	return r;
}

/* ---- posting ---- */

int link_receive(struct link *l, unsigned slot, size_t bytes, uint64_t tag)
{
	unsigned char *at = l->target + link_at(slot);
	ssize_t r;
	int error;

	while ((r = fi_trecv(l->ep, at, bytes, NULL, FI_ADDR_UNSPEC, tag, 0,
			&l->receives[slot].context)) == -FI_EAGAIN)
		if ((error = link_poll(l)))
			return error;
	return r ? link_fail(l, "fi_trecv", (int)r) : 0;
}

int link_send(struct link *l, unsigned slot, size_t bytes, uint64_t tag)
{
	const unsigned char *at = l->source + link_at(slot);
	ssize_t r;
	int error;

	while ((r = fi_tsend(l->ep, at, bytes, NULL, l->peer, tag,
			&l->sends[slot].context)) == -FI_EAGAIN)
		if ((error = link_poll(l)))
			return error;
	return r ? link_fail(l, "fi_tsend", (int)r) : 0;
}

int link_inject(struct link *l, const void *at, size_t bytes, uint64_t tag)
{
	ssize_t r;
	int error;

	while ((r = fi_tinject(l->ep, at, bytes, l->peer, tag)) == -FI_EAGAIN)
		if ((error = link_poll(l)))
			return error;
	return r ? link_fail(l, "fi_tinject", (int)r) : 0;
}
