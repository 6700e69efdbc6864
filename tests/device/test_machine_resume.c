/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers of many more segments than a machine has packets, to a full target:
 * only the first segment waits there, the others are sent again when it has
 * room. Nothing is lost, order is kept, others are not delayed. Ports are
 * detached and nodes lost at each cycle; nothing is left behind.
 */
#include "machine.h"

#define PORTS 4
#define BYTES 16384u
#define MTU   256u /* 64 segments */

struct scene {
	struct testbench *tb;
	struct machines ms;
	struct target window, flag; /* of port 1 */
	bool put;		    /* a PUT with notification, else a SEND */
};

static void scene_open(struct scene *s, uint32_t machines, uint32_t delay)
{
	void *tb = NULL;
	assert_int_equal(tb_setup_ports(&tb, PORTS), 0);
	s->tb = tb;
	struct fixture *f = &s->tb->fixture;
	struct machine_config c = *machine_preset("multi-wait");
	c.mtu = MTU;
	c.packets = 12; /* 9 for requests */
	c.park_cycles = 500;
	uint64_t at = fixture_memory(f, BYTES), unused;
	assert_int_equal(
		fixture_window(f, 0, 1, at, BYTES, TB_RIGHTS, &unused), 0);
	s->window = tb_window(
		s->tb, 1, 2, BYTES, TB_RIGHTS | CAY_RIGHT_NOTIFY_ACCESS);
	s->flag = tb_window(s->tb, 1, 3, 64, TB_RIGHTS);
	memcpy(fixture_at(f, s->tb->port[0].origin.wdt[1].start), s->tb->data,
		BYTES);
	memcpy(s->tb->port[0].origin.sdr, s->tb->data, BYTES);
	machines_open(&s->ms, s->tb, &c, machines);
	machines_delay(&s->ms, delay, 3);
	/* Port 1 is full. */
	for (uint64_t i = 0; i < TB_UNRESERVED; i++) {
		struct cay_vci v = vci_fast(&s->ms, 2, 1, 0, 1000 + i);
		assert_true(machines_issue(&s->ms, 2, &v));
		machines_run(&s->ms);
	}
}

static void scene_close(struct scene *s)
{
	void *tb = s->tb;
	machines_close(&s->ms);
	tb_teardown(&tb);
}

static void issue_long(struct scene *s, uint64_t tag)
{
	struct cay_vci v =
		s->put ? vci_copy(&s->ms, 0, 1, CAY_PUT, CAY_VCI_NOTIFY, tag, 1,
				 &s->window, BYTES)
		       : vci_send(&s->ms, 0, 1, CAY_VCI_NOTIFY, tag, BYTES);
	assert_true(machines_issue(&s->ms, 0, &v));
}

/* Sets the word behind the transfer: in order, so after it. */
static void issue_flag(struct scene *s, uint64_t tag)
{
	struct cay_vci v =
		vci_begin(&s->ms, 0, 1, CAY_FAA, CAY_VCI_NOTIFY, tag, 0);
	v.word[CAY_VCI_WORD_WINDOW] =
		s->flag.window | s->flag.capability << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OPERAND] = 1;
	assert_true(machines_issue(&s->ms, 0, &v));
}

static struct machine *machine_1(const struct scene *s)
{
	return s->ms.m[machines_of(&s->ms, 1)];
}

/* Checks and returns a long message or its access; false: none is there. */
static bool consume_long(struct scene *s, uint64_t tag)
{
	struct cay_nqe n;
	if (!machines_receive(&s->ms, 1, &n))
		return false;
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], tag);
	assert_int_equal(n.word[CAY_NQE_WORD_LENGTH], BYTES);
	const unsigned char *at =
		s->put ? tb_memory(s->tb, &s->window)
		       : fixture_own(&s->tb->fixture, 1)->rdr +
				 n.word[CAY_NQE_WORD_START] * RDR_UNIT;
	assert_memory_equal(at, s->tb->data, BYTES);
	machines_return(&s->ms, 1, &n);
	return true;
}

