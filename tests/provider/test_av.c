/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors: insertion, lookup, removal, and sends to addresses without
 * an endpoint.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static const struct options kinds[] = {
	{ .av_type = FI_AV_TABLE },
	{ .av_type = FI_AV_MAP },
	{ .av_type = FI_AV_UNSPEC },
};

static void group_run_kinds(unsigned count, process_body *body)
{
	for (unsigned i = 0; i < COUNT(kinds); i++)
		group_run(count, body, (void *)&kinds[i]);
}

static size_t own_address(struct stack *s, char address[ADDRESS_MAX])
{
	size_t length = ADDRESS_MAX;
	memset(address, 0, ADDRESS_MAX);
	assert_int_equal(fi_getname(&s->ep->fid, address, &length), 0);
	return length;
}

/* Addresses are contiguous, each of the length of a name. */
static char *addresses_of(struct stack *s, struct process *me, size_t *length)
{
	char *all = calloc(me->count, ADDRESS_MAX), own[ADDRESS_MAX];
	*length = own_address(s, own);
	for (unsigned i = 0; i < me->count; i++)
		memcpy(all + i * *length, process_address(me, i), *length);
	return all;
}

/* Each process sends to each and receives from all. */
static void exchange_all(struct stack *s, struct process *me)
{
	bool heard[PROCESSES_MAX] = { false };
	struct fi_cq_tagged_entry e;
	for (unsigned i = 0; i < me->count; i++)
		MUST(s, fi_tinject(s->ep, &me->rank, sizeof(me->rank),
				s->peers[i], 1));
	for (unsigned i = 0; i < me->count; i++) {
		unsigned rank = 0;
		MUST(s, fi_trecv(s->ep, &rank, sizeof(rank), NULL,
				FI_ADDR_UNSPEC, 1, 0, &rank));
		fi_addr_t from = cq_next_from(s->rxcq, &e);
		assert_true(rank < me->count && !heard[rank]);
		assert_int_equal(from, s->peers[rank]);
		heard[rank] = true;
	}
}

/* ---- several at once ---- */

static void several_body(struct process *me, void *argument)
{
	const struct options *o = argument;
	struct stack s;
	size_t length;
	stack_open(&s, o);
	stack_publish(&s, me);
	process_barrier(me, &s);
	char *all = addresses_of(&s, me, &length);
	assert_int_equal(fi_av_insert(s.av, all, me->count, s.peers, 0, NULL),
		(int)me->count);
	if (o->av_type == FI_AV_TABLE)
		for (unsigned i = 0; i < me->count; i++)
			assert_int_equal(s.peers[i], i);
	exchange_all(&s, me);
	free(all);
	stack_leave(&s, me);
}

static void several_are_inserted_at_once(void **state)
{
	(void)state;
	group_run_kinds(4, several_body);
}

/* A table may be filled without returned addresses. */
static void blind_body(struct process *me, void *argument)
{
	struct stack s;
	size_t length;
	(void)argument;
	stack_open(&s, &kinds[0]);
	stack_publish(&s, me);
	process_barrier(me, &s);
	char *all = addresses_of(&s, me, &length);
	assert_int_equal(fi_av_insert(s.av, all, me->count, NULL, 0, NULL),
		(int)me->count);
	for (unsigned i = 0; i < me->count; i++)
		s.peers[i] = i;
	exchange_all(&s, me);
	free(all);
	stack_leave(&s, me);
}

static void a_table_has_consecutive_indices(void **state)
{
	(void)state;
	group_run(2, blind_body, NULL);
}

/* ---- garbage ---- */

static void garbage_body(struct process *me, void *argument)
{
	struct stack s;
	char all[3 * ADDRESS_MAX];
	fi_addr_t at[3] = { 7, 7, 7 };
	int errors[3] = { -1, -1, -1 };
	(void)me;
	stack_open(&s, argument);
	size_t length = own_address(&s, all);
	memset(all + length, 0x5a, length);
	memcpy(all + 2 * length, all, length);
	assert_int_equal(fi_av_insert(s.av, all, 3, at, 0, NULL), 2);
	assert_true(at[0] != FI_ADDR_NOTAVAIL);
	assert_int_equal(at[1], FI_ADDR_NOTAVAIL);
	assert_true(at[2] != FI_ADDR_NOTAVAIL);
	assert_int_equal(
		fi_av_insert(s.av, all, 3, at, FI_SYNC_ERR, errors), 2);
	assert_int_equal(errors[0], 0);
	assert_true(errors[1] > 0);
	assert_int_equal(errors[2], 0);
	assert_int_equal(fi_av_insert(s.av, all + length, 1, at, 0, NULL), 0);
	assert_int_equal(at[0], FI_ADDR_NOTAVAIL);
	stack_close(&s);
}

