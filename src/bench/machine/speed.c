/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Speed of a machine on the counting platform: work requests per second of
 * processor time and cycles per work request, on one core. Four ports always
 * have work for the next port, and consume at once.
 *
 * usage: speed [--quick]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/clock.h"
#include "device/fixture.h"
#include "device/machine/machine.h"
#include "device/queue.h"

#define PORTS		 4
#define BURST		 16u
#define CHUNK_CYCLES	 1000 /* between two clock readings */
#define MEASURE_NS	 CLOCK_NS_PER_S
#define QUICK_MEASURE_NS (20 * CLOCK_NS_PER_MS)

struct bench {
	struct fixture fixture;
	struct machine *machine;
	uint64_t capability[PORTS];
	uint64_t ns; /* to measure */
};

struct operation {
	const char *name;
	unsigned command, bytes;
};

static _Noreturn void fail(const char *call, int error)
{
	fprintf(stderr, "speed: %s: %s\n", call, strerror(-error));
	exit(1);
}

/* The processor time of this program: other load does not count. */
static uint64_t cpu_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct cay_vci vci_of(
	const struct bench *b, const struct operation *o, uint32_t port)
{
	uint32_t to = (port + 1) % PORTS;
	bool fast = o->bytes <= CAY_FAST_SEND_BYTES;
	struct cay_vci v = {
		.word = { o->command | 1ull << CAY_VCI_ROUTING_LENGTH_SHIFT |
				  (uint64_t)to << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(to) | (uint64_t)(fast ? o->bytes : 0)
						   << CAY_VCI_BYTES_SHIFT }
	};
	if (o->command == CAY_SEND)
		v.word[CAY_VCI_WORD_LENGTH] = o->bytes;
	if (o->command == CAY_PUT) {
		v.word[CAY_VCI_WORD_WINDOW] = b->capability[to]
					      << CAY_VCI_CAPABILITY_SHIFT;
		v.word[CAY_VCI_WORD_OFFSET] = 64ull * port;
		v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = 1024;
		v.word[CAY_VCI_WORD_BYTES] = o->bytes;
	}
	return v;
}

/* Keeps a burst in the work queue, one trigger for all of it. */
static void feed(struct bench *b, uint32_t port, const struct cay_vci *v)
{
	const struct origin *o = machine_origin(b->machine, fixture_vpid(port));
	if (o->client.wq_write != o->device.wq_read ||
		machine_trigger(
			b->machine, fixture_vpid(port), CAY_ISSUE_VCI, BURST)
				.accepted == 0)
		return;
	for (uint32_t i = 0; i < BURST; i++)
		machine_post(b->machine, fixture_vpid(port), v);
}

/* Returns all notifications of a port with one store of R. */
static void consume(struct bench *b, uint32_t port)
{
	struct context *own = fixture_own(&b->fixture, port);
	uint64_t r = own->control->r, nq = queue_nq(r), rdr = queue_rdr(r);
	uint64_t word;
	while ((word = machine_peek(own, nq))) {
		const struct cay_nqe *n = &own->nq[nq & (own->nq_entries - 1)];
		if ((word & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
			rdr = n->word[CAY_NQE_WORD_POINTERS] >>
			      CAY_NQE_RDR_WRITE_SHIFT;
		nq++;
	}
	if (nq != queue_nq(r))
		machine_return_entries(own, queue_word(nq, rdr));
}

static void measure(struct bench *b, const struct machine_preset *preset,
	const struct operation *o)
{
	struct cay_vci v[PORTS];
	int r = machine_open(&b->machine, &preset->config, 1, PORTS);
	if (r)
		fail("machine_open", r);
	for (uint32_t p = 0; p < PORTS; p++) {
		r = machine_attach(b->machine, fixture_own(&b->fixture, p));
		if (r)
			fail("machine_attach", r);
		struct origin *origin =
			machine_origin(b->machine, fixture_vpid(p));
		origin->routes = b->fixture.port[p].routes;
		origin->windows = b->fixture.port[p].windows;
		v[p] = vci_of(b, o, p);
	}
	uint64_t from = cpu_now_ns(), ns = 0;
	while (ns < b->ns) {
		for (uint32_t i = 0; i < CHUNK_CYCLES; i++) {
			for (uint32_t p = 0; p < PORTS; p++)
				feed(b, p, &v[p]);
			machine_step(b->machine);
			if (i % 8 == 0)
				for (uint32_t p = 0; p < PORTS; p++)
					consume(b, p);
		}
		ns = cpu_now_ns() - from;
	}
	const struct machine_counts *c = machine_counts(b->machine);
	printf("%-16s %-18s %7.2f M/s %8.2f cycles\n", preset->name, o->name,
		(double)c->retired * 1e3 / (double)ns,
		(double)c->cycles / (double)c->retired);
	for (uint32_t i = 0; i < 100000 && !machine_idle(b->machine); i++) {
		machine_step(b->machine);
		for (uint32_t p = 0; p < PORTS; p++)
			consume(b, p);
	}
	machine_close(b->machine);
}

int main(int argc, char **argv)
{
	static const struct operation operations[] = {
		{ "FAST_SEND 8 bytes", CAY_FAST_SEND | 1, 8 },
		{ "SEND 64 bytes", CAY_SEND, 64 },
		{ "PUT 64 bytes", CAY_PUT, 64 },
	};
	struct bench b = { .ns = MEASURE_NS };
	if (argc == 2 && strcmp(argv[1], "--quick") == 0) {
		b.ns = QUICK_MEASURE_NS;
	} else if (argc > 1) {
		fprintf(stderr, "usage: speed [--quick]\n");
		return 2;
	}
	int r = fixture_open(&b.fixture, PORTS,
		&(struct queue_options){ .nq_log2 = 8, .rdr_log2 = 12 });
	if (r)
		fail("fixture_open", r);
	for (uint32_t p = 0; p < PORTS; p++) {
		r = fixture_window(&b.fixture, p, 0,
			fixture_memory(&b.fixture, 4096), 4096,
			CAY_RIGHT_READ | CAY_RIGHT_WRITE, &b.capability[p]);
		if (r)
			fail("fixture_window", r);
	}
	printf("work requests per second of processor time, cycles of each\n");
	for (unsigned i = 0; i < machine_preset_count; i++)
		for (unsigned k = 0; k < ARRAY_COUNT(operations); k++)
			measure(&b, &machine_presets[i], &operations[k]);
	fixture_close(&b.fixture);
	return 0;
}
