/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA on machines: order, results as on the direct path, full queues,
 * notifications, and foreign and hostile packets.
 */
#include "machine_ultra.h"

/* ---- order ---- */

/*
 * Paths between all ports, and ordinary messages between them, on one machine
 * and on two, with delays. Each path is in order, and nothing is lost.
 */
static void paths_are_in_order(void **state)
{
	struct testbench *tb = *state;
	static struct path paths[PORTS * PORTS];
	for (uint32_t i = 0; i < PORTS * PORTS; i++)
		path_memory(&paths[i], tb, 6 + i % 7, 2 + i % 3);
	for (uint32_t kind = 0; kind < 8; kind++) {
		struct machines ms;
		struct machine_config c = machine_presets[kind % 4].config;
		c.encode_local = kind / 4;
		c.ultra_lines = 4096;
		machines_open(&ms, tb, &c, 1 + kind % 2);
		machines_delay(&ms, kind / 2, kind + 1);
		for (uint32_t i = 0; i < PORTS * PORTS; i++)
			path_open(&paths[i], &ms, i % PORTS, i / PORTS);
		uint64_t taken = 0, sent = 0, plain = 0, arrived = 0;
		const uint64_t most = 300 * PORTS * PORTS;
		for (uint32_t round = 0; taken < most || arrived < plain;
			round++) {
			struct cay_nqe n;
			for (uint32_t i = 0; i < PORTS * PORTS; i++) {
				struct path *p = &paths[i];
				if (p->sent < 300 &&
					(round * 7 + i * 3) % 5 < 3)
					sent += path_write(p, 0) == 0;
				if ((round * 3 + i) % 4)
					taken += path_take(p);
			}
			uint32_t from = round % PORTS;
			struct cay_vci v = vci_fast(
				&ms, from, (from + 1) % PORTS, 0, round);
			if (sent < most)
				plain += machines_issue(&ms, from, &v);
			for (uint32_t q = 0; q < PORTS; q++)
				while (machines_consume(&ms, q, &n))
					arrived++;
			machines_step(&ms);
			assert_true(round < 1000000);
		}
		machines_finish(&ms);
		assert_int_equal(sent, most);
		for (uint32_t i = 0; i < PORTS * PORTS; i++) {
			assert_false(path_take(&paths[i]));
			assert_int_equal(
				path_target_status(&paths[i]).discarded, 0);
		}
		machines_close(&ms);
	}
}

/* The same messages on the direct path leave the same bytes. */
static void results_are_those_of_the_direct_path(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	static struct ultra_return_page page;
	static struct ultra_origin_page own;
	static unsigned char direct[1 << 15], data[CAY_ULTRA_SLICE_MAX];
	static const uint8_t sizes[][2] = { { 6, 4 }, { 8, 3 }, { 12, 3 } };
	for (unsigned k = 0; k < ARRAY_COUNT(sizes); k++) {
		struct machines ms;
		struct ultra_requester u = { .page = &page, .own = &own };
		machines_open(&ms, tb, machine_preset("multi"), 2);
		path_memory(&p, tb, sizes[k][0], sizes[k][1]);
		path_open(&p, &ms, 0, 1);
		memset(direct, 0, sizeof(direct));
		ultra_cursor_init(&u.next, direct, sizes[k][0], sizes[k][1]);
		page.position = 0;
		page.flags = ULTRA_ENABLED;
		u.limit = u.next.slices;
		for (unsigned i = 0; i < 100; i++) {
			unsigned flags = i % 8 & CAY_ULTRA_IRQ;
			path_fill(&p, i, data);
			assert_int_equal(
				counting_ultra_inject(&u, path_tag(&p, i), data,
					path_length(&p, i), flags),
				0);
			assert_int_equal(path_write(&p, flags), 0);
			machines_run(&ms);
			assert_memory_equal(p.slices, direct,
				1u << (sizes[k][0] + sizes[k][1]));
			assert_true(path_take(&p));
			page.position = p.page.position;
			machines_run(&ms);
			assert_int_equal(path_origin_status(&p).returned,
				counting_ultra_returned(&u));
			assert_int_equal(
				path_origin_status(&p).written, u.sent);
		}
		machines_close(&ms);
	}
}

