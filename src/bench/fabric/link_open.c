/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening what a link consists of; the addresses go over the board. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fabric/link.h"

enum {
	CQ_ENTRIES = 1024
};

/* What an MPI asks for, without what costs something. */
static struct fi_info *hints_of(const char *provider)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_TAGGED;
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
	hints->fabric_attr->prov_name = strdup(provider);
	return hints;
}

static int link_info(struct link *l)
{
	struct fi_info *hints = hints_of(l->provider);
	int r = hints ? fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints,
				&l->info)
		      : -FI_ENOMEM;

	fi_freeinfo(hints);
	return r ? link_complain(l, "fi_getinfo", r) : 0;
}

static int link_objects(struct link *l)
{
	struct fi_cq_attr cq = { .size = CQ_ENTRIES,
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	int r;

	if ((r = fi_fabric(l->info->fabric_attr, &l->fabric, NULL)))
		return link_complain(l, "fi_fabric", r);
	if ((r = fi_domain(l->fabric, l->info, &l->domain, NULL)))
		return link_complain(l, "fi_domain", r);
	if ((r = fi_av_open(l->domain, &av, &l->av, NULL)))
		return link_complain(l, "fi_av_open", r);
	if ((r = fi_cq_open(l->domain, &cq, &l->cq, NULL)))
		return link_complain(l, "fi_cq_open", r);
	if ((r = fi_endpoint(l->domain, l->info, &l->ep, NULL)))
		return link_complain(l, "fi_endpoint", r);
	return 0;
}

static int link_enable(struct link *l)
{
	int r;

	if ((r = fi_ep_bind(l->ep, &l->av->fid, 0)))
		return link_complain(l, "fi_ep_bind", r);
	if ((r = fi_ep_bind(l->ep, &l->cq->fid, FI_TRANSMIT | FI_RECV)))
		return link_complain(l, "fi_ep_bind", r);
	if ((r = fi_enable(l->ep)))
		return link_complain(l, "fi_enable", r);
	return 0;
}

static int link_meet(struct link *l)
{
	struct board *board = l->seat->board;
	int rank = l->seat->rank;
	size_t length = BOARD_NOTE_MAX;
	int r = fi_getname(&l->ep->fid, board->note[rank], &length);

	if (r)
		return link_complain(l, "fi_getname", r);
	seat_meet(l->seat);
	r = fi_av_insert(l->av, board->note[!rank], 1, &l->peer, 0, NULL);
	if (r != 1)
		return link_complain(l, "fi_av_insert", r < 0 ? r : -FI_EINVAL);
	seat_meet(l->seat); /* before the notes are used again */
	return 0;
}

static void link_slots(struct link *l)
{
	for (unsigned i = 0; i < MESSAGE_WINDOW_MAX; i++) {
		l->receives[i].index = l->sends[i].index = i;
		l->receives[i].receive = true;
	}
	link_rewind(l);
}

int link_open(struct link *l, const char *provider, struct seat *seat,
	const struct pool *pool)
{
	int r;

	*l = (struct link){ .provider = provider, .seat = seat, .pool = pool };
	link_slots(l);
	if ((r = link_info(l)) || (r = link_objects(l)) ||
		(r = link_enable(l)) || (r = link_meet(l))) {
		link_close(l);
		return r;
	}
	return 0;
}

static void link_shut(struct link *l, struct fid *fid, const char *what)
{
	int r = fid ? fi_close(fid) : 0;

	if (r)
		link_complain(l, what, r);
}

void link_close(struct link *l)
{
	link_shut(l, l->ep ? &l->ep->fid : NULL, "closing the endpoint");
	link_shut(l, l->cq ? &l->cq->fid : NULL, "closing the queue");
	link_shut(l, l->av ? &l->av->fid : NULL, "closing the vector");
	link_shut(l, l->domain ? &l->domain->fid : NULL, "closing the domain");
	link_shut(l, l->fabric ? &l->fabric->fid : NULL, "closing the fabric");
	fi_freeinfo(l->info);
	*l = (struct link){ 0 };
}
