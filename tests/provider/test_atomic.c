/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations: each operation on each type, all calls, concurrent
 * operations on one word, and errors.
 */
#include <complex.h>
#include <string.h>
#include <sys/mman.h>

#include "region.h"

#define BYTES 8192

/* Process 0 and the others access the memory of process 1. */
struct scene {
	struct stack s;
	struct region mine;
	struct target to;
};

static void scene_open(
	struct scene *c, struct process *me, const struct options *o)
{
	struct options options = *o;
	options.caps = CAPS_ACCESS;
	stack_open(&c->s, &options);
	stack_join(&c->s, me);
	region_open(&c->s, &c->mine, BYTES, ACCESS_REMOTE);
	region_share(&c->s, me, &c->mine, 1, &c->to);
}

static void scene_close(struct scene *c, struct process *me)
{
	process_barrier(me, &c->s);
	region_close(&c->mine);
	stack_leave(&c->s, me);
}

static void expect(struct scene *c, uint64_t flags)
{
	struct fi_cq_tagged_entry e;
	cq_next(c->s.txcq, &e);
	assert_true(e.op_context == c);
	assert_int_equal(e.flags & (FI_ATOMIC | FI_READ | FI_WRITE), flags);
}

static void fetch(struct scene *c, size_t at, enum fi_datatype t, enum fi_op op,
	const void *operand, void *result)
{
	MUST(&c->s, fi_fetch_atomic(c->s.ep, operand, 1, NULL, result, NULL,
			    c->to.peer, c->to.base + at, c->to.key, t, op, c));
	expect(c, FI_ATOMIC | FI_READ);
}

static void swap(struct scene *c, size_t at, enum fi_datatype t, enum fi_op op,
	const void *operand, const void *compare, void *result)
{
	MUST(&c->s, fi_compare_atomic(c->s.ep, operand, 1, NULL, compare, NULL,
			    result, NULL, c->to.peer, c->to.base + at,
			    c->to.key, t, op, c));
	expect(c, FI_ATOMIC | FI_READ);
}

/* ---- operations ---- */

struct example {
	enum fi_op op;
	int there, operand, compare, after;
};

static const struct example examples[] = {
	{ FI_MIN, 5, 3, 0, 3 },
	{ FI_MIN, 3, 5, 0, 3 },
	{ FI_MAX, 5, 3, 0, 5 },
	{ FI_MAX, 3, 5, 0, 5 },
	{ FI_SUM, 40, 2, 0, 42 },
	{ FI_PROD, 6, 7, 0, 42 },
	{ FI_LOR, 0, 9, 0, 1 },
	{ FI_LAND, 3, 4, 0, 1 },
	{ FI_LXOR, 3, 4, 0, 0 },
	{ FI_BOR, 12, 10, 0, 14 },
	{ FI_BAND, 12, 10, 0, 8 },
	{ FI_BXOR, 12, 10, 0, 6 },
	{ FI_ATOMIC_READ, 12, 10, 0, 12 },
	{ FI_ATOMIC_WRITE, 12, 10, 0, 10 },
	{ FI_CSWAP, 7, 8, 7, 8 },
	{ FI_CSWAP, 7, 8, 9, 7 },
	{ FI_CSWAP_NE, 7, 8, 9, 8 },
	{ FI_CSWAP_LE, 7, 8, 7, 8 },
	{ FI_CSWAP_LT, 7, 8, 7, 7 },
	{ FI_CSWAP_LT, 7, 8, 6, 8 },
	{ FI_CSWAP_GE, 7, 8, 7, 8 },
	{ FI_CSWAP_GT, 7, 8, 7, 7 },
	{ FI_CSWAP_GT, 7, 8, 9, 8 },
	{ FI_MSWAP, 12, 3, 10, 6 },
};

/* Any type, as large as the largest. */
union value {
	unsigned char bytes[32];
	float f;
	double d;
	long double l;
	float complex fc;
	double complex dc;
	long double complex lc;
};

static union value value_of(enum fi_datatype t, int number)
{
	union value v;
	memset(&v, 0, sizeof(v));
	switch (t) {
	case FI_FLOAT:
		v.f = (float)number;
		break;
	case FI_DOUBLE:
		v.d = number;
		break;
	case FI_LONG_DOUBLE:
		v.l = number;
		break;
	case FI_FLOAT_COMPLEX:
		v.fc = (float)number;
		break;
	case FI_DOUBLE_COMPLEX:
		v.dc = number;
		break;
	case FI_LONG_DOUBLE_COMPLEX:
		v.lc = number;
		break;
	default: /* all numbers here are small and positive */
		v.bytes[0] = (unsigned char)number;
		break;
	}
	return v;
}

