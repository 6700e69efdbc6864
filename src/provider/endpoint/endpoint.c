/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: the calls of fi_endpoint(3). An endpoint gets its port when it is
 * enabled; its name, which is that of the port, when it is opened.
 */
#include "provider/endpoint/endpoint.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "provider/endpoint/bind.h"
#include "provider/endpoint/control.h"
#include "provider/endpoint/device_memory.h"
#include "provider/message/cocopy.h"
#include "provider/message/fetch.h"
#include "provider/message/receive.h"
#include "provider/message/send.h"
#include "provider/message/unexpected.h"
#include "provider/progress/progress.h"
#include "provider/progress/progress_thread.h"
#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"
#include "provider/rma/mr.h"
#include "provider/unsupported.h"
#include "provider/wire.h"

#define BULK_BYTES ((1ull << 47) - 2 * WIRE_BULK_BASE)
/* How long a close retries control messages, also to peers not resolved yet. */
#define CLOSE_NS	 (100 * CLOCK_NS_PER_MS)
#define CLOSE_CONTACT_NS (10 * CLOCK_NS_PER_S)
/* Each waits ten seconds for the node. */
#define ENABLE_TRIES 6

static struct endpoint *endpoint_of_fid(struct fid *fid)
{
	return (struct endpoint *)(void *)fid;
}

/* ---- enabling ---- */

static int port_open(struct endpoint *ep)
{
	const struct cay_port_options options = {
		.size = sizeof(options),
		.node = settings.node,
		.name = ep->address.name,
		.nq_entries = (uint32_t)settings.nq_entries,
		.rdr_bytes = settings.rdr_bytes,
		.windows = (uint32_t)settings.mr_count + 3,
		.peers = ENDPOINT_VPIDS - 1,
	};
	ep->port = cay_port_open(&options);
	if (ep->port)
		return 0;
	int error = errno;
	LOG_WARN(EP_CTRL, "cannot open a port: %s\n",
		cay_call_strerror("cay_port_open", error));
	return error == EEXIST ? -FI_EADDRINUSE : provider_error(-error);
}

/* Opens the windows: key table, bulk, claim words, memory regions. */
static int windows_open(struct endpoint *ep)
{
	int r = key_table_open(ep, &ep->keys);
	if (r)
		return r;
	ep->address.capability = key_table_capability(ep->keys);
	r = cay_window_open(ep->port, (void *)(uintptr_t)WIRE_BULK_BASE,
		BULK_BYTES, CAY_RIGHT_READ | CAY_RIGHT_WRITE, &ep->bulk);
	if (r == 0)
		r = cay_window_key(ep->bulk, &ep->bulk_key);
	if (r == 0 && cocopy_open(ep))
		LOG_INFO(EP_CTRL, "no memory for claim words: no co-copy\n");
	return r ? provider_error(r) : mr_enable(ep);
}

static void port_close(struct endpoint *ep)
{
	if (!ep->port)
		return;
	if (ep->keys)
		key_table_close(ep, ep->keys);
	cocopy_close(ep);
	cay_port_close(ep->port);
	ep->port = NULL;
	ep->keys = NULL;
}

/* Decides which fast paths apply. */
static void modes_set(struct endpoint *ep)
{
	send_mode_set(ep);
	ep->rx_fast = ep->port && ep->rx_cq &&
		      !(ep->rx_flags & (FI_PEEK | FI_CLAIM | FI_DISCARD));
}

