/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that the provider does not support. Tables of calls are always full. */
#include "provider/unsupported.h"

/* ---- any object ---- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid, (void)other, (void)flags;
	return -FI_ENOSYS;
}

int no_control(struct fid *fid, int command, void *argument)
{
	(void)fid, (void)command, (void)argument;
	return -FI_ENOSYS;
}

int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
	void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

int no_tostr(const struct fid *fid, char *text, size_t bytes)
{
	(void)fid, (void)text, (void)bytes;
	return -FI_ENOSYS;
}

int no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
	void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

/* ---- endpoints ---- */

int no_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
	struct fid_ep **out, void *context)
{
	(void)ep, (void)index, (void)attr, (void)out, (void)context;
	return -FI_ENOSYS;
}

int no_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
	struct fid_ep **out, void *context)
{
	(void)ep, (void)index, (void)attr, (void)out, (void)context;
	return -FI_ENOSYS;
}

int no_getpeer(struct fid_ep *ep, void *address, size_t *length)
{
	(void)ep, (void)address, (void)length;
	return -FI_ENOSYS;
}

int no_connect(struct fid_ep *ep, const void *address, const void *parameter,
	size_t length)
{
	(void)ep, (void)address, (void)parameter, (void)length;
	return -FI_ENOSYS;
}

int no_listen(struct fid_pep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

int no_accept(struct fid_ep *ep, const void *parameter, size_t length)
{
	(void)ep, (void)parameter, (void)length;
	return -FI_ENOSYS;
}

int no_reject(
	struct fid_pep *ep, fid_t handle, const void *parameter, size_t length)
{
	(void)ep, (void)handle, (void)parameter, (void)length;
	return -FI_ENOSYS;
}

int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep, (void)flags;
	return -FI_ENOSYS;
}

int no_join(struct fid_ep *ep, const void *address, uint64_t flags,
	struct fid_mc **out, void *context)
{
	(void)ep, (void)address, (void)flags, (void)out, (void)context;
	return -FI_ENOSYS;
}
