/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths on machines: set-up step by step, the end of either side at every
 * cycle, and the shares of paths and of other packets.
 */
#include "machine_ultra.h"

static void machine_peer_of(
	const struct machines *ms, uint32_t port, struct machine_peer *p)
{
	*p = (struct machine_peer){ machines_of(ms, port) + 1,
		ms->tb->port[port].config.epoch, fixture_vpid(port) };
}

/* ---- set-up ---- */

static struct machine_ultra_target target_of(const struct path *p)
{
	struct machine_ultra_target t = { .upid = p->tupid,
		.slice_log2 = (uint8_t)p->slice_log2,
		.slices_log2 = (uint8_t)p->slices_log2 };
	machine_peer_of(p->ms, p->to, &t.port);
	return t;
}

/* No message passes before step 7, and none is stored before step 5. */
static void the_steps(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, machine_preset("multi"), 2);
	path_reset(&p, &ms, 0, 1);
	struct machine_ultra_ends e = path_ends(&p);
	struct machine_ultra_origin o;
	assert_int_equal(
		machine_ultra_accept(path_target(&p), &e.queue, &p.tupid), 0);
	assert_false(path_target_status(&p).enabled);
	struct machine_ultra_target t = target_of(&p);
	assert_int_equal(machine_ultra_connect(path_origin(&p), fixture_vpid(0),
				 &t, 1, 4, &p.oupid),
		0);
	assert_int_equal(path_write(&p, 0), -ENXIO);
	assert_int_equal(machine_ultra_enable(path_origin(&p), 99), -ENXIO);
	/* An origin that is enabled too early is not heard. */
	assert_int_equal(machine_ultra_enable(path_origin(&p), p.oupid), 0);
	assert_int_equal(
		machine_ultra_enable(path_origin(&p), p.oupid), -EINVAL);
	assert_int_equal(path_write(&p, 0), 0);
	machines_run(&ms);
	assert_int_equal(path_target_status(&p).discarded, 1);
	machine_peer_of(&ms, 0, &o.port);
	o.upid = p.oupid;
	assert_int_equal(machine_ultra_admit(path_target(&p), p.tupid, &o), 0);
	assert_int_equal(
		machine_ultra_admit(path_target(&p), p.tupid, &o), -EINVAL);
	p.reader.position = 0;
	p.sent = 0;
	assert_int_equal(path_write(&p, 0), 0);
	machines_run(&ms);
	assert_true(path_take(&p));
	machines_close(&ms);
}

/* What a failed set-up has taken is free again. */
static void failed_steps_are_undone(void **state)
{
	struct testbench *tb = *state;
	static struct path p, q;
	struct machines ms;
	struct machine_config c = *machine_preset("multi");
	uint16_t oupid, tupid;
	c.ultra_ports = 1;
	c.ultra_lines = 4;
	c.mtu = 128;
	path_memory(&p, tb, 6, 2);
	path_memory(&q, tb, 6, 2);
	machines_open(&ms, tb, &c, 2);
	path_reset(&q, &ms, 2, 3);
	for (unsigned kind = 0; kind < 8; kind++) {
		path_reset(&p, &ms, 0, 1);
		struct machine_ultra_ends e = path_ends(&p);
		int expected = -EINVAL;
		switch (kind) {
		case 0: /* a slice that no packet has room for */
			e.queue.slice_log2 = 8;
			break;
		case 1:
			e.queue.slice_log2 = 5;
			break;
		case 2:
			e.entries = 3;
			break;
		case 3: /* the packet queue has 4 lines */
			e.entries = 8;
			expected = -ENOSPC;
			break;
		case 4:
			e.vpid = 999;
			expected = -ENXIO;
			break;
		case 5:
			e.queue.vpid = 999;
			expected = -ENXIO;
			break;
		case 6: /* a route to another node */
			e.route = 200;
			expected = -EHOSTUNREACH;
			break;
		default:
			e.queue.slices = NULL;
		}
		assert_int_equal(
			machine_ultra_path(&e, &oupid, &tupid), expected);
		/* There is one port in each unit. */
		path_open(&p, &ms, 0, 1);
		e = path_ends(&q);
		assert_int_equal(
			machine_ultra_path(&e, &oupid, &tupid), -ENOSPC);
		machine_ultra_close_origin(path_origin(&p), p.oupid);
		/* The completer port was taken, and freed again. */
		assert_int_equal(
			machine_ultra_path(&e, &oupid, &tupid), -ENOSPC);
		machine_ultra_close_target(path_target(&p), p.tupid);
	}
	machine_node_gone(ms.m[0], 2);
	struct machine_ultra_ends e = path_ends(&p);
	assert_int_equal(machine_ultra_path(&e, &oupid, &tupid), -EPIPE);
	machines_close(&ms);
}