/* Port 2 sends to port 3 all the time, and needs the packets. */
static void transfers_wait_without_loss(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 12; kind++) {
		struct scene s = { .put = kind & 1 };
		struct cay_nqe n;
		uint64_t sent = 0, received = 0, seen = 0, next = 3;
		scene_open(&s, 1 + kind / 2 % 3, kind / 6 * 3);
		issue_long(&s, 1);
		issue_flag(&s, 2);
		/* More than have room, behind it and of another port. */
		for (uint64_t tag = 3; tag < 15; tag++) {
			struct cay_vci v = vci_fast(&s.ms, 0, 1, 0, tag);
			assert_true(machines_issue(&s.ms, 0, &v));
		}
		for (uint64_t tag = 0; tag < 4; tag++) {
			struct cay_vci v = vci_fast(&s.ms, 3, 1, 0, 500 + tag);
			for (uint32_t i = 0; tag == 0 && i < 300; i++)
				machines_step(&s.ms);
			assert_true(machines_issue(&s.ms, 3, &v));
		}
		for (uint32_t i = 0; i < 5000; i++) {
			struct cay_vci v = vci_fast(&s.ms, 2, 3, 0, sent);
			if (sent - received < 4 && machines_issue(&s.ms, 2, &v))
				sent++;
			machines_step(&s.ms);
			for (; machines_consume(&s.ms, 3, &n); received++)
				assert_int_equal(
					n.word[CAY_NQE_WORD_TAG], received);
		}
		assert_true(received > 300);
		assert_false(machines_receive(&s.ms, 0, &n));
		for (uint32_t i = 0; i < TB_UNRESERVED; i++) {
			assert_true(machines_consume(&s.ms, 1, &n));
			assert_int_equal(n.word[CAY_NQE_WORD_TAG], 1000 + i);
		}
		/* The flag is never set before what is ahead of it. */
		bool there = false;
		for (uint32_t i = 0; i < 20000 && !there; i++) {
			assert_int_equal(tb_word(s.tb, &s.flag), 0);
			machines_step(&s.ms);
			there = consume_long(&s, 1);
		}
		assert_true(there);
		while (seen < 12 + 4) {
			machines_run(&s.ms);
			assert_true(machines_consume(&s.ms, 1, &n));
			uint64_t tag = n.word[CAY_NQE_WORD_TAG];
			if (tag < 500)
				assert_int_equal(tag, next++);
			seen++;
		}
		machines_run(&s.ms);
		assert_int_equal(tb_word(s.tb, &s.flag), 1);
		for (uint64_t tag = 1; tag <= 2; tag++) {
			assert_true(machines_consume(&s.ms, 0, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
			assert_int_equal(n.word[CAY_NQE_WORD_TAG], tag);
		}
		while (machines_consume(&s.ms, 3, &n))
			;
		machines_run(&s.ms);
		uint64_t resumed = 0;
		for (uint32_t i = 0; i < s.ms.count; i++) {
			resumed += machine_counts(s.ms.m[i])->resumed;
			assert_true(machine_idle(s.ms.m[i]));
			assert_int_equal(machine_counts(s.ms.m[i])->evicted, 0);
		}
		assert_int_equal(resumed, 1);
		scene_close(&s);
	}
}

/* ---- detached ports, lost nodes ---- */

enum end {
	ORIGIN,
	TARGET,
	NODE_OF_ORIGIN,
	NODE_OF_TARGET,
	WINDOW_OF_TARGET,
	ENDS,
};

static void go_away(struct scene *s, enum end end)
{
	struct machine *m0 = s->ms.m[0], *m1 = machine_1(s);
	switch (end) {
	case ORIGIN:
		machine_detach(m0, fixture_vpid(0));
		break;
	case TARGET:
		machine_detach(m1, fixture_vpid(1));
		break;
	case NODE_OF_ORIGIN:
		wire_cut(s->ms.wire, 1);
		machine_node_gone(m1, 1);
		break;
	case NODE_OF_TARGET:
		wire_cut(s->ms.wire, 2);
		machine_node_gone(m0, 2);
		break;
	default:
		s->tb->port[1].origin.wdt[2].rights = 0;
	}
}

/* The consumer returns what fills the queue at cycle 200. */
static void someone_goes_away(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < 4 * ENDS; kind++)
		for (uint32_t when = 180; when < 400; when++) {
			enum end end = kind / 4;
			bool nodes = end == NODE_OF_ORIGIN ||
				     end == NODE_OF_TARGET;
			struct scene s = { .put = kind & 1 };
			struct cay_nqe n;
			if (nodes && !(kind & 2))
				continue;
			scene_open(&s, kind & 2 ? 2 : 1, 0);
			issue_long(&s, 1);
			issue_flag(&s, 2);
			for (uint32_t i = 0; i < when; i++) {
				if (i == 200)
					while (machines_consume(&s.ms, 1, &n))
						;
				machines_step(&s.ms);
			}
			go_away(&s, end);
			bool gone[2] = { end == NODE_OF_ORIGIN,
				end == NODE_OF_TARGET };
			for (uint32_t i = 0; i < 3000; i++) {
				machines_step(&s.ms);
				for (uint32_t p = 0; p < PORTS; p++)
					while (machines_consume(&s.ms, p, &n))
						;
			}
			for (uint32_t i = 0; i < s.ms.count; i++)
				assert_true(gone[i] || machine_idle(s.ms.m[i]));
			scene_close(&s);
		}
}

/* ---- eviction ---- */

/* Port 1 never consumes, and packets are short: what waits is refused. */
static void transfers_that_wait_are_evicted(void **state)
{
	(void)state;
	struct scene s = { 0 };
	struct cay_nqe n;
	scene_open(&s, 1, 0);
	issue_long(&s, 1);
	for (uint32_t i = 0; i < 500; i++)
		machines_step(&s.ms);
	/* It takes one place; these take the others. */
	for (uint32_t i = 0; i < 4 * (PORTS - 1); i++) {
		uint32_t from = 1 + i % (PORTS - 1);
		struct cay_vci v = vci_fast(&s.ms, from, 1, 0, i);
		assert_true(machines_issue(&s.ms, from, &v));
	}
	for (uint32_t i = 0; i < 3000; i++)
		machines_step(&s.ms);
	assert_true(machine_counts(s.ms.m[0])->evicted > 0);
	assert_true(machines_consume(&s.ms, 0, &n));
	assert_int_equal(nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT,
		CAY_ERROR_NO_RESOURCES);
	machines_finish(&s.ms);
	scene_close(&s);
}

