/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serving atomic operations alone: requests that are wrong in every way, and
 * memory that lacks. Whatever happens, what is answered was executed once.
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

/* ---- what it uses, in place of the rest of the provider ---- */

static struct {
	unsigned refusals; /* posts that find no memory */
	unsigned count;	   /* of those that did */
	uint32_t head;
	uint64_t id;
	size_t length;
	uint64_t bytes[WORDS];
} posts;

int control_send(struct peer *p, uint32_t head, uint64_t tag, const void *bytes,
	size_t length)
{
	(void)p;
	if (posts.refusals) {
		posts.refusals--;
		return -FI_ENOMEM;
	}
	posts.count++;
	posts.head = head;
	posts.id = tag;
	posts.length = length;
	assert_true(length <= sizeof(posts.bytes));
	memcpy(posts.bytes, bytes, length);
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

static int serve(struct endpoint *ep, const struct wire_atomic *head,
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
	memset(&posts, 0, sizeof(posts));
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
	assert_int_equal(posts.count, count);
	assert_int_equal(posts.id, id);
	assert_int_equal(posts.head, WIRE_ATOMIC_RESULT);
	assert_int_equal(posts.length, 8);
	assert_int_equal(posts.bytes[0], previous);
}

/* Without memory for the answer the operation is done, but only once. */
static void an_answer_waits_for_memory(void **state)
{
	(void)state;
	posts.refusals = 3;
	for (int i = 0; i < 3; i++)
		assert_int_equal(serve(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(memory[0], 1);
	assert_int_equal(serve(first, &add_one, 1, 5), 0);
	expect(1, 5, 0);
	assert_int_equal(serve(first, &add_one, 1, 6), 0);
	expect(2, 6, 1);
	assert_int_equal(memory[0], 2);
}

static void endpoints_wait_for_themselves(void **state)
{
	(void)state;
	posts.refusals = 1;
	assert_int_equal(serve(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(serve(second, &add_one, 1, 5), 0);
	expect(1, 5, 1);
	assert_int_equal(serve(first, &add_one, 1, 5), 0);
	expect(2, 5, 0);
	assert_int_equal(memory[0], 2);
}

static void nothing_is_done_without_room_for_an_answer(void **state)
{
	(void)state;
	failing_begin(1, false);
	assert_int_equal(serve(first, &add_one, 1, 5), -FI_ENOMEM);
	assert_int_equal(failing_end(), 1);
	assert_int_equal(memory[0], 0);
	assert_int_equal(serve(first, &add_one, 1, 5), 0);
	expect(1, 5, 0);
}

/* An endpoint that is gone owes nothing, even if another gets its place. */
static void who_goes_owes_nothing(void **state)
{
	(void)state;
	posts.refusals = 1;
	assert_int_equal(serve(first, &add_one, 1, 5), -FI_ENOMEM);
	atomic_reply_free(first);
	assert_int_equal(serve(first, &add_one, 1, 6), 0);
	expect(1, 6, 1);
}

static void refused(const struct wire_atomic *head, size_t values, int error)
{
	unsigned before = posts.count;
	assert_int_equal(serve(first, head, values, 9), 0);
	assert_int_equal(posts.count, before + 1);
	assert_int_equal(WIRE_STATUS(posts.head), error);
	assert_int_equal(posts.length, 0);
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(memory[i], 0);
}

static void wrong_requests_are_answered(void **state)
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

/* By a key that no region can have. */
static void the_card_can_be_read(void **state)
{
	struct wire_atomic q = { .key = KEY_TABLE_QUERY,
		.op = FI_ATOMIC_READ,
		.datatype = FI_UINT64,
		.fetches = true,
		.count = 1 };
	(void)state;
	first->address.capability = 4711;
	assert_int_equal(serve(first, &q, 0, 5), 0);
	expect(1, 5, 4711);
	q.count = 2;
	refused(&q, 0, FI_EKEYREJECTED);
	q.count = 1;
	q.op = FI_ATOMIC_WRITE;
	refused(&q, 1, FI_EKEYREJECTED);
	assert_int_equal(first->address.capability, 4711);
}

static void short_requests_are_answered(void **state)
{
	struct request q = { .head = add_one };
	(void)state;
	for (size_t bytes = 0; bytes < sizeof(q.head) + 8; bytes++) {
		assert_int_equal(
			atomic_request_execute(first, NULL, 9, &q, bytes), 0);
		assert_int_equal(WIRE_STATUS(posts.head), FI_EINVAL);
	}
	assert_int_equal(memory[0], 0);
}

#define SERVE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SERVE(an_answer_waits_for_memory),
		SERVE(endpoints_wait_for_themselves),
		SERVE(nothing_is_done_without_room_for_an_answer),
		SERVE(who_goes_owes_nothing),
		SERVE(wrong_requests_are_answered),
		SERVE(the_card_can_be_read),
		SERVE(short_requests_are_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