/* UPIDs are used again as late as possible. */
static void upids_differ(void **state)
{
	static bool used[2][ULTRA_UPIDS];
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct machine_config c = *machine_preset("multi");
	c.ultra_ports = 3;
	memset(used, 0, sizeof(used));
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, &c, 1);
	for (uint32_t i = 0; i < 65535; i++) {
		path_open(&p, &ms, 0, 1);
		assert_true(p.oupid && p.tupid);
		assert_false(used[0][p.oupid] || used[1][p.tupid]);
		used[0][p.oupid] = used[1][p.tupid] = true;
		machine_ultra_close_origin(path_origin(&p), p.oupid);
		machine_ultra_close_target(path_target(&p), p.tupid);
	}
	path_open(&p, &ms, 0, 1);
	assert_true(used[0][p.oupid] && used[1][p.tupid]);
	machines_close(&ms);
}

/* ---- the end, at every cycle ---- */

enum leaver {
	ORIGIN_CLOSES,
	TARGET_CLOSES,
	ORIGIN_DETACHED,
	TARGET_DETACHED,
	ORIGIN_NODE,
	TARGET_NODE,
	LEAVERS,
};

#define MESSAGES 7u

static bool leaver_is_origin(enum leaver l)
{
	return l % 2 == ORIGIN_CLOSES;
}

static void leave(struct path *p, enum leaver l)
{
	struct machines *ms = p->ms;
	struct machine_peer peer;
	uint32_t port = leaver_is_origin(l) ? p->from : p->to;
	uint32_t m = machines_of(ms, port);
	machine_peer_of(ms, port, &peer);
	switch (l) {
	case ORIGIN_CLOSES:
		machine_ultra_close_origin(path_origin(p), p->oupid);
		machine_ultra_origin_gone(path_target(p), p->tupid);
		break;
	case TARGET_CLOSES:
		machine_ultra_close_target(path_target(p), p->tupid);
		machine_ultra_target_gone(path_origin(p), p->oupid);
		break;
	case ORIGIN_DETACHED:
	case TARGET_DETACHED:
		machine_detach(ms->m[m], fixture_vpid(port));
		for (uint32_t i = 0; i < ms->count; i++)
			if (i != m)
				machine_holder_gone(ms->m[i], &peer);
		break;
	default:
		wire_cut(ms->wire, m + 1);
		for (uint32_t i = 0; i < ms->count; i++)
			if (i != m)
				machine_node_gone(ms->m[i], m + 1);
	}
}

/* One NOTIFY and one ACK of each message, those of a kind in order. */
static void check_events(struct path *p, bool origin_left)
{
	uint64_t next[2] = { 0, 0 };
	unsigned gone[2] = { 0, 0 };
	struct cay_nqe n;
	while (machines_consume(p->ms, p->from, &n)) {
		unsigned ack = event_flag(&n) == CAY_ULTRA_ACK;
		if (event_error(&n) == CAY_ERROR_NO_RESOURCES)
			continue; /* was refused */
		assert_int_equal(n.word[3], next[ack]++);
		unsigned error = event_error(&n);
		assert_true(error == 0 || error == CAY_ERROR_GONE);
		/* After one that is lost, all are. */
		assert_true(error || !gone[ack]);
		gone[ack] |= error;
		if (ack && !error)
			assert_true(n.word[3] < p->reader.position);
	}
	if (!origin_left) {
		assert_int_equal(next[0], p->sent);
		assert_int_equal(next[1], p->sent);
	}
}

