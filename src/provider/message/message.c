/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of fi_msg(3): each says what it wants in the same words. */
#include "provider/message/receive.h"
#include "provider/message/send.h"

#define RECV_FLAGS                                                      \
	(FI_COMPLETION | FI_MULTI_RECV | FI_MORE | FI_PEEK | FI_CLAIM | \
		FI_DISCARD)

static ssize_t message_recv(struct fid_ep *fid, void *buffer, size_t length,
	void *desc, fi_addr_t source, void *context)
{
	const struct iovec iov = { buffer, length };
	struct wanted w = { .iov = &iov,
		.count = 1,
		.source = source,
		.context = context,
		.flags = endpoint_of(fid)->rx_flags };
	(void)desc;
	return receive_wanted(fid, &w);
}

static ssize_t message_recvv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t source, void *context)
{
	struct wanted w = { .iov = iov,
		.count = count,
		.source = source,
		.context = context,
		.flags = endpoint_of(fid)->rx_flags };
	(void)desc;
	return receive_wanted(fid, &w);
}

static ssize_t message_recvmsg(
	struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	if (!m || flags & ~RECV_FLAGS)
		return -FI_EINVAL;
	struct wanted w = { .iov = m->msg_iov,
		.count = m->iov_count,
		.source = m->addr,
		.context = m->context,
		.flags = flags };
	return receive_wanted(fid, &w);
}

static ssize_t message_send(struct fid_ep *fid, const void *buffer,
	size_t length, void *desc, fi_addr_t to, void *context)
{
	if (likely(send_completed(
		    fid, buffer, length, to, WIRE_MESSAGE, 0, context)))
		return 0;
	const struct iovec iov = { (void *)buffer, length };
	const struct request q = { .iov = &iov,
		.count = 1,
		.to = to,
		.context = context,
		.flags = endpoint_of(fid)->tx_flags };
	(void)desc;
	return send_request(fid, &q);
}

static ssize_t message_sendv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t to, void *context)
{
	const struct request q = { .iov = iov,
		.count = count,
		.to = to,
		.context = context,
		.flags = endpoint_of(fid)->tx_flags };
	(void)desc;
	return send_request(fid, &q);
}

static ssize_t message_sendmsg(
	struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
	if (!m)
		return -FI_EINVAL;
	const struct request q = { .iov = m->msg_iov,
		.count = m->iov_count,
		.to = m->addr,
		.data_given = (flags & FI_REMOTE_CQ_DATA) != 0,
		.data = m->data,
		.context = m->context,
		.flags = flags };
	return send_request(fid, &q);
}

static ssize_t message_inject(
	struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t to)
{
	if (likely(send_injected(fid, buffer, length, to, WIRE_MESSAGE, 0)))
		return 0;
	const struct iovec iov = { (void *)buffer, length };
	const struct request q = {
		.inject = true, .iov = &iov, .count = 1, .to = to
	};
	return send_request(fid, &q);
}

static ssize_t message_senddata(struct fid_ep *fid, const void *buffer,
	size_t length, void *desc, uint64_t data, fi_addr_t to, void *context)
{
	if (likely(data <= WIRE_SMALL_MAX &&
		    send_completed(fid, buffer, length, to,
			    send_head(false, data), 0, context)))
		return 0;
	const struct iovec iov = { (void *)buffer, length };
	const struct request q = { .data_given = true,
		.data = data,
		.iov = &iov,
		.count = 1,
		.to = to,
		.context = context,
		.flags = endpoint_of(fid)->tx_flags };
	(void)desc;
	return send_request(fid, &q);
}

static ssize_t message_injectdata(struct fid_ep *fid, const void *buffer,
	size_t length, uint64_t data, fi_addr_t to)
{
	if (likely(data <= WIRE_SMALL_MAX &&
		    send_injected(fid, buffer, length, to,
			    send_head(false, data), 0)))
		return 0;
	const struct iovec iov = { (void *)buffer, length };
	const struct request q = { .inject = true,
		.data_given = true,
		.data = data,
		.iov = &iov,
		.count = 1,
		.to = to };
	return send_request(fid, &q);
}

struct fi_ops_msg message_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = message_recv,
	.recvv = message_recvv,
	.recvmsg = message_recvmsg,
	.send = message_send,
	.sendv = message_sendv,
	.sendmsg = message_sendmsg,
	.inject = message_inject,
	.senddata = message_senddata,
	.injectdata = message_injectdata,
};
