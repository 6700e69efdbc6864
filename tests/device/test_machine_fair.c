/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fair share and bounded delay, for every preset over 10^5 cycles. Ports that
 * always have work issue the same number of VCIs, whatever another port does,
 * and the delay of each of their VCIs from the trigger to its issue is below a
 * bound that follows from the configuration:
 *
 *	ahead = ports * (backlog + 1)			fetched in turns
 *		+ issue queue + requesters * (stages + wait queue)
 *	delay <= ahead * packets of the longest request + round trip
 *
 * In the worst case all of them have the same key, and so the same requester.
 */
#include "machine.h"

#define SOURCES	   4 /* port 0 is the one that may misbehave */
#define PORTS	   (2 * SOURCES)
#define CYCLES	   100000
#define BACKLOG	   4u /* VCIs that are accepted and not fetched */
#define STAGES	   6u
#define ROUND_TRIP 64u /* cycles without load, of a few packets */

enum behaviour {
	EQUAL,	       /* as the others */
	GREEDY,	       /* bursts of 32 */
	FULL_TARGET,   /* its target does not consume */
	NO_RETURN,     /* does not return its completions */
	LONG_MESSAGES, /* of many packets */
	BEHAVIOURS,
};

struct fair {
	struct machines ms;
	enum behaviour behaviour;
	uint64_t tag[SOURCES];
};

static int setup(void **state)
{
	return tb_setup_queues(state, PORTS,
		(struct queue_options){ .nq_log2 = 8, .rdr_log2 = 12 });
}

static uint32_t backlog(const struct fair *f, uint32_t port)
{
	const struct origin *o = machine_origin(f->ms.m[0], fixture_vpid(port));
	return o->client.wq_write - o->device.wq_read;
}

static struct cay_vci next_vci(struct fair *f, uint32_t port)
{
	uint32_t to = SOURCES + port;
	uint64_t tag = ++f->tag[port];
	if (port == 0 && f->behaviour == LONG_MESSAGES)
		return vci_send(&f->ms, port, to, 0, tag, 65536);
	return vci_fast(&f->ms, port, to,
		port == 0 && f->behaviour == NO_RETURN ? CAY_VCI_NOTIFY : 0,
		tag);
}

/* Keeps the work queue of a port filled. */
static void feed(struct fair *f, uint32_t port)
{
	struct machine *m = f->ms.m[0];
	uint16_t vpid = fixture_vpid(port);
	bool greedy = port == 0 && f->behaviour == GREEDY;
	uint32_t burst = greedy ? CAY_ISSUE_PARAMETER_MAX : 1;
	uint32_t most = greedy ? 2 * burst : BACKLOG;
	while (backlog(f, port) + burst <= most) {
		if (machine_trigger(m, vpid, CAY_ISSUE_VCI, burst).accepted ==
			0)
			return;
		for (uint32_t i = 0; i < burst; i++) {
			struct cay_vci v = next_vci(f, port);
			assert_true(machine_post(m, vpid, &v));
		}
	}
}

static void drain(struct fair *f)
{
	struct cay_nqe n;
	for (uint32_t p = 0; p < PORTS; p++) {
		if ((p == SOURCES && f->behaviour == FULL_TARGET) ||
			(p == 0 && f->behaviour == NO_RETURN))
			continue;
		while (machines_consume(&f->ms, p, &n))
			;
	}
}

static void check(const struct fair *f, const char *name)
{
	const struct machine_config *c = &f->ms.config;
	uint64_t packets = f->behaviour == LONG_MESSAGES ? 65536 / c->mtu : 1;
	uint64_t ahead = SOURCES * (BACKLOG + 1) + c->issue_entries +
			 c->requesters * (STAGES + c->wait_entries);
	uint64_t bound = ahead * packets + ROUND_TRIP;
	uint64_t least = UINT64_MAX, most = 0;
	bool first = f->behaviour == EQUAL || f->behaviour == GREEDY;
	for (uint32_t p = first ? 0 : 1; p < SOURCES; p++) {
		const struct machine_port_counts *n =
			machine_port_counts(f->ms.m[0], fixture_vpid(p));
		least = bits_min(least, n->issued);
		most = n->issued > most ? n->issued : most;
		if (p == 0 && f->behaviour == GREEDY)
			continue; /* its bursts wait for themselves */
		if (n->issue_delay_max > bound)
			fail_msg("%s, behaviour %d: delay %lu, bound %lu", name,
				f->behaviour, n->issue_delay_max, bound);
	}
	if (getenv("CAY_VERBOSE"))
		print_message("%s %d: %lu to %lu issued, delay %lu of %lu\n",
			name, f->behaviour, least, most,
			machine_port_counts(f->ms.m[0], 2)->issue_delay_max,
			bound);
	/* No port starves, and each turn is one VCI. */
	assert_true(least > CYCLES / (SOURCES * packets * 4));
	if (most - least > 1 + c->issue_entries)
		fail_msg("%s, behaviour %d: %lu to %lu issued", name,
			f->behaviour, least, most);
}

static void run(struct testbench *tb, const struct machine_preset *preset,
	enum behaviour behaviour)
{
	struct fair f = { .behaviour = behaviour };
	machines_open(&f.ms, tb, &preset->config, 1);
	for (uint32_t cycle = 0; cycle < CYCLES; cycle++) {
		for (uint32_t p = 0; p < SOURCES; p++)
			feed(&f, p);
		machine_step(f.ms.m[0]);
		if (cycle % 8 == 0)
			drain(&f);
	}
	check(&f, preset->name);
	if (behaviour == FULL_TARGET || behaviour == NO_RETURN)
		assert_true(machine_port_counts(f.ms.m[0], 1)->issued < 1000);
	f.behaviour = EQUAL;
	machines_finish(&f.ms);
	machines_close(&f.ms);
}

#define BEHAVIOUR(name, behaviour)                                   \
	static void name(void **state)                               \
	{                                                            \
		for (unsigned i = 0; i < machine_preset_count; i++)  \
			run(*state, &machine_presets[i], behaviour); \
	}

BEHAVIOUR(equal_ports, EQUAL)
BEHAVIOUR(a_greedy_port, GREEDY)
BEHAVIOUR(a_port_with_a_full_target, FULL_TARGET)
BEHAVIOUR(a_port_that_returns_nothing, NO_RETURN)
BEHAVIOUR(a_port_with_long_messages, LONG_MESSAGES)

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_ports),
		TEST(a_greedy_port),
		TEST(a_port_with_a_full_target),
		TEST(a_port_that_returns_nothing),
		TEST(a_port_with_long_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