/* ---- full ---- */

/* Queue entries, then slices, then refusals, and the reverse. */
static void full_queues_refuse(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct cay_nqe n;
	path_memory(&p, tb, 6, 2);
	for (uint32_t machines = 1; machines <= 2; machines++) {
		machines_open(&ms, tb, machine_preset("multi-wait"), machines);
		path_open(&p, &ms, 0, 1);
		/* 4 slices at the target, 4 entries in the packet queue. */
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(path_write(&p, 0), 0);
		assert_int_equal(path_write(&p, 0), -EAGAIN);
		machines_run(&ms);
		assert_int_equal(path_origin_status(&p).read, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(path_write(&p, 0), 0);
		machines_run(&ms);
		assert_int_equal(path_origin_status(&p).read, 4);
		assert_int_equal(path_target_status(&p).written, 4);
		/* A refusal is reported only if asked for. */
		assert_int_equal(path_write(&p, 0), -EAGAIN);
		assert_int_equal(path_write(&p, CAY_ULTRA_ACK), -EAGAIN);
		machines_run(&ms);
		assert_false(machines_consume(&ms, 0, &n));
		assert_int_equal(path_write(&p, CAY_ULTRA_NOTIFY), -EAGAIN);
		machines_run(&ms);
		assert_true(machines_consume(&ms, 0, &n));
		assert_int_equal(event_flag(&n), CAY_ULTRA_NOTIFY);
		assert_int_equal(event_error(&n), CAY_ERROR_NO_RESOURCES);
		assert_int_equal(n.word[0], path_tag(&p, 8));
		assert_int_equal(n.word[3], 8);
		assert_int_equal(n.word[4], packet_upids(p.oupid, p.tupid));
		assert_int_equal(
			machine_counts(path_origin(&p))->ultra_refused, 4);
		/* A slice that is returned is used at once. */
		assert_true(path_take(&p));
		path_return(&p);
		machines_run(&ms);
		assert_int_equal(path_origin_status(&p).read, 5);
		assert_int_equal(path_origin_status(&p).returned, 1);
		assert_int_equal(path_write(&p, 0), 0);
		while (path_take(&p))
			machines_run(&ms);
		machines_run(&ms);
		while (path_take(&p))
			;
		assert_int_equal(p.reader.position, 9);
		/* A target that returns too much, or less than before. */
		struct machine *m = path_target(&p);
		uint16_t vpid = fixture_vpid(1);
		path_return(&p);
		assert_int_equal(
			machine_ultra_return(m, vpid, p.tupid, 10), -EINVAL);
		assert_int_equal(
			machine_ultra_return(m, vpid, p.tupid, 8), -EINVAL);
		assert_int_equal(
			machine_ultra_return(m, fixture_vpid(0), p.tupid, 9),
			-ENXIO);
		machines_finish(&ms);
		machines_close(&ms);
	}
}

/* ---- notifications ---- */

static void notify_ack_and_irq(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct cay_nqe n;
	path_memory(&p, tb, 7, 4);
	for (uint32_t machines = 1; machines <= 2; machines++) {
		machines_open(&ms, tb, machine_preset("multi-wait"), machines);
		path_open(&p, &ms, 0, 1);
		assert_int_equal(path_write(&p, 0), 0);
		assert_int_equal(
			path_write(&p, CAY_ULTRA_NOTIFY | CAY_ULTRA_ACK), 0);
		assert_int_equal(path_write(&p, CAY_ULTRA_ACK), 0);
		machines_run(&ms);
		/* Injected; nothing is taken. */
		assert_true(machines_consume(&ms, 0, &n));
		assert_int_equal(event_flag(&n), CAY_ULTRA_NOTIFY);
		assert_int_equal(event_error(&n), 0);
		assert_int_equal(n.word[0], path_tag(&p, 1));
		assert_int_equal(n.word[2], path_length(&p, 1));
		assert_int_equal(n.word[3], 1);
		assert_int_equal((uint32_t)n.word[1], machines);
		assert_false(machines_consume(&ms, 0, &n));
		/* A target returns a message with ACK at once. */
		for (unsigned i = 0; i < 3; i++) {
			assert_true(path_take(&p));
			machines_run(&ms);
			assert_int_equal(
				path_origin_status(&p).returned, i ? i + 1 : 0);
			if (i == 0)
				continue;
			assert_true(machines_consume(&ms, 0, &n));
			assert_int_equal(event_flag(&n), CAY_ULTRA_ACK);
			assert_int_equal(event_error(&n), 0);
			assert_int_equal(n.word[3], i);
			assert_int_equal(n.word[0], path_tag(&p, i));
		}
		assert_false(machines_consume(&ms, 0, &n));
		/* An interrupt rings the doorbell of a port that has one. */
		struct context *own = fixture_own(&tb->fixture, 1);
		own->control->doorbell = 1;
		for (unsigned i = 0; i < 2; i++) {
			counting_begin(&tb->c);
			assert_int_equal(
				path_write(&p, i ? CAY_ULTRA_IRQ : 0), 0);
			machines_run(&ms);
			counting_end();
			assert_int_equal(tb->c.rings, i);
		}
		own->control->doorbell = 0;
		assert_false(machines_consume(&ms, 1, &n));
		machines_finish(&ms);
		machines_close(&ms);
	}
}

/* Without a free completion nothing is written; none is lost. */
static void events_are_reserved(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	struct cay_nqe n;
	path_memory(&p, tb, 6, 8);
	machines_open(&ms, tb, machine_preset("multi-wait"), 1);
	p.entries = 256;
	path_open(&p, &ms, 0, 1);
	uint32_t reserve =
		machine_origin(path_origin(&p), fixture_vpid(0))->cq_reserve;
	uint32_t written = 0;
	while (path_write(&p, CAY_ULTRA_NOTIFY) == 0)
		written++;
	assert_int_equal(written, reserve);
	assert_int_equal(path_write(&p, CAY_ULTRA_ACK), -EAGAIN);
	assert_int_equal(path_write(&p, 0), 0);
	machines_run(&ms);
	for (uint32_t i = 0; i < reserve; i++)
		assert_true(machines_consume(&ms, 0, &n));
	assert_false(machines_consume(&ms, 0, &n));
	assert_int_equal(path_write(&p, CAY_ULTRA_NOTIFY | CAY_ULTRA_ACK), 0);
	p.entries = 0;
	machines_close(&ms);
}

static void arguments_are_checked(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	unsigned char data[64] = { 0 };
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, machine_preset("multi"), 2);
	path_open(&p, &ms, 0, 1);
	struct machine *m = path_origin(&p);
	uint16_t own = fixture_vpid(0), other = fixture_vpid(2);
	assert_int_equal(
		machine_ultra_write(m, own, p.oupid, 0, data, 48, 0), 0);
	assert_int_equal(machine_ultra_write(m, own, p.oupid, 0, data, 49, 0),
		-EMSGSIZE);
	assert_int_equal(
		machine_ultra_write(m, own, p.oupid, 0, data, 8, 8), -EINVAL);
	assert_int_equal(
		machine_ultra_write(m, other, p.oupid, 0, data, 8, 0), -ENXIO);
	for (uint32_t upid = 0; upid < ULTRA_UPIDS; upid++)
		if (upid != p.oupid)
			assert_int_equal(machine_ultra_write(m, own,
						 (uint16_t)upid, 0, data, 8, 0),
				-ENXIO);
	machines_run(&ms);
	machines_close(&ms);
}

