/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_RMA_EVENT: counters of the accesses of peers, bound to endpoints and to
 * memory regions. Process 0 accesses the memory of process 1, which counts.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cay/fabric.h"
#include "region.h"

#define BYTES	 (1ul << 20)
#define LONGEST	 (40ul << 20) /* three parts */
#define CAPS	 (CAPS_ACCESS | FI_RMA_EVENT)
#define TURNS	 50
#define ALL_DONE 77 /* tag of the message that ends a case */

enum place {
	PLACE_HEAP,
	PLACE_DEVICE, /* memory of the device, on which it executes atomics */
};

enum counter {
	EP_READ,
	EP_WRITE,
	MR_READ,
	MR_WRITE,
	COUNTERS,
};

struct scene {
	struct stack s;
	struct cay_fabric_memory *device;
	unsigned char *memory, *near;
	struct fid_mr *mr;
	struct fid_cntr *counters[COUNTERS];
	struct target to;
};

/* How a case is run. */
struct setting {
	enum place place;
	bool forbidden;	 /* without process_vm_readv(): emulated accesses */
	bool separate;	 /* a counter for each, else one for two */
	bool bound_late; /* to the region, when peers know its key */
	bool endpoint_only;
	size_t bytes;
	enum fi_progress progress;
	enum fi_wait_obj wait; /* of the counters */
};

/* Makes process_vm_readv() fail in this process, as in a container. */
static void forbid_process_memory(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(code), code };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void message_send(struct scene *c)
{
	MUST(&c->s, fi_tsend(c->s.ep, NULL, 0, NULL, c->to.peer, ALL_DONE, c));
	cq_expect(c->s.txcq, c);
}

/* The message comes behind the accesses. */
static void message_receive(struct scene *c)
{
	MUST(&c->s, fi_trecv(c->s.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, ALL_DONE,
			    0, c));
	cq_expect(c->s.rxcq, c);
}

static struct fid_cntr *open_cntr(struct stack *s, enum fi_wait_obj object)
{
	struct fi_cntr_attr attr = { .wait_obj = object };
	struct fid_cntr *c;
	assert_int_equal(fi_cntr_open(s->domain, &attr, &c, s), 0);
	return c;
}

static void bind_region(struct scene *c)
{
	if (c->counters[MR_READ] == c->counters[MR_WRITE]) {
		assert_int_equal(fi_mr_bind(c->mr, &c->counters[MR_READ]->fid,
					 ACCESS_REMOTE),
			0);
	} else {
		assert_int_equal(fi_mr_bind(c->mr, &c->counters[MR_READ]->fid,
					 FI_REMOTE_READ),
			0);
		assert_int_equal(fi_mr_bind(c->mr, &c->counters[MR_WRITE]->fid,
					 FI_REMOTE_WRITE),
			0);
	}
	assert_int_equal(fi_mr_enable(c->mr), 0);
}

/* Process 1 binds the counters. */
static void open_counters(struct scene *c, const struct setting *t)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		c->counters[i] = t->separate || i % 2 == 0
					 ? open_cntr(&c->s, t->wait)
					 : c->counters[i - 1];
	assert_int_equal(
		fi_ep_bind(c->s.ep, &c->counters[EP_READ]->fid, FI_REMOTE_READ),
		0);
	assert_int_equal(fi_ep_bind(c->s.ep, &c->counters[EP_WRITE]->fid,
				 FI_REMOTE_WRITE),
		0);
}

