/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target of atomic operations alone: invalid requests of every kind, and
 * allocations that fail. A request that gets a result was executed once.
 */
#include <stdlib.h>
#include <string.h>

#include "../node/failing.h"
#include "../port/harness.h"
#include "provider/rma/atomic.h"
#include "provider/rma/key_table.h"
#include "provider/rma/mr.h"
#include "provider/wire.h"

#define KEY   7
#define WORDS 512

static uint64_t memory[WORDS];

/* ---- stubs for the rest of the provider ---- */

static struct {
	unsigned refusals; /* calls that are to fail */
	unsigned count;	   /* calls that succeeded */
	uint32_t head;
	uint64_t id;
	size_t length;
	uint64_t bytes[WORDS];
} sends;

int control_send(struct peer *p, uint32_t head, uint64_t tag, const void *bytes,
	size_t length)
{
	(void)p;
	if (sends.refusals) {
		sends.refusals--;
		return -FI_ENOMEM;
	}
	sends.count++;
	sends.head = head;
	sends.id = tag;
	sends.length = length;
	assert_true(length <= sizeof(sends.bytes));
	memcpy(sends.bytes, bytes, length);
	return 0;
}

int mr_resolve(struct domain *d, uint64_t key, uint64_t address, size_t length,
	uint64_t access, void **to)
{
	(void)d, (void)access;
	if (key != KEY)
		return -FI_EKEYREJECTED;
	if (!bits_inside(address, length, sizeof(memory)))
		return -FI_EINVAL;
	*to = (char *)memory + address;
	return 0;
}

static unsigned counts[2][MR_ACCESSES]; /* at the endpoint, at the region */

void mr_count_endpoint(const struct endpoint *ep, enum mr_access access)
{
	(void)ep;
	counts[0][access]++;
}

void mr_count_region(struct domain *d, uint64_t key, enum mr_access access)
{
	(void)d;
	assert_int_equal(key, KEY);
	counts[1][access]++;
}

/* ---- requests ---- */

struct request {
	struct wire_atomic head;
	uint64_t values[2 * WORDS];
};

static const struct wire_atomic add_one = { .key = KEY,
	.op = FI_SUM,
	.datatype = FI_UINT64,
	.fetches = true,
	.count = 1 };

static int execute(struct endpoint *ep, const struct wire_atomic *head,
	size_t values, uint64_t id)
{
	struct request q = { .head = *head, .values = { 1 } };
	return atomic_request_execute(
		ep, NULL, id, &q, sizeof(q.head) + 8 * values);
}

static struct endpoint *endpoint_in(struct domain *domain)
{
	struct endpoint *ep = calloc(1, sizeof(*ep));
	assert_non_null(ep);
	ep->domain = domain;
	return ep;
}

static struct domain domain;
static struct endpoint *first, *second;

static int set_up(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(&sends, 0, sizeof(sends));
	memset(counts, 0, sizeof(counts));
	list_init(&domain.replies);
	first = endpoint_in(&domain);
	second = endpoint_in(&domain);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	atomic_reply_free(first);
	atomic_reply_free(second);
	assert_true(list_empty(&domain.replies));
	free(first);
	free(second);
	return 0;
}

/* ---- tests ---- */

static void expect(unsigned count, uint64_t id, uint64_t previous)
{
	assert_int_equal(sends.count, count);
	assert_int_equal(sends.id, id);
	assert_int_equal(sends.head, WIRE_ATOMIC_RESULT);
	assert_int_equal(sends.length, 8);
	assert_int_equal(sends.bytes[0], previous);
}

