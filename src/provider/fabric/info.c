/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_getinfo(3): fills in an info with everything that the provider supports,
 * checks the hints against it, and narrows it to them. Any thread, no lock.
 */
#include <stdlib.h>
#include <string.h>

#include "provider/av/address.h"
#include "provider/fabric/fabric.h"
#include "provider/fabric/hints.h"

#define TRANSFERS      (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC)
#define MSG_DIRECTIONS (FI_SEND | FI_RECV)
#define RMA_DIRECTIONS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define COMM	       (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_CAPS	       (TRANSFERS | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS                                                   \
	(TRANSFERS | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | \
		FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_RMA_EVENT)
#define CAPS (TX_CAPS | RX_CAPS | COMM)

#define ORDERS                                                              \
	(FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |               \
		FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | \
		FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |                 \
		FI_ORDER_ATOMIC_WAW)

#define PROTOCOL     (FI_PROV_SPECIFIC | 'c' << 16 | 'a' << 8 | 'y')
#define OBJECTS_MAX  65535
#define REQUESTS     1024 /* queue size of an endpoint by default */
#define TAGS_GENERIC 0xaaaaaaaaaaaaaaaaull /* no fields */

/* ---- all capabilities ---- */

static struct fi_info *info_everything(uint32_t version)
{
	struct fi_info *info = fi_allocinfo();
	if (!info)
		return NULL;
	info->caps = CAPS;
	info->addr_format = FI_ADDR_STR;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = TX_CAPS,
		.msg_order = ORDERS,
		.comp_order = FI_ORDER_NONE,
		.inject_size = PROVIDER_INJECT_BYTES,
		.size = REQUESTS,
		.iov_limit = PROVIDER_IOV_MAX,
		.rma_iov_limit = PROVIDER_RMA_IOV_MAX,
	};
	*info->rx_attr = (struct fi_rx_attr){
		.caps = RX_CAPS,
		.msg_order = ORDERS,
		.comp_order = FI_ORDER_NONE,
		.total_buffered_recv = settings.unexpected_bytes,
		.size = REQUESTS,
		.iov_limit = PROVIDER_IOV_MAX,
	};
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_RDM,
		.protocol = PROTOCOL,
		.protocol_version = 1,
		.max_msg_size = PROVIDER_MESSAGE_MAX,
		.max_order_raw_size = PROVIDER_MESSAGE_MAX,
		.max_order_war_size = PROVIDER_MESSAGE_MAX,
		.max_order_waw_size = PROVIDER_MESSAGE_MAX,
		.mem_tag_format = TAGS_GENERIC,
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = 1,
	};
	*info->domain_attr = (struct fi_domain_attr){
		.name = strdup(provider.name),
		.threading = FI_THREAD_SAFE,
		.control_progress = FI_PROGRESS_MANUAL,
		.data_progress = FI_PROGRESS_MANUAL,
		.resource_mgmt = FI_RM_ENABLED,
		.av_type = FI_AV_UNSPEC,
		.mr_key_size = sizeof(uint64_t),
		.cq_data_size = sizeof(uint64_t),
		.cq_cnt = OBJECTS_MAX,
		.ep_cnt = OBJECTS_MAX,
		.tx_ctx_cnt = OBJECTS_MAX,
		.rx_ctx_cnt = OBJECTS_MAX,
		.max_ep_tx_ctx = 1,
		.max_ep_rx_ctx = 1,
		.cntr_cnt = OBJECTS_MAX,
		.mr_iov_limit = 1,
		.caps = COMM,
		.mr_cnt = settings.mr_count,
	};
	*info->fabric_attr = (struct fi_fabric_attr){
		.name = strdup(provider.name),
		.prov_version = provider.version,
		.api_version = version,
	};
	if (info->domain_attr->name && info->fabric_attr->name)
		return info;
	fi_freeinfo(info);
	return NULL;
}

/* ---- narrowing to the hints ---- */

/*
 * Capabilities without a direction mean all directions; neither transfers nor
 * directions mean everything.
 */
static uint64_t caps_granted(uint64_t asked)
{
	if (!(asked & (TRANSFERS | MSG_DIRECTIONS | RMA_DIRECTIONS)))
		return CAPS;
	if (asked & (FI_MSG | FI_TAGGED) && !(asked & MSG_DIRECTIONS))
		asked |= MSG_DIRECTIONS;
	if (asked & (FI_RMA | FI_ATOMIC) && !(asked & RMA_DIRECTIONS))
		asked |= RMA_DIRECTIONS;
	return asked | COMM;
}

