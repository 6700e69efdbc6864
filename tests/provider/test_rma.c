/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory access: all calls, lengths and modes, errors, completions, and
 * order.
 */
#include <string.h>

#include "region.h"

#define BYTES	(1ul << 20)
#define LONGEST (40ul << 20)

/* Process 0 accesses the memory of process 1. */
struct scene {
	struct stack s;
	struct region mine;
	struct target to;
	unsigned char *near; /* of process 0, as long as the region */
};

static void scene_open(struct scene *c, struct process *me,
	const struct options *o, size_t bytes)
{
	struct options options = *o;
	options.caps = CAPS_ACCESS;
	stack_open(&c->s, &options);
	stack_join(&c->s, me);
	region_open(&c->s, &c->mine, bytes, ACCESS_REMOTE);
	region_share(&c->s, me, &c->mine, 1, &c->to);
	c->near = calloc(1, bytes);
	assert_true(c->near != NULL);
}

static void scene_close(struct scene *c, struct process *me)
{
	process_barrier(me, &c->s);
	free(c->near);
	region_close(&c->mine);
	stack_leave(&c->s, me);
}

static void expect(struct fid_cq *cq, void *context, uint64_t flags)
{
	struct fi_cq_tagged_entry e;
	cq_next(cq, &e);
	assert_true(e.op_context == context);
	assert_int_equal(e.flags & (FI_RMA | FI_READ | FI_WRITE), flags);
}

static void put(struct scene *c, size_t at, const void *from, size_t length)
{
	MUST(&c->s, fi_write(c->s.ep, from, length, NULL, c->to.peer,
			    c->to.base + at, c->to.key, c));
	expect(c->s.txcq, c, FI_RMA | FI_WRITE);
}

static void get(struct scene *c, size_t at, void *to, size_t length)
{
	MUST(&c->s, fi_read(c->s.ep, to, length, NULL, c->to.peer,
			    c->to.base + at, c->to.key, c));
	expect(c->s.txcq, c, FI_RMA | FI_READ);
}

/* ---- lengths and modes ---- */

static void lengths_access(struct scene *c)
{
	static const size_t lengths[] = { 0, 1, 7, 8, 24, 25, 64, 4096, 4097,
		100000, BYTES };
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		size_t at = BYTES - lengths[i];
		content_fill(c->near, lengths[i], i + 1);
		put(c, at, c->near, lengths[i]);
		memset(c->near, 0, lengths[i]);
		get(c, at, c->near, lengths[i]);
		assert_true(content_fits(c->near, lengths[i], i + 1));
	}
}

static void lengths_body(struct process *me, void *argument)
{
	struct scene c;
	scene_open(&c, me, argument, BYTES);
	if (me->rank == 0)
		lengths_access(&c);
	scene_close(&c, me);
}

static void every_length_arrives(void **state)
{
	struct options offsets = { 0 };
	struct options addresses = { .mr_mode = FI_MR_VIRT_ADDR |
						FI_MR_PROV_KEY };
	struct options safe = { .threading = FI_THREAD_SAFE,
		.progress = FI_PROGRESS_AUTO };
	(void)state;
	group_run(2, lengths_body, &offsets);
	group_run(2, lengths_body, &addresses);
	group_run(2, lengths_body, &safe);
}

static void longest_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, LONGEST);
	if (me->rank == 0) {
		content_fill(c.near, LONGEST, 5);
		put(&c, 0, c.near, LONGEST);
		memset(c.near, 0, LONGEST);
		get(&c, 0, c.near, LONGEST);
		assert_true(content_fits(c.near, LONGEST, 5));
	}
	scene_close(&c, me);
}

static void long_accesses_have_several_parts(void **state)
{
	(void)state;
	group_run(2, longest_body, NULL);
}

/* ---- segments ---- */

static void pieces_message(struct scene *c, uint64_t flags, bool writes)
{
	unsigned char *m = c->near;
	struct iovec iov[] = { { m, 100 }, { m + 100, 0 }, { m + 100, 1 },
		{ m + 101, 3000 }, { m + 3101, 899 } };
	struct fi_rma_iov remote[] = { { c->to.base + 5000, 50, c->to.key },
		{ c->to.base, 3000, c->to.key }, { 0, 0, 77 },
		{ c->to.base + 6000, 950, c->to.key } };
	struct fi_msg_rma message = { .msg_iov = iov,
		.iov_count = COUNT(iov),
		.addr = c->to.peer,
		.rma_iov = remote,
		.rma_iov_count = COUNT(remote),
		.context = c };
	MUST(&c->s, writes ? fi_writemsg(c->s.ep, &message, flags)
			   : fi_readmsg(c->s.ep, &message, flags));
}

