/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message that its origin has withdrawn is not reported, also if the queue
 * set of the origin is replaced while the target looks at the message: the
 * origin lives.
 */
#include "device/queue_set.h"
#include "harness.h"
#include "port/port.h"

#define LONG_BYTES 50000ul

static struct cay_port *origin; /* is replaced, once */

/* Replaces the queue set, as the node does when it fences a process. */
static void origin_migrates(void)
{
	const struct arena *a = &origin->member->arena;
	const struct context *own = origin->consumer.own;
	struct queue_config config = own->control->config;
	config.epoch++;
	queue_set_open(a, &config, own->epoch, POSTED_NONE);
	queue_set_close(a, config.vpid, own->epoch);
}

bool __real_device_reference_begin(struct reference *, uint32_t sequence);
bool __wrap_device_reference_begin(struct reference *, uint32_t sequence);
bool __wrap_device_reference_begin(struct reference *ref, uint32_t sequence)
{
	bool begun = __real_device_reference_begin(ref, sequence);
	if (origin) {
		assert_false(begun);
		origin_migrates();
		origin = NULL;
	}
	return begun;
}

static void origin_migrates_meanwhile(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	unsigned char *data = cay_alloc(a, LONG_BYTES, 0);
	struct cay_event e;
	(void)state;
	assert_int_equal(cay_send(a, peer, 1, data, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(cay_cancel(a, 1), 1);
	expect_complete(a, 1, CAY_ERROR_TIMEOUT);
	origin = a;
	assert_int_equal(cay_poll(b, &e, 1), 0);
	assert_true(origin == NULL);
	check_empty(b);
	cay_free(a, data);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(origin_migrates_meanwhile),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
