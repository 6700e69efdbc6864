/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues: a list of events and a list of errors; while there are errors,
 * only these can be read. The eventfd of a queue with a wait object is readable
 * while either list has an entry.
 */
#include "provider/fabric/eq.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "provider/completion/wait.h"
#include "provider/unsupported.h"

#define EVENT_BYTES_MAX (1u << 20)

struct event {
	struct list link;
	uint32_t kind;
	size_t bytes;
	unsigned char entry[];
};

struct eq {
	struct fid_eq fid;
	struct fabric *fabric;
	pthread_mutex_t mutex;
	struct list events, errors;
	enum fi_wait_obj object;
	int event; /* eventfd, or -1 */
	bool writable;
	_Atomic int users;
};

struct eq *eq_of(struct fid_eq *fid)
{
	return (struct eq *)(void *)fid;
}

void eq_use(struct eq *eq, int by)
{
	atomic_fetch_add_explicit(&eq->users, by, memory_order_relaxed);
}

/* ---- writing ---- */

static bool eq_empty(const struct eq *eq)
{
	return list_empty(&eq->events) && list_empty(&eq->errors);
}

static int eq_append(struct eq *eq, struct list *list, uint32_t kind,
	const void *entry, size_t bytes)
{
	struct event *e = malloc(sizeof(*e) + bytes);
	if (!e)
		return -FI_ENOMEM;
	e->kind = kind;
	e->bytes = bytes;
	memcpy(e->entry, entry, bytes);
	pthread_mutex_lock(&eq->mutex);
	if (eq_empty(eq) && eq->event >= 0)
		eventfd_write(eq->event, 1);
	list_append(list, &e->link);
	pthread_mutex_unlock(&eq->mutex);
	return 0;
}

int eq_report(struct eq *eq, uint32_t kind, const void *entry, size_t bytes)
{
	return eq_append(eq, &eq->events, kind, entry, bytes);
}

int eq_report_error(struct eq *eq, const struct fi_eq_err_entry *error)
{
	struct fi_eq_err_entry e = *error;
	e.err_data = NULL;
	e.err_data_size = 0;
	return eq_append(eq, &eq->errors, 0, &e, sizeof(e));
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t kind, const void *entry,
	size_t bytes, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	if (!eq->writable || !entry || !bytes || bytes > EVENT_BYTES_MAX ||
		flags)
		return -FI_EINVAL;
	int r = eq_report(eq, kind, entry, bytes);
	return r ? r : (ssize_t)bytes;
}

/* ---- reading ---- */

static void eq_remove(struct eq *eq, struct event *e)
{
	uint64_t count;
	list_remove(&e->link);
	free(e);
	if (eq_empty(eq) && eq->event >= 0)
		eventfd_read(eq->event, &count);
}

static struct event *first_of(const struct list *l)
{
	return list_empty(l) ? NULL : list_of(l->next, struct event, link);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *entry,
	size_t length, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	if ((!entry && length) || flags & ~FI_PEEK)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	struct event *e = first_of(&eq->events);
	ssize_t n;
	if (!list_empty(&eq->errors))
		n = -FI_EAVAIL;
	else if (!e)
		n = -FI_EAGAIN;
	else if (length < e->bytes)
		n = -FI_ETOOSMALL;
	else {
		n = (ssize_t)e->bytes;
		if (kind)
			*kind = e->kind;
		memcpy(entry, e->entry, e->bytes);
		if (!(flags & FI_PEEK))
			eq_remove(eq, e);
	}
	pthread_mutex_unlock(&eq->mutex);
	return n;
}

static ssize_t eq_readerr(
	struct fid_eq *fid, struct fi_eq_err_entry *out, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	if (!out || flags & ~FI_PEEK)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	struct event *e = first_of(&eq->errors);
	if (e) {
		/*
		 * The provider has no err_data. Before API 1.5 the entry ended
		 * before err_data_size.
		 */
		memcpy(out, e->entry,
			offsetof(struct fi_eq_err_entry, err_data));
		if (FI_VERSION_GE(
			    eq->fabric->fid.api_version, FI_VERSION(1, 5)) &&
			out->err_data_size)
			out->err_data_size = 0; /* bytes copied */
		else
			out->err_data = NULL;
		if (!(flags & FI_PEEK))
			eq_remove(eq, e);
	}
	pthread_mutex_unlock(&eq->mutex);
	return e ? (ssize_t)sizeof(*out) : -FI_EAGAIN;
}