static void invalid_addresses_are_refused(void **state)
{
	(void)state;
	group_run_kinds(1, garbage_body);
}

/* An address without a final 0, at the end of mapped memory. */
static void unterminated_body(struct process *me, void *argument)
{
	struct stack s;
	char own[ADDRESS_MAX];
	fi_addr_t at;
	(void)me;
	stack_open(&s, argument);
	size_t length = own_address(&s, own), page = (size_t)getpagesize();
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	char *address = memcpy(memory + page - length, own, length);
	assert_int_equal(fi_av_insert(s.av, address, 1, &at, 0, NULL), 1);
	address[length - 1] = 'a';
	assert_int_equal(fi_av_insert(s.av, address, 1, &at, 0, NULL), 0);
	munmap(memory, 2 * page);
	stack_close(&s);
}

static void unterminated_addresses_are_refused(void **state)
{
	(void)state;
	group_run(1, unterminated_body, (void *)&kinds[1]);
}

/* Of random bytes only valid addresses are inserted. */
static void random_body(struct process *me, void *argument)
{
	struct stack s;
	struct random r = { 31 };
	char own[ADDRESS_MAX], address[ADDRESS_MAX];
	fi_addr_t at;
	(void)me;
	stack_open(&s, argument);
	size_t length = own_address(&s, own);
	for (unsigned i = 0; i < 20000; i++) {
		memcpy(address, own, sizeof(own));
		for (uint64_t n = random_below(&r, 5); n-- > 0;)
			address[random_below(&r, length)] =
				(char)random_next(&r);
		int n = fi_av_insert(s.av, address, 1, &at, 0, NULL);
		assert_true(n == 0 || n == 1);
		assert_int_equal(at != FI_ADDR_NOTAVAIL, n);
		if (n)
			assert_int_equal(fi_av_remove(s.av, &at, 1, 0), 0);
	}
	stack_close(&s);
}

static void random_bytes_do_no_harm(void **state)
{
	(void)state;
	group_run(1, random_body, (void *)&kinds[1]);
}

/* ---- lookup and removal ---- */

static void check_lookup(
	struct stack *s, fi_addr_t at, const char *expected, size_t length)
{
	char found[ADDRESS_MAX] = { 0 };
	size_t bytes = sizeof(found);
	assert_int_equal(fi_av_lookup(s->av, at, found, &bytes), 0);
	assert_int_equal(bytes, length);
	assert_int_equal(memcmp(found, expected, length), 0);
	/*
	 * An address that does not fit is truncated, and its full length
	 * returned.
	 */
	memset(found, 0, sizeof(found));
	bytes = 5;
	assert_int_equal(fi_av_lookup(s->av, at, found, &bytes), 0);
	assert_int_equal(bytes, length);
	assert_int_equal(memcmp(found, expected, 5), 0);
	assert_int_equal(found[5], 0);
}

static void check_text(struct stack *s, const char *address)
{
	char text[2 * ADDRESS_MAX] = { 0 }, cut[8];
	size_t bytes = sizeof(text);
	assert_true(fi_av_straddr(s->av, address, text, &bytes) == text);
	assert_int_equal(bytes, strlen(text) + 1);
	assert_true(strncmp(text, "fi_cay://", 9) == 0);
	bytes = sizeof(cut);
	assert_true(fi_av_straddr(s->av, address, cut, &bytes) == cut);
	assert_int_equal(bytes, strlen(text) + 1);
	assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

static void lookup_body(struct process *me, void *argument)
{
	struct stack s;
	char own[ADDRESS_MAX], found[ADDRESS_MAX];
	size_t bytes = sizeof(found);
	stack_open(&s, argument);
	stack_join(&s, me);
	size_t length = own_address(&s, own);
	check_lookup(&s, s.peers[0], own, length);
	check_text(&s, own);
	assert_int_equal(fi_av_remove(s.av, &s.peers[0], 1, 0), 0);
	assert_true(fi_av_lookup(s.av, s.peers[0], found, &bytes) < 0);
	assert_true(fi_av_lookup(s.av, 123456, found, &bytes) < 0);
	assert_true(fi_av_remove(s.av, &s.peers[0], 1, 0) < 0);
	assert_true(fi_av_remove(s.av, &(fi_addr_t){ 123456 }, 1, 0) < 0);
	stack_leave(&s, me);
}

static void entries_can_be_looked_up(void **state)
{
	(void)state;
	group_run_kinds(1, lookup_body);
}

/* Thousands of insertions and removals keep entries apart. */
static void recycle_body(struct process *me, void *argument)
{
	struct stack s;
	fi_addr_t at[100];
	stack_open(&s, argument);
	stack_join(&s, me);
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < COUNT(at); i++)
			at[i] = stack_insert(&s, me, (i + round) % me->count);
		assert_int_equal(fi_av_remove(s.av, at, COUNT(at), 0), 0);
	}
	exchange_all(&s, me);
	stack_leave(&s, me);
}