static void drain_queue(struct machines *ms, uint32_t port)
{
	struct cay_nqe n;
	while (machines_consume(ms, port, &n))
		;
}

static void leave_at(struct testbench *tb, struct path *p, struct path *other,
	uint32_t machines, uint32_t delay, enum leaver l, uint32_t when)
{
	struct machines ms;
	struct machine_config c = *machine_preset("multi-wait");
	uint16_t upid;
	unsigned char closed[1 << 8];
	c.ultra_ports = 2;
	c.ultra_lines = 16;
	machines_open(&ms, tb, &c, machines);
	machines_delay(&ms, delay, when + 1);
	for (uint32_t i = 0; i < PORTS; i++)
		drain_queue(&ms, i);
	path_open(p, &ms, 0, 1);
	path_open(other, &ms, 2, 3);
	for (uint32_t i = 0; i < when; i++) {
		if (p->sent < MESSAGES)
			path_write(p, CAY_ULTRA_NOTIFY | CAY_ULTRA_ACK);
		if (i % 3 == 0)
			path_take(p);
		path_write(other, 0);
		path_take(other);
		machines_step(&ms);
	}
	leave(p, l);
	bool node = l == ORIGIN_NODE || l == TARGET_NODE;
	if (!leaver_is_origin(l)) {
		/* Its memory is used for something else. */
		memset(p->slices, 0x33, sizeof(closed));
		memset(closed, 0x33, sizeof(closed));
		assert_int_equal(path_write(p, 0), -EPIPE);
	} else if (l == ORIGIN_CLOSES) {
		assert_int_equal(path_write(p, 0), -ENXIO);
	}
	/* A node that is cut goes on for itself. */
	machines_run(&ms);
	if (l == TARGET_CLOSES || l == TARGET_DETACHED)
		assert_memory_equal(p->slices, closed, sizeof(closed));
	else if (leaver_is_origin(l) && !node)
		assert_true(path_target_status(p).gone);
	if (leaver_is_origin(l))
		while (path_take(p))
			;
	check_events(p, l == ORIGIN_DETACHED || l == ORIGIN_NODE);
	if (node) {
		machines_close(&ms);
		return;
	}
	/* The other path has lost nothing. */
	while (path_take(other) || machines_step(&ms))
		;
	assert_int_equal(other->reader.position, other->sent);
	/* All is free: both ports of each unit, and the packet queue. */
	machine_ultra_close_origin(path_origin(p), p->oupid);
	machine_ultra_close_target(path_target(p), p->tupid);
	machine_ultra_close_origin(path_origin(other), other->oupid);
	machine_ultra_close_target(path_target(other), other->tupid);
	machines_run(&ms);
	for (uint32_t i = 0; i < ms.count; i++)
		assert_true(machine_idle(ms.m[i]));
	struct machine_ultra_ends e = path_ends(other);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(machine_ultra_accept(
					 path_target(other), &e.queue, &upid),
			0);
	other->tupid = upid;
	struct machine_ultra_target t = target_of(other);
	assert_int_equal(machine_ultra_connect(path_origin(other),
				 fixture_vpid(2), &t, 3, 16, &upid),
		0);
	machines_close(&ms);
}

static void either_side_leaves_at_any_cycle(void **state)
{
	static struct path p, other;
	path_memory(&p, *state, 6, 2);
	path_memory(&other, *state, 6, 2);
	for (enum leaver l = 0; l < LEAVERS; l++)
		for (uint32_t machines = 1; machines <= 2; machines++)
			for (uint32_t delay = 0; delay <= 4; delay += 2)
				for (uint32_t when = 0; when < 60; when++) {
					if (machines == 1 && l >= ORIGIN_NODE)
						continue;
					leave_at(*state, &p, &other, machines,
						delay, l, when);
				}
}