static void pieces_access(struct scene *c)
{
	const struct iovec halves[2] = { { c->near, 1500 },
		{ c->near + 1500, 2500 } };
	content_fill(c->near, 4000, 3);
	pieces_message(c, FI_INJECT, true);
	memset(c->near, 0, 4000);
	expect(c->s.txcq, c, FI_RMA | FI_WRITE);
	pieces_message(c, FI_FENCE | FI_DELIVERY_COMPLETE, false);
	expect(c->s.txcq, c, FI_RMA | FI_READ);
	assert_true(content_fits(c->near, 4000, 3));
	MUST(&c->s, fi_writev(c->s.ep, halves, NULL, 2, c->to.peer,
			    c->to.base + 10000, c->to.key, c));
	expect(c->s.txcq, c, FI_RMA | FI_WRITE);
	memset(c->near, 0, 4000);
	MUST(&c->s, fi_readv(c->s.ep, halves, NULL, 2, c->to.peer,
			    c->to.base + 10000, c->to.key, c));
	expect(c->s.txcq, c, FI_RMA | FI_READ);
	assert_true(content_fits(c->near, 4000, 3));
}

static void pieces_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, BYTES);
	if (me->rank == 0)
		pieces_access(&c);
	scene_close(&c, me);
}

static void local_and_remote_segments_differ(void **state)
{
	(void)state;
	group_run(2, pieces_body, NULL);
}

/* ---- errors ---- */

static int error_of(struct scene *c, uint64_t at, size_t length, uint64_t key)
{
	struct fi_cq_err_entry e;
	MUST(&c->s, fi_read(c->s.ep, c->near, length, NULL, c->to.peer,
			    c->to.base + at, key, c->near));
	int error = cq_next_error(c->s.txcq, &e);
	assert_true(e.op_context == c->near);
	return error;
}

static void refused_calls(struct scene *c)
{
	struct fid_ep *ep = c->s.ep;
	struct iovec iov = { c->near, 8 };
	struct fi_rma_iov remote = { c->to.base, 9, c->to.key };
	struct fi_msg_rma m = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = c->to.peer,
		.rma_iov = &remote,
		.rma_iov_count = 1 };
	assert_int_equal(fi_writemsg(ep, &m, 0), -FI_EINVAL);
	remote.len = 8;
	assert_int_equal(fi_readmsg(ep, &m, FI_REMOTE_CQ_DATA), -FI_EINVAL);
	assert_int_equal(fi_readmsg(ep, &m, FI_MULTI_RECV), -FI_EINVAL);
	assert_int_equal(fi_writemsg(ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_write(ep, NULL, 8, NULL, c->to.peer, 0, 1, NULL),
		-FI_EINVAL);
	assert_int_equal(
		fi_write(ep, c->near, SIZE_MAX, NULL, c->to.peer, 0, 1, NULL),
		-FI_EMSGSIZE);
	assert_int_equal(
		fi_write(ep, c->near, 8, NULL, 12345, 0, 1, NULL), -FI_EINVAL);
	assert_int_equal(fi_inject_write(ep, c->near,
				 c->s.info->tx_attr->inject_size + 1,
				 c->to.peer, 0, c->to.key),
		-FI_EINVAL);
}

static void refused_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, BYTES);
	if (me->rank == 0) {
		refused_calls(&c);
		assert_int_equal(error_of(&c, 0, 8, 1), FI_EKEYREJECTED);
		assert_int_equal(
			error_of(&c, BYTES - 7, 8, c.to.key), FI_EINVAL);
		assert_int_equal(error_of(&c, -8ull, 8, c.to.key), FI_EINVAL);
		put(&c, 0, c.near, 8);
	}
	scene_close(&c, me);
}

static void errors_are_reported(void **state)
{
	(void)state;
	group_run(2, refused_body, NULL);
}

