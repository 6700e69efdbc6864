/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues. See cq.h. */
#include "provider/completion/cq.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"

#define ROOM_MIN     64
#define ROOM_FIRST   1024  /* without a wish */
#define ROOM_HINT    65536 /* more only when it is needed */
#define READS_IN_ROW 16	   /* without progress */

/* ---- the ring ---- */

int cq_grow(struct cq *q)
{
	uint64_t room = 2 * q->room;
	struct cq_slot *slots = reallocarray(NULL, room, sizeof(*slots));
	if (!slots)
		return -FI_EAGAIN;
	for (uint64_t i = q->head; i != q->tail; i++)
		slots[i & (room - 1)] = q->slots[i & (q->room - 1)];
	free(q->slots);
	q->slots = slots;
	q->room = room;
	return 0;
}

void cq_fail(struct cq *q, const struct fi_cq_err_entry *e, fi_addr_t source)
{
	assert(e->err && q->reserved);
	struct cq_slot *slot = cq_slot(q);
	slot->entry = *e;
	slot->entry.err_data = NULL;
	slot->entry.err_data_size = 0;
	slot->source = source;
	q->errors++;
	wait_wake(&q->wait);
}

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

/* How many were taken, or -FI_EAGAIN, -FI_EAVAIL. */
static ssize_t cq_take(
	struct cq *q, void *buffer, size_t count, fi_addr_t *source)
{
	size_t n = 0;
	if (q->head == q->tail)
		return -FI_EAGAIN;
	for (; n < count && q->head != q->tail; n++) {
		const struct cq_slot *slot = &q->slots[q->head & (q->room - 1)];
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
	guard_enter(&q->domain->guard);
	if (q->head == q->tail || count == 0 || ++q->reads == READS_IN_ROW)
		cq_progress(q);
	ssize_t n = cq_take(q, buffer, count, source);
	guard_leave(&q->domain->guard);
	wait_polled(&q->wait, n > 0);
	return n;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
	return cq_readfrom(fid, buffer, count, NULL);
}

/*
 * Nothing is known of an error but what its members say, so there is no
 * err_data. Before API 1.5 the caller's entry ended before err_data_size.
 */
static void error_copy(const struct cq *q, const struct fi_cq_err_entry *from,
	struct fi_cq_err_entry *to)
{
	memcpy(to, from, offsetof(struct fi_cq_err_entry, err_data));
	if (FI_VERSION_LT(q->domain->api_version, FI_VERSION(1, 5)))
		to->err_data = NULL;
	else if (to->err_data_size)
		to->err_data_size = 0; /* bytes that were put there */
	else
		to->err_data = NULL;
}

static ssize_t cq_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
	struct cq *q = cq_of(fid);
	ssize_t r = -FI_EAGAIN;
	(void)flags; /* there are none */
	if (!out)
		return -FI_EINVAL;
	guard_enter(&q->domain->guard);
	const struct cq_slot *slot = &q->slots[q->head & (q->room - 1)];
	if (q->head != q->tail && slot->entry.err) {
		error_copy(q, &slot->entry, out);
		q->head++;
		q->errors--;
		r = 1;
	}
	guard_leave(&q->domain->guard);
	return r;
}

/* Waits for so many, or an error. 0, or why not. */
static int cq_await(struct cq *q, size_t wanted, int timeout)
{
	uint64_t deadline = wait_deadline(timeout);
	uint64_t spin = wait_spin_end();
	while (q->tail - q->head < wanted && !q->errors) {
		cq_progress(q);
		if (q->tail - q->head >= wanted || q->errors)
			break;
		if (wait_taken_signal(&q->wait))
			return -FI_EAGAIN;
		int r = wait_turn(&q->wait, spin, deadline);
		if (r == -FI_ETIMEDOUT || r == -FI_EINTR)
			return -FI_EAGAIN;
		if (r)
			return r;
	}
	return 0;
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
	guard_enter(&q->domain->guard);
	ssize_t n = cq_await(q, wanted, timeout);
	/* Fewer than were wanted are better than none. */
	if (n == 0 || n == -FI_EAGAIN)
		n = cq_take(q, buffer, count, source);
	guard_leave(&q->domain->guard);
	return n;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count,
	const void *condition, int timeout)
{
	return cq_sreadfrom(fid, buffer, count, NULL, condition, timeout);
}

