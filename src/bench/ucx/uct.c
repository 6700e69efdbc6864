/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCT, the lower layer of UCX, over POSIX shared memory: active messages, and
 * operations on a word of registered memory.
 */
#include "bench/ucx/ucx.h"

#include <errno.h>
#include <stdlib.h>
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>

#include "bench/harness/payload.h"
#include "bench/harness/session.h"

#define AM_ID	   0
#define ADDR_BYTES 64
#define RKEY_BYTES 128

/* Shared memory: what each rank tells the other. */
struct uct_page {
	unsigned char device[ADDR_BYTES], iface[ADDR_BYTES], rkey[RKEY_BYTES];
	uint64_t memory;
};

struct uct {
	struct side *side;
	ucs_async_context_t *async;
	uct_worker_h worker;
	uct_component_h component;
	uct_md_h md;
	uct_iface_h iface;
	uct_iface_attr_t attr;
	uct_ep_h ep;
	uct_allocated_memory_t memory;
	uct_rkey_bundle_t rkey;
	uint64_t remote; /* address of the other rank's word */
	unsigned char *source, *copy;
	uint64_t sent, received, done;
	int error; /* of the active-message handler */
	uint32_t spins;
};

static int uct_fail(struct side *s, const char *call, ucs_status_t status)
{
	return group_fail(s->group, "UCT: process %u: %s: %s", s->rank, call,
		ucs_status_string(status));
}

/* The message is read where the transport shows it. */
static ucs_status_t am_receive(
	void *argument, void *data, size_t length, unsigned flags)
{
	struct uct *u = argument;

	(void)flags;
	/* am_short has a header of 8 bytes, here the number. */
	if (u->side->bytes <= u->attr.cap.am.max_short - sizeof(uint64_t)) {
		data = (unsigned char *)data + sizeof(uint64_t);
		length -= sizeof(uint64_t);
	}
	u->error = payload_verify(data, length, u->side->bytes, u->received++);
	return UCS_OK;
}

/* ---- set-up ---- */

static int open_md(struct side *s, struct uct *u)
{
	uct_component_attr_t attr = { .field_mask =
					      UCT_COMPONENT_ATTR_FIELD_NAME };
	uct_component_h *all;
	uct_md_config_t *config;
	unsigned count;
	ucs_status_t r = uct_query_components(&all, &count);

	if (r)
		return uct_fail(s, "uct_query_components", r);
	for (unsigned i = 0; i < count; i++)
		if (!uct_component_query(all[i], &attr) &&
			strcmp(attr.name, "posix") == 0)
			u->component = all[i];
	uct_release_component_list(all);
	if (!u->component)
		return uct_fail(s, "posix", UCS_ERR_UNSUPPORTED);
	if ((r = uct_md_config_read(u->component, NULL, NULL, &config)))
		return uct_fail(s, "uct_md_config_read", r);
	r = uct_md_open(u->component, "posix", config, &u->md);
	uct_config_release(config);
	return r ? uct_fail(s, "uct_md_open", r) : 0;
}

