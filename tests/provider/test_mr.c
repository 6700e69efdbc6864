/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory regions: invalid registrations, keys, and remote access. */
#include <string.h>

#include "region.h"

#define BYTES 4096

static unsigned char memory[2 * BYTES];

static int reg(struct stack *s, void *at, size_t bytes, uint64_t access,
	uint64_t key, uint64_t flags, struct fid_mr **mr)
{
	return fi_mr_reg(s->domain, at, bytes, access, 0, key, flags, mr, NULL);
}

static void close_mr(struct fid_mr *mr)
{
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* ---- registration ---- */

static void refusals_body(struct process *me, void *argument)
{
	struct stack s;
	struct fid_mr *mr;
	const struct iovec iov[2] = { { memory, 8 }, { memory + 8, 8 } };
	(void)me, (void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	assert_int_equal(
		reg(&s, NULL, 8, FI_REMOTE_READ, 1, 0, &mr), -FI_EINVAL);
	assert_int_equal(
		reg(&s, memory, 0, FI_REMOTE_READ, 1, 0, &mr), -FI_EINVAL);
	assert_int_equal(reg(&s, memory, SIZE_MAX, FI_REMOTE_READ, 1, 0, &mr),
		-FI_EINVAL);
	assert_int_equal(reg(&s, memory, 8, FI_TAGGED, 1, 0, &mr), -FI_EINVAL);
	assert_int_equal(
		reg(&s, memory, 8, FI_REMOTE_READ, 1, FI_RMA_PMEM, &mr),
		-FI_EINVAL);
	assert_int_equal(
		reg(&s, memory, 8, FI_REMOTE_READ, 1, 1, &mr), -FI_EINVAL);
	assert_int_equal(
		reg(&s, memory, 8, FI_REMOTE_READ, FI_KEY_NOTAVAIL, 0, &mr),
		-FI_EINVAL);
	assert_int_equal(fi_mr_reg(s.domain, memory, 8, FI_REMOTE_READ, 8, 1, 0,
				 &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(s.domain, iov, 2, FI_REMOTE_READ, 0, 1, 0,
				 &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(s.domain, iov, 0, FI_REMOTE_READ, 0, 1, 0,
				 &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regattr(s.domain, NULL, 0, &mr), -FI_EINVAL);
	stack_close(&s);
}

static void invalid_registrations_are_refused(void **state)
{
	(void)state;
	group_run(1, refusals_body, NULL);
}

static void calls_body(struct process *me, void *argument)
{
	struct stack s;
	struct fid_mr *mr, *other;
	uint64_t base = 1, key = 0;
	size_t bytes = 4;
	const struct iovec iov = { memory, BYTES };
	const struct fi_mr_attr attr = { .mr_iov = &iov,
		.iov_count = 1,
		.access = FI_REMOTE_WRITE,
		.requested_key = 1ull << 40,
		.context = &s };
	(void)me, (void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	assert_int_equal(fi_mr_regattr(s.domain, &attr, 0, &mr), 0);
	assert_true(mr->fid.context == &s && fi_mr_desc(mr) != NULL);
	assert_int_equal(fi_mr_key(mr), 1ull << 40);
	assert_int_equal(fi_mr_regattr(s.domain, &attr, 0, &other), -FI_ENOKEY);
	assert_int_equal(fi_mr_raw_attr(mr, &base, (uint8_t *)&key, &bytes, 0),
		-FI_ETOOSMALL);
	assert_int_equal(bytes, 8);
	assert_int_equal(
		fi_mr_raw_attr(mr, &base, (uint8_t *)&key, &bytes, 0), 0);
	assert_true(key == 1ull << 40 && base == 0);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_int_equal(fi_mr_refresh(mr, NULL, 0, 0), 0);
	assert_int_equal(fi_mr_bind(mr, &s.ep->fid, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&s.domain->fid), -FI_EBUSY);
	close_mr(mr);
	assert_int_equal(fi_mr_regattr(s.domain, &attr, 0, &mr), 0);
	close_mr(mr);
	stack_close(&s);
}

static void calls_on_regions(void **state)
{
	(void)state;
	group_run(1, calls_body, NULL);
}

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void provider_keys_body(struct process *me, void *argument)
{
	enum {
		REGIONS = 1000
	};
	static struct fid_mr *mrs[REGIONS];
	static uint64_t keys[REGIONS];
	struct stack s;
	(void)me, (void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS,
			       .mr_mode = FI_MR_PROV_KEY | FI_MR_VIRT_ADDR });
	assert_true(s.info->domain_attr->mr_mode & FI_MR_PROV_KEY);
	for (unsigned i = 0; i < REGIONS; i++) {
		assert_int_equal(
			reg(&s, memory, 8 + i, ACCESS_REMOTE, 7, 0, &mrs[i]),
			0);
		keys[i] = fi_mr_key(mrs[i]);
		assert_true(keys[i] != FI_KEY_NOTAVAIL);
	}
	qsort(keys, REGIONS, sizeof(keys[0]), by_key);
	for (unsigned i = 1; i < REGIONS; i++)
		assert_true(keys[i] != keys[i - 1]);
	for (unsigned i = 0; i < REGIONS; i++)
		close_mr(mrs[i * 7 % REGIONS]);
	stack_close(&s);
}

static void provider_keys_are_all_different(void **state)
{
	(void)state;
	group_run(1, provider_keys_body, NULL);
}

/* ---- access by a peer ---- */

/* Writes 8 bytes; returns the error or 0. */
static int write_to(struct stack *s, uint64_t address, uint64_t key, uint64_t v)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry error;
	uint64_t deadline = soon();
	ssize_t r;
	MUST(s, fi_write(s->ep, &v, 8, NULL, s->peers[1], address, key, &v));
	while ((r = fi_cq_read(s->txcq, &e, 1)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	if (r == 1)
		return 0;
	return cq_next_error(s->txcq, &error);
}

static uint64_t word_at(size_t offset)
{
	uint64_t word;
	memcpy(&word, memory + offset, sizeof(word));
	return word;
}

/* Keys 1 and 2 are registered before the endpoint is enabled, 3 after. */
static void times_owner(
	struct stack *s, struct process *me, struct fid_mr **mrs)
{
	assert_int_equal(reg(s, memory, 64, ACCESS_REMOTE, 1, 0, &mrs[0]), 0);
	assert_int_equal(
		reg(s, memory + 64, 64, FI_REMOTE_READ, 2, 0, &mrs[1]), 0);
	stack_open_ep(s, &(struct options){ 0 });
	assert_int_equal(
		reg(s, memory + 128, 64, ACCESS_REMOTE, 3, 0, &mrs[2]), 0);
	stack_join(s, me);
	process_barrier(me, s);
	assert_true(
		word_at(56) == 11 && word_at(64) == 0 && word_at(128) == 33);
	close_mr(mrs[0]);
	close_mr(mrs[2]);
	assert_int_equal(
		reg(s, memory + 256, 64, ACCESS_REMOTE, 3, 0, &mrs[2]), 0);
	process_barrier(me, s);
	process_barrier(me, s);
	assert_true(
		word_at(56) == 11 && word_at(128) == 33 && word_at(256) == 44);
	close_mr(mrs[1]);
	close_mr(mrs[2]);
}

static void times_writer(struct stack *s, struct process *me)
{
	stack_open_ep(s, &(struct options){ 0 });
	stack_join(s, me);
	assert_int_equal(write_to(s, 56, 1, 11), 0);
	assert_int_equal(write_to(s, 0, 2, 22), FI_EACCES);
	assert_int_equal(write_to(s, 0, 3, 33), 0);
	assert_int_equal(write_to(s, 57, 1, 99), FI_EINVAL);
	assert_int_equal(write_to(s, UINT64_MAX, 1, 99), FI_EINVAL);
	assert_int_equal(write_to(s, 0, 4, 99), FI_EKEYREJECTED);
	process_barrier(me, s);
	process_barrier(me, s);
	assert_int_equal(write_to(s, 0, 1, 99), FI_EKEYREJECTED);
	assert_int_equal(write_to(s, 0, 3, 44), 0);
	process_barrier(me, s);
}

static void times_body(struct process *me, void *argument)
{
	struct fid_mr *mrs[3];
	struct stack s;
	(void)argument;
	stack_open_domain(&s, &(struct options){ .caps = CAPS_ACCESS });
	if (me->rank == 1)
		times_owner(&s, me, mrs);
	else
		times_writer(&s, me);
	stack_leave(&s, me);
}

static void regions_may_precede_the_endpoint(void **state)
{
	(void)state;
	group_run(2, times_body, NULL);
}

/* One key is registered again and again. */
static void again_body(struct process *me, void *argument)
{
	uint64_t turns = scaled(6000);
	struct fid_mr *mr;
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	stack_join(&s, me);
	for (uint64_t i = 1; i <= turns; i++) {
		size_t at = i % 100 * 8;
		if (me->rank == 1)
			assert_int_equal(reg(&s, memory + at, 8, ACCESS_REMOTE,
						 5, 0, &mr),
				0);
		process_barrier(me, &s);
		if (me->rank == 0)
			assert_int_equal(write_to(&s, 0, 5, i), 0);
		process_barrier(me, &s);
		if (me->rank == 1) {
			assert_int_equal(word_at(at), i);
			close_mr(mr);
		}
	}
	stack_leave(&s, me);
}

static void a_key_may_be_reused(void **state)
{
	(void)state;
	group_run(2, again_body, NULL);
}

enum {
	CROWD = 64
};

/* Closes every second region; the keys of the others are still found. */
static void crowd_owner(struct stack *s, struct process *me)
{
	struct fid_mr *mrs[CROWD];
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(
			reg(s, memory + 8 * i, 8, ACCESS_REMOTE, i, 0, &mrs[i]),
			0);
	for (unsigned i = 0; i < CROWD; i += 2)
		close_mr(mrs[i]);
	process_barrier(me, s);
	process_barrier(me, s);
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(word_at(8 * i), i % 2 ? i : 0);
	for (unsigned i = 1; i < CROWD; i += 2)
		close_mr(mrs[i]);
}

/*
 * The domain has as many regions as it allows, so that keys collide in the key
 * table of the endpoint, which is half full.
 */
static void crowd_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	assert_int_equal(s.info->domain_attr->mr_cnt, CROWD);
	stack_join(&s, me);
	if (me->rank == 1) {
		crowd_owner(&s, me);
	} else {
		process_barrier(me, &s);
		for (unsigned i = 0; i < CROWD; i++)
			assert_int_equal(write_to(&s, 0, i, i),
				i % 2 ? 0 : FI_EKEYREJECTED);
		process_barrier(me, &s);
	}
	stack_leave(&s, me);
}

/* The parameter is read when a process loads libfabric. */
static void closed_regions_do_not_hide_others(void **state)
{
	(void)state;
	group_cold_start = true;
	assert_int_equal(setenv("FI_CAY_MR_COUNT", "64", 1), 0);
	group_run(2, crowd_body, NULL);
	unsetenv("FI_CAY_MR_COUNT");
	group_cold_start = false;
}

/* Writes 8 bytes in two parts; returns the error or 0. */
static int write_parts(
	struct stack *s, struct fi_rma_iov first, struct fi_rma_iov second)
{
	uint64_t word = ~0ull;
	struct iovec iov = { &word, 8 };
	const struct fi_rma_iov remote[] = { first, second };
	struct fi_msg_rma m = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = s->peers[1],
		.rma_iov = remote,
		.rma_iov_count = COUNT(remote),
		.context = &word };
	struct fi_cq_err_entry e;
	MUST(s, fi_writemsg(s->ep, &m, FI_COMPLETION));
	int error = cq_next_error(s->txcq, &e);
	assert_true(e.op_context == &word);
	cq_expect_none(s->txcq);
	return error;
}

/* Adds 1 with a data type that the target executes; returns the error or 0. */
static int fetch_from(struct stack *s, uint64_t key)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry error;
	uint64_t deadline = soon();
	uint32_t one = 1, found;
	ssize_t r;
	MUST(s, fi_fetch_atomic(s->ep, &one, 1, NULL, &found, NULL, s->peers[1],
			0, key, FI_UINT32, FI_SUM, s));
	while ((r = fi_cq_read(s->txcq, &e, 1)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	return r == 1 ? 0 : cq_next_error(s->txcq, &error);
}

/* An operation that reads and writes needs both rights. */
static void both_rights_body(struct process *me, void *argument)
{
	static const uint64_t access[] = { FI_REMOTE_READ, FI_REMOTE_WRITE,
		ACCESS_REMOTE };
	struct fid_mr *mrs[COUNT(access)];
	struct stack s;
	(void)argument;
	memset(memory, 0, 24);
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	for (unsigned i = 0; me->rank == 1 && i < COUNT(access); i++)
		assert_int_equal(reg(&s, memory + 8 * i, 8, access[i], i + 1, 0,
					 &mrs[i]),
			0);
	stack_join(&s, me);
	if (me->rank == 0) {
		assert_int_equal(fetch_from(&s, 1), FI_EACCES);
		assert_int_equal(fetch_from(&s, 2), FI_EACCES);
		assert_int_equal(fetch_from(&s, 3), 0);
	}
	process_barrier(me, &s);
	if (me->rank == 1) {
		assert_true(
			word_at(0) == 0 && word_at(8) == 0 && word_at(16) == 1);
		for (unsigned i = 0; i < COUNT(access); i++)
			close_mr(mrs[i]);
	}
	stack_leave(&s, me);
}

static void fetching_needs_both_rights(void **state)
{
	(void)state;
	group_run(2, both_rights_body, NULL);
}

/* A segment with a wrong range or right is found before a part is issued. */
static void parts_body(struct process *me, void *argument)
{
	const struct fi_rma_iov good = { 0, 4, 1 };
	struct fid_mr *mrs[2];
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	if (me->rank == 1) {
		assert_int_equal(
			reg(&s, memory, 8, ACCESS_REMOTE, 1, 0, &mrs[0]), 0);
		assert_int_equal(
			reg(&s, memory + 8, 8, FI_REMOTE_READ, 2, 0, &mrs[1]),
			0);
	}
	stack_join(&s, me);
	if (me->rank == 0) {
		assert_int_equal(
			write_parts(&s, good, (struct fi_rma_iov){ 6, 4, 1 }),
			FI_EINVAL);
		assert_int_equal(
			write_parts(&s, good, (struct fi_rma_iov){ 0, 4, 2 }),
			FI_EACCES);
	}
	process_barrier(me, &s);
	if (me->rank == 1) {
		assert_true(word_at(0) == 0 && word_at(8) == 0);
		close_mr(mrs[0]);
		close_mr(mrs[1]);
	}
	stack_leave(&s, me);
}

static void refused_operations_write_nothing(void **state)
{
	(void)state;
	group_run(2, parts_body, NULL);
}

static void all_memory_body(struct process *me, void *argument)
{
	struct fid_mr *mr = NULL;
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	if (me->rank == 1) {
		assert_int_equal(
			reg(&s, NULL, SIZE_MAX, ACCESS_REMOTE, 9, 0, &mr), 0);
		atomic_store(process_word(me, 0), (uintptr_t)(memory + 8));
	}
	stack_join(&s, me);
	if (me->rank == 0) {
		uint64_t address = atomic_load(process_word(me, 0));
		assert_int_equal(write_to(&s, address, 9, 55), 0);
		assert_int_equal(write_to(&s, 8, 9, 55), FI_EINVAL);
		assert_int_equal(write_to(&s, 1ull << 46, 9, 55), FI_EFAULT);
		/* The device has executed the first part. */
		assert_int_equal(
			write_parts(&s,
				(struct fi_rma_iov){ address + 8, 4, 9 },
				(struct fi_rma_iov){ 1ull << 46, 4, 9 }),
			FI_EFAULT);
	}
	process_barrier(me, &s);
	if (me->rank == 1) {
		assert_int_equal(word_at(8), 55);
		close_mr(mr);
	}
	stack_leave(&s, me);
}

static void all_memory_can_be_registered(void **state)
{
	(void)state;
	group_run(2, all_memory_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		/* First: the others load libfabric into this process. */
		TEST(closed_regions_do_not_hide_others),
		TEST(invalid_registrations_are_refused),
		TEST(calls_on_regions),
		TEST(provider_keys_are_all_different),
		TEST(regions_may_precede_the_endpoint),
		TEST(a_key_may_be_reused),
		TEST(fetching_needs_both_rights),
		TEST(refused_operations_write_nothing),
		TEST(all_memory_can_be_registered),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