/* Returns false if the deadline has passed or a signal arrived. */
static bool eq_sleep(struct eq *eq, uint64_t deadline)
{
	struct pollfd p = { .fd = eq->event, .events = POLLIN };
	struct timespec left;
	if (deadline != UINT64_MAX) {
		uint64_t now = clock_now_ns();
		left = clock_timespec(now < deadline ? deadline - now : 0);
	}
	return ppoll(&p, 1, deadline == UINT64_MAX ? NULL : &left, NULL) > 0;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *kind, void *entry,
	size_t length, int timeout, uint64_t flags)
{
	struct eq *eq = eq_of(fid);
	if (eq->event < 0)
		return -FI_ENOSYS;
	uint64_t deadline = wait_deadline(timeout);
	ssize_t n;
	do {
		n = eq_read(fid, kind, entry, length, flags);
	} while (n == -FI_EAGAIN && eq_sleep(eq, deadline));
	return n;
}

int eq_trywait(struct eq *eq)
{
	if (eq->event < 0)
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	int r = eq_empty(eq) ? 0 : -FI_EAGAIN;
	pthread_mutex_unlock(&eq->mutex);
	return r;
}

static const char *eq_strerror(struct fid_eq *fid, int error, const void *data,
	char *buffer, size_t length)
{
	(void)fid;
	(void)data;
	return provider_strerror(error, buffer, length);
}

/* ---- opening and closing ---- */

static int eq_control(struct fid *fid, int command, void *argument)
{
	const struct eq *eq = (const struct eq *)(void *)fid;
	if (!argument)
		return -FI_EINVAL;
	switch (command) {
	case FI_GETWAIT:
		if (eq->event < 0)
			return -FI_ENODATA;
		*(int *)argument = eq->event;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)argument = eq->object;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static void events_free(struct list *l)
{
	list_for_each_safe (at, after, l)
		free(list_of(at, struct event, link));
}

static int eq_close(struct fid *fid)
{
	struct eq *eq = (struct eq *)(void *)fid;
	if (atomic_load_explicit(&eq->users, memory_order_relaxed) > 0)
		return -FI_EBUSY;
	events_free(&eq->events);
	events_free(&eq->errors);
	if (eq->event >= 0)
		close(eq->event);
	pthread_mutex_destroy(&eq->mutex);
	eq->fabric->users--;
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = no_bind,
	.control = eq_control,
	.ops_open = no_ops_open,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr,
	struct fid_eq **out, void *context)
{
	static const struct fi_eq_attr defaults;
	const struct fi_eq_attr *a = attr ? attr : &defaults;
	if (!fid || !out)
		return -FI_EINVAL;
	int r = wait_object_check(a->wait_obj);
	if (r == 0 && a->flags & ~(FI_WRITE | FI_AFFINITY))
		r = -FI_EINVAL;
	if (r)
		return r;
	struct eq *eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->event = -1;
	eq->object = FI_WAIT_NONE;
	if (a->wait_obj != FI_WAIT_NONE) {
		eq->object = FI_WAIT_FD;
		eq->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (eq->event < 0) {
			r = -errno;
			free(eq);
			return r;
		}
	}
	eq->writable = a->flags & FI_WRITE;
	eq->fabric = (struct fabric *)(void *)fid;
	pthread_mutex_init(&eq->mutex, NULL);
	list_init(&eq->events);
	list_init(&eq->errors);
	eq->fid.fid = (struct fid){ FI_CLASS_EQ, context, &eq_fid_ops };
	eq->fid.ops = &eq_ops;
	eq->fabric->users++;
	*out = &eq->fid;
	return 0;
}