/* The padding of long doubles does not count. */
static bool same(enum fi_datatype t, const union value *a, const union value *b)
{
	if (t == FI_LONG_DOUBLE)
		return a->l == b->l;
	if (t == FI_LONG_DOUBLE_COMPLEX)
		return a->lc == b->lc;
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool example_try(
	struct scene *c, const struct example *x, enum fi_datatype t)
{
	bool compares = x->op >= FI_CSWAP;
	size_t count = 0, at = 64;
	union value there = value_of(t, x->there), now = value_of(t, 0);
	union value operand = value_of(t, x->operand), found = now;
	union value compare = value_of(t, x->compare);
	union value after = value_of(t, x->after);
	int r = compares ? fi_compare_atomicvalid(c->s.ep, t, x->op, &count)
			 : fi_fetch_atomicvalid(c->s.ep, t, x->op, &count);
	if (r) {
		assert_int_equal(r, -FI_EOPNOTSUPP);
		return false;
	}
	assert_true(count >= 100);
	fetch(c, at, t, FI_ATOMIC_WRITE, &there, &found);
	if (compares)
		swap(c, at, t, x->op, &operand, &compare, &found);
	else
		fetch(c, at, t, x->op, &operand, &found);
	assert_true(same(t, &found, &there));
	fetch(c, at, t, FI_ATOMIC_READ, NULL, &now);
	assert_true(same(t, &now, &after));
	return true;
}

static void examples_body(struct process *me, void *argument)
{
	struct scene c;
	unsigned known = 0;
	scene_open(&c, me, argument);
	for (unsigned t = 0; me->rank == 0 && t <= FI_UINT128; t++)
		for (unsigned i = 0; i < COUNT(examples); i++)
			known += example_try(&c, &examples[i], t);
	/*
	 * 10 integer types support all operations, 3 real types no bit
	 * operations, 3 complex types no order either.
	 */
	if (me->rank == 0)
		assert_int_equal(known, 10 * 24 + 3 * 20 + 3 * 10);
	scene_close(&c, me);
}

static void every_operation_on_every_type(void **state)
{
	struct options offsets = { 0 };
	struct options automatic = { .progress = FI_PROGRESS_AUTO,
		.threading = FI_THREAD_SAFE,
		.mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY };
	(void)state;
	group_run(2, examples_body, &offsets);
	group_run(2, examples_body, &automatic);
}

/* ---- concurrency ---- */

/*
 * All processes, the owner included, add to one word and fetch different
 * values.
 */
static void together_body(struct process *me, void *argument)
{
	const uint64_t turns = scaled(3000), one = 1;
	uint64_t found, last = 0, sum = 0;
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 });
	for (uint64_t i = 0; i < turns; i++) {
		fetch(&c, 0, FI_UINT64, FI_SUM, &one, &found);
		assert_true(i == 0 || found > last);
		last = found;
		MUST(&c.s, fi_inject_atomic(c.s.ep, &one, 1, c.to.peer,
				   c.to.base + 8, c.to.key, FI_UINT64, FI_SUM));
	}
	process_barrier(me, &c.s);
	fetch(&c, 0, FI_UINT64, FI_ATOMIC_READ, NULL, &sum);
	assert_int_equal(sum, me->count * turns);
	/* Its result arrives after those of all earlier operations. */
	fetch(&c, 8, FI_UINT64, FI_ATOMIC_READ, NULL, &sum);
	process_barrier(me, &c.s);
	fetch(&c, 8, FI_UINT64, FI_ATOMIC_READ, NULL, &sum);
	assert_int_equal(sum, me->count * turns);
	scene_close(&c, me);
}

static void processes_add_concurrently(void **state)
{
	(void)state;
	group_run(3, together_body, NULL);
}

/* ---- arrays and segments ---- */

static void arrays_fill(struct scene *c, unsigned count)
{
	static double ones[1024];
	for (unsigned i = 0; i < count; i++)
		ones[i] = i;
	MUST(&c->s, fi_atomic(c->s.ep, ones, count, NULL, c->to.peer,
			    c->to.base, c->to.key, FI_DOUBLE, FI_SUM, c));
	expect(c, FI_ATOMIC | FI_WRITE);
	MUST(&c->s, fi_inject_atomic(c->s.ep, ones, count, c->to.peer,
			    c->to.base, c->to.key, FI_DOUBLE, FI_SUM));
	memset(ones, 0, sizeof(ones));
}

static void arrays_message(struct scene *c, unsigned count)
{
	static double add[1024], found[1024];
	const struct fi_ioc from[] = { { add, 1 }, { add + 1, count - 1 } };
	struct fi_ioc to[] = { { found, count - 3 }, { found + count - 3, 3 } };
	const struct fi_rma_ioc remote = { c->to.base, count, c->to.key };
	const struct fi_msg_atomic m = { .msg_iov = from,
		.iov_count = COUNT(from),
		.addr = c->to.peer,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.datatype = FI_DOUBLE,
		.op = FI_SUM,
		.context = c };
	MUST(&c->s, fi_fetch_atomicmsg(
			    c->s.ep, &m, to, NULL, COUNT(to), FI_COMPLETION));
	expect(c, FI_ATOMIC | FI_READ);
	for (unsigned i = 0; i < count; i++)
		assert_true(found[i] == 2.0 * i);
}