static void entries_are_recycled(void **state)
{
	(void)state;
	group_run_kinds(2, recycle_body);
}

/* ---- addresses without an endpoint ---- */

/* Fails at once, or within a bounded time. */
static void check_refused(struct stack *s, fi_addr_t to)
{
	struct fi_cq_err_entry e;
	uint64_t deadline = soon();
	ssize_t r;
	while ((r = fi_tsend(s->ep, "x", 1, NULL, to, 1, s)) == -FI_EAGAIN) {
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
	if (r == 0)
		cq_next_error(s->txcq, &e);
	r = fi_send(s->ep, "x", 1, NULL, to, s);
	if (r == 0)
		cq_next_error(s->txcq, &e);
	else
		assert_true(r < 0);
}

static void absent_body(struct process *me, void *argument)
{
	struct stack s;
	setenv("FI_CAY_CONNECT_MS", "200", 1);
	stack_open(&s, argument);
	stack_join(&s, me);
	if (me->rank == 1) {
		stack_leave(&s, me);
		process_barrier(me, NULL);
		return;
	}
	check_refused(&s, 123456);
	check_refused(&s, FI_ADDR_UNSPEC);
	check_refused(&s, 1ull << 32);
	process_barrier(me, &s);
	/* Closed, and inserted again afterwards. */
	process_barrier(me, &s);
	check_refused(&s, s.peers[1]);
	check_refused(&s, stack_insert(&s, me, 1));
	assert_int_equal(fi_av_remove(s.av, &s.peers[1], 1, 0), 0);
	check_refused(&s, s.peers[1]);
	cq_expect_none(s.txcq);
	stack_close(&s);
}

static void sending_to_no_endpoint_is_an_error(void **state)
{
	(void)state;
	group_run_kinds(2, absent_body);
}

/* ---- unsupported calls ---- */

static void wrong_body(struct process *me, void *argument)
{
	struct stack s;
	struct fid_av *av;
	struct fi_av_attr shared = { .type = FI_AV_TABLE, .name = "cay-test" };
	struct fi_av_attr wrong = { .type = (enum fi_av_type)77 };
	struct fi_av_attr named = { .type = FI_AV_TABLE };
	char own[ADDRESS_MAX];
	fi_addr_t at;
	(void)me;
	(void)argument;
	stack_open(&s, &kinds[0]);
	own_address(&s, own);
	assert_true(fi_av_open(s.domain, &shared, &av, NULL) < 0);
	assert_true(fi_av_open(s.domain, &wrong, &av, NULL) < 0);
	named.flags = FI_READ;
	ssize_t r = fi_av_open(s.domain, &named, &av, NULL);
	if (r == 0)
		assert_int_equal(fi_close(&av->fid), 0);
	assert_true(fi_av_insert(s.av, own, 1, &at, 1ull << 60, NULL) <= 0);
	assert_int_equal(fi_av_insert(s.av, own, 0, &at, 0, NULL), 0);
	assert_int_equal(fi_close(&s.av->fid), -FI_EBUSY);
	stack_close(&s);
}

static void invalid_calls_are_refused(void **state)
{
	(void)state;
	group_run(1, wrong_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(several_are_inserted_at_once),
		TEST(a_table_has_consecutive_indices),
		TEST(invalid_addresses_are_refused),
		TEST(unterminated_addresses_are_refused),
		TEST(random_bytes_do_no_harm),
		TEST(entries_can_be_looked_up),
		TEST(entries_are_recycled),
		TEST(sending_to_no_endpoint_is_an_error),
		TEST(invalid_calls_are_refused),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