static int endpoint_enable(struct endpoint *ep)
{
	struct wait *waits[ENDPOINT_WAITS_MAX];
	bool sends = ep->caps & (FI_SEND | FI_READ | FI_WRITE);
	bool tx = ep->tx_cq || ep->counters[COUNT_SEND] ||
		  ep->counters[COUNT_READ] || ep->counters[COUNT_WRITE];
	bool rx = ep->rx_cq || ep->counters[COUNT_RECV];
	int r = 0;
	if (ep->port)
		return 0;
	if (!ep->av)
		return -FI_ENOAV;
	if ((sends && !tx) || (ep->caps & FI_RECV && !rx))
		return -FI_ENOCQ;
	unsigned n = endpoint_waits(ep, waits);
	for (int tries = ENABLE_TRIES; tries > 0; tries--) {
		r = port_open(ep);
		if (r == 0)
			r = windows_open(ep);
		for (unsigned i = 0; r == 0 && i < n; i++)
			r = wait_enable(waits[i], ep);
		if (r == 0)
			break;
		port_close(ep);
		if (r != -FI_ETIMEDOUT)
			break;
		LOG_WARN(EP_CTRL, "the node does not reply: is it stopped, or "
				  "the machine overloaded?\n");
	}
	if (r)
		return (int)provider_call_failed("fi_enable", r);
	modes_set(ep);
	list_append(&ep->domain->endpoints, &ep->link);
	/* Relaxed: no other memory depends on it. */
	atomic_fetch_add_explicit(&wait_endpoints, 1, memory_order_relaxed);
	if (ep->domain->thread)
		progress_thread_add(ep->domain, ep);
	LOG_INFO(EP_CTRL, "%s is port %u\n", ep->address.name,
		cay_port_addr(ep->port).vpid);
	return 0;
}

/* Reads or sets the flags of calls without flags. */
static int ops_flag(struct endpoint *ep, bool set, uint64_t *flags)
{
	if (!flags)
		return -FI_EINVAL;
	bool tx = *flags & FI_TRANSMIT, rx = *flags & FI_RECV;
	uint64_t *kept = tx ? &ep->tx_flags : &ep->rx_flags;
	if (tx == rx)
		return -FI_EINVAL;
	if (set)
		*kept = *flags & ~(FI_TRANSMIT | FI_RECV);
	else
		*flags = *kept;
	modes_set(ep);
	return 0;
}

static int endpoint_control(struct fid *fid, int command, void *argument)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	int r = -FI_ENOSYS;
	domain_lock(ep->domain);
	if (command == FI_ENABLE)
		r = endpoint_enable(ep);
	else if (command == FI_GETOPSFLAG || command == FI_SETOPSFLAG)
		r = ops_flag(ep, command == FI_SETOPSFLAG, argument);
	domain_unlock(ep->domain);
	return r;
}

/* ---- closing ---- */

static void endpoint_disable(struct endpoint *ep)
{
	/* Last chance for control messages that met backpressure. */
	endpoint_progress(ep);
	uint64_t deadline = clock_after_ns(
		list_empty(&ep->contacts) ? CLOSE_NS : CLOSE_CONTACT_NS);
	while (!list_empty(&ep->control_retries) && !clock_passed(deadline)) {
		clock_nap_ns(50 * CLOCK_NS_PER_US);
		endpoint_progress(ep);
	}
	if (ep->domain->thread)
		progress_thread_remove(ep->domain, ep);
	list_remove(&ep->link);
	atomic_fetch_sub_explicit(&wait_endpoints, 1, memory_order_relaxed);
	for (; ep->event_next < ep->event_count; ep->event_next++)
		cay_release(ep->port, &ep->events[ep->event_next]);
	list_for_each_safe (link, after, &ep->peers) {
		struct peer *p = list_of(link, struct peer, link);
		while (!list_empty(&p->ops)) {
			struct op *op = list_of(p->ops.next, struct op, link);
			if (op->kind == OP_FETCH)
				fetch_drop(op);
			else
				op_drop(op);
		}
		control_discard(p);
		list_remove(&p->xoff_link); /* no XON after the close */
	}
	mr_disable(ep);
	atomic_reply_free(ep);
}

static int endpoint_close(struct fid *fid)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	struct domain *domain = ep->domain;
	domain_lock(domain);
	if (ep->port)
		endpoint_disable(ep);
	receive_free_all(ep);
	unexpected_free_all(ep);
	recv_free_claimed(ep);
	peers_free(ep);
	endpoint_unbind(ep);
	port_close(ep);
	domain_unlock(domain);
	matcher_free(&ep->tagged);
	matcher_free(&ep->untagged);
	op_table_free(&ep->ops);
	free(ep);
	atomic_fetch_sub_explicit(&domain->users, 1, memory_order_relaxed);
	return 0;
}

/* ---- names and options ---- */

static int endpoint_getname(fid_t fid, void *address, size_t *length)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	char text[ADDRESS_BYTES];
	if (!length || (*length && !address))
		return -FI_EINVAL;
	address_print(&ep->address, text);
	if (*length)
		memcpy(address, text, bits_min(*length, sizeof(text)));
	int r = *length < sizeof(text) ? -FI_ETOOSMALL : 0;
	*length = sizeof(text);
	return r;
}