/* ---- foreign and hostile packets ---- */

static int send_packet(
	struct machine *m, const struct packet_header *h, const void *data)
{
	const struct routing_string string = { .tag = 1,
		.count = 3,
		.phit = { STRING_PORT_ANY | STRING_RETURN, phit_make(1, 1, 0),
			STRING_PORT_ANY } };
	const struct iovec payload = { (void *)(uintptr_t)data, h->bytes };
	unsigned char bytes[PACKET_BYTES_MAX(PACKET_MTU)];
	int size = packet_encode(
		h, &string, &payload, 1, PACKET_MTU, bytes, sizeof(bytes));
	if (size < 0)
		return size;
	return machine_receive(m, bytes, (size_t)size);
}

/* A message as the origin of a path sends it. */
static struct packet_header path_header(const struct path *p)
{
	struct testbench *tb = p->ms->tb;
	return (struct packet_header){ .command = PACKET_ULTRA,
		.last = true,
		.origin_vpid = fixture_vpid(p->from),
		.target_vpid = fixture_vpid(p->to),
		.origin_node = machines_of(p->ms, p->from) + 1,
		.origin_epoch = tb->port[p->from].config.epoch,
		.target_epoch = tb->port[p->to].config.epoch,
		.tag = path_tag(p, p->sent),
		.length = path_length(p, p->sent),
		.bytes = path_length(p, p->sent),
		.request = packet_upids(p->oupid, p->tupid) };
}

