/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: the calls of fi_cq(3). */
#include "provider/completion/cq.h"

#include <stdlib.h>
#include <string.h>

#include "provider/completion/sleep.h"
#include "provider/progress/progress.h"
#include "provider/unsupported.h"

#define CAPACITY_MIN	     64
#define CAPACITY_DEFAULT     1024
#define CAPACITY_INITIAL_MAX 65536 /* larger only by growth */
#define READS_WITHOUT_POLL   16

static bool cq_idle(const struct wait *w)
{
	const struct cq *q = list_of(w, struct cq, wait);
	return q->head == q->tail;
}

/* Each format is the beginning of the next. Constant sizes copy fast. */
static inline void *entry_copy(
	const struct cq *q, void *to, const struct fi_cq_err_entry *e)
{
	switch (q->entry_bytes) {
	case sizeof(struct fi_cq_entry):
		memcpy(to, e, sizeof(struct fi_cq_entry));
		break;
	case sizeof(struct fi_cq_msg_entry):
		memcpy(to, e, sizeof(struct fi_cq_msg_entry));
		break;
	case sizeof(struct fi_cq_data_entry):
		memcpy(to, e, sizeof(struct fi_cq_data_entry));
		break;
	default:
		memcpy(to, e, sizeof(struct fi_cq_tagged_entry));
	}
	return (char *)to + q->entry_bytes;
}

/* Returns the number of entries read, or -FI_EAGAIN, -FI_EAVAIL. */
static ssize_t cq_dequeue(
	struct cq *q, void *buffer, size_t count, fi_addr_t *source)
{
	size_t n = 0;
	if (q->head == q->tail)
		return -FI_EAGAIN;
	for (; n < count && q->head != q->tail; n++) {
		const struct cq_slot *slot =
			&q->slots[q->head & (q->capacity - 1)];
		if (unlikely(slot->entry.err))
			return n ? (ssize_t)n : -FI_EAVAIL;
		buffer = entry_copy(q, buffer, &slot->entry);
		if (source)
			source[n] = slot->source;
		q->head++;
	}
	return (ssize_t)n;
}

/* ---- reading ---- */

static inline void cq_progress(struct cq *q)
{
	q->reads = 0;
	if (likely(q->wait.member_count == 1))
		endpoint_progress(q->wait.members[0]);
	else
		wait_progress(&q->wait);
}

static ssize_t cq_readfrom(
	struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *source)
{
	struct cq *q = cq_of(fid);
	if (unlikely(!buffer && count))
		return -FI_EINVAL;
	domain_lock(q->domain);
	if (q->head == q->tail || count == 0 ||
		++q->reads == READS_WITHOUT_POLL)
		cq_progress(q);
	ssize_t n = cq_dequeue(q, buffer, count, source);
	domain_unlock(q->domain);
	wait_polled(&q->wait, n > 0);
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
	return cq_readfrom(fid, buffer, count, NULL);
}

static ssize_t cq_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
	struct cq *q = cq_of(fid);
	ssize_t r = -FI_EAGAIN;
	(void)flags; /* none is defined */
	if (!out)
		return -FI_EINVAL;
	domain_lock(q->domain);
	const struct cq_slot *slot = &q->slots[q->head & (q->capacity - 1)];
	if (q->head != q->tail && slot->entry.err) {
		/*
		 * The provider has no err_data. Before API 1.5 the entry ended
		 * before err_data_size.
		 */
		memcpy(out, &slot->entry,
			offsetof(struct fi_cq_err_entry, err_data));
		if (FI_VERSION_GE(q->domain->api_version, FI_VERSION(1, 5)) &&
			out->err_data_size)
			out->err_data_size = 0; /* bytes copied */
		else
			out->err_data = NULL;
		q->head++;
		q->errors--;
		r = 1;
	}
	domain_unlock(q->domain);
	return r;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count,
	fi_addr_t *source, const void *condition, int timeout)
{
	struct cq *q = cq_of(fid);
	size_t wanted = 1;
	if (q->wait.object == FI_WAIT_NONE)
		return -FI_ENOSYS;
	if (!buffer && count)
		return -FI_EINVAL;
	if (q->thresholds && condition)
		wanted = bits_min((uintptr_t)condition, count ? count : 1);
	uint64_t deadline = wait_deadline(timeout);
	uint64_t spin = wait_spin_end();
	int r = 0;
	domain_lock(q->domain);
	while (q->tail - q->head < wanted && !q->errors) {
		cq_progress(q);
		if (q->tail - q->head >= wanted || q->errors)
			break;
		r = wait_consume_signal(&q->wait)
			    ? -FI_EAGAIN
			    : wait_turn(&q->wait, spin, deadline);
		if (r)
			break;
	}
	/* Fewer than the threshold are better than none. */
	ssize_t n = r == 0 || r == -FI_EAGAIN || r == -FI_ETIMEDOUT ||
				    r == -FI_EINTR
			    ? cq_dequeue(q, buffer, count, source)
			    : r;
	domain_unlock(q->domain);
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count,
	const void *condition, int timeout)
{
	return cq_sreadfrom(fid, buffer, count, NULL, condition, timeout);
}

