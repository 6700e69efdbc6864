/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message rate: rank 0 sends as fast as it can, rank 1 receives in bursts and
 * publishes the number of received messages at the end of a batch. An iteration
 * is a message.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "bench/harness/payload.h"
#include "bench/native/baseline.h"
#include "bench/native/endpoint.h"

#define RATE_BURST 32

/* The last line of the shared memory, which no queue uses. */
static _Atomic uint64_t *rate_received(struct side *s)
{
	return (_Atomic uint64_t *)(void *)(s->shared + WORKLOAD_SHARED_BYTES -
					    PAYLOAD_LINE);
}

/* ---- baseline ---- */

static int baseline_rate_send(struct side *s, uint32_t iterations)
{
	struct baseline *b = s->state;
	uint32_t spins = 0;
	int r;

	while (iterations--) {
		payload_stamp(b->private_source, s->bytes, b->sent++);
		while (!baseline_send_fast(b, b->private_source, s->bytes))
			if ((r = group_spin(s->group, &spins)))
				return r;
	}
	return group_await(s->group, rate_received(s), b->sent);
}

static int baseline_rate_receive(struct side *s, uint32_t iterations)
{
	struct baseline *b = s->state;
	struct baseline_entry *e;
	uint32_t spins = 0;
	int r = 0;

	while (!r && iterations) {
		if (!(e = baseline_poll(b))) {
			r = group_spin(s->group, &spins);
			continue;
		}
		r = payload_verify(
			&e->word[2], baseline_length(e), s->bytes, b->next);
		baseline_release(b);
		iterations--;
	}
	atomic_store_explicit(rate_received(s), b->next, memory_order_release);
	return r;
}

static int baseline_rate_run(struct side *s, uint32_t iterations)
{
	return s->rank == 0 ? baseline_rate_send(s, iterations)
			    : baseline_rate_receive(s, iterations);
}

/* ---- Cay ---- */

static int cay_rate_send(struct side *s, uint32_t iterations)
{
	struct endpoint *p = s->state;
	int r = 0;

	while (!r && iterations--)
		r = endpoint_send(s);
	return r ? r : group_await(s->group, rate_received(s), p->sent);
}

/* Polls several messages, and releases each when it is read, or all at once. */
static inline int cay_receive(
	struct side *s, uint32_t iterations, bool release_burst)
{
	struct endpoint *p = s->state;
	struct cay_event e[RATE_BURST];
	uint32_t spins = 0;
	int r = 0;

	while (!r && iterations) {
		int count = cay_poll(p->port, e, RATE_BURST);
		for (int i = 0; !r && i < count; i++)
			r = release_burst ? endpoint_verify(s, &e[i])
					  : endpoint_accept(s, &e[i]);
		if (release_burst)
			cay_release_burst(p->port, e, count);
		if (count > 0)
			iterations -= (uint32_t)count;
		else if (count < 0)
			r = count;
		if (!r)
			r = group_spin(s->group, &spins);
	}
	atomic_store_explicit(
		rate_received(s), p->received, memory_order_release);
	return r;
}

static int cay_rate_run(struct side *s, uint32_t iterations)
{
	return s->rank == 0 ? cay_rate_send(s, iterations)
			    : cay_receive(s, iterations, false);
}

/* ---- Cay, bursts ---- */

static int cay_burst_send(struct side *s, uint32_t iterations)
{
	unsigned char data[RATE_BURST][PAYLOAD_LINE];
	struct cay_message message[RATE_BURST];
	struct endpoint *p = s->state;
	uint32_t spins = 0;
	int r = 0;

	while (!r && iterations) {
		int count = (int)bits_min(iterations, RATE_BURST);
		for (int i = 0; i < count; i++) {
			uint64_t number = p->sent + (uint64_t)i;
			payload_stamp(data[i], s->bytes, number);
			message[i] = (struct cay_message){ .tag = number,
				.data = data[i],
				.length = s->bytes };
		}
		int sent = cay_send_burst(p->port, p->next, message, count);
		if (sent > 0) {
			p->sent += (uint64_t)sent;
			iterations -= (uint32_t)sent;
		} else if (sent != -EAGAIN) {
			r = sent;
		} else {
			r = group_spin(s->group, &spins);
		}
	}
	return r ? r : group_await(s->group, rate_received(s), p->sent);
}

static int cay_burst_run(struct side *s, uint32_t iterations)
{
	return s->rank == 0 ? cay_burst_send(s, iterations)
			    : cay_receive(s, iterations, true);
}

const struct workload baseline_rate_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.run = baseline_rate_run,
	.teardown = baseline_teardown,
};

const struct workload cay_rate_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.run = cay_rate_run,
	.teardown = endpoint_teardown,
};

const struct workload cay_burst_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.run = cay_burst_run,
	.teardown = endpoint_teardown,
};
