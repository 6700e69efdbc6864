/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domain attributes of fi_getinfo(), and fabrics and domains that are opened
 * with them.
 */
#include "getinfo.h"

/* ---- attributes ---- */

static void test_threading(void **state)
{
	struct fi_domain_attr *d = hints->domain_attr;
	(void)state;
	for (d->threading = FI_THREAD_SAFE; d->threading <= FI_THREAD_ENDPOINT;
		d->threading++) {
		grant();
		assert_int_equal(info->domain_attr->threading, d->threading);
	}
	REFUSE();
}

static void test_progress(void **state)
{
	struct fi_domain_attr *d = hints->domain_attr;
	(void)state;
	d->data_progress = FI_PROGRESS_AUTO;
	grant();
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	assert_int_equal(
		info->domain_attr->control_progress, FI_PROGRESS_MANUAL);
	d->data_progress = FI_PROGRESS_MANUAL;
	d->control_progress = FI_PROGRESS_AUTO;
	grant();
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->control_progress, FI_PROGRESS_AUTO);
	d->data_progress = 3;
	REFUSE();
	d->data_progress = 0;
	d->control_progress = 3;
	REFUSE();
}

static void test_models(void **state)
{
	struct fi_domain_attr *d = hints->domain_attr;
	(void)state;
	grant();
	assert_int_equal(info->domain_attr->av_type, FI_AV_UNSPEC);
	d->av_type = FI_AV_MAP;
	grant();
	assert_int_equal(info->domain_attr->av_type, FI_AV_MAP);
	d->av_type = FI_AV_TABLE;
	grant();
	assert_int_equal(info->domain_attr->av_type, FI_AV_TABLE);
	d->av_type = 3;
	REFUSE();
	d->av_type = FI_AV_UNSPEC;
	d->resource_mgmt = FI_RM_DISABLED;
	grant();
	assert_int_equal(info->domain_attr->resource_mgmt, FI_RM_ENABLED);
	d->resource_mgmt = 3;
	REFUSE();
}

static void test_counts(void **state)
{
	struct fi_domain_attr *d = hints->domain_attr;
	(void)state;
	LIMIT(d->mr_key_size, 8);
	LIMIT(d->cq_data_size, 8);
	LIMIT(d->cq_cnt, 65535);
	LIMIT(d->ep_cnt, 65535);
	LIMIT(d->cntr_cnt, 65535);
	LIMIT(d->max_ep_tx_ctx, 1);
	LIMIT(d->max_ep_rx_ctx, 1);
	LIMIT(d->max_ep_stx_ctx, 0);
	LIMIT(d->max_ep_srx_ctx, 0);
	LIMIT(d->mr_iov_limit, 1);
	LIMIT(d->max_err_data, 0);
	LIMIT(d->mr_cnt, 4093);
	d->caps = COMM;
	grant();
	d->caps = FI_SHARED_AV;
	REFUSE();
}

/* ---- registration ---- */

struct mode {
	uint32_t version;
	int asked, granted; /* -1: refused */
};

static const struct mode modes[] = {
	{ NOW, 0, 0 },
	{ NOW, FI_MR_BASIC, FI_MR_BASIC },
	{ NOW, FI_MR_SCALABLE, FI_MR_SCALABLE },
	{ NOW, FI_MR_VIRT_ADDR, FI_MR_VIRT_ADDR },
	{ NOW, FI_MR_PROV_KEY, FI_MR_PROV_KEY },
	{ NOW, FI_MR_ALLOCATED, 0 },
	{ NOW, FI_MR_ALLOCATED | FI_MR_PROV_KEY, FI_MR_PROV_KEY },
	{ NOW, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY },
	{ NOW,
		FI_MR_LOCAL | FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT |
			FI_MR_ENDPOINT | FI_MR_HMEM | FI_MR_COLLECTIVE,
		0 },
	{ NOW, ~(FI_MR_BASIC | FI_MR_SCALABLE),
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY },
	{ NOW, FI_MR_BASIC | FI_MR_SCALABLE, -1 },
	{ NOW, FI_MR_BASIC | FI_MR_VIRT_ADDR, -1 },
	{ NOW, FI_MR_SCALABLE | FI_MR_LOCAL, -1 },
	{ FI_VERSION(1, 5), FI_MR_VIRT_ADDR, FI_MR_VIRT_ADDR },
	{ BEFORE, FI_MR_UNSPEC, FI_MR_SCALABLE },
	{ BEFORE, FI_MR_BASIC, FI_MR_BASIC },
	{ BEFORE, FI_MR_SCALABLE, FI_MR_SCALABLE },
	{ BEFORE, FI_MR_VIRT_ADDR, -1 },
	{ BEFORE, FI_MR_BASIC | FI_MR_SCALABLE, -1 },
	{ 0, FI_MR_UNSPEC, FI_MR_SCALABLE },
	{ 0, FI_MR_BASIC, FI_MR_BASIC },
};

static void test_registration(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(modes); i++) {
		const struct mode *m = &modes[i];
		hints->domain_attr->mr_mode = m->asked;
		int r = get(m->version, NULL, NULL, 0, hints);
		assert_int_equal(r, m->granted < 0 ? -FI_ENODATA : 0);
		if (r == 0)
			assert_int_equal(
				info->domain_attr->mr_mode, m->granted);
	}
}

/* ---- fabrics ---- */