static void scene_open(
	struct scene *c, struct process *me, const struct setting *t)
{
	struct options o = { .caps = CAPS,
		.disabled = true,
		.progress = t->progress,
		.threading = t->progress == FI_PROGRESS_AUTO ? FI_THREAD_SAFE
							     : 0 };
	*c = (struct scene){ 0 };
	stack_open(&c->s, &o);
	if (me->rank == 1)
		open_counters(c, t);
	assert_int_equal(fi_enable(c->s.ep), 0);
	stack_join(&c->s, me);
	assert_int_equal(fi_open_ops(&c->s.ep->fid, CAY_FABRIC_MEMORY, 0,
				 (void **)&c->device, NULL),
		0);
	c->memory = t->place == PLACE_DEVICE
			    ? c->device->alloc(c->s.ep, t->bytes)
			    : calloc(1, t->bytes);
	c->near = calloc(1, t->bytes);
	assert_true(c->memory && c->near);
	assert_int_equal(
		fi_mr_reg(c->s.domain, c->memory, t->bytes, ACCESS_REMOTE, 0,
			40 + me->rank, FI_RMA_EVENT, &c->mr, NULL),
		0);
	if (me->rank == 1 && !t->bound_late && !t->endpoint_only)
		bind_region(c);
	const struct region r = { c->memory, t->bytes, c->mr };
	region_share(&c->s, me, &r, 1, &c->to);
	if (me->rank == 0 && t->bound_late) {
		/* The key with its flags is cached. */
		MUST(&c->s, fi_read(c->s.ep, c->near, 8, NULL, c->to.peer,
				    c->to.base, c->to.key, NULL));
		cq_expect(c->s.txcq, NULL);
		message_send(c);
	}
	if (me->rank == 1 && t->bound_late) {
		message_receive(c);
		bind_region(c);
		assert_int_equal(fi_cntr_set(c->counters[EP_READ], 0), 0);
	}
	process_barrier(me, &c->s);
	if (me->rank == 0 && t->forbidden)
		forbid_process_memory();
}

static void scene_close(
	struct scene *c, struct process *me, const struct setting *t)
{
	process_barrier(me, &c->s);
	for (unsigned i = 0; me->rank == 1 && i < COUNTERS; i++)
		if (i < MR_READ || !t->endpoint_only)
			assert_int_equal(
				fi_close(&c->counters[i]->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&c->mr->fid), 0);
	if (t->place == PLACE_DEVICE)
		c->device->free(c->s.ep, c->memory);
	else
		free(c->memory);
	free(c->near);
	assert_int_equal(fi_close(&c->s.ep->fid), 0);
	c->s.ep = NULL;
	for (unsigned i = 0; me->rank == 1 && i < COUNTERS; i++)
		if (t->separate || i % 2 == 0)
			assert_int_equal(fi_close(&c->counters[i]->fid), 0);
	stack_close(&c->s);
}

/* ---- the calls ---- */

#define AT  c->to.peer, c->to.base, c->to.key
#define SUM AT, FI_UINT64, FI_SUM

static ssize_t do_write(struct scene *c)
{
	return fi_write(c->s.ep, c->near, 64, NULL, AT, c);
}

static ssize_t do_write_byte(struct scene *c)
{
	return fi_write(c->s.ep, c->near, 1, NULL, AT, c);
}

static ssize_t do_write_nothing(struct scene *c)
{
	return fi_write(c->s.ep, c->near, 0, NULL, AT, c);
}

static ssize_t do_writedata(struct scene *c)
{
	return fi_writedata(c->s.ep, c->near, 64, NULL, 5, AT, c);
}

static ssize_t do_writedata_nothing(struct scene *c)
{
	return fi_writedata(c->s.ep, c->near, 0, NULL, 5, AT, c);
}

static ssize_t do_inject(struct scene *c)
{
	return fi_inject_write(c->s.ep, c->near, 64, AT);
}

static ssize_t do_injectdata(struct scene *c)
{
	return fi_inject_writedata(c->s.ep, c->near, 64, 5, AT);
}

/* Both vectors have two segments, and the regions are the same. */
static ssize_t do_writemsg(struct scene *c)
{
	struct iovec iov[] = { { c->near, 100 }, { c->near, 28 } };
	struct fi_rma_iov remote[] = { { c->to.base, 64, c->to.key },
		{ c->to.base + 512, 64, c->to.key } };
	const struct fi_msg_rma m = { .msg_iov = iov,
		.iov_count = 2,
		.addr = c->to.peer,
		.rma_iov = remote,
		.rma_iov_count = 2,
		.context = c };
	return fi_writemsg(c->s.ep, &m, 0);
}

static ssize_t do_read(struct scene *c)
{
	return fi_read(c->s.ep, c->near, 64, NULL, AT, c);
}

static ssize_t do_readmsg(struct scene *c)
{
	struct iovec iov[] = { { c->near, 100 }, { c->near + 100, 28 } };
	struct fi_rma_iov remote[] = { { c->to.base, 64, c->to.key },
		{ c->to.base + 512, 64, c->to.key } };
	const struct fi_msg_rma m = { .msg_iov = iov,
		.iov_count = 2,
		.addr = c->to.peer,
		.rma_iov = remote,
		.rma_iov_count = 2,
		.context = c };
	return fi_readmsg(c->s.ep, &m, 0);
}

static ssize_t do_atomic(struct scene *c)
{
	return fi_atomic(c->s.ep, c->near, 1, NULL, SUM, c);
}