int cq_try(struct cq *q)
{
	guard_enter(&q->domain->guard);
	int r = wait_try(&q->wait);
	guard_leave(&q->domain->guard);
	return r;
}

/* Without the guard: it must reach a thread that sleeps. */
static int cq_signal(struct fid_cq *fid)
{
	struct cq *q = cq_of(fid);
	if (q->wait.object == FI_WAIT_NONE)
		return -FI_ENOSYS;
	wait_signal(&q->wait);
	return 0;
}

const char *cq_error_text(int error, char *buffer, size_t length)
{
	const char *text = fi_strerror(abs(error));
	if (!buffer || !length)
		return text;
	strncpy(buffer, text, length - 1);
	buffer[length - 1] = 0;
	return buffer;
}

static const char *cq_strerror(struct fid_cq *fid, int error, const void *data,
	char *buffer, size_t length)
{
	(void)fid;
	(void)data;
	return cq_error_text(error, buffer, length);
}

/* ---- opening and closing ---- */

static int cq_control(struct fid *fid, int command, void *argument)
{
	struct cq *q = (struct cq *)(void *)fid;
	return wait_control(&q->wait, command, argument);
}

static int cq_close(struct fid *fid)
{
	struct cq *q = (struct cq *)(void *)fid;
	guard_enter(&q->domain->guard);
	bool busy = q->users > 0;
	guard_leave(&q->domain->guard);
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

/* 0: there is no such format. */
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

static int attributes_check(const struct fi_cq_attr *a)
{
	if (!format_bytes(a->format) || a->flags & ~FI_AFFINITY)
		return -FI_EINVAL;
	if (a->wait_obj != FI_WAIT_NONE && a->wait_cond != FI_CQ_COND_NONE &&
		a->wait_cond != FI_CQ_COND_THRESHOLD)
		return -FI_EINVAL;
	return 0;
}

static uint64_t room_for(size_t wish)
{
	if (wish == 0)
		return ROOM_FIRST;
	if (wish < ROOM_MIN)
		return ROOM_MIN;
	return 1ull << bits_log2_up(bits_min(wish, ROOM_HINT));
}

static struct cq *cq_new(struct domain *domain, const struct fi_cq_attr *a)
{
	struct cq *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->domain = domain;
	q->format = a->format ? a->format : FI_CQ_FORMAT_CONTEXT;
	q->entry_bytes = format_bytes(a->format);
	q->thresholds = a->wait_cond == FI_CQ_COND_THRESHOLD;
	q->room = room_for(a->size);
	/* Not cleared: most of them are never used. */
	q->slots = reallocarray(NULL, q->room, sizeof(q->slots[0]));
	if (!q->slots) {
		free(q);
		return NULL;
	}
	q->fid.ops = &cq_ops;
	return q;
}

int cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context)
{
	static const struct fi_cq_attr usual;
	const struct fi_cq_attr *a = attr ? attr : &usual;
	if (!fid || !out)
		return -FI_EINVAL;
	int r = attributes_check(a);
	if (r)
		return r;
	struct cq *q = cq_new(domain_of(fid), a);
	if (!q)
		return -FI_ENOMEM;
	r = wait_open(&q->wait, q->domain, a->wait_obj, cq_idle);
	if (r) {
		free(q->slots);
		free(q);
		return r;
	}
	q->fid.fid = (struct fid){ FI_CLASS_CQ, context, &cq_fid_ops };
	q->domain->users++;
	*out = &q->fid;
	return 0;
}