static int open_iface(struct side *s, struct uct *u)
{
	uct_iface_params_t params = { .field_mask =
					      UCT_IFACE_PARAM_FIELD_OPEN_MODE |
					      UCT_IFACE_PARAM_FIELD_DEVICE,
		.open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
		.mode.device = { .tl_name = "posix", .dev_name = "memory" } };
	uct_iface_config_t *config;
	ucs_status_t r =
		uct_md_iface_config_read(u->md, "posix", NULL, NULL, &config);

	if (r)
		return uct_fail(s, "uct_md_iface_config_read", r);
	r = uct_iface_open(u->md, u->worker, &params, config, &u->iface);
	uct_config_release(config);
	if (r)
		return uct_fail(s, "uct_iface_open", r);
	if ((r = uct_iface_query(u->iface, &u->attr)))
		return uct_fail(s, "uct_iface_query", r);
	uct_iface_progress_enable(
		u->iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
	r = uct_iface_set_am_handler(u->iface, AM_ID, am_receive, u, 0);
	return r ? uct_fail(s, "uct_iface_set_am_handler", r) : 0;
}

static int open_memory(struct side *s, struct uct *u)
{
	uct_alloc_method_t method = UCT_ALLOC_METHOD_MD;
	struct uct_page *page = (struct uct_page *)(void *)s->shared;
	uct_mem_alloc_params_t params = {
		.field_mask = UCT_MEM_ALLOC_PARAM_FIELD_FLAGS |
			      UCT_MEM_ALLOC_PARAM_FIELD_MDS |
			      UCT_MEM_ALLOC_PARAM_FIELD_MEM_TYPE,
		.flags = UCT_MD_MEM_ACCESS_ALL,
		.mem_type = UCS_MEMORY_TYPE_HOST,
		.mds = { &u->md, 1 },
	};
	ucs_status_t r = uct_mem_alloc(4096, &method, 1, &params, &u->memory);

	if (r)
		return uct_fail(s, "uct_mem_alloc", r);
	memset(u->memory.address, 0, 4096);
	page[s->rank].memory = (uintptr_t)u->memory.address;
	r = uct_md_mkey_pack(u->md, u->memory.memh, page[s->rank].rkey);
	return r ? uct_fail(s, "uct_md_mkey_pack", r) : 0;
}

static int connect_peer(struct side *s, struct uct *u)
{
	struct uct_page *page = (struct uct_page *)(void *)s->shared;
	uct_ep_params_t params = { .field_mask = UCT_EP_PARAM_FIELD_IFACE |
						 UCT_EP_PARAM_FIELD_DEV_ADDR |
						 UCT_EP_PARAM_FIELD_IFACE_ADDR,
		.iface = u->iface,
		.dev_addr = (void *)page[!s->rank].device,
		.iface_addr = (void *)page[!s->rank].iface };
	ucs_status_t r = uct_iface_get_device_address(
		u->iface, (void *)page[s->rank].device);

	if (!r)
		r = uct_iface_get_address(
			u->iface, (void *)page[s->rank].iface);
	if (r)
		return uct_fail(s, "uct_iface_get_address", r);
	int error = group_barrier(s->group, s->rank);
	if (error)
		return error;
	if ((r = uct_ep_create(&params, &u->ep)))
		return uct_fail(s, "uct_ep_create", r);
	r = uct_rkey_unpack(u->component, page[!s->rank].rkey, &u->rkey);
	u->remote = page[!s->rank].memory;
	return r ? uct_fail(s, "uct_rkey_unpack", r) : 0;
}

static int setup(struct side *s)
{
	struct uct *u = calloc(1, sizeof(*u));
	size_t bytes = s->bytes + PAYLOAD_LINE;
	ucs_status_t status;
	int r;

	s->state = u;
	if (!u || !(u->source = malloc(bytes)))
		return -ENOMEM;
	memset(u->source, 1, bytes);
	u->side = s;
	status = ucs_async_context_create(
		UCS_ASYNC_MODE_THREAD_SPINLOCK, &u->async);
	if (!status)
		status = uct_worker_create(
			u->async, UCS_THREAD_MODE_SINGLE, &u->worker);
	if (status)
		return uct_fail(s, "uct_worker_create", status);
	if ((r = open_md(s, u)) || (r = open_iface(s, u)) ||
		(r = open_memory(s, u)))
		return r;
	return connect_peer(s, u);
}

static void teardown(struct side *s)
{
	struct uct *u = s->state;

	if (!u)
		return;
	if (u->rkey.handle || u->rkey.rkey)
		uct_rkey_release(u->component, &u->rkey);
	if (u->ep)
		uct_ep_destroy(u->ep);
	if (u->memory.address)
		uct_mem_free(&u->memory);
	if (u->iface)
		uct_iface_close(u->iface);
	if (u->md)
		uct_md_close(u->md);
	if (u->worker)
		uct_worker_destroy(u->worker);
	if (u->async)
		ucs_async_context_destroy(u->async);
	free(u->source);
	free(u);
}

static int progress(struct side *s)
{
	struct uct *u = s->state;

	uct_worker_progress(u->worker);
	return u->error;
}

/* ---- active messages ---- */

static int prepare(struct side *s)
{
	struct uct *u = s->state;

	if (s->rewrite)
		payload_rewrite(u->source, s->bytes, u->sent);
	return 0;
}

static size_t am_pack(void *to, void *argument)
{
	struct uct *u = argument;

	memcpy(to, u->source, u->side->bytes);
	return u->side->bytes;
}

static int am_send(struct side *s)
{
	struct uct *u = s->state;
	bool brief = s->bytes <= u->attr.cap.am.max_short - sizeof(uint64_t);
	ssize_t r;
	int error;

	payload_stamp(u->source, s->bytes, u->sent);
	while ((r = brief ? uct_ep_am_short(u->ep, AM_ID, u->sent, u->source,
				    (unsigned)s->bytes)
			  : uct_ep_am_bcopy(u->ep, AM_ID, am_pack, u, 0)) ==
		UCS_ERR_NO_RESOURCE) {
		uct_worker_progress(u->worker);
		if ((error = group_poll(s->group, &u->spins)))
			return error;
	}
	u->sent++;
	return r < 0 ? uct_fail(s, "uct_ep_am", (ucs_status_t)r) : 0;
}

static int am_await(struct side *s, uint64_t messages)
{
	struct uct *u = s->state;
	int r = 0;

	while (!r && u->received < messages) {
		uct_worker_progress(u->worker);
		r = u->error ? u->error : group_poll(s->group, &u->spins);
	}
	return r;
}

static int am_receive_next(struct side *s)
{
	struct uct *u = s->state;

	return am_await(s, u->received + 1);
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, am_send, am_receive_next);
}