/* Parses an address; the wildcard becomes a random name. */
static int name_choose(const void *text, struct address *a)
{
	int r = address_parse(text, a);
	return r == 0 && address_is_any(a) ? address_random(a) : r;
}

static int endpoint_setname(fid_t fid, void *address, size_t length)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	struct address a;
	if (ep->port)
		return -FI_EOPBADSTATE;
	if (!address || length < ADDRESS_BYTES || name_choose(address, &a))
		return -FI_EINVAL;
	ep->address = a;
	return 0;
}

static ssize_t endpoint_cancel(fid_t fid, void *context)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	domain_lock(ep->domain);
	ssize_t r = receive_cancel(ep, context);
	domain_unlock(ep->domain);
	return r;
}

static int endpoint_getopt(
	fid_t fid, int level, int option, void *value, size_t *length)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	size_t answer;
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	if (option == FI_OPT_MIN_MULTI_RECV)
		answer = ep->min_multi_recv;
	else if (option == FI_OPT_CM_DATA_SIZE)
		answer = 0;
	else
		return -FI_ENOPROTOOPT;
	if (!value || !length || *length < sizeof(answer))
		return -FI_ETOOSMALL;
	memcpy(value, &answer, sizeof(answer));
	*length = sizeof(answer);
	return 0;
}

static int endpoint_setopt(
	fid_t fid, int level, int option, const void *value, size_t length)
{
	struct endpoint *ep = endpoint_of_fid(fid);
	if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (!value || length != sizeof(size_t))
		return -FI_EINVAL;
	memcpy(&ep->min_multi_recv, value, length);
	return 0;
}

static ssize_t endpoint_size_left(struct fid_ep *fid)
{
	return endpoint_of(fid)->port ? 1024 : -FI_EOPBADSTATE;
}

/* ---- opening ---- */

static struct fi_ops endpoint_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = endpoint_close,
	.bind = endpoint_bind,
	.control = endpoint_control,
	.ops_open = memory_ops_open,
};

static struct fi_ops_ep endpoint_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = endpoint_cancel,
	.getopt = endpoint_getopt,
	.setopt = endpoint_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = endpoint_size_left,
	.tx_size_left = endpoint_size_left,
};

static struct fi_ops_cm endpoint_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = endpoint_setname,
	.getname = endpoint_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};

int endpoint_open(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **out, void *context)
{
	struct domain *domain = domain_of(fid);
	int r = info ? info_check(info) : -FI_EINVAL;
	if (r)
		return r;
	struct endpoint *ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->by_vpid = calloc(ENDPOINT_VPIDS, sizeof(*ep->by_vpid));
	if (!ep->by_vpid)
		r = -FI_ENOMEM;
	else if (info->src_addr && info->src_addrlen >= ADDRESS_BYTES)
		r = name_choose(info->src_addr, &ep->address);
	else
		r = address_random(&ep->address);
	if (r) {
		free(ep->by_vpid);
		free(ep);
		return r;
	}
	ep->domain = domain;
	ep->caps = info->caps;
	ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->min_multi_recv = 64;
	ep->poll_batch = 1;
	matcher_init(&ep->tagged);
	matcher_init(&ep->untagged);
	list_init(&ep->link);
	list_init(&ep->av_link);
	list_init(&ep->claimed);
	list_init(&ep->xoff_peers);
	list_init(&ep->peers);
	list_init(&ep->contacts);
	list_init(&ep->control_retries);
	list_init(&ep->rendezvous_retries);
	list_init(&ep->rma_retries);
	list_init(&ep->path_retries);
	list_init(&ep->paths);
	ep->fid = (struct fid_ep){ .fid = { FI_CLASS_EP, context,
					   &endpoint_fid_ops },
		.ops = &endpoint_ops,
		.cm = &endpoint_cm_ops,
		.msg = &msg_ops,
		.tagged = &tagged_ops,
		.rma = &rma_ops,
		.atomic = &atomic_ops };
	atomic_fetch_add_explicit(&domain->users, 1, memory_order_relaxed);
	*out = &ep->fid;
	return 0;
}
