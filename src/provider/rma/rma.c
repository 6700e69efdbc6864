/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of fi_rma(3), on any thread: a request is checked, the keys of the
 * target are looked up, and its parts are issued (rma_issue.c). A wrong key or
 * range is an error of the operation, not of the call.
 */
#include "provider/rma/rma.h"

#include "provider/progress/progress.h"
#include "provider/rma/key_table.h"

#define RMA_FLAGS                                                       \
	(FI_COMPLETION | FI_INJECT | FI_MORE | FI_FENCE | FI_PRIORITY | \
		FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE |                \
		FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

/* A call of fi_rma(3). */
struct rma_request {
	bool writes;
	bool silent; /* an inject call */
	const struct iovec *iov;
	size_t iov_count;
	const struct fi_rma_iov *remote;
	size_t remote_count;
	fi_addr_t to;
	uint64_t flags, data;
	void *context;
	size_t length; /* of all segments: rma_check() */
};

static int local_length(const struct rma_request *q, size_t *length)
{
	*length = 0;
	for (size_t i = 0; i < q->iov_count; i++) {
		size_t bytes = q->iov[i].iov_len;
		if (bytes && !q->iov[i].iov_base)
			return -FI_EINVAL;
		if (bytes > PROVIDER_MESSAGE_MAX - *length)
			return -FI_EMSGSIZE;
		*length += bytes;
	}
	return 0;
}

static int rma_check(const struct endpoint *ep, struct rma_request *q)
{
	size_t remote = 0;
	if (!ep->port)
		return -FI_EOPBADSTATE;
	if (!(ep->caps & FI_RMA))
		return -FI_EOPNOTSUPP;
	if (q->flags & ~RMA_FLAGS ||
		(q->flags & FI_REMOTE_CQ_DATA && !q->writes) ||
		q->iov_count > PROVIDER_IOV_MAX ||
		q->remote_count > PROVIDER_RMA_IOV_MAX ||
		(q->iov_count && !q->iov) || (q->remote_count && !q->remote))
		return -FI_EINVAL;
	int r = local_length(q, &q->length);
	if (r)
		return r;
	for (size_t i = 0; i < q->remote_count; i++) {
		if (q->remote[i].len > PROVIDER_MESSAGE_MAX - remote)
			return -FI_EMSGSIZE;
		remote += q->remote[i].len;
	}
	bool fits = !(q->flags & FI_INJECT) || !q->writes ||
		    q->length <= PROVIDER_INJECT_BYTES;
	return remote == q->length && fits ? 0 : -FI_EINVAL;
}

/* The target counts an operation once for each region. */
__attribute__((cold, noinline)) static void cursor_count(
	struct rma_cursor *c, uint64_t key)
{
	if (!(c->after & RMA_AFTER_COUNT))
		c->key_count = 0;
	c->after |= RMA_AFTER_COUNT;
	for (unsigned i = 0; i < c->key_count; i++)
		if (c->keys[i] == key)
			return;
	c->keys[c->key_count++] = key;
}

/* A segment without bytes needs no right, but counts. */
static int segment_empty(
	struct peer *peer, uint64_t key, uint64_t counts, struct rma_cursor *c)
{
	const struct key_entry *e;
	int r = key_find(peer, key, &e);
	if (r == 0 && e->flags & counts)
		cursor_count(c, key);
	return r == -FI_EAGAIN ? r : 0;
}

/* Looks up a remote segment; errors as mr_resolve() at the target. */
static int segment_resolve(struct peer *peer, const struct fi_rma_iov *iov,
	struct rma_cursor *c, struct rma_segment *s)
{
	const uint64_t right = c->writes ? KEY_WRITE : KEY_READ;
	const uint64_t counts = c->writes ? KEY_COUNT_WRITE : KEY_COUNT_READ;
	const struct key_entry *e;
	*s = (struct rma_segment){ .length = iov->len };
	if (unlikely(!iov->len))
		return segment_empty(peer, iov->key, counts, c);
	int r = key_find(peer, iov->key, &e);
	if (r)
		return r;
	if (unlikely((e->flags & (right | counts)) != right)) {
		if (!(e->flags & right))
			return -FI_EACCES;
		cursor_count(c, iov->key);
	}
	if (iov->addr < e->base ||
		!bits_inside(iov->addr - e->base, iov->len, e->length))
		return -FI_EINVAL;
	s->window = e->window;
	s->offset = iov->addr - e->base;
	return 0;
}

static int rma_start(struct endpoint *ep, struct rma_request *q)
{
	struct peer *peer;
	struct rma_cursor c;
	int r = rma_check(ep, q);
	if (r == 0)
		r = endpoint_peer(ep, q->to, &peer);
	if (r == 0 && rma_hazard(ep, peer, q->flags))
		r = -FI_EAGAIN;
	if (r)
		return r;
	c.writes = q->writes;
	c.after = q->flags & FI_REMOTE_CQ_DATA ? RMA_AFTER_CQ_DATA : 0;
	c.left = q->length;
	c.iov = c.iovs;
	c.segment = c.segments;
	for (size_t i = 0; i < q->iov_count; i++)
		c.iovs[i] = q->iov[i];
	for (size_t i = 0; r == 0 && i < q->remote_count; i++)
		r = segment_resolve(peer, &q->remote[i], &c, &c.segments[i]);
	bool refused = r == -FI_EKEYREJECTED || r == -FI_EACCES ||
		       r == -FI_EINVAL;
	if (r && !refused)
		return r;
	struct op *op = op_new_tx(
		ep, peer, OP_RMA, q->writes ? COUNT_WRITE : COUNT_READ);
	if (!op)
		return -FI_EAGAIN;
	op->silent = q->silent || endpoint_tx_silent(ep, q->flags);
	op->flags = FI_RMA | (q->writes ? FI_WRITE : FI_READ);
	op->context = q->context;
	op->rma.data = q->data;
	if (!refused)
		return rma_issue(op, &c, q->writes && q->flags & FI_INJECT);
	op->error = -r;
	op_end(op);
	return 0;
}

static ssize_t rma_post(struct endpoint *ep, struct rma_request *q)
{
	domain_lock(ep->domain);
	int r = rma_start(ep, q);
	if (unlikely(r == -FI_EAGAIN))
		endpoint_progress(ep);
	domain_unlock(ep->domain);
	return likely(r == 0) ? 0
			      : provider_call_failed(
					q->writes ? "fi_write" : "fi_read", r);
}

/* ---- the calls ---- */

/* To one segment of the target: all calls but the msg ones. */
static ssize_t rma_single(struct endpoint *ep, struct rma_request *q,
	uint64_t address, uint64_t key)
{
	struct fi_rma_iov remote = { .addr = address, .key = key };
	if (q->iov_count > PROVIDER_IOV_MAX || (q->iov_count && !q->iov))
		return -FI_EINVAL;
	int r = local_length(q, &remote.len);
	if (r)
		return r;
	q->remote = &remote;
	q->remote_count = 1;
	return rma_post(ep, q);
}

static ssize_t rma_message(struct fid_ep *fid, const struct fi_msg_rma *m,
	uint64_t flags, bool writes)
{
	if (!m)
		return -FI_EINVAL;
	struct rma_request q = { .writes = writes,
		.iov = m->msg_iov,
		.iov_count = m->iov_count,
		.remote = m->rma_iov,
		.remote_count = m->rma_iov_count,
		.to = m->addr,
		.flags = flags,
		.data = m->data,
		.context = m->context };
	return rma_post(endpoint_of(fid), &q);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t from, uint64_t address,
	uint64_t key, void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	struct rma_request q = { .iov = iov,
		.iov_count = count,
		.to = from,
		.flags = ep->tx_flags & RMA_FLAGS,
		.context = context };
	(void)desc;
	return rma_single(ep, &q, address, key);
}

static ssize_t rma_read(struct fid_ep *fid, void *to, size_t length, void *desc,
	fi_addr_t from, uint64_t address, uint64_t key, void *context)
{
	const struct iovec iov = { to, length };
	(void)desc;
	return rma_readv(fid, &iov, NULL, 1, from, address, key, context);
}

static ssize_t rma_readmsg(
	struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
	return rma_message(fid, m, flags, false);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov,
	void **desc, size_t count, fi_addr_t to, uint64_t address, uint64_t key,
	void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	struct rma_request q = { .writes = true,
		.iov = iov,
		.iov_count = count,
		.to = to,
		.flags = ep->tx_flags & RMA_FLAGS,
		.context = context };
	(void)desc;
	return rma_single(ep, &q, address, key);
}

static ssize_t rma_write(struct fid_ep *fid, const void *data, size_t length,
	void *desc, fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)data, length };
	(void)desc;
	return rma_writev(fid, &iov, NULL, 1, to, address, key, context);
}