static void foreign_origins_are_discarded(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	unsigned char data[CAY_ULTRA_SLICE_MAX], before[1 << 8];
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, machine_preset("multi"), 2);
	path_open(&p, &ms, 0, 1);
	struct machine *m = path_target(&p);
	const struct packet_header good = path_header(&p);
	struct packet_header wrong[9];
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		wrong[i] = good;
	wrong[0].request = packet_upids((uint16_t)(p.oupid + 1), p.tupid);
	wrong[1].request = packet_upids(p.oupid, (uint16_t)(p.tupid + 1));
	wrong[2].request = packet_upids(p.oupid, 0);
	wrong[3].origin_vpid = fixture_vpid(2);
	wrong[4].origin_node = 3;
	wrong[5].origin_epoch++;
	wrong[6].target_epoch++;
	wrong[7].target_vpid = fixture_vpid(3);
	wrong[8].bytes = wrong[8].length = 49;
	memcpy(before, p.slices, sizeof(before));
	memset(data, 0xee, sizeof(data));
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		assert_int_equal(send_packet(m, &wrong[i], data), 0);
		machines_run(&ms);
		assert_int_equal(machine_counts(m)->ultra_discarded, i + 1);
	}
	assert_memory_equal(p.slices, before, sizeof(before));
	/* Those that name the port count at the port, too. */
	assert_int_equal(path_target_status(&p).discarded, 7);
	/* The origin itself may not send more than there are slices. */
	for (unsigned i = 0; i < 6; i++) {
		struct packet_header h = path_header(&p);
		path_fill(&p, p.sent++, data);
		assert_int_equal(send_packet(m, &h, data), 0);
		machines_run(&ms);
	}
	assert_int_equal(path_target_status(&p).discarded, 9);
	for (unsigned i = 0; i < 4; i++)
		assert_true(path_take(&p));
	assert_false(path_take(&p));
	machines_close(&ms);
}

/* ACKs that are not of the target change nothing. */
static void foreign_acknowledges_are_stale(void **state)
{
	struct testbench *tb = *state;
	static struct path p;
	struct machines ms;
	path_memory(&p, tb, 6, 2);
	machines_open(&ms, tb, machine_preset("multi"), 2);
	path_open(&p, &ms, 0, 1);
	struct machine *m = path_origin(&p);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(path_write(&p, 0), 0);
	machines_run(&ms);
	const struct packet_header message = path_header(&p);
	struct packet_header wrong[9],
		good = packet_answer(&message, CAY_ACKNOWLEDGE, 2);
	good.completed = PACKET_ULTRA;
	good.last = false;
	good.segment = 2;
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		wrong[i] = good;
	wrong[0].request = packet_upids((uint16_t)(p.oupid + 1), p.tupid);
	wrong[1].request = packet_upids(p.oupid, (uint16_t)(p.tupid + 1));
	wrong[2].origin_node = 3;
	wrong[3].origin_vpid = fixture_vpid(3);
	wrong[4].origin_epoch++;
	wrong[5].target_vpid = fixture_vpid(2);
	wrong[6].target_epoch++;
	wrong[7].segment = 4;
	wrong[8].segment = 1ull << 40;
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++) {
		uint64_t stale = machine_counts(m)->stale;
		assert_int_equal(send_packet(m, &wrong[i], NULL), 0);
		machines_run(&ms);
		assert_int_equal(path_origin_status(&p).returned, 0);
		assert_int_equal(machine_counts(m)->stale, stale + 1);
	}
	assert_int_equal(send_packet(m, &good, NULL), 0);
	machines_run(&ms);
	assert_int_equal(path_origin_status(&p).returned, 2);
	good.segment = 1;
	assert_int_equal(send_packet(m, &good, NULL), 0);
	machines_run(&ms);
	assert_int_equal(path_origin_status(&p).returned, 2);
	machines_close(&ms);
}

