/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: see mr.h. Set-up path, any thread, except mr_resolve(), which
 * progress calls for atomic operations of peers.
 */
#include "provider/rma/mr.h"

#include <stdlib.h>
#include <sys/random.h>

#include "provider/endpoint/endpoint.h"
#include "provider/rma/key_table.h"
#include "provider/unsupported.h"

#define ACCESS_REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ACCESS_ALL                                                 \
	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
		FI_REMOTE_WRITE | FI_COLLECTIVE)

/* Nothing is mapped below, and the device has no window at 0. */
#define MEMORY_BEGIN 4096u

#define KEYS_MIN 64 /* hash chains */

struct mr_window {
	struct endpoint *ep;
	struct cay_window *window;
};

/* ---- keys of a domain ---- */

static struct mr **keys_chain(const struct domain *d, uint64_t key)
{
	return &d->keys[key_mix(key) & (d->key_capacity - 1)];
}

struct mr *mr_find(struct domain *d, uint64_t key)
{
	struct mr *mr = d->key_count ? *keys_chain(d, key) : NULL;
	while (mr && mr->fid.key != key)
		mr = mr->next;
	return mr;
}

static void keys_insert(struct domain *d, struct mr *mr)
{
	struct mr **chain = keys_chain(d, mr->fid.key);
	mr->next = *chain;
	*chain = mr;
}

static int keys_add(struct domain *d, struct mr *mr)
{
	if (d->key_count == d->key_capacity) {
		size_t n = d->key_capacity ? 2 * d->key_capacity : KEYS_MIN;
		struct mr **keys = calloc(n, sizeof(*keys));
		if (!keys)
			return -FI_ENOMEM;
		free(d->keys);
		d->keys = keys;
		d->key_capacity = n;
		list_for_each (at, &d->regions)
			keys_insert(d, list_of(at, struct mr, link));
	}
	keys_insert(d, mr);
	list_append(&d->regions, &mr->link);
	d->key_count++;
	return 0;
}

static int key_choose(struct domain *d, uint64_t requested, uint64_t *key)
{
	if (!(d->mr_mode & FI_MR_PROV_KEY)) {
		if (requested == FI_KEY_NOTAVAIL)
			return -FI_EINVAL;
		*key = requested;
		return mr_find(d, requested) ? -FI_ENOKEY : 0;
	}
	/* Keys cannot be guessed, and no key is used twice. */
	if (!d->next_key && getrandom(&d->next_key, sizeof(d->next_key),
				    GRND_NONBLOCK) != sizeof(d->next_key))
		return -FI_EAGAIN;
	do
		*key = key_mix(d->next_key++);
	while (*key == FI_KEY_NOTAVAIL || mr_find(d, *key));
	return 0;
}

/* ---- windows of endpoints ---- */

/*
 * Closes a window. After a time-out a stopped process may still be in the
 * middle of an access; the window is closed to all others.
 */
static void window_close(struct cay_window *w)
{
	int r = cay_window_close(w);
	if (r)
		LOG_WARN(MR, "memory may still be in use by a peer: %s\n",
			cay_strerror(r));
}

/* Returns the flags of accesses that are counted, enum key_flag. */
static uint64_t counted_flags(const struct mr *mr, const struct endpoint *ep)
{
	bool reads = mr->counters[MR_READ] || ep->counters[COUNT_REMOTE_READ];
	bool writes = mr->counters[MR_WRITE] ||
		      ep->counters[COUNT_REMOTE_WRITE];
	return (reads ? KEY_COUNT_READ : 0) | (writes ? KEY_COUNT_WRITE : 0);
}

/* Opens the window of a region at an endpoint and adds it to the key table. */
static int window_open(struct mr *mr, struct endpoint *ep, struct mr_window *w)
{
	unsigned rights = 0;
	uint64_t offset;
	struct key_entry e = {
		.key = mr->fid.key,
		.base = mr->base,
		.length = mr->length,
		.flags = counted_flags(mr, ep),
	};
	if (mr->access & FI_REMOTE_READ) {
		rights |= CAY_RIGHT_READ;
		e.flags |= KEY_READ;
	}
	if (mr->access & FI_REMOTE_WRITE) {
		rights |= CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
		e.flags |= KEY_WRITE;
	}
	/* Aligned device memory: aligned offsets are aligned words. */
	if ((uintptr_t)mr->memory % 8 == 0 &&
		cay_offset(ep->port, mr->memory, mr->length, &offset) == 0)
		e.flags |= KEY_MAPPED;
	int r = cay_window_open(
		ep->port, mr->memory, mr->length, rights, &w->window);
	if (r)
		return provider_error(r);
	w->ep = ep;
	r = cay_window_key(w->window, &e.window);
	r = r ? provider_error(r) : key_table_add(ep->keys, &e);
	if (r)
		window_close(w->window);
	return r;
}