/* ---- forged ---- */

/* Only one, of a transfer, with an offset that was sent, is followed. */
static void forged_resumes(void **state)
{
	(void)state;
	static const uint64_t offsets[] = { MTU, 2 * MTU, BYTES, BYTES + 64, 1,
		PACKET_LENGTH_MAX - 1 };
	struct routing_string string = { .count = 1,
		.phit = { STRING_PORT_ANY } };
	uint64_t resumed = 0;
	for (uint32_t when = 0; when < 120; when++) {
		struct scene s = { 0 };
		struct cay_nqe n;
		scene_open(&s, 2, 0);
		while (machines_consume(&s.ms, 1, &n))
			;
		issue_long(&s, 1);
		for (uint32_t i = 0; i < when; i++)
			machines_step(&s.ms);
		for (unsigned i = 0; i < ARRAY_COUNT(offsets); i++) {
			const struct packet_header h = {
				.command = CAY_ACKNOWLEDGE,
				.origin_vpid = fixture_vpid(1),
				.target_vpid = fixture_vpid(0),
				.origin_node = 2,
				.origin_epoch = 1,
				.target_epoch = 1,
				.segment = offsets[i],
				/* Behind those of port 2 in the same place. */
				.request = (TB_UNRESERVED + 1) << 16,
				.completed = CAY_SEND
			};
			unsigned char bytes[PACKET_BYTES_MAX(MTU)];
			int size = packet_encode(&h, &string, NULL, 0, MTU,
				bytes, sizeof(bytes));
			assert_true(size > 0);
			assert_int_equal(
				machine_receive(s.ms.m[0], bytes, (size_t)size),
				0);
			machines_step(&s.ms);
		}
		machines_finish(&s.ms);
		assert_true(machine_counts(s.ms.m[0])->resumed <= 1);
		resumed += machine_counts(s.ms.m[0])->resumed;
		scene_close(&s);
	}
	assert_true(resumed > 10);
}

/* ---- an origin that does not wait ---- */

static void inject(struct scene *s, struct packet_header h)
{
	struct routing_string string = { .count = 2,
		.phit = { STRING_PORT_ANY | STRING_RETURN, STRING_PORT_ANY } };
	unsigned char bytes[PACKET_BYTES_MAX(MTU)];
	struct iovec data = { s->tb->data + h.segment, h.bytes };
	h.origin_vpid = 9;
	h.origin_node = 7;
	h.target_vpid = fixture_vpid(1);
	h.origin_epoch = h.target_epoch = 1;
	int size = packet_encode(
		&h, &string, &data, h.bytes != 0, MTU, bytes, sizeof(bytes));
	assert_true(size > 0);
	assert_int_equal(machine_receive(s->ms.m[0], bytes, (size_t)size), 0);
	machines_run(&s->ms);
}

static void inject_segment(struct scene *s, uint64_t segment)
{
	inject(s, (struct packet_header){ .command = CAY_SEND,
			  .tag = 1,
			  .length = BYTES,
			  .segment = segment,
			  .bytes = MTU,
			  .last = segment + MTU == BYTES,
			  .request = 5 });
}

/*
 * A node whose packets are more sends what follows a transfer before it is sent
 * again, and has segments on their way when it is asked: the target keeps the
 * order and drops the segments.
 */
static void followers_wait_at_the_target(void **state)
{
	struct scene s = { 0 };
	struct cay_nqe n;
	(void)state;
	scene_open(&s, 1, 0);
	for (uint64_t i = 0; i < 10; i++)
		inject_segment(&s, i * MTU);
	inject(&s, (struct packet_header){ .command = CAY_FAA,
			   .last = true,
			   .length = 8,
			   .window = s.flag.window,
			   .capability = s.flag.capability,
			   .operand = { 1 },
			   .request = 6 });
	for (uint32_t i = 0; i < TB_UNRESERVED; i++)
		assert_true(machines_consume(&s.ms, 1, &n));
	machines_run(&s.ms);
	for (uint64_t i = 10; i < BYTES / MTU; i++)
		inject_segment(&s, i * MTU);
	for (uint64_t i = 1; i < BYTES / MTU; i++) {
		assert_int_equal(tb_word(s.tb, &s.flag), 0);
		assert_false(machines_receive(&s.ms, 1, &n));
		inject_segment(&s, i * MTU);
	}
	assert_true(consume_long(&s, 1));
	assert_int_equal(tb_word(s.tb, &s.flag), 1);
	assert_true(machine_idle(s.ms.m[0]));
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers_wait_without_loss),
		cmocka_unit_test(someone_goes_away),
		cmocka_unit_test(transfers_that_wait_are_evicted),
		cmocka_unit_test(forged_resumes),
		cmocka_unit_test(followers_wait_at_the_target),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
