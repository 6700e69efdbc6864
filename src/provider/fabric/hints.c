/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks hints, one attribute after the other; see hints.h. The reason of a
 * refusal is logged, because libfabric only reports that no provider fits.
 */
#include "provider/fabric/hints.h"

#include <string.h>
#include <strings.h>

#define TX_FLAGS                                          \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
		FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RX_FLAGS (FI_COMPLETION | FI_MULTI_RECV)

#define REQUESTS_MAX  65536
#define MR_OLD	      (FI_MR_BASIC | FI_MR_SCALABLE)
#define MR_BASIC_BITS (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

static const struct fi_ops_fabric *own_fabric_ops;
static const struct fi_ops_domain *own_domain_ops;

void hints_set_own(const struct fi_ops_fabric *fabric_ops,
	const struct fi_ops_domain *domain_ops)
{
	own_fabric_ops = fabric_ops;
	own_domain_ops = domain_ops;
}

/* ---- comparisons, which log what is not supported ---- */

static bool refuse(const char *what, uint64_t asked, uint64_t have)
{
	LOG_INFO(CORE, "%s: %llu requested, %llu supported\n", what,
		(unsigned long long)asked, (unsigned long long)have);
	return false;
}

static bool within(const char *what, uint64_t asked, uint64_t most)
{
	return asked <= most || refuse(what, asked, most);
}

/* 0 requests nothing in particular. */
static bool only(const char *what, uint64_t asked, uint64_t have)
{
	return asked == 0 || asked == have || refuse(what, asked, have);
}

static bool among(
	const char *what, uint64_t asked, uint64_t have, enum fi_type type)
{
	char text[256];
	uint64_t lacking = asked & ~have;
	if (lacking == 0)
		return true;
	fi_tostr_r(text, sizeof(text), &lacking, type);
	LOG_INFO(CORE, "%s: %#llx requested, %#llx (%s) not supported\n", what,
		(unsigned long long)asked, (unsigned long long)lacking, text);
	return false;
}

static bool named(const char *what, const char *asked, const char *name)
{
	if (!asked || strcasecmp(asked, name) == 0)
		return true;
	LOG_INFO(CORE, "%s: %s requested, %s supported\n", what, asked, name);
	return false;
}

#define WITHIN(member) within(#member, asked->member, have->member)
#define ONLY(member)   only(#member, asked->member, have->member)

/* ---- attributes; NULL requests nothing ---- */

/*
 * Receive capabilities in transmit attributes, and the other way round, are
 * tolerated: applications set both to the same.
 */
static bool tx_fits(const struct fi_tx_attr *asked, const struct fi_info *ours)
{
	const struct fi_tx_attr *have = ours->tx_attr;
	if (!asked)
		return true;
	return among("tx caps", asked->caps, ours->caps, FI_TYPE_CAPS) &&
	       among("tx op_flags", asked->op_flags, TX_FLAGS,
		       FI_TYPE_OP_FLAGS) &&
	       among("tx msg_order", asked->msg_order, have->msg_order,
		       FI_TYPE_MSG_ORDER) &&
	       ONLY(comp_order) && WITHIN(inject_size) &&
	       within("tx size", asked->size, REQUESTS_MAX) &&
	       WITHIN(iov_limit) && WITHIN(rma_iov_limit);
}

static bool rx_fits(const struct fi_rx_attr *asked, const struct fi_info *ours)
{
	const struct fi_rx_attr *have = ours->rx_attr;
	if (!asked)
		return true;
	return among("rx caps", asked->caps, ours->caps, FI_TYPE_CAPS) &&
	       among("rx op_flags", asked->op_flags, RX_FLAGS,
		       FI_TYPE_OP_FLAGS) &&
	       among("rx msg_order", asked->msg_order, have->msg_order,
		       FI_TYPE_MSG_ORDER) &&
	       ONLY(comp_order) && WITHIN(total_buffered_recv) &&
	       within("rx size", asked->size, REQUESTS_MAX) &&
	       WITHIN(iov_limit);
}

