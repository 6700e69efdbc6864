/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UCP, the upper layer of UCX: tagged messages, and operations on a word of
 * registered memory.
 */
#include "bench/ucx/ucx.h"

#include <errno.h>
#include <stdlib.h>
#include <ucp/api/ucp.h>

#include "bench/harness/payload.h"

#define ADDR_BYTES 2048
#define RKEY_BYTES 512
#define TAG	   1
#define WINDOW	   64
#define SLOT_BYTES 64 /* of a message of a stream */

/* Shared memory: what each rank tells the other. */
struct ucp_page {
	unsigned char addr[ADDR_BYTES], rkey[RKEY_BYTES];
	uint64_t memory;
};

struct ucp {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h ep;
	ucp_mem_h memh;
	ucp_rkey_h rkey;
	_Atomic uint64_t *memory;
	uint64_t remote; /* address of the other rank's word */
	unsigned char *source, *target;
	uint64_t sent, received, done;
	void *posted[WINDOW];
	uint32_t spins;
};

static int ucp_fail(struct side *s, const char *call, ucs_status_t status)
{
	return group_fail(s->group, "UCP: process %u: %s: %s", s->rank, call,
		ucs_status_string(status));
}

/* ---- set-up ---- */

static int open_worker(struct side *s, struct ucp *u)
{
	ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA |
			    UCP_FEATURE_AMO64 };
	ucp_worker_params_t worker = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	ucp_config_t *config;
	ucs_status_t r = ucp_config_read(NULL, NULL, &config);

	if (r)
		return ucp_fail(s, "ucp_config_read", r);
	r = ucp_init(&params, config, &u->context);
	ucp_config_release(config);
	if (r)
		return ucp_fail(s, "ucp_init", r);
	r = ucp_worker_create(u->context, &worker, &u->worker);
	return r ? ucp_fail(s, "ucp_worker_create", r) : 0;
}

static int open_memory(struct side *s, struct ucp *u)
{
	struct ucp_page *page = (struct ucp_page *)(void *)s->shared;
	ucp_mem_map_params_t params = { .field_mask =
						UCP_MEM_MAP_PARAM_FIELD_LENGTH |
						UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.length = 4096,
		.flags = UCP_MEM_MAP_ALLOCATE };
	ucp_mem_attr_t attr = { .field_mask = UCP_MEM_ATTR_FIELD_ADDRESS };
	ucs_status_t r = ucp_mem_map(u->context, &params, &u->memh);
	void *packed;
	size_t length;

	if (!r)
		r = ucp_mem_query(u->memh, &attr);
	if (!r)
		r = ucp_rkey_pack(u->context, u->memh, &packed, &length);
	if (r)
		return ucp_fail(s, "ucp_mem_map", r);
	u->memory = attr.address;
	memset(attr.address, 0, 4096);
	page[s->rank].memory = (uintptr_t)attr.address;
	if (length <= RKEY_BYTES)
		memcpy(page[s->rank].rkey, packed, length);
	ucp_rkey_buffer_release(packed);
	return length <= RKEY_BYTES ? 0 : -ENOSPC;
}

static int connect_peer(struct side *s, struct ucp *u)
{
	struct ucp_page *page = (struct ucp_page *)(void *)s->shared;
	ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
		.address = (ucp_address_t *)(void *)page[!s->rank].addr,
	};
	ucp_address_t *addr;
	size_t length;
	ucs_status_t r = ucp_worker_get_address(u->worker, &addr, &length);

	if (r)
		return ucp_fail(s, "ucp_worker_get_address", r);
	if (length <= ADDR_BYTES)
		memcpy(page[s->rank].addr, addr, length);
	ucp_worker_release_address(u->worker, addr);
	if (length > ADDR_BYTES)
		return -ENOSPC;
	int error = group_barrier(s->group, s->rank);
	if (error)
		return error;
	if ((r = ucp_ep_create(u->worker, &params, &u->ep)))
		return ucp_fail(s, "ucp_ep_create", r);
	r = ucp_ep_rkey_unpack(u->ep, page[!s->rank].rkey, &u->rkey);
	u->remote = page[!s->rank].memory;
	return r ? ucp_fail(s, "ucp_ep_rkey_unpack", r) : 0;
}

static int setup(struct side *s)
{
	struct ucp *u = calloc(1, sizeof(*u));
	size_t bytes = bits_round_up(s->bytes + WINDOW * SLOT_BYTES, 4096);
	int r;

	s->state = u;
	if (!u || !(u->source = aligned_alloc(4096, bytes)) ||
		!(u->target = aligned_alloc(4096, bytes)))
		return -ENOMEM;
	memset(u->source, 1, bytes);
	memset(u->target, 1, bytes);
	if ((r = open_worker(s, u)) || (r = open_memory(s, u)))
		return r;
	return connect_peer(s, u);
}

static int progress(struct side *s)
{
	struct ucp *u = s->state;

	ucp_worker_progress(u->worker);
	return group_poll(s->group, &u->spins);
}

