/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cay's latency. Each rank opens a port after fork, publishes its address in
 * shared memory and resolves the next rank.
 */
#include "bench/native/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/payload.h"

/* cay_send(3): up to here borrowed memory from malloc() is staged. */
#define STAGED_BYTES_MAX (256u << 10)

/* ---- set-up ---- */

/* Opens ports without a use, in rank 0 and 1 each the half. */
static int open_more(struct side *s, struct endpoint *p)
{
	const struct cay_port_options options = { .nq_entries = 64 };
	unsigned count = s->rank == 0 ? s->ports - s->ports / 2 : s->ports / 2;

	p->more = calloc(count + 1, sizeof(*p->more));
	if (!p->more)
		return -ENOMEM;
	while (p->more_count < count) {
		struct cay_port *port = cay_port_open(&options);
		if (!port)
			return -errno;
		p->more[p->more_count++] = port;
	}
	return 0;
}

int endpoint_open(struct side *s, struct endpoint *p)
{
	struct cay_port_options options = { .nq_entries = 1u
							  << WORKLOAD_NQ_LOG2,
		.flags = p->fetched ? CAY_PORT_FETCH : 0 };
	struct cay_addr *addr = endpoint_page(s)->addr;

	p->port = cay_port_open(&options);
	if (!p->port)
		return -errno;
	addr[s->rank] = cay_port_addr(p->port);
	int r = s->ports ? open_more(s, p) : 0;
	if (!r)
		r = group_barrier(s->group, s->rank);
	if (r)
		return r;
	return cay_peer_resolve(
		p->port, addr[(s->rank + 1) % s->group->ranks], &p->next);
}

static int setup(struct side *s, bool allocated, bool fetched, unsigned flags)
{
	struct endpoint *p = calloc(1, sizeof(*p));
	size_t bytes = bits_round_up(s->bytes + 1, PAYLOAD_LINE);

	if (!p)
		return -ENOMEM;
	s->state = p;
	p->fetched = fetched;
	int r = endpoint_open(s, p);
	if (r)
		return r;
	p->allocated = allocated;
	/* A copy is read in place, as cay_alloc() memory is. */
	p->mapped = allocated || !(flags & CAY_BORROW) ||
		    s->bytes <= STAGED_BYTES_MAX;
	p->flags = flags;
	p->source = allocated ? cay_alloc(p->port, bytes, 0) : malloc(bytes);
	if (!p->source)
		return -errno;
	p->copy = malloc(bytes);
	if (!p->copy)
		return -ENOMEM;
	memset(p->source, 1, bytes);
	memset(p->copy, 1, bytes);
	return 0;
}

int endpoint_setup(struct side *s)
{
	return setup(s, false, false, 0);
}

static int malloc_setup(struct side *s)
{
	return setup(s, false, false, CAY_BORROW);
}

static int fetch_setup(struct side *s)
{
	return setup(s, false, true, CAY_BORROW);
}

static int alloc_setup(struct side *s)
{
	return setup(s, true, false, CAY_BORROW);
}

void endpoint_teardown(struct side *s)
{
	struct endpoint *p = s->state;

	if (!p)
		return;
	if (p->allocated)
		cay_free(p->port, p->source);
	else
		free(p->source);
	free(p->copy);
	cay_peer_release(p->next);
	while (p->more_count)
		cay_port_close(p->more[--p->more_count]);
	free(p->more);
	if (p->port)
		cay_port_close(p->port);
	free(p);
	s->state = NULL;
}

/* ---- short messages ---- */

/* Out of line: the queue is rarely full with one message in flight. */
__attribute__((cold, noinline)) static int send_again(struct side *s)
{
	struct endpoint *p = s->state;
	uint32_t spins = 0;
	int r, stop;

	while ((r = cay_send(p->port, p->next, p->sent, p->source, s->bytes,
			p->flags)) == -EAGAIN)
		if ((stop = group_spin(s->group, &spins)))
			return stop;
	return r;
}

int endpoint_send(struct side *s)
{
	struct endpoint *p = s->state;

	payload_stamp(p->source, s->bytes, p->sent);
	int r = cay_send(
		p->port, p->next, p->sent, p->source, s->bytes, p->flags);
	if (unlikely(r == -EAGAIN))
		r = send_again(s);
	p->sent++;
	return r;
}

