/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of fi_msg(3): each builds a send_request or a receive_request.
 */
#include "provider/message/receive.h"
#include "provider/message/send.h"

#define RECV_FLAGS                                                      \
	(FI_COMPLETION | FI_MULTI_RECV | FI_MORE | FI_PEEK | FI_CLAIM | \
		FI_DISCARD)

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t source, void *context)
{
	struct receive_request q = { .iov = iov,
		.count = count,
		.source = source,
		.context = context,
		.flags = endpoint_of(fid)->rx_flags };
	(void)desc;
	return recv_post(fid, &q);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buffer, size_t length,
	void *desc, fi_addr_t source, void *context)
{
	const struct iovec iov = { buffer, length };
	(void)desc;
	return msg_recvv(fid, &iov, NULL, 1, source, context);
}

static ssize_t msg_recvmsg(
	struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	if (!m || flags & ~RECV_FLAGS)
		return -FI_EINVAL;
	struct receive_request q = { .iov = m->msg_iov,
		.count = m->iov_count,
		.source = m->addr,
		.context = m->context,
		.flags = flags };
	return recv_post(fid, &q);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buffer, size_t length,
	void *desc, fi_addr_t to, void *context)
{
	(void)desc;
	return send_buffer(fid, buffer, length,
		(struct send_request){ .to = to, .context = context });
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buffer,
	size_t length, void *desc, uint64_t data, fi_addr_t to, void *context)
{
	(void)desc;
	return send_buffer(fid, buffer, length,
		(struct send_request){ .to = to,
			.has_data = true,
			.data = data,
			.context = context });
}

static ssize_t msg_inject(
	struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t to)
{
	return send_buffer(fid, buffer, length,
		(struct send_request){ .to = to, .inject = true });
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buffer,
	size_t length, uint64_t data, fi_addr_t to)
{
	return send_buffer(fid, buffer, length,
		(struct send_request){ .to = to,
			.has_data = true,
			.data = data,
			.inject = true });
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t to, void *context)
{
	const struct send_request q = { .iov = iov,
		.count = count,
		.to = to,
		.context = context,
		.flags = endpoint_of(fid)->tx_flags };
	(void)desc;
	return send_post(fid, &q);
}

static ssize_t msg_sendmsg(
	struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	if (!m)
		return -FI_EINVAL;
	const struct send_request q = { .iov = m->msg_iov,
		.count = m->iov_count,
		.to = m->addr,
		.has_data = (flags & FI_REMOTE_CQ_DATA) != 0,
		.data = m->data,
		.context = m->context,
		.flags = flags };
	return send_post(fid, &q);
}

struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
