/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_bind(3). See bind.h. */
#include "provider/endpoint/bind.h"

#include "provider/fabric/eq.h"

static int bind_cq(struct endpoint *ep, struct cq *cq, uint64_t flags)
{
	bool tx = flags & FI_TRANSMIT, rx = flags & FI_RECV;
	bool selective = flags & FI_SELECTIVE_COMPLETION;
	if ((!tx && !rx) ||
		flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain || (tx && ep->tx_cq) || (rx && ep->rx_cq))
		return -FI_EINVAL;
	int r = wait_add(&cq->wait, ep);
	if (r)
		return r;
	if (tx) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
		cq->users++;
	}
	if (rx) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		cq->users++;
	}
	return 0;
}

static const uint64_t counter_flags[COUNT_KINDS] = {
	[COUNT_SEND] = FI_SEND,
	[COUNT_RECV] = FI_RECV,
	[COUNT_READ] = FI_READ,
	[COUNT_WRITE] = FI_WRITE,
	[COUNT_REMOTE_READ] = FI_REMOTE_READ,
	[COUNT_REMOTE_WRITE] = FI_REMOTE_WRITE,
};

#define COUNTER_FLAGS                                              \
	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
		FI_REMOTE_WRITE)

static int bind_cntr(struct endpoint *ep, struct cntr *c, uint64_t flags)
{
	if (!flags || flags & ~COUNTER_FLAGS)
		return -FI_EBADFLAGS;
	if (c->domain != ep->domain)
		return -FI_EINVAL;
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (flags & counter_flags[i] && ep->counters[i])
			return -FI_EINVAL;
	int r = wait_add(&c->wait, ep);
	if (r)
		return r;
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (flags & counter_flags[i]) {
			ep->counters[i] = c;
			c->users++;
		}
	return 0;
}

static int bind_any(struct endpoint *ep, struct fid *other, uint64_t flags)
{
	struct av *av = (struct av *)(void *)other;
	switch (other->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct cq *)(void *)other, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct cntr *)(void *)other, flags);
	case FI_CLASS_AV:
		if (ep->av || av->domain != ep->domain)
			return -FI_EINVAL;
		ep->av = av;
		list_append(&av->endpoints, &ep->av_link);
		return 0;
	case FI_CLASS_EQ:
		if (ep->eq)
			return -FI_EINVAL;
		ep->eq = eq_of((struct fid_eq *)(void *)other);
		eq_use(ep->eq, 1);
		return 0;
	default:
		return -FI_EINVAL;
	}
}

int endpoint_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct endpoint *ep = (struct endpoint *)(void *)fid;
	if (!other)
		return -FI_EINVAL;
	domain_lock(ep->domain);
	int r = ep->port ? -FI_EOPBADSTATE : bind_any(ep, other, flags);
	domain_unlock(ep->domain);
	return r ? (int)provider_call_failed("fi_ep_bind", r) : 0;
}

unsigned endpoint_waits(
	struct endpoint *ep, struct wait *out[ENDPOINT_WAITS_MAX])
{
	unsigned n = 0;
	if (ep->tx_cq)
		out[n++] = &ep->tx_cq->wait;
	if (ep->rx_cq && ep->rx_cq != ep->tx_cq)
		out[n++] = &ep->rx_cq->wait;
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (ep->counters[i])
			out[n++] = &ep->counters[i]->wait;
	return n;
}

void endpoint_unbind(struct endpoint *ep)
{
	struct wait *waits[ENDPOINT_WAITS_MAX];
	unsigned n = endpoint_waits(ep, waits);
	for (unsigned i = 0; i < n; i++)
		wait_remove(waits[i], ep);
	if (ep->tx_cq)
		ep->tx_cq->users--;
	if (ep->rx_cq)
		ep->rx_cq->users--;
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		if (ep->counters[i])
			ep->counters[i]->users--;
	if (ep->av)
		list_remove(&ep->av_link);
	if (ep->eq)
		eq_use(ep->eq, -1);
}
