/* SPDX-License-Identifier: BSD-2-Clause */
/* The fabric object: what is common to the domains of a process. */
#ifndef CAY_PROVIDER_FABRIC_H
#define CAY_PROVIDER_FABRIC_H

#include "provider/provider.h"

struct fabric {
	struct fid_fabric fid;
	_Atomic int users; /* domains and event queues */
};

int fabric_open(struct fi_fabric_attr *, struct fid_fabric **, void *context);
/* Is it one of this provider's? */
bool fabric_is_ours(const struct fid_fabric *);

/* info.c */
int info_get(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **out);
/*
 * Does this info describe what the provider has, with none of its attributes
 * missing but for those of the fabric? 0 or -FI_EINVAL; NULL does not.
 */
int info_check(const struct fi_info *);

#endif