int cq_trywait(struct cq *q)
{
	domain_lock(q->domain);
	int r = wait_try(&q->wait);
	domain_unlock(q->domain);
	return r;
}

/* Without the lock, which a reading thread may hold for long. */
static int cq_signal(struct fid_cq *fid)
{
	struct cq *q = cq_of(fid);
	if (q->wait.object == FI_WAIT_NONE)
		return -FI_ENOSYS;
	wait_signal(&q->wait);
	return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int error, const void *data,
	char *buffer, size_t length)
{
	(void)fid;
	(void)data;
	return provider_strerror(error, buffer, length);
}

/* ---- set-up ---- */

static int cq_control(struct fid *fid, int command, void *argument)
{
	struct cq *q = (struct cq *)(void *)fid;
	return wait_control(&q->wait, command, argument);
}

static int cq_close(struct fid *fid)
{
	struct cq *q = (struct cq *)(void *)fid;
	domain_lock(q->domain);
	bool busy = q->users > 0;
	domain_unlock(q->domain);
	if (busy)
		return -FI_EBUSY;
	wait_close(&q->wait);
	q->domain->users--;
	free(q->slots);
	free(q);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = no_bind,
	.control = cq_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

/* Returns 0 if there is no such format. */
static size_t format_bytes(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	}
	return 0;
}

int cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context)
{
	static const struct fi_cq_attr defaults;
	const struct fi_cq_attr *a = attr ? attr : &defaults;
	if (!fid || !out || !format_bytes(a->format) ||
		a->flags & ~FI_AFFINITY ||
		(a->wait_obj != FI_WAIT_NONE &&
			a->wait_cond != FI_CQ_COND_NONE &&
			a->wait_cond != FI_CQ_COND_THRESHOLD))
		return -FI_EINVAL;
	struct cq *q = calloc(1, sizeof(*q));
	if (!q)
		return -FI_ENOMEM;
	q->domain = domain_of(fid);
	q->format = a->format ? a->format : FI_CQ_FORMAT_CONTEXT;
	q->entry_bytes = format_bytes(a->format);
	q->thresholds = a->wait_cond == FI_CQ_COND_THRESHOLD;
	q->capacity = a->size ? bits_min(a->size, CAPACITY_INITIAL_MAX)
			      : CAPACITY_DEFAULT;
	if (q->capacity < CAPACITY_MIN)
		q->capacity = CAPACITY_MIN;
	q->capacity = 1ull << bits_log2_up(q->capacity);
	/* Not cleared: most slots are never used. */
	q->slots = reallocarray(NULL, q->capacity, sizeof(q->slots[0]));
	int r = q->slots ? wait_open(&q->wait, q->domain, a->wait_obj, cq_idle)
			 : -FI_ENOMEM;
	if (r) {
		free(q->slots);
		free(q);
		return r;
	}
	q->fid.fid = (struct fid){ FI_CLASS_CQ, context, &cq_fid_ops };
	q->fid.ops = &cq_ops;
	q->domain->users++;
	*out = &q->fid;
	return 0;
}
