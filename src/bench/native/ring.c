/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of more processes than cores that pass a token and sleep until it
 * returns: over futex words (the baseline), and over Cay with cay_wait(). The
 * reference is kernel.c. An iteration is one lap of the token.
 */
#include "bench/native/endpoint.h"
#include "bench/native/futex_word.h"

/* ---- futex words ---- */

static int futex_send(struct side *s)
{
	return futex_word_post(s, (s->rank + 1) % s->group->ranks);
}

static int futex_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, futex_send, futex_word_sleep);
}

/* ---- Cay ---- */

static int cay_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(
		s, iterations, endpoint_send, endpoint_receive_asleep);
}

const struct workload ring_futex_workload = {
	.name = "futex",
	.run = futex_run,
};

const struct workload ring_cay_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.run = cay_run,
	.teardown = endpoint_teardown,
};