static ssize_t do_inject_atomic(struct scene *c)
{
	return fi_inject_atomic(c->s.ep, c->near, 1, SUM);
}

static ssize_t do_fetch(struct scene *c)
{
	return fi_fetch_atomic(
		c->s.ep, c->near, 1, NULL, c->near + 8, NULL, SUM, c);
}

static ssize_t do_atomic_read(struct scene *c)
{
	return fi_fetch_atomic(c->s.ep, NULL, 1, NULL, c->near + 8, NULL, AT,
		FI_UINT64, FI_ATOMIC_READ, c);
}

static ssize_t do_compare(struct scene *c)
{
	return fi_compare_atomic(c->s.ep, c->near, 1, NULL, c->near + 8, NULL,
		c->near + 16, NULL, AT, FI_UINT64, FI_CSWAP, c);
}

static const struct call {
	ssize_t (*post)(struct scene *);
	bool injects;	    /* no completion at the origin */
	bool data;	    /* an entry in the queue of the target */
	bool read, write;   /* counted at the endpoint */
	bool reads, writes; /* counted at the region */
} calls[] = {
	{ do_write, .write = 1, .writes = 1 },
	{ do_write_byte, .write = 1, .writes = 1 },
	{ do_write_nothing, .write = 1, .writes = 1 },
	{ do_writemsg, .write = 1, .writes = 1 },
	{ do_inject, .injects = 1, .write = 1, .writes = 1 },
	{ do_writedata, .data = 1, .write = 1, .writes = 1 },
	{ do_writedata_nothing, .data = 1, .write = 1, .writes = 1 },
	{ do_injectdata, .injects = 1, .data = 1, .write = 1, .writes = 1 },
	{ do_read, .read = 1, .reads = 1 },
	{ do_readmsg, .read = 1, .reads = 1 },
	{ do_atomic, .write = 1, .writes = 1 },
	{ do_inject_atomic, .injects = 1, .write = 1, .writes = 1 },
	{ do_fetch, .read = 1, .reads = 1, .writes = 1 },
	{ do_atomic_read, .read = 1, .reads = 1 },
	{ do_compare, .read = 1, .reads = 1, .writes = 1 },
};

/* ---- counting ---- */

static void access_all(struct scene *c, const struct call *call)
{
	for (unsigned i = 0; i < TURNS; i++) {
		MUST(&c->s, call->post(c));
		if (!call->injects)
			cq_expect(c->s.txcq, c);
	}
}

