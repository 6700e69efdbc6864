/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing domains, and progress on all of one. Set-up path, any
 * thread; progress with the guard held.
 */
#include "provider/fabric/domain.h"

#include <stdlib.h>

#include "provider/endpoint/endpoint.h"
#include "provider/fabric/eq.h"
#include "provider/progress/engine.h"

void domain_progress(struct domain *domain)
{
	list_for_each (at, &domain->endpoints)
		endpoint_progress(list_of(at, struct endpoint, link));
}

/* ---- calls on a domain ---- */

static int domain_close(struct fid *fid)
{
	struct domain *domain = (struct domain *)(void *)fid;
	if (domain->users > 0)
		return -FI_EBUSY;
	if (domain->engine)
		engine_stop(domain);
	if (domain->eq)
		eq_use(domain->eq, -1);
	guard_destroy(&domain->guard);
	domain->fabric->users--;
	free(domain->keys);
	free(domain);
	return 0;
}

/* Registration is never asynchronous, so FI_REG_MR is refused. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct domain *domain = (struct domain *)(void *)fid;
	if (!other || other->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	struct eq *eq = eq_of((struct fid_eq *)(void *)other);
	guard_enter(&domain->guard);
	bool bound = domain->eq;
	if (!bound) {
		eq_use(eq, 1);
		domain->eq = eq;
	}
	guard_leave(&domain->guard);
	return bound ? -FI_EBUSY : 0;
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	if (flags)
		return -FI_EBADFLAGS;
	return endpoint_open(domain, info, ep, context);
}

static int no_scalable(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, void *context)
{
	(void)domain, (void)info, (void)ep, (void)context;
	return -FI_ENOSYS;
}

static int no_shared_tx(struct fid_domain *domain, struct fi_tx_attr *attr,
	struct fid_stx **stx, void *context)
{
	(void)domain, (void)attr, (void)stx, (void)context;
	return -FI_ENOSYS;
}

static int no_shared_rx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **rx, void *context)
{
	(void)domain, (void)attr, (void)rx, (void)context;
	return -FI_ENOSYS;
}

static int no_collective(struct fid_domain *domain, enum fi_collective_op op,
	struct fi_collective_attr *attr, uint64_t flags)
{
	(void)domain, (void)op, (void)attr, (void)flags;
	return -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
	.size = sizeof(fid_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = no_control,
	.ops_open = no_ops_open,
	.tostr = no_tostr,
	.ops_set = no_ops_set,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = av_open,
	.cq_open = cq_open,
	.endpoint = endpoint_open,
	.scalable_ep = no_scalable,
	.cntr_open = cntr_open,
	.poll_open = pollset_open,
	.stx_ctx = no_shared_tx,
	.srx_ctx = no_shared_rx,
	.query_atomic = atomic_query,
	.query_collective = no_collective,
	.endpoint2 = domain_endpoint2,
};

bool domain_is_ours(const struct fid_domain *fid)
{
	return fid->ops == &domain_ops;
}

/* ---- opening ---- */

/* The old names mean combinations of the newer bits. */
static int mr_mode(int asked)
{
	if (asked == FI_MR_BASIC)
		return FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
	return asked & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY);
}

/*
 * The endpoints of a domain share what the guard protects, so only a promise
 * about the whole domain makes it unnecessary.
 */
static bool guard_is_needed(const struct fi_domain_attr *attr)
{
	return attr->threading != FI_THREAD_DOMAIN ||
	       attr->data_progress == FI_PROGRESS_AUTO;
}

static void domain_init(struct domain *domain, struct fid_fabric *fabric,
	const struct fi_domain_attr *attr, void *context)
{
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &mr_ops;
	domain->fabric = (struct fabric *)(void *)fabric;
	domain->api_version = fabric->api_version;
	domain->mr_mode = mr_mode(attr->mr_mode);
	domain->progress = attr->data_progress == FI_PROGRESS_AUTO
				   ? FI_PROGRESS_AUTO
				   : FI_PROGRESS_MANUAL;
	guard_init(&domain->guard, guard_is_needed(attr));
	list_init(&domain->endpoints);
	list_init(&domain->regions);
	list_init(&domain->answers);
}

int domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **out, void *context)
{
	if (!fabric || !out || info_check(info) != 0)
		return -FI_EINVAL;
	struct domain *domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain_init(domain, fabric, info->domain_attr, context);

	if (domain->progress == FI_PROGRESS_AUTO) {
		int r = engine_start(domain);
		if (r) {
			guard_destroy(&domain->guard);
			free(domain);
			return r;
		}
	}
	domain->fabric->users++;
	*out = &domain->fid;
	return 0;
}