static ssize_t rma_writemsg(
	struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
	return rma_message(fid, m, flags, true);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *data,
	size_t length, void *desc, uint64_t cq_data, fi_addr_t to,
	uint64_t address, uint64_t key, void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	const struct iovec iov = { (void *)(uintptr_t)data, length };
	struct rma_request q = { .writes = true,
		.iov = &iov,
		.iov_count = 1,
		.to = to,
		.flags = (ep->tx_flags & RMA_FLAGS) | FI_REMOTE_CQ_DATA,
		.data = cq_data,
		.context = context };
	(void)desc;
	return rma_single(ep, &q, address, key);
}

static ssize_t rma_inject_flags(struct fid_ep *fid, const void *data,
	size_t length, uint64_t cq_data, fi_addr_t to, uint64_t address,
	uint64_t key, uint64_t flags)
{
	const struct iovec iov = { (void *)(uintptr_t)data, length };
	struct rma_request q = { .writes = true,
		.silent = true,
		.iov = &iov,
		.iov_count = 1,
		.to = to,
		.flags = flags | FI_INJECT,
		.data = cq_data };
	return rma_single(endpoint_of(fid), &q, address, key);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *data, size_t length,
	fi_addr_t to, uint64_t address, uint64_t key)
{
	return rma_inject_flags(fid, data, length, 0, to, address, key, 0);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *data,
	size_t length, uint64_t cq_data, fi_addr_t to, uint64_t address,
	uint64_t key)
{
	return rma_inject_flags(fid, data, length, cq_data, to, address, key,
		FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma rma_ops = {
	.size = sizeof(rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