static uint64_t context_caps(uint64_t granted, uint64_t asked)
{
	return asked ? granted & caps_granted(asked) : granted;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void narrow(
	struct fi_info *info, uint32_t version, const struct fi_info *hints)
{
	const struct fi_domain_attr *domain = hints ? hints->domain_attr : NULL;
	hints_mr_mode(version, domain ? domain->mr_mode : 0,
		&info->domain_attr->mr_mode);
	if (!hints)
		return;
	const struct fi_tx_attr *tx = hints->tx_attr;
	const struct fi_rx_attr *rx = hints->rx_attr;
	info->caps = caps_granted(hints->caps);
	info->tx_attr->caps = TX_CAPS &
			      context_caps(info->caps, tx ? tx->caps : 0);
	info->rx_attr->caps = RX_CAPS &
			      context_caps(info->caps, rx ? rx->caps : 0);
	if (tx) {
		info->tx_attr->op_flags = tx->op_flags;
		info->tx_attr->size = larger(tx->size, REQUESTS);
		info->tx_attr->tclass = tx->tclass;
	}
	if (rx) {
		info->rx_attr->op_flags = rx->op_flags;
		info->rx_attr->size = larger(rx->size, REQUESTS);
	}
	if (domain) {
		struct fi_domain_attr *attr = info->domain_attr;
		if (domain->threading)
			attr->threading = domain->threading;
		if (domain->control_progress)
			attr->control_progress = domain->control_progress;
		if (domain->data_progress)
			attr->data_progress = domain->data_progress;
		attr->av_type = domain->av_type;
		attr->domain = domain->domain;
		attr->tclass = domain->tclass;
	}
	if (hints->ep_attr && hints->ep_attr->mem_tag_format)
		info->ep_attr->mem_tag_format = hints->ep_attr->mem_tag_format;
	if (hints->fabric_attr)
		info->fabric_attr->fabric = hints->fabric_attr->fabric;
}

/* ---- addresses ---- */

/* The length is given by the application; the terminating 0 may be missing. */
static int address_read(const void *bytes, size_t length, struct address *a)
{
	char text[ADDRESS_BYTES] = { 0 };
	memcpy(text, bytes, bits_min(length, sizeof(text)));
	return address_parse(text, a);
}

static int address_put(const struct address *a, void **to, size_t *bytes)
{
	*to = malloc(ADDRESS_BYTES);
	if (!*to)
		return -FI_ENOMEM;
	*bytes = ADDRESS_BYTES;
	address_print(a, *to);
	return 0;
}

static int address_copy(
	const void *from, size_t length, void **to, size_t *bytes)
{
	struct address a;
	if (!from)
		return 0;
	if (address_read(from, length, &a) == 0)
		return address_put(&a, to, bytes);
	LOG_INFO(CORE, "the hints have an address of another provider\n");
	return -FI_ENODATA;
}

/*
 * Returns 0 and whether node and service name an address, or -FI_ENODATA.
 * Service 0 stands for any, as if none were given.
 */
static int address_resolve(const char *node, const char *service,
	uint64_t flags, struct address *a, bool *found)
{
	int r = 0;
	if (service && service[strspn(service, "0")] == 0)
		service = NULL;
	*found = true;
	if (node && strncmp(node, ADDRESS_PREFIX, strlen(ADDRESS_PREFIX)) == 0)
		r = service ? -FI_EINVAL : address_parse(node, a);
	else if (!address_host_is_here(node, flags & FI_NUMERICHOST))
		r = -FI_EHOSTUNREACH;
	else if (service)
		r = address_service(service, a);
	else
		*found = false;
	if (r == 0)
		return 0;
	LOG_INFO(CORE, "node %s, service %s: %s\n", node ? node : "(none)",
		service ? service : "(none)", fi_strerror(-r));
	return -FI_ENODATA;
}

/* Node and service determine one of the addresses, the hints the other. */
static int fill_addresses(struct fi_info *info, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints)
{
	static const struct fi_info none;
	const struct fi_info *h = hints ? hints : &none;
	bool source = flags & FI_SOURCE, found;
	struct address a;
	int r = address_resolve(node, service, flags, &a, &found);
	if (r == 0 && found)
		r = source ? address_put(
				     &a, &info->src_addr, &info->src_addrlen)
			   : address_put(
				     &a, &info->dest_addr, &info->dest_addrlen);
	if (r == 0 && (source || (!node && !service)))
		r = address_copy(h->dest_addr, h->dest_addrlen,
			&info->dest_addr, &info->dest_addrlen);
	if (r == 0 && !source)
		r = address_copy(h->src_addr, h->src_addrlen, &info->src_addr,
			&info->src_addrlen);
	if (r || info->src_addr)
		return r;
	/* The source is always set: applications copy and overwrite it. */
	address_any(&a);
	return address_put(&a, &info->src_addr, &info->src_addrlen);
}

/* ---- calls ---- */

/*
 * libfabric itself handles FI_PROV_ATTR_ONLY. Combined with other flags it is
 * ignored: layered providers expect a complete info.
 */
int info_get(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **out)
{
	int r = -FI_ENODATA;
	if (flags & FI_SOURCE && !node && !service) {
		LOG_INFO(CORE, "FI_SOURCE without a node or service\n");
		return -FI_EINVAL;
	}
	struct fi_info *info = info_everything(version);
	if (!info)
		return -FI_ENOMEM;
	if (!hints || hints_fit(version, hints, info)) {
		narrow(info, version, hints);
		r = fill_addresses(info, node, service, flags, hints);
	}
	if (r)
		fi_freeinfo(info);
	else
		*out = info;
	return r;
}

int info_check(const struct fi_info *info)
{
	struct address a;
	if (!info || !info->tx_attr || !info->rx_attr || !info->ep_attr ||
		!info->domain_attr)
		return -FI_EINVAL;
	if (info->src_addr &&
		address_read(info->src_addr, info->src_addrlen, &a) != 0)
		return -FI_EINVAL;
	uint32_t version = info->fabric_attr ? info->fabric_attr->api_version
					     : provider.fi_version;
	struct fi_info *ours = info_everything(version);
	bool fits = ours && hints_fit(version, info, ours);
	if (ours)
		fi_freeinfo(ours);
	return fits ? 0 : -FI_EINVAL;
}
