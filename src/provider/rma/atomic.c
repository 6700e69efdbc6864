/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of fi_atomic(3): each builds a struct atomic_request. */
#include "provider/rma/atomic.h"

#include "provider/progress/progress.h"

static ssize_t atomic_post(struct fid_ep *fid, struct atomic_request *q)
{
	struct endpoint *ep = endpoint_of(fid);
	domain_lock(ep->domain);
	int r = atomic_start(ep, q);
	if (unlikely(r == -FI_EAGAIN))
		endpoint_progress(ep);
	domain_unlock(ep->domain);
	return likely(r == 0) ? 0 : provider_call_failed("fi_atomic", r);
}

/* To one segment of the target: all calls but the msg ones. */
static ssize_t atomic_single(struct fid_ep *fid, struct atomic_request *q)
{
	const struct atomic_vector *v = q->op == FI_ATOMIC_READ ? &q->results
								: &q->operands;
	q->flags = endpoint_of(fid)->tx_flags & ATOMIC_FLAGS;
	q->count = 0;
	for (size_t i = 0; v->ioc && i < v->count && i < PROVIDER_IOV_MAX; i++)
		if (__builtin_add_overflow(
			    q->count, v->ioc[i].count, &q->count)) {
			q->count = SIZE_MAX;
			break;
		}
	return atomic_post(fid, q);
}

static ssize_t atomic_message(struct fid_ep *fid, const struct fi_msg_atomic *m,
	uint64_t flags, struct atomic_request *q)
{
	if (!m || m->rma_iov_count != 1 || !m->rma_iov)
		return -FI_EINVAL;
	q->datatype = m->datatype;
	q->op = m->op;
	q->operands = (struct atomic_vector){ m->msg_iov, m->iov_count };
	q->to = m->addr;
	q->address = m->rma_iov->addr;
	q->key = m->rma_iov->key;
	q->count = m->rma_iov->count;
	q->flags = flags;
	q->context = m->context;
	return atomic_post(fid, q);
}

/* ---- without results ---- */

static ssize_t atomic_writev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, fi_addr_t to, uint64_t address, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct atomic_request q = { .kind = ATOMIC_WRITES,
		.datatype = datatype,
		.op = op,
		.operands = { iov, count },
		.to = to,
		.address = address,
		.key = key,
		.context = context };
	(void)desc;
	return atomic_single(fid, &q);
}

static ssize_t atomic_write(struct fid_ep *fid, const void *operand,
	size_t count, void *desc, fi_addr_t to, uint64_t address, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)(uintptr_t)operand, count };
	(void)desc;
	return atomic_writev(
		fid, &iov, NULL, 1, to, address, key, datatype, op, context);
}

static ssize_t atomic_writemsg(
	struct fid_ep *fid, const struct fi_msg_atomic *m, uint64_t flags)
{
	struct atomic_request q = { .kind = ATOMIC_WRITES };
	return atomic_message(fid, m, flags, &q);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *operand,
	size_t count, fi_addr_t to, uint64_t address, uint64_t key,
	enum fi_datatype datatype, enum fi_op op)
{
	const struct fi_ioc iov = { (void *)(uintptr_t)operand, count };
	struct atomic_request q = { .kind = ATOMIC_WRITES,
		.datatype = datatype,
		.op = op,
		.silent = true,
		.operands = { &iov, 1 },
		.to = to,
		.address = address,
		.key = key };
	return atomic_single(fid, &q);
}

/* ---- with results ---- */

static ssize_t atomic_readwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, struct fi_ioc *results, void **result_desc,
	size_t result_count, fi_addr_t to, uint64_t address, uint64_t key,
	enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct atomic_request q = { .kind = ATOMIC_FETCHES,
		.datatype = datatype,
		.op = op,
		.operands = { iov, count },
		.results = { results, result_count },
		.to = to,
		.address = address,
		.key = key,
		.context = context };
	(void)desc, (void)result_desc;
	return atomic_single(fid, &q);
}

