/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory for applications. */
#ifndef CAY_PROVIDER_DEVICE_MEMORY_H
#define CAY_PROVIDER_DEVICE_MEMORY_H

#include "provider/endpoint/endpoint.h"

/* fi_open_ops() of an endpoint. */
int memory_ops_open(
	struct fid *, const char *name, uint64_t flags, void **, void *context);

#endif
