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
#define TAGGED_BYTES	     sizeof(struct fi_cq_tagged_entry)

static bool cq_idle(const struct wait *w)
{
	const struct cq *q = list_of(w, struct cq, wait);
	return q->head == q->tail;
}

/*
 * Copies entries up to the first error, and takes them. Each format is the
 * beginning of the next; a constant size copies fast. If no entry is left, the
 * next ones use the first slots again, whose lines are in the cache. Returns
 * the number of entries, or -FI_EAVAIL. There is one at least.
 */
__attribute__((always_inline)) static inline ssize_t entries_take(struct cq *q,
	void *buffer, size_t count, fi_addr_t *source, const size_t bytes)
{
	uint64_t head = q->head, tail = q->tail, mask = q->capacity - 1;
	char *to = buffer;
	ssize_t n = 0;
	for (; count-- > 0 && head != tail; head++, n++, to += bytes) {
		const struct cq_slot *slot = &q->slots[head & mask];
		if (unlikely(slot->failed)) {
			if (n == 0)
				return -FI_EAVAIL;
			break;
		}
		memcpy(to, &slot->entry, bytes);
		if (source)
			source[n] = slot->source;
	}
	q->head = head;
	if (head == tail)
		q->head = q->tail = 0;
	return n;
}

__attribute__((noinline)) static ssize_t cq_dequeue(
	struct cq *q, void *buffer, size_t count, fi_addr_t *source)
{
	return entries_take(q, buffer, count, source, q->entry_bytes);
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

/*
 * Callers that ask for many entries at once read until nothing is left. After a
 * read that got fewer than it asked for, the next one therefore does not poll
 * the port: what it would find is found by the one after it.
 */
static inline bool cq_drained(struct cq *q)
{
	if (likely(!q->drained))
		return false;
	q->drained = false;
	return true;
}

static ssize_t cq_readfrom(
	struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *source)
{
	struct cq *q = cq_of(fid);
	ssize_t n = -FI_EAGAIN;
	if (unlikely(!buffer && count))
		return -FI_EINVAL;
	domain_lock(q->domain);
	if (q->head == q->tail && cq_drained(q))
		goto out;
	if (q->head == q->tail || count == 0 ||
		++q->reads == READS_WITHOUT_POLL)
		cq_progress(q);
	if (q->head == q->tail) {
		/* Without the lock: it may yield. */
		domain_unlock(q->domain);
		bool slept = wait_missed(&q->wait);
		if (likely(!slept))
			return -FI_EAGAIN;
		domain_lock(q->domain);
		cq_progress(q);
		if (q->head == q->tail)
			goto out;
	}
	n = cq_dequeue(q, buffer, count, source);
	q->drained = (size_t)n < count && q->head == q->tail;
	wait_found(&q->wait);
out:
	domain_unlock(q->domain);
	return n;
}

/* Polls for a read in vain. Returns true if it is not in vain any more. */
static inline bool cq_poll(struct cq *q, struct endpoint *ep)
{
	q->reads = 0;
	endpoint_progress(ep);
	if (likely(q->head != q->tail))
		return true;
	if (likely(!wait_missed(&q->wait)))
		return false;
	/* Else the caller might yield before it reads again. */
	endpoint_progress(ep);
	return q->head != q->tail;
}

/* Does the same as cq_readfrom(), in a straight line. */
static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
	struct cq *q = cq_of(fid);
	struct endpoint *ep = q->wait.single;
	if (unlikely(!ep) || unlikely(q->entry_bytes != TAGGED_BYTES) ||
		unlikely(!buffer) || unlikely(count == 0))
		return cq_readfrom(fid, buffer, count, NULL);
	if (q->head == q->tail) {
		if (cq_drained(q) || !cq_poll(q, ep))
			return -FI_EAGAIN;
	} else if (unlikely(++q->reads >= READS_WITHOUT_POLL)) {
		cq_progress(q);
	}
	ssize_t n = entries_take(q, buffer, count, NULL, TAGGED_BYTES);
	q->drained = (size_t)n < count && q->head == q->tail;
	wait_found(&q->wait);
	return n;
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
	uint64_t at = q->head & (q->capacity - 1);
	if (q->head != q->tail && q->slots[at].failed) {
		/*
		 * The provider has no err_data. Before API 1.5 the entry ended
		 * before err_data_size.
		 */
		memcpy(out, &q->slots[at].entry, sizeof(q->slots[at].entry));
		out->olen = q->failures[at].olen;
		out->err = q->failures[at].err;
		out->prov_errno = q->failures[at].prov_errno;
		if (FI_VERSION_GE(q->domain->api_version, FI_VERSION(1, 5)) &&
			out->err_data_size)
			out->err_data_size = 0; /* bytes copied */
		else
			out->err_data = NULL;
		if (++q->head == q->tail)
			q->head = q->tail = 0;
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
	ssize_t n = r;
	if (r == 0 || r == -FI_EAGAIN || r == -FI_ETIMEDOUT || r == -FI_EINTR)
		n = q->head == q->tail ? -FI_EAGAIN
				       : cq_dequeue(q, buffer, count, source);
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
	free(q->failures);
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
	uint64_t capacity = a->size ? bits_min(a->size, CAPACITY_INITIAL_MAX)
				    : CAPACITY_DEFAULT;
	if (capacity < CAPACITY_MIN)
		capacity = CAPACITY_MIN;
	int r = cq_slots_alloc(q, 1ull << bits_log2_up(capacity));
	if (r == 0)
		r = wait_open(&q->wait, q->domain, a->wait_obj, cq_idle);
	if (r) {
		free(q->slots);
		free(q->failures);
		free(q);
		return r;
	}
	q->fid.fid = (struct fid){ FI_CLASS_CQ, context, &cq_fid_ops };
	q->fid.ops = &cq_ops;
	q->domain->users++;
	*out = &q->fid;
	return 0;
}
