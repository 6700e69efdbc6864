/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines for the tests: the ports of the test bench, distributed in turn over
 * one or more machines that a wire connects. Machine i is node i + 1, and its
 * peers on other nodes have the routing offset of their port.
 */
#ifndef CAY_TESTS_DEVICE_MACHINE_H
#define CAY_TESTS_DEVICE_MACHINE_H

#include "device/machine/wire.h"
#include "testbench.h"

#define MACHINES_MAX 4

struct machines {
	struct testbench *tb;
	struct machine_config config;
	struct machine *m[MACHINES_MAX];
	uint32_t count;
	struct wire *wire;
	uint64_t cycles;
};

static inline uint32_t machines_of(const struct machines *ms, uint32_t port)
{
	return port % ms->count;
}

static inline void machines_delay(
	struct machines *ms, uint32_t max, uint64_t seed)
{
	if (ms->wire)
		wire_close(ms->wire);
	for (uint32_t i = 0; i < ms->count; i++)
		machine_delay(ms->m[i], max, seed + i);
	assert_int_equal(
		wire_open(&ms->wire, ms->m, ms->count, 4 * max, seed), 0);
}

static inline void machines_open(struct machines *ms, struct testbench *tb,
	const struct machine_config *config, uint32_t count)
{
	*ms = (struct machines){ .tb = tb, .config = *config, .count = count };
	uint32_t ports = tb->fixture.ports;
	/* One hop there, one hop back. */
	struct routing_string string = { .count = 4,
		.phit = { phit_make(0, 1, 0), STRING_PORT_ANY | STRING_RETURN,
			phit_make(1, 1, 0), STRING_PORT_ANY } };
	for (uint32_t i = 0; i < count; i++)
		/* One more: a port that is replaced may still have requests. */
		assert_int_equal(
			machine_open(&ms->m[i], config, i + 1, ports + 1), 0);
	for (uint32_t p = 0; p < ports; p++) {
		struct machine *m = ms->m[machines_of(ms, p)];
		assert_int_equal(
			machine_attach(m, fixture_own(&tb->fixture, p)), 0);
		struct origin *o = machine_origin(m, fixture_vpid(p));
		o->routes = tb->port[p].origin.routes;
		o->windows = tb->port[p].origin.windows;
		for (uint32_t i = 0; i < count; i++)
			if (i != machines_of(ms, p)) {
				string.tag = (uint16_t)(machines_of(ms, p) + 1);
				const struct machine_peer peer = {
					machines_of(ms, p) + 1,
					tb->port[p].config.epoch,
					fixture_vpid(p)
				};
				assert_int_equal(machine_route(ms->m[i], p,
							 &peer, &string),
					0);
			}
	}
	machines_delay(ms, 0, 1);
}

static inline void machines_close(struct machines *ms)
{
	wire_close(ms->wire);
	for (uint32_t i = 0; i < ms->count; i++)
		machine_close(ms->m[i]);
}

/* Runs one cycle of everything; false if nothing is left to do. */
static inline bool machines_step(struct machines *ms)
{
	bool some = wire_step(ms->wire);
	for (uint32_t i = 0; i < ms->count; i++)
		some |= machine_step(ms->m[i]);
	ms->cycles++;
	return some;
}

static inline void machines_run(struct machines *ms)
{
	for (uint32_t i = 0; machines_step(ms); i++)
		assert_true(i < 10000000);
}

/* Copies the next notification of a port. */
static inline bool machines_receive(
	struct machines *ms, uint32_t port, struct cay_nqe *copy)
{
	struct testbench *tb = ms->tb;
	uint64_t at = queue_nq(tb_r(tb, port));
	*copy = (struct cay_nqe){ 0 };
	if (!machine_peek(fixture_own(&tb->fixture, port), at))
		return false;
	*copy = *tb_entry(tb, port, at);
	return true;
}

