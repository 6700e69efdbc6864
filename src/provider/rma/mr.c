/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory: see mr.h. Set-up path, any thread, but for mr_reach(),
 * which serves atomics of peers.
 */
#include "provider/rma/mr.h"

#include <stdlib.h>
#include <sys/random.h>

#include "provider/endpoint/endpoint.h"
#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"

#define ACCESS_REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ACCESS_ALL                                                 \
	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
		FI_REMOTE_WRITE | FI_COLLECTIVE)

/* Nothing is mapped below, and the device takes no window at 0. */
#define MEMORY_BEGIN 4096u

#define KEYS_LEAST 64 /* hash chains */

struct mr_window {
	struct endpoint *ep;
	struct cay_window *window;
};

/* ---- keys of a domain ---- */

static struct mr **keys_chain(const struct domain *d, uint64_t key)
{
	return &d->keys[key_mix(key) & (d->key_room - 1)];
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

static int keys_grow(struct domain *d)
{
	size_t room = d->key_room ? 2 * d->key_room : KEYS_LEAST;
	struct mr **keys = calloc(room, sizeof(*keys));
	if (!keys)
		return -FI_ENOMEM;
	free(d->keys);
	d->keys = keys;
	d->key_room = room;
	list_for_each (at, &d->regions)
		keys_insert(d, list_of(at, struct mr, link));
	return 0;
}

static int keys_add(struct domain *d, struct mr *mr)
{
	int r = d->key_count == d->key_room ? keys_grow(d) : 0;
	if (r)
		return r;
	keys_insert(d, mr);
	list_append(&d->regions, &mr->link);
	d->key_count++;
	return 0;
}

static void keys_remove(struct domain *d, struct mr *mr)
{
	struct mr **at = keys_chain(d, mr->fid.key);
	while (*at != mr)
		at = &(*at)->next;
	*at = mr->next;
	list_remove(&mr->link);
	d->key_count--;
}

/*
 * Nobody shall guess a key that was not given to him. Counting up gives none
 * twice.
 */
static int key_pick(struct domain *d, uint64_t *key)
{
	if (!d->next_key && getrandom(&d->next_key, sizeof(d->next_key),
				    GRND_NONBLOCK) != sizeof(d->next_key))
		return -FI_EAGAIN;
	do
		*key = key_mix(d->next_key++);
	while (*key == FI_KEY_NOTAVAIL || mr_find(d, *key));
	return 0;
}

static int key_choose(struct domain *d, uint64_t requested, uint64_t *key)
{
	if (d->mr_mode & FI_MR_PROV_KEY)
		return key_pick(d, key);
	if (requested == FI_KEY_NOTAVAIL)
		return -FI_EINVAL;
	*key = requested;
	return mr_find(d, requested) ? -FI_ENOKEY : 0;
}

/* ---- windows of endpoints ---- */

static unsigned mr_rights(const struct mr *mr)
{
	unsigned rights = 0;
	if (mr->access & FI_REMOTE_READ)
		rights |= CAY_RIGHT_READ;
	if (mr->access & FI_REMOTE_WRITE)
		rights |= CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	return rights;
}

/* Device memory in which offsets tell what a word is? */
static bool mr_is_mapped(const struct mr *mr, struct cay_port *port)
{
	uint64_t offset;
	return (uintptr_t)mr->memory % 8 == 0 &&
	       cay_offset(port, mr->memory, mr->length, &offset) == 0;
}

static struct key_entry mr_entry(const struct mr *mr, struct cay_port *port)
{
	struct key_entry e = {
		.key = mr->fid.key, .base = mr->base, .length = mr->length
	};
	if (mr->access & FI_REMOTE_READ)
		e.flags |= KEY_READ;
	if (mr->access & FI_REMOTE_WRITE)
		e.flags |= KEY_WRITE;
	if (mr_is_mapped(mr, port))
		e.flags |= KEY_MAPPED;
	return e;
}

/*
 * On a time-out somebody is stopped in the middle of an access. The window is
 * closed to all others even so.
 */
static void window_close(struct cay_window *w)
{
	int r = cay_window_close(w);
	if (r)
		LOG_WARN(MR, "memory may still be in use by a peer: %s\n",
			cay_strerror(r));
}

static int window_open(struct mr *mr, struct endpoint *ep, struct mr_window *w)
{
	struct key_entry e = mr_entry(mr, ep->port);
	int r = cay_window_open(
		ep->port, mr->memory, mr->length, mr_rights(mr), &w->window);
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

static int mr_open_all(struct mr *mr)
{
	list_for_each (at, &mr->domain->endpoints) {
		int r = mr_open_on(mr, list_of(at, struct endpoint, link));
		if (r) {
			mr_close_all(mr);
			return r;
		}
	}
	return 0;
}

int mr_enable(struct endpoint *ep)
{
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
	list_for_each (at, &ep->domain->regions) {
		struct mr *mr = list_of(at, struct mr, link);
		for (unsigned i = mr->window_count; i-- > 0;)
			if (mr->windows[i].ep == ep)
				mr_close_at(mr, i);
	}
	atomic_forget(ep);
}

int mr_reach(struct domain *d, uint64_t key, uint64_t address, size_t length,
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

/* ---- calls on a region ---- */

static int mr_close(struct fid *fid)
{
	struct mr *mr = (struct mr *)(void *)fid;
	struct domain *d = mr->domain;
	guard_enter(&d->guard);
	keys_remove(d, mr);
	mr_close_all(mr);
	guard_leave(&d->guard);
	d->users--;
	free(mr);
	return 0;
}

static int mr_raw(const struct mr *mr, const struct fi_mr_raw_attr *raw)
{
	if (!raw || !raw->key_size)
		return -FI_EINVAL;
	size_t room = *raw->key_size;
	*raw->key_size = sizeof(mr->fid.key);
	if (room < sizeof(mr->fid.key) || !raw->raw_key)
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
	case FI_ENABLE:	 /* it is */
	case FI_REFRESH: /* the kernel knows the pages at each access */
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops fid_ops = {
	.size = sizeof(fid_ops),
	.close = mr_close,
	.bind = no_bind,
	.control = mr_control,
	.ops_open = no_ops_open,
	.tostr = no_tostr,
	.ops_set = no_ops_set,
};

/* ---- registration ---- */

static int mr_check(const struct fi_mr_attr *a, uint64_t flags)
{
	if (flags & FI_RMA_EVENT)
		return -FI_EOPNOTSUPP;
	if (flags || a->iov_count != 1 || !a->mr_iov || a->offset ||
		a->access & ~ACCESS_ALL)
		return -FI_EINVAL;
	uintptr_t begin = (uintptr_t)a->mr_iov->iov_base;
	uintptr_t end;
	/* A range may begin at 0 if it is meant as one of all memory. */
	if (__builtin_add_overflow(begin, a->mr_iov->iov_len, &end) ||
		a->mr_iov->iov_len == 0 || end <= MEMORY_BEGIN)
		return -FI_EINVAL;
	return 0;
}

static struct mr *mr_new(struct domain *d, const struct fi_mr_attr *a)
{
	struct mr *mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	uintptr_t begin = (uintptr_t)a->mr_iov->iov_base;
	size_t skipped = begin < MEMORY_BEGIN ? MEMORY_BEGIN - begin : 0;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = a->context;
	mr->fid.fid.ops = &fid_ops;
	mr->fid.mem_desc = mr;
	mr->domain = d;
	mr->memory = (unsigned char *)begin + skipped;
	mr->length = a->mr_iov->iov_len - skipped;
	mr->access = a->access;
	mr->base = (d->mr_mode & FI_MR_VIRT_ADDR ? begin : 0) + skipped;
	return mr;
}

static int mr_register(struct domain *d, struct mr *mr, uint64_t requested_key)
{
	int r = key_choose(d, requested_key, &mr->fid.key);
	if (r == 0)
		r = mr_open_all(mr);
	if (r)
		return r;
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
	int r = mr_check(a, flags);
	if (r)
		return r;
	struct mr *mr = mr_new(d, a);
	if (!mr)
		return -FI_ENOMEM;
	guard_enter(&d->guard);
	r = mr_register(d, mr, a->requested_key);
	guard_leave(&d->guard);
	if (r) {
		free(mr);
		return r;
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