static int mr_open_on(struct mr *mr, struct endpoint *ep)
{
	if (!(mr->access & ACCESS_REMOTE))
		return 0;
	struct mr_window *windows =
		realloc(mr->windows, (mr->window_count + 1) * sizeof(*windows));
	if (!windows)
		return -FI_ENOMEM;
	mr->windows = windows;
	int r = window_open(mr, ep, &windows[mr->window_count]);
	if (r == 0)
		mr->window_count++;
	return r;
}

static void mr_close_at(struct mr *mr, unsigned i)
{
	struct mr_window w = mr->windows[i];
	mr->windows[i] = mr->windows[--mr->window_count];
	key_table_remove(w.ep->keys, mr->fid.key);
	window_close(w.window);
}

static void mr_close_all(struct mr *mr)
{
	while (mr->window_count)
		mr_close_at(mr, mr->window_count - 1);
	free(mr->windows);
	mr->windows = NULL;
}

/* The counters of regions complete at every endpoint of the domain. */
static int counter_follow(struct cntr *c, struct endpoint *ep)
{
	int r = wait_add(&c->wait, ep);
	return r ? r : wait_enable(&c->wait, ep);
}

int mr_enable(struct endpoint *ep)
{
	list_for_each (at, &ep->domain->event_counters) {
		int r = counter_follow(list_of(at, struct cntr, link), ep);
		if (r)
			return r;
	}
	list_for_each (at, &ep->domain->regions) {
		int r = mr_open_on(list_of(at, struct mr, link), ep);
		if (r) {
			mr_disable(ep);
			return r;
		}
	}
	return 0;
}

void mr_disable(struct endpoint *ep)
{
	list_for_each (at, &ep->domain->event_counters)
		wait_remove(&list_of(at, struct cntr, link)->wait, ep);
	list_for_each (at, &ep->domain->regions) {
		struct mr *mr = list_of(at, struct mr, link);
		for (unsigned i = mr->window_count; i-- > 0;)
			if (mr->windows[i].ep == ep)
				mr_close_at(mr, i);
	}
}

int mr_resolve(struct domain *d, uint64_t key, uint64_t address, size_t length,
	uint64_t access, void **memory)
{
	const struct mr *mr = mr_find(d, key);
	if (!mr || !(mr->access & ACCESS_REMOTE))
		return -FI_EKEYREJECTED;
	if ((mr->access & access) != access)
		return -FI_EACCES;
	if (address < mr->base ||
		!bits_inside(address - mr->base, length, mr->length))
		return -FI_EINVAL;
	*memory = mr->memory + (address - mr->base);
	return 0;
}

void mr_count_region(struct domain *d, uint64_t key, enum mr_access access)
{
	const struct mr *mr = mr_find(d, key);
	if (mr && mr->counters[access])
		cntr_count(mr->counters[access], false);
}

void mr_count_endpoint(const struct endpoint *ep, enum mr_access access)
{
	struct cntr *c = ep->counters[access == MR_READ ? COUNT_REMOTE_READ
							: COUNT_REMOTE_WRITE];
	if (c)
		cntr_count(c, false);
}

/* ---- calls on a region ---- */

static int mr_close(struct fid *fid)
{
	struct mr *mr = (struct mr *)(void *)fid;
	struct domain *d = mr->domain;
	domain_lock(d);
	struct mr **at = keys_chain(d, mr->fid.key);
	while (*at != mr)
		at = &(*at)->next;
	*at = mr->next;
	list_remove(&mr->link);
	d->key_count--;
	mr_close_all(mr);
	for (unsigned i = 0; i < MR_ACCESSES; i++)
		if (mr->counters[i])
			mr->counters[i]->users--;
	domain_unlock(d);
	d->users--;
	free(mr);
	return 0;
}

static int mr_raw(const struct mr *mr, const struct fi_mr_raw_attr *raw)
{
	if (!raw || !raw->key_size)
		return -FI_EINVAL;
	size_t capacity = *raw->key_size;
	*raw->key_size = sizeof(mr->fid.key);
	if (capacity < sizeof(mr->fid.key) || !raw->raw_key)
		return -FI_ETOOSMALL;
	__builtin_memcpy(raw->raw_key, &mr->fid.key, sizeof(mr->fid.key));
	if (raw->base_addr)
		*raw->base_addr =
			mr->domain->mr_mode & FI_MR_VIRT_ADDR ? mr->base : 0;
	return 0;
}