/* A packet of a former path does not reach the one that has its port. */
static void former_paths_are_foreign(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct machine_config c = *machine_preset("multi");
	c.ultra_ports = 1;
	path_memory(&p, tb, 6, 4);
	for (uint32_t steps = 0; steps < 16; steps++) {
		machines_open(&ms, tb, &c, 2);
		path_open(&p, &ms, 0, 1);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(path_write(&p, 0), 0);
		for (uint32_t i = 0; i < steps; i++)
			machines_step(&ms);
		machine_ultra_close_origin(path_origin(&p), p.oupid);
		machine_ultra_close_target(path_target(&p), p.tupid);
		path_open(&p, &ms, 0, 1);
		machines_run(&ms);
		assert_false(path_take(&p));
		assert_int_equal(path_write(&p, 0), 0);
		machines_run(&ms);
		assert_true(path_take(&p));
		assert_false(path_take(&p));
		machines_close(&ms);
	}
}

/* ---- shares ---- */

/* Carries one packet per cycle from node 1, and everything from node 2. */
struct narrow {
	struct wire_port port; /* first */
	struct machine **to;
	bool one, used;
	uint64_t ultra, plain;
	uint64_t cycle, last[2], gap[2]; /* between packets of a kind */
};

static bool narrow_send(struct wire_port *port, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	struct narrow *w = (struct narrow *)port;
	if (w->one && w->used)
		return false;
	if (machine_receive(w->to[node - 1], bytes, size) == -EAGAIN)
		return false;
	w->used = true;
	/* Node 1 sends no responses. */
	uint64_t gap = w->cycle - w->last[response];
	if (gap > w->gap[response] && w->last[response])
		w->gap[response] = gap;
	w->last[response] = w->cycle;
	w->ultra += response;
	w->plain += !response;
	return true;
}

/*
 * Both always have packets, and the wire has room for one per cycle: each has
 * at least every second one but for a few at the beginning, and never waits for
 * more than 3 cycles. Alone, each has them all.
 */
static void ultra_and_others_take_turns(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	const uint32_t cycles = 20000;
	path_memory(&p, tb, 6, 6);
	p.entries = 8;
	for (unsigned preset = 0; preset < machine_preset_count; preset++)
		for (unsigned who = 1; who <= 3; who++) {
			struct machines ms;
			const struct machine_config *c =
				&machine_presets[preset].config;
			machines_open(&ms, tb, c, 2);
			struct narrow out = {
				.port = { narrow_send }, .to = ms.m, .one = true
			};
			struct narrow in = { .port = { narrow_send },
				.to = ms.m };
			machine_connect(ms.m[0], &out.port);
			machine_connect(ms.m[1], &in.port);
			path_open(&p, &ms, 0, 1);
			for (uint32_t i = 0; i < cycles; i++) {
				if (who & 1)
					path_write(&p, 0);
				for (uint32_t k = 0; who & 2 && k < 2; k++) {
					struct cay_vci v =
						vci_fast(&ms, 2, 3, 0, i);
					machines_issue(&ms, 2, &v);
				}
				out.used = false;
				out.cycle++;
				machine_step(ms.m[0]);
				machine_step(ms.m[1]);
				while (path_take(&p))
					;
				drain_queue(&ms, 3);
			}
			if (who == 3) {
				if (out.ultra * 2 + 100 <
						out.ultra + out.plain ||
					out.plain * 2 + 100 <
						out.ultra + out.plain)
					fail_msg("%s: %lu ULTRA, %lu others",
						machine_presets[preset].name,
						out.ultra, out.plain);
				assert_true(out.ultra + out.plain >
					    cycles * 9 / 10);
				assert_in_range(out.gap[0], 1, 3);
				assert_in_range(out.gap[1], 1, 3);
			} else {
				uint64_t alone = who == 1 ? out.ultra
							  : out.plain;
				assert_true(alone > cycles * 9 / 10);
			}
			out.one = false;
			machines_finish(&ms);
			machines_close(&ms);
		}
	p.entries = 0;
}

