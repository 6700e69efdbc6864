/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory for applications: see cay/fabric.h. Set-up path, any thread. */
#include "provider/endpoint/device_memory.h"

#include <string.h>

#include "cay/fabric.h"

static void *memory_alloc(struct fid_ep *fid, size_t bytes)
{
	struct endpoint *ep = endpoint_of(fid);
	if (ep->port)
		return cay_alloc(ep->port, bytes, 0);
	errno = ENOTCONN;
	return NULL;
}

static void memory_free(struct fid_ep *fid, void *memory)
{
	struct endpoint *ep = endpoint_of(fid);
	if (ep->port)
		cay_free(ep->port, memory);
}

static struct cay_fabric_memory memory_ops = {
	.size = sizeof(memory_ops),
	.alloc = memory_alloc,
	.free = memory_free,
};

int memory_ops_open(struct fid *fid, const char *name, uint64_t flags,
	void **ops, void *context)
{
	(void)fid, (void)context;
	if (!name || strcmp(name, CAY_FABRIC_MEMORY) != 0)
		return -FI_ENOSYS;
	if (flags || !ops)
		return -FI_EINVAL;
	*ops = &memory_ops;
	return 0;
}
