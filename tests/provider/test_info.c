/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_getinfo(): attributes without hints, and hints about transfers. */
#include "getinfo.h"

/* ---- without hints ---- */

static void check_transfers(void)
{
	assert_int_equal(info->tx_attr->op_flags, 0);
	assert_int_equal(info->tx_attr->inject_size, 4096);
	assert_int_equal(info->tx_attr->size, 1024);
	assert_int_equal(info->tx_attr->iov_limit, 8);
	assert_int_equal(info->tx_attr->rma_iov_limit, 4);
	assert_int_equal(info->tx_attr->comp_order, FI_ORDER_NONE);
	assert_true(info->tx_attr->msg_order & FI_ORDER_SAS);
	assert_int_equal(info->rx_attr->op_flags, 0);
	assert_int_equal(info->rx_attr->size, 1024);
	assert_int_equal(info->rx_attr->iov_limit, 8);
	assert_int_equal(info->rx_attr->msg_order, info->tx_attr->msg_order);
	assert_int_equal(info->rx_attr->total_buffered_recv, 3 * MIB);
}

static void check_domain(void)
{
	const struct fi_domain_attr *d = info->domain_attr;
	assert_string_equal(d->name, "cay");
	assert_int_equal(d->threading, FI_THREAD_SAFE);
	assert_int_equal(d->control_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(d->data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(d->resource_mgmt, FI_RM_ENABLED);
	assert_int_equal(d->mr_key_size, 8);
	assert_int_equal(d->cq_data_size, 8);
	assert_int_equal(d->mr_iov_limit, 1);
	assert_int_equal(d->mr_cnt, 4093);
	assert_int_equal(d->max_ep_tx_ctx, 1);
	assert_int_equal(d->max_ep_rx_ctx, 1);
	assert_int_equal(d->max_ep_stx_ctx, 0);
	assert_int_equal(d->max_ep_srx_ctx, 0);
	assert_int_equal(d->caps, COMM);
	assert_int_equal(d->ep_cnt, 65535);
}

static void check_offer(uint32_t version)
{
	assert_string_equal(info->fabric_attr->prov_name, "cay");
	assert_string_equal(info->fabric_attr->name, "cay");
	assert_int_equal(info->fabric_attr->api_version, version);
	assert_int_equal(info->caps, ALL_CAPS);
	assert_int_equal(info->mode, 0);
	assert_int_equal(info->addr_format, FI_ADDR_STR);
	assert_string_equal(
		info->src_addr, "fi_cay://any.............-000000000000");
	assert_null(info->dest_addr);
	assert_null(info->nic);
	assert_int_equal(info->ep_attr->type, FI_EP_RDM);
	assert_int_equal(info->ep_attr->tx_ctx_cnt, 1);
	assert_int_equal(info->ep_attr->rx_ctx_cnt, 1);
	assert_int_equal(info->ep_attr->max_msg_size, 1ull << 40);
	assert_int_equal(info->ep_attr->mem_tag_format, 0xaaaaaaaaaaaaaaaaull);
	check_transfers();
	check_domain();
}

static void test_no_hints(void **state)
{
	(void)state;
	assert_int_equal(get(NOW, NULL, NULL, 0, NULL), 0);
	check_offer(NOW);
	assert_int_equal(info->domain_attr->mr_mode, 0);
}

static void test_empty_hints(void **state)
{
	(void)state;
	grant();
	check_offer(NOW);
}

/* Hints without any attribute structures. */
static void test_bare_hints(void **state)
{
	struct fi_info bare = { .caps = FI_TAGGED };
	(void)state;
	assert_int_equal(get(NOW, NULL, NULL, 0, &bare), 0);
	assert_int_equal(info->caps, FI_TAGGED | MSG_WAYS | COMM);
	check_domain();
}

static void test_versions(void **state)
{
	static const uint32_t versions[] = { 0, FI_VERSION(1, 0), BEFORE,
		FI_VERSION(1, 5), FI_VERSION(1, 9), NOW };
	(void)state;
	for (unsigned i = 0; i < COUNT(versions); i++) {
		uint32_t version = versions[i];
		assert_int_equal(get(version, NULL, NULL, 0, hints), 0);
		check_offer(version);
		assert_int_equal(get(version, NULL, NULL, 0, NULL), 0);
		check_offer(version);
		assert_int_equal(info->domain_attr->mr_mode,
			version < FI_VERSION(1, 5) ? FI_MR_SCALABLE : 0);
	}
}

static void test_provider_only(void **state)
{
	(void)state;
	assert_int_equal(get(NOW, NULL, NULL, FI_PROV_ATTR_ONLY, NULL), 0);
	const struct fi_info *i = info;
	while (i && strcmp(i->fabric_attr->prov_name, "cay") != 0)
		i = i->next;
	assert_non_null(i);
	assert_true(i->fabric_attr->prov_version > 0);

	/* With another flag libfabric calls the provider. */
	const uint64_t flags = FI_PROV_ATTR_ONLY | FI_NUMERICHOST;
	assert_int_equal(get(NOW, NULL, NULL, flags, hints), 0);
	check_offer(NOW);
	assert_int_equal(get(NOW, NULL, NULL, flags, NULL), 0);
	check_offer(NOW);
}

static void test_names(void **state)
{
	(void)state;
	hints->fabric_attr->name = strdup("cay");
	hints->domain_attr->name = strdup("cay");
	grant();
	strcpy(hints->domain_attr->name, "bay");
	REFUSE();
	strcpy(hints->domain_attr->name, "cay");
	strcpy(hints->fabric_attr->name, "bay");
	REFUSE();
	strcpy(hints->fabric_attr->name, "cay");
	strcpy(hints->fabric_attr->prov_name, "bay");
	REFUSE();
	strcpy(hints->fabric_attr->prov_name, "cay");
	grant();
	hints->fabric_attr->prov_version = info->fabric_attr->prov_version + 1;
	REFUSE();
}

/* ---- capabilities and modes ---- */

static void test_caps(void **state)
{
	static const struct {
		uint64_t asked, granted;
	} cases[] = {
		{ FI_MSG, FI_MSG | MSG_WAYS },
		{ FI_MSG | FI_SEND, FI_MSG | FI_SEND },
		{ FI_TAGGED | FI_RECV, FI_TAGGED | FI_RECV },
		{ FI_RMA, FI_RMA | RMA_WAYS },
		{ FI_ATOMIC | FI_READ, FI_ATOMIC | FI_READ },
		{ FI_RMA | FI_REMOTE_WRITE | FI_MSG,
			FI_RMA | FI_REMOTE_WRITE | FI_MSG | MSG_WAYS },
		{ FI_TAGGED | FI_DIRECTED_RECV,
			FI_TAGGED | FI_DIRECTED_RECV | MSG_WAYS },
		{ FI_MSG | FI_MULTI_RECV | FI_SOURCE,
			FI_MSG | FI_MULTI_RECV | FI_SOURCE | MSG_WAYS },
		{ FI_RMA | FI_RMA_EVENT, FI_RMA | FI_RMA_EVENT | RMA_WAYS },
		{ ALL_CAPS, ALL_CAPS },
		{ FI_LOCAL_COMM, ALL_CAPS },
		{ FI_SOURCE | FI_REMOTE_COMM, ALL_CAPS },
	};
	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++) {
		hints->caps = cases[i].asked;
		grant();
		assert_int_equal(info->caps, cases[i].granted | COMM);
		assert_int_equal(info->tx_attr->caps & ~info->caps, 0);
		assert_int_equal(info->rx_attr->caps & ~info->caps, 0);
		assert_int_equal(
			(info->tx_attr->caps | info->rx_attr->caps | COMM),
			info->caps);
	}
}

static void test_context_caps(void **state)
{
	(void)state;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->tx_attr->caps = FI_TAGGED;
	hints->rx_attr->caps = FI_MSG | FI_RMA | FI_REMOTE_READ;
	grant();
	assert_int_equal(info->tx_attr->caps, FI_TAGGED | FI_SEND);
	assert_int_equal(info->rx_attr->caps,
		FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ);
	hints->tx_attr->caps = FI_FENCE;
	REFUSE();
	hints->tx_attr->caps = 0;
	hints->rx_attr->caps = FI_RMA_PMEM;
	REFUSE();
}

static void test_caps_refused(void **state)
{
	static const uint64_t lacking[] = { FI_MULTICAST, FI_COLLECTIVE,
		FI_FENCE, FI_TRIGGER, FI_HMEM, FI_VARIABLE_MSG, FI_RMA_PMEM,
		FI_SOURCE_ERR, FI_SHARED_AV, FI_NAMED_RX_CTX, FI_AV_USER_ID,
		FI_XPU_TRIGGER, 1ull << 63 };
	(void)state;
	for (unsigned i = 0; i < COUNT(lacking); i++) {
		hints->caps = FI_MSG | lacking[i];
		REFUSE();
		hints->caps = ~0ull & ~lacking[i];
		REFUSE();
	}
}

/* No mode bit is required, whatever the application supports. */
static void test_mode(void **state)
{
	(void)state;
	hints->mode = ~0ull;
	hints->tx_attr->mode = hints->rx_attr->mode = ~0ull;
	hints->domain_attr->mode = ~0ull;
	grant();
	assert_int_equal(info->mode, 0);
	assert_int_equal(info->tx_attr->mode, 0);
	assert_int_equal(info->rx_attr->mode, 0);
	assert_int_equal(info->domain_attr->mode, 0);
}

/* ---- transfers and endpoints ---- */

static void test_tx(void **state)
{
	struct fi_tx_attr *tx = hints->tx_attr;
	(void)state;
	LIMIT(tx->inject_size, 4096);
	LIMIT(tx->iov_limit, 8);
	LIMIT(tx->rma_iov_limit, 4);
	LIMIT(tx->size, 65536);
	tx->size = 5000;
	tx->op_flags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
		       FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
	grant();
	assert_int_equal(info->tx_attr->size, 5000);
	assert_int_equal(info->tx_attr->op_flags, tx->op_flags);
	tx->op_flags = FI_COMMIT_COMPLETE;
	REFUSE();
	tx->op_flags = FI_MULTI_RECV;
	REFUSE();
}

static void test_rx(void **state)
{
	struct fi_rx_attr *rx = hints->rx_attr;
	(void)state;
	LIMIT(rx->iov_limit, 8);
	LIMIT(rx->size, 65536);
	LIMIT(rx->total_buffered_recv, 3 * MIB);
	rx->size = 10;
	rx->op_flags = FI_COMPLETION | FI_MULTI_RECV;
	grant();
	assert_int_equal(info->rx_attr->size, 1024);
	assert_int_equal(info->rx_attr->op_flags, rx->op_flags);
	rx->op_flags = FI_INJECT;
	REFUSE();
}

static void test_order(void **state)
{
	static const uint64_t have[] = { FI_ORDER_SAS, FI_ORDER_ATOMIC_RAR,
		FI_ORDER_ATOMIC_RAW, FI_ORDER_ATOMIC_WAR, FI_ORDER_ATOMIC_WAW,
		FI_ORDER_RMA_RAR, FI_ORDER_RMA_RAW, FI_ORDER_RMA_WAR,
		FI_ORDER_RMA_WAW };
	static const uint64_t lack[] = { FI_ORDER_STRICT, FI_ORDER_SAW,
		FI_ORDER_RAS, FI_ORDER_WAS, FI_ORDER_SAR, 1ull << 60 };
	(void)state;
	for (unsigned i = 0; i < COUNT(have); i++) {
		hints->tx_attr->msg_order |= have[i];
		hints->rx_attr->msg_order |= have[i];
		grant();
		assert_true(info->tx_attr->msg_order & have[i]);
	}
	for (unsigned i = 0; i < COUNT(lack); i++) {
		hints->tx_attr->msg_order = lack[i];
		hints->rx_attr->msg_order = 0;
		REFUSE();
		hints->rx_attr->msg_order = hints->tx_attr->msg_order;
		hints->tx_attr->msg_order = 0;
		REFUSE();
	}
	hints->rx_attr->msg_order = 0;
	hints->tx_attr->comp_order = FI_ORDER_STRICT;
	REFUSE();
	hints->tx_attr->comp_order = FI_ORDER_NONE;
	hints->rx_attr->comp_order = FI_ORDER_DATA;
	REFUSE();
}

static void test_endpoint(void **state)
{
	struct fi_ep_attr *ep = hints->ep_attr;
	(void)state;
	ep->type = FI_EP_RDM;
	LIMIT(ep->max_msg_size, 1ull << 40);
	LIMIT(ep->max_order_raw_size, 1ull << 40);
	LIMIT(ep->max_order_war_size, 1ull << 40);
	LIMIT(ep->max_order_waw_size, 1ull << 40);
	LIMIT(ep->tx_ctx_cnt, 1);
	LIMIT(ep->rx_ctx_cnt, 1);
	ep->tx_ctx_cnt = FI_SHARED_CONTEXT;
	REFUSE();
	ep->tx_ctx_cnt = 0;
	ep->rx_ctx_cnt = FI_SHARED_CONTEXT;
	REFUSE();
	ep->rx_ctx_cnt = 0;
	ep->mem_tag_format = 0x30ff;
	grant();
	assert_int_equal(info->ep_attr->mem_tag_format, 0x30ff);
}

static void test_endpoint_kinds(void **state)
{
	static const enum fi_ep_type others[] = { FI_EP_MSG, FI_EP_DGRAM,
		FI_EP_SOCK_STREAM, FI_EP_SOCK_DGRAM, 99 };
	(void)state;
	for (unsigned i = 0; i < COUNT(others); i++) {
		hints->ep_attr->type = others[i];
		REFUSE();
	}
	hints->ep_attr->type = FI_EP_UNSPEC;
	grant();
	hints->ep_attr->protocol = info->ep_attr->protocol;
	hints->ep_attr->protocol_version = info->ep_attr->protocol_version;
	grant();
	hints->ep_attr->protocol_version++;
	REFUSE();
	hints->ep_attr->protocol_version = 0;
	hints->ep_attr->protocol = FI_PROTO_SHM;
	REFUSE();
}

static void test_authorization(void **state)
{
	(void)state;
	hints->ep_attr->auth_key = calloc(1, 8);
	hints->ep_attr->auth_key_size = 8;
	REFUSE();
	assert_int_equal(get(BEFORE, NULL, NULL, 0, hints), 0);
	hints->ep_attr->auth_key_size = 0;
	hints->domain_attr->auth_key = calloc(1, 8);
	hints->domain_attr->auth_key_size = 8;
	REFUSE();
}

/* ---- parameters ---- */

static void test_parameters(void **state)
{
	static const char *const names[] = { "FI_CAY_NODE", "FI_CAY_NQ_ENTRIES",
		"FI_CAY_RDR_BYTES", "FI_CAY_EAGER_BYTES", "FI_CAY_PIECE_BYTES",
		"FI_CAY_UNEXPECTED_BYTES", "FI_CAY_MR_COUNT",
		"FI_CAY_CONNECT_MS", "FI_CAY_SPIN_US" };
	struct fi_param *all;
	int count;
	(void)state;
	grant();
	assert_int_equal(fi_getparams(&all, &count), 0);
	for (unsigned i = 0; i < COUNT(names); i++) {
		int at = 0;
		while (at < count && strcmp(all[at].name, names[i]) != 0)
			at++;
		assert_true(at < count);
		assert_true(strlen(all[at].help_string) > 20);
	}
	fi_freeparams(all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_hints),
		TEST(test_empty_hints),
		TEST(test_bare_hints),
		TEST(test_versions),
		TEST(test_provider_only),
		TEST(test_names),
		TEST(test_caps),
		TEST(test_context_caps),
		TEST(test_caps_refused),
		TEST(test_mode),
		TEST(test_tx),
		TEST(test_rx),
		TEST(test_order),
		TEST(test_endpoint),
		TEST(test_endpoint_kinds),
		TEST(test_authorization),
		TEST(test_parameters),
	};
	getinfo_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