/*
 * Ordinary messages for a port that does not consume fill all room for packets:
 * an ULTRA message to the same port is stored in time, for one and two
 * machines.
 */
static void full_ports_do_not_delay_ultra(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	path_memory(&p, tb, 6, 4);
	for (uint32_t machines = 1; machines <= 2; machines++) {
		struct machines ms;
		struct machine_config c = *machine_preset("multi-wait");
		c.packets = 8;
		c.park_cycles = 1000000;
		machines_open(&ms, tb, &c, machines);
		path_open(&p, &ms, 0, 1);
		for (uint32_t i = 0; i < 20000; i++) {
			for (uint32_t from = 0; from < PORTS; from++) {
				struct cay_vci v = vci_fast(&ms, from, 1, 0, i);
				machines_issue(&ms, from, &v);
			}
			machines_step(&ms);
		}
		assert_true(machine_counts(path_target(&p))->parked > 0);
		for (uint32_t i = 0; i < 200; i++) {
			assert_int_equal(path_write(&p, 0), 0);
			uint32_t delay = 0;
			for (; !path_take(&p); delay++)
				machines_step(&ms);
			assert_in_range(delay, 1, 12);
		}
		machines_close(&ms);
	}
}

/*
 * Three nodes store into a window of a fourth as fast as it acknowledges: the
 * position of a path still returns, and the stores go on.
 */
static void positions_return_among_acknowledges(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct machine_config c = *machine_preset("multi-wait");
	struct target t = tb_window(tb, 3, 1, 64, TB_RIGHTS);
	c.ack_entries = 2;
	c.requesters = c.completers = 4;
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, &c, 4);
	path_open(&p, &ms, 0, 3);
	for (uint32_t cycle = 0; cycle < 20000; cycle++) {
		for (uint32_t from = 0; from < 3; from++) {
			struct cay_vci v = vci_copy(&ms, from, 3,
				CAY_FAST_PUT | 1, 0, cycle, 0, &t, 0);
			v.word[CAY_VCI_WORD_TARGET] |= 8ull
						       << CAY_VCI_BYTES_SHIFT;
			machines_issue(&ms, from, &v);
		}
		path_write(&p, 0);
		path_take(&p);
		machines_step(&ms);
	}
	uint64_t acks = machine_counts(ms.m[3])->acknowledges;
	uint64_t returned = path_origin_status(&p).returned;
	if (getenv("CAY_VERBOSE"))
		print_message("%lu ACKs, %lu returned\n", acks, returned);
	assert_true(returned > 1000);
	assert_true(acks > 15000);
	machines_finish(&ms);
	machines_close(&ms);
}

/* Three paths of a port, one with four times the messages: each has a third. */
static void paths_take_turns(void **state)
{
	struct testbench *tb = *state;
	static struct path p[3];
	struct machines ms;
	machines_open(&ms, tb, machine_preset("multi"), 2);
	for (uint32_t i = 0; i < 3; i++) {
		path_memory(&p[i], tb, 6, 6);
		p[i].entries = i ? 8 : 32;
		path_open(&p[i], &ms, i == 2 ? 2 : 0, 1);
	}
	for (uint32_t cycle = 0; cycle < 20000; cycle++) {
		for (uint32_t i = 0; i < 3; i++) {
			while (path_write(&p[i], 0) == 0)
				;
			while (path_take(&p[i]))
				;
		}
		machines_step(&ms);
	}
	uint64_t least = UINT64_MAX, most = 0;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t read = path_origin_status(&p[i]).read;
		least = bits_min(least, read);
		most = read > most ? read : most;
		p[i].entries = 0;
	}
	assert_true(least > 20000 / 3 - 100);
	assert_true(most - least <= 2);
	machines_close(&ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_steps),
		TEST(failed_steps_are_undone),
		TEST(upids_differ),
		TEST(either_side_leaves_at_any_cycle),
		TEST(former_paths_are_foreign),
		TEST(ultra_and_others_take_turns),
		TEST(full_ports_do_not_delay_ultra),
		TEST(paths_take_turns),
		TEST(positions_return_among_acknowledges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