static void count_data(struct scene *c)
{
	struct fi_cq_tagged_entry e;
	for (unsigned i = 0; i < TURNS; i++) {
		cq_next(c->s.rxcq, &e);
		assert_int_equal(
			e.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		assert_int_equal(e.data, 5);
	}
}

static void check_counters(struct scene *c, const uint64_t expected[COUNTERS],
	const struct setting *t)
{
	for (unsigned i = 0; i < COUNTERS; i++) {
		uint64_t n = expected[i];
		if (!t->separate)
			n += expected[i ^ 1];
		if (t->endpoint_only && i >= MR_READ)
			n = 0;
		assert_int_equal(fi_cntr_read(c->counters[i]), n);
		assert_int_equal(fi_cntr_readerr(c->counters[i]), 0);
	}
}

static void matrix_body(struct process *me, void *argument)
{
	const struct setting *t = argument;
	uint64_t expected[COUNTERS] = { 0 };
	struct scene c;
	scene_open(&c, me, t);
	for (unsigned i = 0; i < COUNT(calls); i++) {
		expected[EP_READ] += calls[i].read * TURNS;
		expected[EP_WRITE] += calls[i].write * TURNS;
		expected[MR_READ] += calls[i].reads * TURNS;
		expected[MR_WRITE] += calls[i].writes * TURNS;
		if (me->rank == 0) {
			access_all(&c, &calls[i]);
			message_send(&c);
		} else {
			if (calls[i].data)
				count_data(&c);
			message_receive(&c);
			check_counters(&c, expected, t);
			cq_expect_none(c.s.rxcq);
		}
		process_barrier(me, &c.s);
	}
	scene_close(&c, me, t);
}

static void each_access_counts_once(void **state)
{
	struct setting settings_[] = {
		{ .separate = true },
		{ .separate = false },
		{ .separate = true, .place = PLACE_DEVICE },
		{ .separate = true, .forbidden = true },
		{ .separate = true, .bound_late = true },
		{ .separate = true, .endpoint_only = true },
		{ .separate = true, .progress = FI_PROGRESS_AUTO },
	};
	(void)state;
	for (unsigned i = 0; i < COUNT(settings_); i++) {
		settings_[i].bytes = BYTES;
		group_run(2, matrix_body, &settings_[i]);
	}
}

/* ---- long accesses ---- */

static void long_body(struct process *me, void *argument)
{
	const struct setting *t = argument;
	struct scene c;
	scene_open(&c, me, t);
	if (me->rank == 0) {
		content_fill(c.near, t->bytes, 5);
		MUST(&c.s, fi_write(c.s.ep, c.near, t->bytes, NULL, c.to.peer,
				   c.to.base, c.to.key, &c));
		cq_expect(c.s.txcq, &c);
		MUST(&c.s, fi_read(c.s.ep, c.near, t->bytes, NULL, c.to.peer,
				   c.to.base, c.to.key, &c));
		cq_expect(c.s.txcq, &c);
		message_send(&c);
	} else {
		const uint64_t expected[COUNTERS] = { 1, 1, 1, 1 };
		/* All bytes are there when the write is counted. */
		assert_int_equal(
			fi_cntr_wait(c.counters[MR_WRITE], 1, 20000), 0);
		assert_true(content_fits(c.memory, t->bytes, 5));
		message_receive(&c);
		check_counters(&c, expected, t);
	}
	process_barrier(me, &c.s);
	scene_close(&c, me, t);
}

static void long_accesses_count_once(void **state)
{
	struct setting direct = {
		.separate = true, .bytes = LONGEST, .wait = FI_WAIT_UNSPEC
	};
	struct setting emulated = direct;
	(void)state;
	emulated.forbidden = true;
	group_run(2, long_body, &direct);
	group_run(2, long_body, &emulated);
}

/* ---- several regions in one operation ---- */

static void regions_body(struct process *me, void *argument)
{
	const struct setting *t = argument;
	struct scene c;
	struct fid_mr *other;
	scene_open(&c, me, t);
	assert_int_equal(
		fi_mr_reg(c.s.domain, c.memory + 512, 512, ACCESS_REMOTE, 0, 60,
			FI_RMA_EVENT, &other, NULL),
		0);
	if (me->rank == 1)
		assert_int_equal(fi_mr_bind(other, &c.counters[MR_WRITE]->fid,
					 FI_REMOTE_WRITE),
			0);
	process_barrier(me, &c.s);
	if (me->rank == 0) {
		struct iovec iov = { c.near, 128 };
		struct fi_rma_iov remote[] = { { c.to.base, 64, c.to.key },
			{ 0, 64, 60 } };
		const struct fi_msg_rma m = { .msg_iov = &iov,
			.iov_count = 1,
			.addr = c.to.peer,
			.rma_iov = remote,
			.rma_iov_count = 2,
			.context = &c };
		MUST(&c.s, fi_writemsg(c.s.ep, &m, FI_COMPLETION));
		cq_expect(c.s.txcq, &c);
		message_send(&c);
	} else {
		const uint64_t expected[COUNTERS] = { 0, 1, 0, 2 };
		message_receive(&c);
		check_counters(&c, expected, t);
	}
	process_barrier(me, &c.s);
	assert_int_equal(fi_close(&other->fid), 0);
	scene_close(&c, me, t);
}

static void each_region_counts_once(void **state)
{
	struct setting t = { .separate = true, .bytes = BYTES };
	(void)state;
	group_run(2, regions_body, &t);
}

/* ---- what is refused does not count ---- */

static void refused_body(struct process *me, void *argument)
{
	const struct setting *t = argument;
	struct scene c;
	scene_open(&c, me, t);
	if (me->rank == 0) {
		struct fi_cq_err_entry e;
		MUST(&c.s, fi_write(c.s.ep, c.near, 8, NULL, c.to.peer,
				   c.to.base + t->bytes, c.to.key, &c));
		cq_next_error(c.s.txcq, &e);
		MUST(&c.s, fi_atomic(c.s.ep, c.near, 1, NULL, c.to.peer,
				   c.to.base + t->bytes, c.to.key, FI_UINT64,
				   FI_SUM, &c));
		cq_next_error(c.s.txcq, &e);
		message_send(&c);
	} else {
		const uint64_t expected[COUNTERS] = { 0 };
		message_receive(&c);
		check_counters(&c, expected, t);
	}
	process_barrier(me, &c.s);
	scene_close(&c, me, t);
}

static void refused_accesses_do_not_count(void **state)
{
	struct setting t = { .separate = true, .bytes = BYTES };
	(void)state;
	group_run(2, refused_body, &t);
}

/* ---- waiting ---- */

/* A thread sleeps on a counter that is bound to the region only. */
static void wait_body(struct process *me, void *argument)
{
	const struct setting *t = argument;
	struct random random = { 7 };
	struct scene c;
	setenv("FI_CAY_SPIN_US", "0", 1);
	scene_open(&c, me, t);
	for (unsigned i = 1; i <= 200; i++)
		if (me->rank == 0) {
			MUST(&c.s, fi_inject_write(c.s.ep, c.near, 8, c.to.peer,
					   c.to.base, c.to.key));
			random_pause(&random, 100 * NS_PER_US);
		} else if (i % 5 == 0) {
			assert_int_equal(
				fi_cntr_wait(c.counters[MR_WRITE], i, 20000),
				0);
		}
	process_barrier(me, &c.s);
	scene_close(&c, me, t);
}

static void a_counter_of_a_region_wakes(void **state)
{
	struct setting t = {
		.separate = true, .bytes = BYTES, .wait = FI_WAIT_UNSPEC
	};
	(void)state;
	group_run(2, wait_body, &t);
	t.progress = FI_PROGRESS_AUTO;
	group_run(2, wait_body, &t);
}

/* The endpoint is opened after the counter was bound to the region. */
static void later_body(struct process *me, void *argument)
{
	struct stack s;
	struct options o = { .caps = CAPS };
	static uint64_t word;
	struct fid_mr *mr;
	struct fid_cntr *cntr;
	(void)argument;
	stack_open_domain(&s, &o);
	cntr = open_cntr(&s, FI_WAIT_UNSPEC);
	assert_int_equal(fi_mr_reg(s.domain, &word, 8, ACCESS_REMOTE, 0, 3,
				 FI_RMA_EVENT, &mr, NULL),
		0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	stack_open_ep(&s, &o);
	stack_join(&s, me);
	if (me->rank == 0)
		MUST(&s, fi_inject_write(s.ep, &s, 8, s.peers[1], 0, 3));
	else
		assert_int_equal(fi_cntr_wait(cntr, 1, 20000), 0);
	process_barrier(me, &s);
	/* The endpoint leaves the counter, which stays bound to the region. */
	assert_int_equal(fi_close(&s.ep->fid), 0);
	s.ep = NULL;
	assert_int_equal(fi_cntr_read(cntr), me->rank);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	stack_close(&s);
}

static void endpoints_may_open_later(void **state)
{
	(void)state;
	group_run(2, later_body, NULL);
}

/* ---- binding ---- */

static void binding_body(struct process *me, void *argument)
{
	struct stack s, other;
	static uint64_t word;
	struct fid_mr *mr;
	(void)me, (void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS });
	stack_open(&other, &(struct options){ .caps = CAPS });
	struct fid_cntr *a = open_cntr(&s, FI_WAIT_NONE);
	struct fid_cntr *b = open_cntr(&other, FI_WAIT_NONE);
	assert_int_equal(fi_mr_reg(s.domain, &word, 8, ACCESS_REMOTE, 0, 3,
				 FI_RMA_EVENT, &mr, NULL),
		0);
	assert_int_equal(fi_mr_bind(mr, &a->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &a->fid, FI_WRITE), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &b->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(
		fi_mr_bind(mr, &s.rxcq->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(fi_mr_bind(mr, &s.ep->fid, 0), 0);
	assert_int_equal(fi_mr_bind(mr, &a->fid, FI_REMOTE_WRITE), 0);
	assert_int_equal(fi_mr_bind(mr, &a->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(fi_close(&a->fid), -FI_EBUSY);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_int_equal(
		fi_mr_bind(mr, &a->fid, FI_REMOTE_READ), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(fi_close(&b->fid), 0);
	stack_close(&other);
	stack_close(&s);
}

static void invalid_bindings_are_refused(void **state)
{
	(void)state;
	group_run(1, binding_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_access_counts_once),
		TEST(long_accesses_count_once),
		TEST(each_region_counts_once),
		TEST(refused_accesses_do_not_count),
		TEST(a_counter_of_a_region_wakes),
		TEST(endpoints_may_open_later),
		TEST(invalid_bindings_are_refused),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
