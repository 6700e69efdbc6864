/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes fabrics; fi_trywait(3). Set-up path, any thread. */
#include "provider/fabric/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "provider/completion/cntr.h"
#include "provider/completion/cq.h"
#include "provider/fabric/domain.h"
#include "provider/fabric/eq.h"
#include "provider/unsupported.h"

static int fabric_close(struct fid *fid)
{
	struct fabric *fabric = (struct fabric *)(void *)fid;
	if (fabric->users > 0)
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **domain, uint64_t flags, void *context)
{
	if (flags)
		return -FI_EBADFLAGS;
	return domain_open(fabric, info, domain, context);
}

static int fabric_trywait(
	struct fid_fabric *fabric, struct fid **fids, int count)
{
	if (!fabric || count < 0 || (count && !fids))
		return -FI_EINVAL;
	for (int i = 0; i < count; i++) {
		struct fid *fid = fids[i];
		int r = -FI_EINVAL;
		if (fid && fid->fclass == FI_CLASS_CQ)
			r = cq_trywait((struct cq *)(void *)fid);
		else if (fid && fid->fclass == FI_CLASS_CNTR)
			r = cntr_trywait((struct cntr *)(void *)fid);
		else if (fid && fid->fclass == FI_CLASS_EQ)
			r = eq_trywait((struct eq *)(void *)fid);
		if (r)
			return r;
	}
	return 0;
}

static int no_passive(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **pep, void *context)
{
	(void)fabric, (void)info, (void)pep, (void)context;
	return -FI_ENOSYS;
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
	struct fid_wait **wait)
{
	(void)fabric, (void)attr, (void)wait;
	return -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
	.size = sizeof(fid_ops),
	.close = fabric_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
	.tostr = no_tostr,
	.ops_set = no_ops_set,
};

struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = domain_open,
	.passive_ep = no_passive,
	.eq_open = eq_open,
	.wait_open = no_wait_open,
	.trywait = fabric_trywait,
	.domain2 = fabric_domain2,
};

int fabric_open(
	struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	if (!attr || !out)
		return -FI_EINVAL;
	if (attr->name && strcmp(attr->name, provider.name) != 0) {
		LOG_INFO(FABRIC, "no fabric is named %s\n", attr->name);
		return -FI_EINVAL;
	}
	struct fabric *fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fid = (struct fid){ FI_CLASS_FABRIC, context, &fid_ops };
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	*out = &fabric->fid;
	return 0;
}