/* Without memory for the result the operation is executed, but only once. */
static void a_result_waits_for_memory(void **state)
{
	(void)state;
	sends.refusals = 3;
	for (int i = 0; i < 3; i++)
		assert_int_equal(execute(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(memory[0], 1);
	assert_int_equal(execute(first, &add_one, 1, 5), 0);
	expect(1, 5, 0);
	assert_int_equal(execute(first, &add_one, 1, 6), 0);
	expect(2, 6, 1);
	assert_int_equal(memory[0], 2);
	assert_int_equal(counts[0][MR_READ], 2);
	assert_int_equal(counts[0][MR_WRITE], 0);
	assert_int_equal(counts[1][MR_READ], 2);
	assert_int_equal(counts[1][MR_WRITE], 2);
}

static void pending_results_are_per_endpoint(void **state)
{
	(void)state;
	sends.refusals = 1;
	assert_int_equal(execute(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(execute(second, &add_one, 1, 5), 0);
	expect(1, 5, 1);
	assert_int_equal(execute(first, &add_one, 1, 5), 0);
	expect(2, 5, 0);
	assert_int_equal(memory[0], 2);
}

static void nothing_is_executed_without_a_reply_buffer(void **state)
{
	(void)state;
	failing_begin(1, false);
	assert_int_equal(execute(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(failing_end(), 1);
	assert_int_equal(memory[0], 0);
	assert_int_equal(execute(first, &add_one, 1, 5), 0);
	expect(1, 5, 0);
}

/* A pending result ends with its endpoint, even if its memory is reused. */
static void closing_drops_a_pending_result(void **state)
{
	(void)state;
	sends.refusals = 1;
	assert_int_equal(execute(first, &add_one, 1, 5), -FI_ENOMEM);
	atomic_reply_free(first);
	assert_int_equal(execute(first, &add_one, 1, 6), 0);
	expect(1, 6, 1);
}

static void refused(const struct wire_atomic *head, size_t values, int error)
{
	unsigned before = sends.count;
	assert_int_equal(execute(first, head, values, 9), 0);
	assert_int_equal(sends.count, before + 1);
	assert_int_equal(WIRE_STATUS(sends.head), error);
	assert_int_equal(sends.length, 0);
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(memory[i], 0);
}

static void invalid_requests_get_a_result(void **state)
{
	struct wire_atomic q = add_one;
	(void)state;
	q.op = 255;
	refused(&q, 1, FI_EOPNOTSUPP);
	q.op = FI_CSWAP; /* without compare values */
	refused(&q, 1, FI_EOPNOTSUPP);
	q = add_one;
	q.compares = 255;
	refused(&q, 2, FI_EOPNOTSUPP);
	q = add_one;
	q.datatype = 255;
	refused(&q, 1, FI_EOPNOTSUPP);
	q = add_one;
	q.count = 0;
	refused(&q, 0, FI_EMSGSIZE);
	q.count = WORDS + 1;
	refused(&q, WORDS + 1, FI_EMSGSIZE);
	q.count = UINT32_MAX;
	refused(&q, 1, FI_EMSGSIZE);
	q.count = 2;
	refused(&q, 1, FI_EINVAL);
	q = add_one;
	q.key++;
	refused(&q, 1, FI_EKEYREJECTED);
	q = add_one;
	q.address = -4ull;
	refused(&q, 1, FI_EINVAL);
}

/* With the key that no region can have. */
static void the_capability_can_be_read(void **state)
{
	struct wire_atomic q = { .key = KEY_TABLE_QUERY,
		.op = FI_ATOMIC_READ,
		.datatype = FI_UINT64,
		.fetches = true,
		.count = 1 };
	(void)state;
	first->address.capability = 4711;
	assert_int_equal(execute(first, &q, 0, 5), 0);
	expect(1, 5, 4711);
	q.count = 2;
	refused(&q, 0, FI_EKEYREJECTED);
	q.count = 1;
	q.op = FI_ATOMIC_WRITE;
	refused(&q, 1, FI_EKEYREJECTED);
	assert_int_equal(first->address.capability, 4711);
}

static void short_requests_get_a_result(void **state)
{
	struct request q = { .head = add_one };
	(void)state;
	for (size_t bytes = 0; bytes < sizeof(q.head) + 8; bytes++) {
		assert_int_equal(
			atomic_request_execute(first, NULL, 9, &q, bytes), 0);
		assert_int_equal(WIRE_STATUS(sends.head), FI_EINVAL);
	}
	assert_int_equal(memory[0], 0);
}

#define SERVE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SERVE(a_result_waits_for_memory),
		SERVE(pending_results_are_per_endpoint),
		SERVE(nothing_is_executed_without_a_reply_buffer),
		SERVE(closing_drops_a_pending_result),
		SERVE(invalid_requests_get_a_result),
		SERVE(the_capability_can_be_read),
		SERVE(short_requests_get_a_result),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