static int mr_control(struct fid *fid, int command, void *argument)
{
	switch (command) {
	case FI_GET_RAW_MR:
		return mr_raw((struct mr *)(void *)fid, argument);
	case FI_ENABLE: /* regions are accessible when they are registered */
		((struct mr *)(void *)fid)->enabled = true;
		return 0;
	case FI_REFRESH: /* nothing to do: pages are not pinned */
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static const uint64_t access_flags[MR_ACCESSES] = {
	[MR_READ] = FI_REMOTE_READ,
	[MR_WRITE] = FI_REMOTE_WRITE,
};

static int mr_bind_cntr(struct mr *mr, struct cntr *c, uint64_t flags)
{
	struct domain *d = mr->domain;
	if (!flags || flags & ~ACCESS_REMOTE)
		return -FI_EBADFLAGS;
	if (c->domain != d)
		return -FI_EINVAL;
	for (unsigned i = 0; i < MR_ACCESSES; i++)
		if (flags & access_flags[i] && mr->counters[i])
			return -FI_EINVAL;
	list_for_each (at, &d->endpoints) {
		int r = counter_follow(c, list_of(at, struct endpoint, link));
		if (r)
			return r;
	}
	if (list_empty(&c->link))
		list_append(&d->event_counters, &c->link);
	for (unsigned i = 0; i < MR_ACCESSES; i++)
		if (flags & access_flags[i]) {
			mr->counters[i] = c;
			c->users++;
		}
	for (unsigned i = 0; i < mr->window_count; i++)
		key_table_flag(mr->windows[i].ep->keys, mr->fid.key,
			counted_flags(mr, mr->windows[i].ep));
	return 0;
}

/*
 * fi_mr_bind(). Endpoints need no binding: a region belongs to all endpoints of
 * its domain.
 */
static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct mr *mr = (struct mr *)(void *)fid;
	int r = -FI_EINVAL;
	if (!other)
		return r;
	domain_lock(mr->domain);
	if (mr->enabled)
		r = -FI_EOPBADSTATE;
	else if (other->fclass == FI_CLASS_CNTR)
		r = mr_bind_cntr(mr, (struct cntr *)(void *)other, flags);
	else if (other->fclass == FI_CLASS_EP)
		r = flags ? -FI_EBADFLAGS : 0;
	domain_unlock(mr->domain);
	return r;
}

static struct fi_ops fid_ops = {
	.size = sizeof(fid_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = no_ops_open,
	.tostr = no_tostr,
	.ops_set = no_ops_set,
};

/* ---- registration ---- */

static int mr_register(struct domain *d, struct mr *mr, uint64_t requested_key)
{
	int r = key_choose(d, requested_key, &mr->fid.key);
	if (r)
		return r;
	list_for_each (at, &d->endpoints) {
		r = mr_open_on(mr, list_of(at, struct endpoint, link));
		if (r)
			break;
	}
	if (r == 0)
		r = keys_add(d, mr);
	if (r)
		mr_close_all(mr);
	return r;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *a,
	uint64_t flags, struct fid_mr **out)
{
	struct domain *d = domain_of((struct fid_domain *)(void *)fid);
	if (!fid || fid->fclass != FI_CLASS_DOMAIN || !a || !out)
		return -FI_EINVAL;
	/* Counters can be bound to every region. */
	if (flags & ~FI_RMA_EVENT || a->iov_count != 1 || !a->mr_iov ||
		a->offset || a->access & ~ACCESS_ALL)
		return -FI_EINVAL;
	/* A range that stands for all memory may begin at 0. */
	uintptr_t begin = (uintptr_t)a->mr_iov->iov_base, end;
	if (__builtin_add_overflow(begin, a->mr_iov->iov_len, &end) ||
		a->mr_iov->iov_len == 0 || end <= MEMORY_BEGIN)
		return -FI_EINVAL;
	size_t skipped = begin < MEMORY_BEGIN ? MEMORY_BEGIN - begin : 0;
	struct mr *mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid = (struct fid){ FI_CLASS_MR, a->context, &fid_ops };
	mr->fid.mem_desc = mr;
	mr->domain = d;
	mr->memory = (unsigned char *)begin + skipped;
	mr->length = a->mr_iov->iov_len - skipped;
	mr->access = a->access;
	mr->base = (d->mr_mode & FI_MR_VIRT_ADDR ? begin : 0) + skipped;
	domain_lock(d);
	int r = mr_register(d, mr, a->requested_key);
	domain_unlock(d);
	if (r) {
		free(mr);
		return (int)provider_call_failed("fi_mr_reg", r);
	}
	d->users++;
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t access, uint64_t offset, uint64_t requested_key,
	uint64_t flags, struct fid_mr **out, void *context)
{
	const struct fi_mr_attr a = { .mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = requested_key,
		.context = context };
	return mr_regattr(fid, &a, flags, out);
}

static int mr_reg(struct fid *fid, const void *memory, size_t length,
	uint64_t access, uint64_t offset, uint64_t requested_key,
	uint64_t flags, struct fid_mr **out, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)memory, length };
	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, out,
		context);
}

struct fi_ops_mr mr_ops = {
	.size = sizeof(mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