static void arrays_body(struct process *me, void *argument)
{
	struct fi_atomic_attr attr;
	struct scene c;
	size_t count = 0;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 });
	assert_int_equal(fi_atomicvalid(c.s.ep, FI_DOUBLE, FI_SUM, &count), 0);
	assert_int_equal(
		fi_query_atomic(c.s.domain, FI_DOUBLE, FI_SUM, &attr, 0), 0);
	assert_true(attr.count == count && attr.size == sizeof(double));
	assert_true(count >= 64 && count <= 1024);
	if (me->rank == 0) {
		arrays_fill(&c, (unsigned)count);
		arrays_message(&c, (unsigned)count);
	}
	scene_close(&c, me);
}

static void arrays_may_be_long_and_segmented(void **state)
{
	(void)state;
	group_run(2, arrays_body, NULL);
}

/* ---- errors ---- */

static int error_of(struct scene *c, uint64_t at, uint64_t key)
{
	const uint32_t one = 1;
	struct fi_cq_err_entry e;
	MUST(&c->s, fi_atomic(c->s.ep, &one, 1, NULL, c->to.peer, at, key,
			    FI_UINT32, FI_SUM, c));
	int error = cq_next_error(c->s.txcq, &e);
	assert_true(e.op_context == c);
	return error;
}

static void refused_calls(struct scene *c)
{
	struct fid_ep *ep = c->s.ep;
	struct fi_atomic_attr attr;
	uint64_t word = 0;
	fi_addr_t to = c->to.peer;
	assert_int_equal(fi_atomic(ep, &word, 1, NULL, to, 0, c->to.key,
				 FI_FLOAT, FI_BOR, c),
		-FI_EOPNOTSUPP);
	assert_int_equal(fi_atomic(ep, &word, 1, NULL, to, 0, c->to.key,
				 FI_UINT64, FI_CSWAP, c),
		-FI_EOPNOTSUPP);
	assert_int_equal(
		fi_atomic(ep, &word, 1, NULL, to, 0, c->to.key, 99, FI_SUM, c),
		-FI_EOPNOTSUPP);
	assert_int_equal(fi_atomic(ep, NULL, 1, NULL, to, 0, c->to.key,
				 FI_UINT64, FI_SUM, c),
		-FI_EINVAL);
	assert_int_equal(fi_atomic(ep, &word, 0, NULL, to, 0, c->to.key,
				 FI_UINT64, FI_SUM, c),
		-FI_EINVAL);
	assert_int_equal(fi_atomic(ep, &word, 1 << 20, NULL, to, 0, c->to.key,
				 FI_UINT64, FI_SUM, c),
		-FI_EMSGSIZE);
	assert_int_equal(fi_atomicmsg(ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_query_atomic(c->s.domain, FI_UINT64, FI_SUM, &attr,
				 FI_TAGGED),
		-FI_EOPNOTSUPP);
}

static void refused_body(struct process *me, void *argument)
{
	struct scene c;
	(void)argument;
	scene_open(&c, me, &(struct options){ 0 });
	if (me->rank == 0) {
		refused_calls(&c);
		assert_int_equal(error_of(&c, 0, 1), FI_EKEYREJECTED);
		assert_int_equal(error_of(&c, BYTES - 3, c.to.key), FI_EINVAL);
		assert_int_equal(error_of(&c, -4ull, c.to.key), FI_EINVAL);
	}
	scene_close(&c, me);
}

static void errors_are_reported(void **state)
{
	(void)state;
	group_run(2, refused_body, NULL);
}

/* Process 1 registers memory, unmaps it, and survives. */
static void gone_body(struct process *me, void *argument)
{
	struct stack s;
	struct region r = { .bytes = 3 * 4096 };
	struct scene c = { 0 };
	uint64_t word = 0;
	(void)argument;
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS });
	stack_join(&s, me);
	r.memory = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(r.memory != MAP_FAILED);
	assert_int_equal(fi_mr_reg(s.domain, r.memory, r.bytes, ACCESS_REMOTE,
				 0, 9, 0, &r.mr, NULL),
		0);
	assert_int_equal(munmap(r.memory + 4096, 4096), 0);
	assert_int_equal(mprotect(r.memory + 8192, 4096, PROT_READ), 0);
	region_share(&s, me, &r, 1, &c.to);
	c.s = s;
	if (me->rank == 0) {
		assert_int_equal(error_of(&c, 4096, c.to.key), FI_EFAULT);
		assert_int_equal(error_of(&c, 8192, c.to.key), FI_EFAULT);
		fetch(&c, 8192, FI_UINT64, FI_ATOMIC_READ, NULL, &word);
		fetch(&c, 8, FI_UINT64, FI_SUM, &(uint64_t){ 3 }, &word);
	}
	process_barrier(me, &s);
	if (me->rank == 1)
		assert_int_equal(((uint64_t *)(void *)r.memory)[1], 3);
	assert_int_equal(fi_close(&r.mr->fid), 0);
	stack_leave(&s, me);
	munmap(r.memory, r.bytes);
}

static void unmapped_memory_is_an_error(void **state)
{
	(void)state;
	group_run(2, gone_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(unmapped_memory_is_an_error),
		TEST(every_operation_on_every_type),
		TEST(processes_add_concurrently),
		TEST(arrays_may_be_long_and_segmented),
		TEST(errors_are_reported),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