int endpoint_verify(struct side *s, const struct cay_event *e)
{
	struct endpoint *p = s->state;

	return likely(e->kind == CAY_EVENT_MESSAGE)
		       ? payload_verify(
				 e->data, e->length, s->bytes, p->received++)
		       : -EPROTO;
}

int endpoint_accept(struct side *s, const struct cay_event *e)
{
	struct endpoint *p = s->state;
	int r = endpoint_verify(s, e);

	cay_release(p->port, e);
	return r;
}

int endpoint_next(struct side *s, struct cay_event *e)
{
	struct endpoint *p = s->state;
	uint32_t spins = 0;
	int count, r;

	while ((count = cay_poll(p->port, e, 1)) == 0)
		if (unlikely(r = group_spin(s->group, &spins)))
			return r;
	return count < 0 ? count : 0;
}

int endpoint_receive(struct side *s)
{
	struct cay_event e;
	int r = endpoint_next(s, &e);

	return r ? r : endpoint_accept(s, &e);
}

int endpoint_receive_asleep(struct side *s)
{
	struct endpoint *p = s->state;
	struct cay_event e;
	int count, r;

	while ((count = cay_poll(p->port, &e, 1)) == 0) {
		r = cay_wait(p->port, s->group->deadline);
		if (r && r != -EINTR)
			return r;
	}
	return count < 0 ? count : endpoint_accept(s, &e);
}

static int message_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(
		s, iterations, endpoint_send, endpoint_receive);
}

/* ---- long messages ---- */

static int long_prepare(struct side *s)
{
	struct endpoint *p = s->state;

	if (s->rewrite && s->bytes > PAYLOAD_SHORT_MAX)
		payload_rewrite(p->source, s->bytes, p->sent);
	return 0;
}

static int long_send(struct side *s)
{
	struct endpoint *p = s->state;

	p->pending += p->flags & CAY_BORROW ? 1 : 0;
	return endpoint_send(s);
}

/* Waits for a message, or (no message) until all of ours are complete. */
static int long_await(struct side *s, bool message)
{
	struct endpoint *p = s->state;
	struct cay_event e;
	int r = 0;

	while (!r && (message || p->pending)) {
		if ((r = endpoint_next(s, &e)))
			break;
		if (e.kind == CAY_EVENT_COMPLETE) {
			p->pending--;
			r = e.error ? -EIO : 0;
			cay_release(p->port, &e);
			continue;
		}
		if (!message)
			return -EPROTO;
		if (e.kind != CAY_EVENT_MESSAGE || e.length > s->bytes)
			return endpoint_accept(s, &e);
		/* The library has copied a message that is not mapped. */
		if (p->fetched) {
			r = cay_event_fetch(p->port, &e, p->copy, s->bytes);
			e.data = p->copy;
			if (r)
				break;
		} else if (p->mapped) {
			memcpy(p->copy, e.data, e.length);
			e.data = p->copy;
		}
		return endpoint_accept(s, &e);
	}
	return r;
}

static int long_run(struct side *s, uint32_t iterations)
{
	int r = 0;

	while (!r && iterations--) {
		r = s->rank == 0 ? long_send(s) : long_await(s, true);
		if (!r)
			r = s->rank == 0 ? long_await(s, true) : long_send(s);
		if (!r)
			r = long_await(s, false);
	}
	return r;
}

const struct workload cay_message_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = long_prepare,
	.run = message_run,
	.teardown = endpoint_teardown,
};

const struct workload cay_copied_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = long_prepare,
	.run = long_run,
	.teardown = endpoint_teardown,
};

const struct workload cay_malloc_workload = {
	.name = "Cay",
	.setup = malloc_setup,
	.prepare = long_prepare,
	.run = long_run,
	.teardown = endpoint_teardown,
};

const struct workload cay_fetch_workload = {
	.name = "Cay",
	.setup = fetch_setup,
	.prepare = long_prepare,
	.run = long_run,
	.teardown = endpoint_teardown,
};

const struct workload cay_alloc_workload = {
	.name = "Cay",
	.setup = alloc_setup,
	.prepare = long_prepare,
	.run = long_run,
	.teardown = endpoint_teardown,
};