/* Waits for a request and frees it. */
static int complete(struct side *s, void *request)
{
	ucs_status_t status = UCS_INPROGRESS;
	int r = 0;

	if (!UCS_PTR_IS_PTR(request)) {
		status = UCS_PTR_STATUS(request);
		return status ? ucp_fail(s, "an operation", status) : 0;
	}
	while (!r &&
		(status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		r = progress(s);
	ucp_request_free(request);
	return r ? r : status ? ucp_fail(s, "an operation", status) : 0;
}

static const ucp_request_param_t plain;

static void teardown(struct side *s)
{
	struct ucp *u = s->state;

	if (!u)
		return;
	if (u->rkey)
		ucp_rkey_destroy(u->rkey);
	if (u->ep)
		complete(s, ucp_ep_close_nbx(u->ep, &plain));
	/* The other rank may still use this one's memory. */
	group_barrier(s->group, s->rank);
	if (u->memh)
		ucp_mem_unmap(u->context, u->memh);
	if (u->worker)
		ucp_worker_destroy(u->worker);
	if (u->context)
		ucp_cleanup(u->context);
	free(u->source);
	free(u->target);
	free(u);
}

/* ---- messages ---- */

static int prepare(struct side *s)
{
	struct ucp *u = s->state;

	if (s->rewrite)
		payload_rewrite(u->source, s->bytes, u->sent);
	return 0;
}

static int tag_send(struct side *s)
{
	struct ucp *u = s->state;

	payload_stamp(u->source, s->bytes, u->sent++);
	return complete(
		s, ucp_tag_send_nbx(u->ep, u->source, s->bytes, TAG, &plain));
}

static int tag_receive(struct side *s)
{
	struct ucp *u = s->state;
	int r = complete(s, ucp_tag_recv_nbx(u->worker, u->target, s->bytes,
				    TAG, UINT64_MAX, &plain));

	return r ? r
		 : payload_verify(u->target, s->bytes, s->bytes, u->received++);
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, tag_send, tag_receive);
}

static int window_run(struct side *s)
{
	struct ucp *u = s->state;
	int r = 0;

	for (unsigned i = 0; i < WINDOW; i++) {
		unsigned char *at = u->source + i * SLOT_BYTES;
		if (s->rank == 0)
			payload_stamp(at, s->bytes, u->sent++);
		u->posted[i] = s->rank == 0
				       ? ucp_tag_send_nbx(u->ep, at, s->bytes,
						 TAG, &plain)
				       : ucp_tag_recv_nbx(u->worker,
						 u->target + i * SLOT_BYTES,
						 s->bytes, TAG, UINT64_MAX,
						 &plain);
	}
	for (unsigned i = 0; !r && i < WINDOW; i++) {
		r = complete(s, u->posted[i]);
		if (!r && s->rank != 0)
			r = payload_verify(u->target + i * SLOT_BYTES, s->bytes,
				s->bytes, u->received++);
	}
	return r;
}

/* Rank 1 answers the last message of a stream. */
static int stream_run(struct side *s, uint32_t iterations)
{
	int r = 0;

	for (uint32_t done = 0; !r && done < iterations; done += WINDOW)
		r = window_run(s);
	if (r)
		return r;
	return s->rank == 0 ? tag_receive(s) : tag_send(s);
}

/* ---- operations on the other rank's word ---- */

static int flush(struct side *s, void *request)
{
	struct ucp *u = s->state;
	int r = complete(s, request);

	return r ? r : complete(s, ucp_ep_flush_nbx(u->ep, &plain));
}

static void *put(struct ucp *u)
{
	u->done++;
	memcpy(u->source, &u->done, sizeof(u->done));
	return ucp_put_nbx(
		u->ep, u->source, sizeof(u->done), u->remote, u->rkey, &plain);
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
	return complete(s, put(s->state));
}

static int seen_await(struct side *s)
{
	struct ucp *u = s->state;

	return group_await(s->group, u->memory, ++u->received);
}

static int seen_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, seen_send, seen_await);
}

static int get_flush(struct side *s)
{
	struct ucp *u = s->state;
	uint64_t value = 1;
	int r;

	memset(u->target, 1, sizeof(value));
	r = flush(s, ucp_get_nbx(u->ep, u->target, sizeof(value), u->remote,
			     u->rkey, &plain));
	memcpy(&value, u->target, sizeof(value));
	return r ? r : value ? -EBADMSG : 0;
}

static int get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_flush);
}

static int fetch_add(struct side *s)
{
	const uint64_t one = 1;
	struct ucp *u = s->state;
	ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER |
				UCP_OP_ATTR_FIELD_DATATYPE,
		.datatype = ucp_dt_make_contig(sizeof(one)),
		.reply_buffer = u->target,
	};
	uint64_t before;
	int r = complete(s, ucp_atomic_op_nbx(u->ep, UCP_ATOMIC_OP_ADD, &one, 1,
				    u->remote, u->rkey, &param));

	memcpy(&before, u->target, sizeof(before));
	return r ? r : before == u->done++ ? 0 : -EBADMSG;
}

static int add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

static const struct workload ping = { "UCP", setup, teardown, prepare, ping_run,
	NULL, progress };
static const struct workload stream = { "UCP", setup, teardown, prepare,
	stream_run, NULL, progress };
static const struct workload put_word = { "UCP", setup, teardown, NULL, put_run,
	NULL, progress };
static const struct workload seen = { "UCP", setup, teardown, NULL, seen_run,
	NULL, progress };
static const struct workload get_word = { "UCP", setup, teardown, NULL, get_run,
	NULL, progress };
static const struct workload add_word = { "UCP", setup, teardown, NULL, add_run,
	NULL, progress };

const struct workload *ucp_workload(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	switch (kind) {
	case SESSION_LATENCY:
		return &ping;
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