static ssize_t atomic_readwrite(struct fid_ep *fid, const void *operand,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t to,
	uint64_t address, uint64_t key, enum fi_datatype datatype,
	enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)(uintptr_t)operand, count };
	struct fi_ioc results = { result, count };
	(void)desc, (void)result_desc;
	return atomic_readwritev(fid, &iov, NULL, 1, &results, NULL, 1, to,
		address, key, datatype, op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *fid,
	const struct fi_msg_atomic *m, struct fi_ioc *results,
	void **result_desc, size_t result_count, uint64_t flags)
{
	struct atomic_request q = { .kind = ATOMIC_FETCHES,
		.results = { results, result_count } };
	(void)result_desc;
	return atomic_message(fid, m, flags, &q);
}

/* ---- with results and compare values ---- */

static ssize_t atomic_compwritev(struct fid_ep *fid, const struct fi_ioc *iov,
	void **desc, size_t count, const struct fi_ioc *compares,
	void **compare_desc, size_t compare_count, struct fi_ioc *results,
	void **result_desc, size_t result_count, fi_addr_t to, uint64_t address,
	uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct atomic_request q = { .kind = ATOMIC_COMPARES,
		.datatype = datatype,
		.op = op,
		.operands = { iov, count },
		.compares = { compares, compare_count },
		.results = { results, result_count },
		.to = to,
		.address = address,
		.key = key,
		.context = context };
	(void)desc, (void)compare_desc, (void)result_desc;
	return atomic_single(fid, &q);
}

static ssize_t atomic_compwrite(struct fid_ep *fid, const void *operand,
	size_t count, void *desc, const void *compare, void *compare_desc,
	void *result, void *result_desc, fi_addr_t to, uint64_t address,
	uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc iov = { (void *)(uintptr_t)operand, count };
	const struct fi_ioc compares = { (void *)(uintptr_t)compare, count };
	struct fi_ioc results = { result, count };
	(void)desc, (void)compare_desc, (void)result_desc;
	return atomic_compwritev(fid, &iov, NULL, 1, &compares, NULL, 1,
		&results, NULL, 1, to, address, key, datatype, op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *fid,
	const struct fi_msg_atomic *m, const struct fi_ioc *compares,
	void **compare_desc, size_t compare_count, struct fi_ioc *results,
	void **result_desc, size_t result_count, uint64_t flags)
{
	struct atomic_request q = { .kind = ATOMIC_COMPARES,
		.compares = { compares, compare_count },
		.results = { results, result_count } };
	(void)compare_desc, (void)result_desc;
	return atomic_message(fid, m, flags, &q);
}

/* ---- queries ---- */

static int atomic_valid(enum atomic_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
{
	if (!atomic_known(kind, datatype, op))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = atomic_count_max(kind, datatype);
	return 0;
}

static int atomic_writevalid(struct fid_ep *fid, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
{
	(void)fid;
	return atomic_valid(ATOMIC_WRITES, datatype, op, count);
}

static int atomic_readwritevalid(struct fid_ep *fid, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
{
	(void)fid;
	return atomic_valid(ATOMIC_FETCHES, datatype, op, count);
}

static int atomic_compwritevalid(struct fid_ep *fid, enum fi_datatype datatype,
	enum fi_op op, size_t *count)
{
	(void)fid;
	return atomic_valid(ATOMIC_COMPARES, datatype, op, count);
}

int atomic_query(struct fid_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	const uint64_t both = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;
	(void)domain;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	if (!attr || flags & ~both || (flags & both) == both)
		return -FI_EINVAL;
	enum atomic_kind kind = flags & FI_COMPARE_ATOMIC ? ATOMIC_COMPARES
				: flags & FI_FETCH_ATOMIC ? ATOMIC_FETCHES
							  : ATOMIC_WRITES;
	int r = atomic_valid(kind, datatype, op, &attr->count);
	if (r == 0)
		attr->size = atomic_bytes(datatype);
	return r;
}

struct fi_ops_atomic atomic_ops = {
	.size = sizeof(atomic_ops),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev,
	.readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite,
	.compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg,
	.writevalid = atomic_writevalid,
	.readwritevalid = atomic_readwritevalid,
	.compwritevalid = atomic_compwritevalid,
};