static struct fid_fabric *open_fabric(void)
{
	struct fid_fabric *fabric;
	assert_int_equal(fi_fabric(info->fabric_attr, &fabric, hints), 0);
	assert_int_equal(fabric->fid.fclass, FI_CLASS_FABRIC);
	assert_ptr_equal(fabric->fid.context, hints);
	return fabric;
}

static void test_fabric(void **state)
{
	struct fid_fabric *fabric, *other;
	struct fid_pep *pep;
	struct fid_wait *wait;
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	void *ops;
	(void)state;
	grant();
	fabric = open_fabric();
	assert_int_equal(fabric->api_version, NOW);
	assert_int_equal(fi_passive_ep(fabric, info, &pep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_wait_open(fabric, &attr, &wait), -FI_ENOSYS);
	assert_int_equal(fi_control(&fabric->fid, 1234, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_open_ops(&fabric->fid, "x", 0, &ops, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_set_ops(&fabric->fid, "x", 0, NULL, NULL), -FI_ENOSYS);
	info->fabric_attr->name[0] = 'b';
	assert_int_equal(
		fi_fabric(info->fabric_attr, &other, NULL), -FI_EINVAL);
	info->fabric_attr->name[0] = 'c';
	other = open_fabric();
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

/* ---- domains ---- */

static struct fid_domain *open_domain(struct fid_fabric *fabric)
{
	struct fid_domain *domain;
	assert_int_equal(fi_domain(fabric, info, &domain, hints), 0);
	assert_int_equal(domain->fid.fclass, FI_CLASS_DOMAIN);
	assert_ptr_equal(domain->fid.context, hints);
	return domain;
}

static void test_busy(void **state)
{
	(void)state;
	grant();
	struct fid_fabric *fabric = open_fabric();
	struct fid_domain *one = open_domain(fabric);
	struct fid_domain *two = open_domain(fabric);
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&one->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&two->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static void expect_no_domain(struct fid_fabric *fabric)
{
	struct fid_domain *domain = NULL;
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), -FI_EINVAL);
	assert_null(domain);
}

static void test_tampered(void **state)
{
	struct fid_domain *domain;
	(void)state;
	grant();
	struct fid_fabric *fabric = open_fabric();
	assert_int_equal(fi_domain(fabric, NULL, &domain, NULL), -FI_EINVAL);
	assert_int_equal(fi_domain(fabric, info, NULL, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_domain2(fabric, info, &domain, 1, NULL), -FI_EBADFLAGS);
	info->caps |= FI_COLLECTIVE;
	expect_no_domain(fabric);
	info->caps &= ~FI_COLLECTIVE;
	info->domain_attr->threading = 77;
	expect_no_domain(fabric);
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->mr_mode = FI_MR_BASIC | FI_MR_SCALABLE;
	expect_no_domain(fabric);
	info->domain_attr->mr_mode = FI_MR_BASIC;
	struct fi_domain_attr *attr = info->domain_attr;
	info->domain_attr = NULL;
	expect_no_domain(fabric);
	info->domain_attr = attr;
	domain = open_domain(fabric);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static void test_unsupported_calls(void **state)
{
	struct fid_ep *ep;
	struct fid_stx *stx;
	(void)state;
	grant();
	struct fid_fabric *fabric = open_fabric();
	struct fid_domain *domain = open_domain(fabric);
	assert_int_equal(fi_scalable_ep(domain, info, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_stx_context(domain, info->tx_attr, &stx, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_srx_context(domain, info->rx_attr, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_endpoint2(domain, info, &ep, 1, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_endpoint(domain, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_unmap_key(domain, 7), -FI_ENOSYS);
	assert_int_equal(fi_domain_bind(domain, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(domain, &fabric->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

static void test_event_queue(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_eq *eq;
	(void)state;
	grant();
	struct fid_fabric *fabric = open_fabric();
	struct fid_domain *domain = open_domain(fabric);
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), 0);
	assert_int_equal(
		fi_domain_bind(domain, &eq->fid, FI_REG_MR), -FI_EBADFLAGS);
	assert_int_equal(fi_domain_bind(domain, &eq->fid, 0), 0);
	assert_int_equal(fi_domain_bind(domain, &eq->fid, 0), -FI_EBUSY);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

/* Open objects in the hints are passed on if they belong to the provider. */
static void test_open_objects(void **state)
{
	struct fid_domain foreign = { .fid.fclass = FI_CLASS_DOMAIN };
	(void)state;
	grant();
	struct fid_fabric *fabric = open_fabric();
	struct fid_domain *domain = open_domain(fabric);
	hints->domain_attr->domain = domain;
	hints->fabric_attr->fabric = fabric;
	grant();
	assert_ptr_equal(info->domain_attr->domain, domain);
	assert_ptr_equal(info->fabric_attr->fabric, fabric);
	hints->domain_attr->domain = &foreign;
	REFUSE();
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
}

/* The progress thread starts and stops with the domain. */
static void test_automatic(void **state)
{
	(void)state;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	grant();
	struct fid_fabric *fabric = open_fabric();
	for (int i = 0; i < 20; i++) {
		struct fid_domain *domain = open_domain(fabric);
		assert_int_equal(fi_close(&domain->fid), 0);
	}
	assert_int_equal(fi_close(&fabric->fid), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_threading),
		TEST(test_progress),
		TEST(test_models),
		TEST(test_counts),
		TEST(test_registration),
		TEST(test_fabric),
		TEST(test_busy),
		TEST(test_tampered),
		TEST(test_unsupported_calls),
		TEST(test_event_queue),
		TEST(test_open_objects),
		TEST(test_automatic),
	};
	getinfo_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
