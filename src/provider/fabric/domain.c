/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes domains. Set-up path, any thread. */
#include "provider/fabric/domain.h"

#include <stdlib.h>

#include "provider/fabric/eq.h"
#include "provider/progress/progress_thread.h"
#include "provider/unsupported.h"

static int domain_close(struct fid *fid)
{
	struct domain *domain = (struct domain *)(void *)fid;
	if (domain->users > 0)
		return -FI_EBUSY;
	if (domain->thread)
		progress_thread_stop(domain);
	if (domain->eq)
		eq_use(domain->eq, -1);
	pthread_mutex_destroy(&domain->mutex);
	domain->fabric->users--;
	free(domain->keys);
	free(domain);
	return 0;
}

/* FI_REG_MR is refused: registration is never asynchronous. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct domain *domain = (struct domain *)(void *)fid;
	if (!other || other->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	struct eq *eq = eq_of((struct fid_eq *)(void *)other);
	domain_lock(domain);
	bool bound = domain->eq;
	if (!bound) {
		eq_use(eq, 1);
		domain->eq = eq;
	}
	domain_unlock(domain);
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

struct fi_ops_domain domain_ops = {
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

int domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **out, void *context)
{
	if (!fabric || !out || info_check(info) != 0)
		return -FI_EINVAL;
	struct domain *domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	const struct fi_domain_attr *attr = info->domain_attr;
	bool automatic = attr->data_progress == FI_PROGRESS_AUTO;
	domain->fid.fid = (struct fid){ FI_CLASS_DOMAIN, context, &fid_ops };
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &mr_ops;
	domain->fabric = (struct fabric *)(void *)fabric;
	domain->api_version = fabric->api_version;
	/* FI_MR_BASIC is the old name of both bits. */
	domain->mr_mode = attr->mr_mode == FI_MR_BASIC
				  ? FI_MR_VIRT_ADDR | FI_MR_PROV_KEY
				  : attr->mr_mode &
					    (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY);
	/* Endpoints share state, so FI_THREAD_ENDPOINT needs the lock, too. */
	domain->locks = attr->threading != FI_THREAD_DOMAIN || automatic;
	pthread_mutex_init(&domain->mutex, NULL);
	list_init(&domain->endpoints);
	list_init(&domain->regions);
	list_init(&domain->event_counters);
	list_init(&domain->replies);
	if (automatic) {
		int r = progress_thread_start(domain);
		if (r) {
			pthread_mutex_destroy(&domain->mutex);
			free(domain);
			return r;
		}
	}
	domain->fabric->users++;
	*out = &domain->fid;
	return 0;
}
