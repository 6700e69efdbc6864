/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabric object, to which domains and event queues belong. */
#ifndef CAY_PROVIDER_FABRIC_H
#define CAY_PROVIDER_FABRIC_H

#include "provider/provider.h"

struct fabric {
	struct fid_fabric fid;
	_Atomic int users; /* domains and event queues */
};

extern struct fi_ops_fabric fabric_ops;
int fabric_open(struct fi_fabric_attr *, struct fid_fabric **, void *context);

/* ---- info.c ---- */

int info_get(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **out);
/*
 * Checks that an info describes this provider and lacks no attributes except
 * those of the fabric. Returns 0, or -FI_EINVAL, also for NULL.
 */
int info_check(const struct fi_info *);

#endif