/* Rank 1 answers the last message of a stream. */
static int stream_run(struct side *s, uint32_t iterations)
{
	struct uct *u = s->state;
	int r = 0;

	if (s->rank == 0)
		while (!r && iterations--)
			r = am_send(s);
	else
		r = am_await(s, u->received + iterations);
	if (r)
		return r;
	return s->rank == 0 ? am_receive_next(s) : am_send(s);
}

/* ---- operations on the other rank's word ---- */

/* Operations on mapped memory are complete when they return. */
static int flush(struct side *s, ucs_status_t status)
{
	struct uct *u = s->state;

	if (status)
		return uct_fail(s, "an operation", status);
	while ((status = uct_ep_flush(u->ep, 0, NULL)) == UCS_INPROGRESS)
		uct_worker_progress(u->worker);
	return status ? uct_fail(s, "uct_ep_flush", status) : 0;
}

static ucs_status_t put(struct uct *u)
{
	uint64_t value = ++u->done;

	return uct_ep_put_short(
		u->ep, &value, sizeof(value), u->remote, u->rkey.rkey);
}

static int put_flush(struct side *s)
{
	return flush(s, put(s->state));
}

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

static int seen_send(struct side *s)
{
	ucs_status_t r = put(s->state);

	return r ? uct_fail(s, "uct_ep_put_short", r) : 0;
}

static int seen_await(struct side *s)
{
	struct uct *u = s->state;

	return group_await(s->group, u->memory.address, ++u->received);
}

static int seen_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, seen_send, seen_await);
}

static void get_unpack(void *to, const void *data, size_t length)
{
	memcpy(to, data, length);
}

static int get_flush(struct side *s)
{
	struct uct *u = s->state;
	uint64_t value = 1;
	ucs_status_t r = uct_ep_get_bcopy(u->ep, get_unpack, &value,
		sizeof(value), u->remote, u->rkey.rkey, NULL);
	int error = flush(s, r);

	return error ? error : value ? -EBADMSG : 0;
}

static int get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_flush);
}

static int fetch_add(struct side *s)
{
	struct uct *u = s->state;
	uint64_t before = 0;
	ucs_status_t r = uct_ep_atomic64_fetch(u->ep, UCT_ATOMIC_OP_ADD, 1,
		&before, u->remote, u->rkey.rkey, NULL);
	int error = flush(s, r);

	return error ? error : before == u->done++ ? 0 : -EBADMSG;
}

static int add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

static const struct workload ping = { "UCT", setup, teardown, prepare, ping_run,
	NULL, progress };
static const struct workload stream = { "UCT", setup, teardown, prepare,
	stream_run, NULL, progress };
static const struct workload put_word = { "UCT", setup, teardown, NULL, put_run,
	NULL, progress };
static const struct workload seen = { "UCT", setup, teardown, NULL, seen_run,
	NULL, NULL };
static const struct workload get_word = { "UCT", setup, teardown, NULL, get_run,
	NULL, progress };
static const struct workload add_word = { "UCT", setup, teardown, NULL, add_run,
	NULL, progress };

const struct workload *uct_workload(enum session_kind kind, size_t bytes)
{
	switch (kind) {
	case SESSION_LATENCY:
		return bytes <= UCT_BYTES_MAX ? &ping : NULL;
	case SESSION_RATE:
		return &stream;
	case SESSION_PUT_SEEN:
		return &seen;
	case SESSION_PUT_FLUSH:
		return &put_word;
	case SESSION_GET:
		return &get_word;
	case SESSION_FETCH_ADD:
		return &add_word;
	default:
		return NULL;
	}
}
