/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of fi_tagged(3): each builds a send_request or a receive_request.
 */
#include "provider/message/receive.h"
#include "provider/message/send.h"

#define RECV_FLAGS (FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM | FI_DISCARD)

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t source, uint64_t tag,
	uint64_t ignore, void *context)
{
	struct receive_request q = { .tagged = true,
		.tag = tag,
		.ignore = ignore,
		.iov = iov,
		.count = count,
		.source = source,
		.context = context,
		.flags = endpoint_of(fid)->rx_flags & ~FI_MULTI_RECV };
	(void)desc;
	return recv_post(fid, &q);
}

/*
 * Does the same as recv_post(), in a straight line: no unexpected message is
 * held, and the peer is resolved. Returns false if that does not apply.
 */
static inline bool recv_fast(struct endpoint *ep, void *buffer, size_t length,
	fi_addr_t source, uint64_t tag, uint64_t ignore, void *context)
{
	struct receive *r = ep->free_receives;
	unsigned *posted = &ep->posted_any;
	struct peer *p = NULL;
	if (unlikely(!r || !ep->rx_fast || ep->tagged.held_count ||
		     !cq_has_room(ep->rx_cq) || !list_empty(&ep->xoff_peers)))
		return false;
	/* The source counts only with FI_DIRECTED_RECV. */
	if (!(ep->caps & FI_DIRECTED_RECV)) {
		source = FI_ADDR_UNSPEC;
	} else if (source != FI_ADDR_UNSPEC) {
		if (unlikely(source >= ep->index_capacity))
			return false;
		/* An alias has another index. */
		p = ep->by_index[source];
		if (unlikely(!p || !p->port || p->fi_addr != source))
			return false;
		posted = &p->posted;
	}
	ep->free_receives = r->next_free;
	++*posted;
	r->source = source;
	r->peer = p;
	r->tag = tag;
	r->ignore = ignore;
	r->flags = ep->rx_flags & ~FI_MULTI_RECV;
	r->context = context;
	r->iov[0] = (struct iovec){ buffer, length };
	r->iov_count = 1;
	r->length = length;
	r->used = 0;
	r->fetching = 0;
	r->reserved = 1;
	ep->rx_cq->reserved++;
	matcher_post(&ep->tagged, r);
	return true;
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buffer, size_t length,
	void *desc, fi_addr_t source, uint64_t tag, uint64_t ignore,
	void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	(void)desc;
	domain_lock(ep->domain);
	bool posted =
		recv_fast(ep, buffer, length, source, tag, ignore, context);
	domain_unlock(ep->domain);
	if (likely(posted))
		return 0;
	const struct iovec iov = { buffer, length };
	return tagged_recvv(fid, &iov, NULL, 1, source, tag, ignore, context);
}

static ssize_t tagged_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	if (!m || flags & ~RECV_FLAGS)
		return -FI_EINVAL;
	struct receive_request q = { .tagged = true,
		.tag = m->tag,
		.ignore = m->ignore,
		.iov = m->msg_iov,
		.count = m->iov_count,
		.source = m->addr,
		.context = m->context,
		.flags = flags };
	return recv_post(fid, &q);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buffer,
	size_t length, void *desc, fi_addr_t to, uint64_t tag, void *context)
{
	(void)desc;
	return send_buffer(fid, buffer, length,
		(struct send_request){ .tagged = true,
			.tag = tag,
			.to = to,
			.context = context });
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buffer,
	size_t length, void *desc, uint64_t data, fi_addr_t to, uint64_t tag,
	void *context)
{
	(void)desc;
	return send_buffer(fid, buffer, length,
		(struct send_request){ .tagged = true,
			.tag = tag,
			.to = to,
			.has_data = true,
			.data = data,
			.context = context });
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buffer,
	size_t length, fi_addr_t to, uint64_t tag)
{
	return send_buffer(fid, buffer, length,
		(struct send_request){
			.tagged = true, .tag = tag, .to = to, .inject = true });
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buffer,
	size_t length, uint64_t data, fi_addr_t to, uint64_t tag)
{
	return send_buffer(fid, buffer, length,
		(struct send_request){ .tagged = true,
			.tag = tag,
			.to = to,
			.has_data = true,
			.data = data,
			.inject = true });
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t to, uint64_t tag, void *context)
{
	const struct send_request q = { .tagged = true,
		.tag = tag,
		.iov = iov,
		.count = count,
		.to = to,
		.context = context,
		.flags = endpoint_of(fid)->tx_flags };
	(void)desc;
	return send_post(fid, &q);
}

static ssize_t tagged_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *m, uint64_t flags)
{
	if (!m)
		return -FI_EINVAL;
	const struct send_request q = { .tagged = true,
		.tag = m->tag,
		.iov = m->msg_iov,
		.count = m->iov_count,
		.to = m->addr,
		.has_data = (flags & FI_REMOTE_CQ_DATA) != 0,
		.data = m->data,
		.context = m->context,
		.flags = flags };
	return send_post(fid, &q);
}

struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