static void disabled_body(struct process *me, void *argument)
{
	struct options o = { .caps = CAPS_ACCESS, .disabled = true };
	unsigned char byte = 0;
	struct stack s;
	(void)me, (void)argument;
	stack_open(&s, &o);
	assert_int_equal(
		fi_write(s.ep, &byte, 1, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	stack_close(&s);
}

static void calls_fail_before_it_is_enabled(void **state)
{
	(void)state;
	group_run(1, disabled_body, NULL);
}

/* ---- peers that are known only by their service ---- */

/* Process 1 never sends anything of its own. */
static void service_body(struct process *me, void *argument)
{
	const char *service = "4711";
	struct region mine;
	struct stack s;
	uint64_t word = 42;
	fi_addr_t to;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS,
			       .service = me->rank == 1 ? service : NULL });
	region_open(&s, &mine, sizeof(word), ACCESS_REMOTE);
	atomic_store(process_word(me, me->rank), fi_mr_key(mine.mr));
	process_barrier(me, &s);
	if (me->rank == 0) {
		assert_int_equal(fi_av_insertsvc(s.av, "localhost", service,
					 &to, 0, NULL),
			1);
		MUST(&s, fi_write(s.ep, &word, sizeof(word), NULL, to, 0,
				 atomic_load(process_word(me, 1)), &word));
		cq_expect(s.txcq, &word);
	}
	process_barrier(me, &s);
	if (me->rank == 1)
		assert_int_equal(memcmp(mine.memory, &word, sizeof(word)), 0);
	cq_expect_none(s.txcq);
	region_close(&mine);
	stack_leave(&s, me);
}

static void a_target_known_by_service_need_not_send(void **state)
{
	(void)state;
	group_run(2, service_body, NULL);
}

/* ---- completions ---- */

static void silent_access(struct scene *c)
{
	struct iovec iov = { c->near, 8 };
	struct fi_rma_iov remote = { c->to.base, 8, c->to.key };
	struct fi_msg_rma m = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = c->to.peer,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = c };
	struct fi_cq_err_entry e;
	MUST(&c->s, fi_write(c->s.ep, c->near, 8, NULL, c->to.peer, c->to.base,
			    c->to.key, NULL));
	MUST(&c->s, fi_writemsg(c->s.ep, &m, 0));
	cq_expect_none(c->s.txcq);
	MUST(&c->s, fi_writemsg(c->s.ep, &m, FI_COMPLETION));
	expect(c->s.txcq, c, FI_RMA | FI_WRITE);
	MUST(&c->s, fi_inject_write(c->s.ep, c->near, 8, c->to.peer, 0, 1));
	assert_int_equal(cq_next_error(c->s.txcq, &e), FI_EKEYREJECTED);
}

static void silent_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me,
		&(struct options){ .tx_bind = FI_SELECTIVE_COMPLETION }, 64);
	if (me->rank == 0)
		silent_access(&c);
	scene_close(&c, me);
}

static void completions_are_selective(void **state)
{
	(void)state;
	group_run(2, silent_body, NULL);
}

/* In four segments, some of which may meet backpressure. */
static ssize_t flood_write(struct scene *c, uint64_t i)
{
	unsigned char *m = c->near + 8 * i;
	const struct iovec pieces[] = { { m, 2 }, { m + 2, 1 }, { m + 3, 4 },
		{ m + 7, 1 } };
	return fi_writev(c->s.ep, pieces, NULL, COUNT(pieces), c->to.peer,
		c->to.base + 8 * i, c->to.key, c->near + i);
}

/* The queue is not read meanwhile. */
static void flood_body(struct process *me, void *argument)
{
	const unsigned turns = 5000;
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, 8ul * turns);
	content_fill(c.near, 8ul * turns, 9);
	for (uint64_t i = 0; me->rank == 0 && i < turns; i++) {
		ssize_t r;
		while ((r = flood_write(&c, i)) == -FI_EAGAIN)
			;
		assert_int_equal(r, 0);
	}
	for (uint64_t i = 0; me->rank == 0 && i < turns; i++)
		expect(c.s.txcq, c.near + i, FI_RMA | FI_WRITE);
	process_barrier(me, &c.s);
	if (me->rank == 1)
		assert_true(content_fits(c.mine.memory, 8ul * turns, 9));
	scene_close(&c, me);
}