/* Returns the entry that machines_receive() has copied. */
static inline void machines_return(
	struct machines *ms, uint32_t port, const struct cay_nqe *n)
{
	struct testbench *tb = ms->tb;
	uint64_t r = tb_r(tb, port), rdr = queue_rdr(r);
	unsigned command = n->word[7] & CAY_COMMAND_MASK;
	if (command != CAY_NOTIFY_FAST_RECV)
		rdr = n->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	machine_return_entries(fixture_own(&tb->fixture, port),
		queue_word(queue_nq(r) + 1, rdr));
	if (command == CAY_NOTIFY_CC || command == CAY_NOTIFY_STATUS ||
		command == CAY_NOTIFY_ULTRA)
		machine_completions_returned(
			ms->m[machines_of(ms, port)], fixture_vpid(port), 1);
}

/* ---- work requests ---- */

static inline struct cay_vci vci_begin(const struct machines *ms, uint32_t from,
	uint32_t to, unsigned command, unsigned flags, uint64_t tag,
	uint64_t bytes)
{
	bool local = machines_of(ms, from) == machines_of(ms, to);
	return (struct cay_vci){
		.word = { command |
				  (local ? 1ull : 2ull)
					  << CAY_VCI_ROUTING_LENGTH_SHIFT |
				  (uint64_t)flags << CAY_VCI_FLAGS_SHIFT |
				  (uint64_t)to << CAY_VCI_ROUTING_OFFSET_SHIFT,
			fixture_vpid(to) | bytes << CAY_VCI_BYTES_SHIFT |
				(tag & 0xffff) << CAY_VCI_API_TAG_SHIFT,
			tag }
	};
}

/* Posts and triggers; false if either is refused. */
static inline bool machines_issue(
	struct machines *ms, uint32_t from, const struct cay_vci *v)
{
	struct machine *m = ms->m[machines_of(ms, from)];
	return machine_trigger(m, fixture_vpid(from), CAY_ISSUE_VCI, 1)
			       .accepted == 1 &&
	       machine_post(m, fixture_vpid(from), v);
}

/* A message of 8 bytes, its tag. */
static inline struct cay_vci vci_fast(const struct machines *ms, uint32_t from,
	uint32_t to, unsigned flags, uint64_t tag)
{
	struct cay_vci v =
		vci_begin(ms, from, to, CAY_FAST_SEND | 1, flags, tag, 8);
	v.word[CAY_VCI_WORD_DATA] = tag;
	return v;
}

/* A message from the beginning of the SDR. */
static inline struct cay_vci vci_send(const struct machines *ms, uint32_t from,
	uint32_t to, unsigned flags, uint64_t tag, uint64_t length)
{
	struct cay_vci v = vci_begin(ms, from, to, CAY_SEND, flags, tag, 0);
	v.word[CAY_VCI_WORD_LENGTH] = length;
	return v;
}

/* PUT or GET between the beginning of the origin's window and a target. */
static inline struct cay_vci vci_copy(const struct machines *ms, uint32_t from,
	uint32_t to, unsigned command, unsigned flags, uint64_t tag,
	uint16_t origin_window, const struct target *t, uint64_t length)
{
	struct cay_vci v = vci_begin(ms, from, to, command, flags, tag, 0);
	v.word[CAY_VCI_WORD_WINDOW] = t->window |
				      t->capability << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OFFSET] = t->offset;
	v.word[CAY_VCI_WORD_ORIGIN] = origin_window;
	v.word[CAY_VCI_WORD_BYTES] = length;
	return v;
}

/* Receives and returns the next notification; false if there is none. */
static inline bool machines_consume(
	struct machines *ms, uint32_t port, struct cay_nqe *copy)
{
	if (!machines_receive(ms, port, copy))
		return false;
	machines_return(ms, port, copy);
	return true;
}

/* Runs, and consumes at every port, until all is idle. */
static inline void machines_finish(struct machines *ms)
{
	struct cay_nqe n;
	bool idle = false;
	for (uint32_t i = 0; !idle; i++) {
		idle = !machines_step(ms);
		for (uint32_t p = 0; p < ms->tb->fixture.ports; p++)
			while (machines_consume(ms, p, &n))
				idle = false;
		for (uint32_t k = 0; k < ms->count; k++)
			idle &= machine_idle(ms->m[k]);
		assert_true(i < 1000000);
	}
}

#endif