static uint32_t roll(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

/*
 * Random packets of the group from node 3 and in the name of the origin, while
 * two paths are in use. The path of which none is in the name stays in order,
 * and the memory behind the slices is not touched.
 */
static void hostile_packets(void **state)
{
	struct testbench *tb = *state;
	static struct path p, other;
	struct machines ms;
	unsigned char data[PACKET_ULTRA_MAX] = { 0 };
	uint64_t seed = 5, sent = 0, taken = 0;
	path_memory(&p, tb, 6, 2);
	path_memory(&other, tb, 8, 3);
	unsigned char *guard =
		fixture_at(&tb->fixture, fixture_memory(&tb->fixture, 4096));
	memset(guard, 0xa5, 4096);
	machines_open(&ms, tb, machine_preset("multi-wait"), 2);
	path_open(&p, &ms, 0, 1);
	path_open(&other, &ms, 2, 3);
	for (uint32_t i = 0; i < 40000; i++) {
		struct packet_header h = path_header(&p);
		h.command |= (uint16_t)roll(&seed, 8);
		h.length = h.bytes = roll(&seed, 4) ? roll(&seed, 49)
						    : roll(&seed, 4081);
		if (roll(&seed, 4) == 0)
			h.origin_node = 3;
		if (roll(&seed, 4) == 0)
			h.request ^= 1u << roll(&seed, 16);
		if (roll(&seed, 8) == 0)
			h.target_vpid = (uint16_t)roll(&seed, 8);
		if (roll(&seed, 8) == 0)
			h.origin_epoch = roll(&seed, 4);
		if (roll(&seed, 4) == 0) {
			h = packet_answer(
				&h, CAY_ACKNOWLEDGE, 1 + roll(&seed, 3));
			h.completed = PACKET_ULTRA;
			h.last = false;
			h.segment = 1 + roll(&seed, 40);
		}
		int r = send_packet(ms.m[roll(&seed, 2)], &h, data);
		assert_true(r == 0 || r == -EAGAIN || r == -EINVAL);
		if (roll(&seed, 2))
			sent += path_write(&other, 0) == 0;
		taken += path_take(&other);
		if (roll(&seed, 8) == 0)
			machine_ultra_return(path_target(&p), fixture_vpid(1),
				p.tupid, roll(&seed, 50));
		for (uint32_t k = roll(&seed, 4); k; k--)
			machines_step(&ms);
	}
	machines_finish(&ms);
	while (path_take(&other)) {
		machines_finish(&ms);
		taken++;
	}
	assert_true(sent > 1000);
	assert_int_equal(taken, sent);
	for (uint32_t i = 0; i < 4096; i++)
		assert_int_equal(guard[i], 0xa5);
	machines_close(&ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths_are_in_order),
		TEST(results_are_those_of_the_direct_path),
		TEST(full_queues_refuse),
		TEST(notify_ack_and_irq),
		TEST(events_are_reserved),
		TEST(arguments_are_checked),
		TEST(foreign_origins_are_discarded),
		TEST(foreign_acknowledges_are_stale),
		TEST(hostile_packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