static void many_may_be_in_flight(void **state)
{
	(void)state;
	group_run(2, flood_body, NULL);
}

/* ---- injected data ---- */

#define INJECTS	      3000
#define INJECT_STRIDE 208ul

/* Short data is kept in the operation, longer data in an allocated copy. */
static size_t inject_bytes(uint64_t i)
{
	return i % 2 ? 15 : INJECT_STRIDE - 1;
}

/*
 * Three parts, so that the reservations of completions do not run out between
 * two operations only. The buffer is the caller's when the call returns.
 */
static ssize_t inject_parts(struct scene *c, uint64_t i)
{
	size_t bytes = inject_bytes(i);
	unsigned char buffer[INJECT_STRIDE];
	uint64_t at = c->to.base + i * INJECT_STRIDE;
	struct iovec iov = { buffer, bytes };
	struct fi_rma_iov remote[] = { { at, 5, c->to.key },
		{ at + 5, 1, c->to.key }, { at + 6, bytes - 6, c->to.key } };
	struct fi_msg_rma message = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = c->to.peer,
		.rma_iov = remote,
		.rma_iov_count = COUNT(remote),
		.context = c->near + i };
	content_fill(buffer, bytes, i);
	ssize_t r = fi_writemsg(c->s.ep, &message, FI_INJECT);
	memset(buffer, 0xee, sizeof(buffer));
	return r;
}

/* The queue is not read meanwhile, so that parts meet backpressure. */
static void inject_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, INJECTS * INJECT_STRIDE);
	for (uint64_t i = 0; me->rank == 0 && i < INJECTS; i++) {
		ssize_t r;
		while ((r = inject_parts(&c, i)) == -FI_EAGAIN)
			;
		assert_int_equal(r, 0);
	}
	for (uint64_t i = 0; me->rank == 0 && i < INJECTS; i++)
		expect(c.s.txcq, c.near + i, FI_RMA | FI_WRITE);
	process_barrier(me, &c.s);
	for (uint64_t i = 0; me->rank == 1 && i < INJECTS; i++)
		assert_true(content_fits(
			c.mine.memory + i * INJECT_STRIDE, inject_bytes(i), i));
	scene_close(&c, me);
}

static void injected_data_is_copied(void **state)
{
	(void)state;
	group_run(2, inject_body, NULL);
}

/* ---- remote CQ data, and order ---- */

static void data_write(struct scene *c, unsigned i)
{
	uint64_t data = ~0ull - i, word = i;
	memcpy(c->near, &word, 8);
	if (i % 2)
		MUST(&c->s,
			fi_inject_writedata(c->s.ep, c->near, 8, data,
				c->to.peer, c->to.base + 8ul * i, c->to.key));
	else
		MUST(&c->s, fi_writedata(c->s.ep, c->near, 8, NULL, data,
				    c->to.peer, c->to.base + 8ul * i, c->to.key,
				    c));
	if (i % 2 == 0)
		expect(c->s.txcq, c, FI_RMA | FI_WRITE);
}

static void data_arrives(struct scene *c, unsigned i)
{
	struct fi_cq_tagged_entry e;
	uint64_t word;
	cq_next(c->s.rxcq, &e);
	assert_int_equal(e.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(e.data, ~0ull - i);
	memcpy(&word, c->mine.memory + 8ul * i, 8);
	assert_int_equal(word, i);
}

static void data_body(struct process *me, void *argument)
{
	const unsigned turns = 2000;
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 }, 8ul * turns);
	for (unsigned i = 0; i < turns; i++)
		if (me->rank == 0)
			data_write(&c, i);
		else
			data_arrives(&c, i);
	scene_close(&c, me);
}

static void remote_cq_data_follows_the_bytes(void **state)
{
	(void)state;
	group_run(2, data_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_length_arrives),
		TEST(long_accesses_have_several_parts),
		TEST(local_and_remote_segments_differ),
		TEST(errors_are_reported),
		TEST(calls_fail_before_it_is_enabled),
		TEST(a_target_known_by_service_need_not_send),
		TEST(completions_are_selective),
		TEST(many_may_be_in_flight),
		TEST(injected_data_is_copied),
		TEST(remote_cq_data_follows_the_bytes),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