/* Before version 1.5 there were no authorization keys. */
static bool no_key(uint32_t version, size_t bytes)
{
	return FI_VERSION_LT(version, FI_VERSION(1, 5)) ||
	       within("auth_key_size", bytes, 0);
}

/* FI_SHARED_CONTEXT is the largest count, and so refused. */
static bool ep_fits(uint32_t version, const struct fi_ep_attr *asked,
	const struct fi_ep_attr *have)
{
	if (!asked)
		return true;
	return ONLY(type) && ONLY(protocol) && WITHIN(protocol_version) &&
	       WITHIN(max_msg_size) && WITHIN(max_order_raw_size) &&
	       WITHIN(max_order_war_size) && WITHIN(max_order_waw_size) &&
	       WITHIN(tx_ctx_cnt) && WITHIN(rx_ctx_cnt) &&
	       no_key(version, asked->auth_key_size);
}

bool hints_mr_mode(uint32_t version, int asked, int *granted)
{
	*granted = asked;
	if (asked == FI_MR_BASIC || asked == FI_MR_SCALABLE)
		return true;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5))) {
		*granted = FI_MR_SCALABLE;
		return asked == FI_MR_UNSPEC;
	}
	*granted = asked & MR_BASIC_BITS;
	if (*granted != MR_BASIC_BITS)
		*granted &= ~FI_MR_ALLOCATED;
	return !(asked & MR_OLD);
}

static bool domain_fits(uint32_t version, const struct fi_domain_attr *asked,
	const struct fi_domain_attr *have)
{
	int granted;
	if (!asked)
		return true;
	if (!hints_mr_mode(version, asked->mr_mode, &granted)) {
		LOG_INFO(CORE, "mr_mode: %u.%u has no combination %#x\n",
			FI_MAJOR(version), FI_MINOR(version),
			(unsigned)asked->mr_mode);
		return false;
	}
	return (!asked->domain || asked->domain->ops == own_domain_ops) &&
	       named("domain", asked->name, have->name) &&
	       within("threading", asked->threading, FI_THREAD_ENDPOINT) &&
	       within("control_progress", asked->control_progress,
		       FI_PROGRESS_MANUAL) &&
	       within("data_progress", asked->data_progress,
		       FI_PROGRESS_MANUAL) &&
	       within("resource_mgmt", asked->resource_mgmt, FI_RM_ENABLED) &&
	       within("av_type", asked->av_type, FI_AV_TABLE) &&
	       WITHIN(mr_key_size) && WITHIN(cq_data_size) && WITHIN(cq_cnt) &&
	       WITHIN(ep_cnt) && WITHIN(tx_ctx_cnt) && WITHIN(rx_ctx_cnt) &&
	       WITHIN(max_ep_tx_ctx) && WITHIN(max_ep_rx_ctx) &&
	       WITHIN(max_ep_stx_ctx) && WITHIN(max_ep_srx_ctx) &&
	       WITHIN(cntr_cnt) && WITHIN(mr_iov_limit) &&
	       WITHIN(max_err_data) && WITHIN(mr_cnt) &&
	       among("domain caps", asked->caps, have->caps, FI_TYPE_CAPS) &&
	       no_key(version, asked->auth_key_size);
}

/* libfabric has checked prov_name, which may name layered providers. */
static bool fabric_fits(
	const struct fi_fabric_attr *asked, const struct fi_fabric_attr *have)
{
	if (!asked)
		return true;
	return (!asked->fabric || asked->fabric->ops == own_fabric_ops) &&
	       named("fabric", asked->name, have->name) &&
	       (!asked->prov_name ||
		       strcasestr(asked->prov_name, provider.name)) &&
	       WITHIN(prov_version);
}

bool hints_fit(uint32_t version, const struct fi_info *asked,
	const struct fi_info *have)
{
	return among("caps", asked->caps, have->caps, FI_TYPE_CAPS) &&
	       ONLY(addr_format) && tx_fits(asked->tx_attr, have) &&
	       rx_fits(asked->rx_attr, have) &&
	       ep_fits(version, asked->ep_attr, have->ep_attr) &&
	       domain_fits(version, asked->domain_attr, have->domain_attr) &&
	       fabric_fits(asked->fabric_attr, have->fabric_attr);
}
