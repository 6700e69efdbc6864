/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile input: random VCIs, random and altered packets, duplicated responses,
 * and a port that overwrites its own queues and tables. The machine stays
 * within its memory, every loop ends, and other ports are not affected.
 */
#include "machine.h"

#define PORTS 4
#define GUARD 4096u

struct hostile {
	struct testbench *tb;
	struct machines ms;
	uint64_t seed;
	struct target window[PORTS];
	uint64_t guard; /* memory behind the windows */
};

static uint32_t roll(struct hostile *h, uint32_t n)
{
	h->seed = h->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(h->seed >> 33) % n;
}

static uint64_t random_word(struct hostile *h)
{
	uint64_t word = (uint64_t)roll(h, 1u << 31) << 33 ^
			(uint64_t)roll(h, 1u << 31) << 11 ^ roll(h, 1u << 31);
	switch (roll(h, 4)) {
	case 0:
		return word & 0xff;
	case 1:
		return word & 0xffff;
	default:
		return word;
	}
}

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

static struct hostile *hostile_new(void **state, uint64_t seed)
{
	struct hostile *h = calloc(1, sizeof(*h));
	h->tb = *state;
	h->seed = seed;
	for (uint32_t p = 0; p < PORTS; p++)
		h->window[p] = tb_window(h->tb, p, 1, 8192,
			TB_RIGHTS | (p & 1 ? CAY_RIGHT_NOTIFY_ACCESS : 0));
	h->guard = fixture_memory(&h->tb->fixture, GUARD);
	memset(fixture_at(&h->tb->fixture, h->guard), 0xa5, GUARD);
	return h;
}

static void hostile_free(struct hostile *h)
{
	const unsigned char *at = fixture_at(&h->tb->fixture, h->guard);
	for (uint32_t i = 0; i < GUARD; i++)
		assert_int_equal(at[i], 0xa5);
	free(h);
}

static void consume_all(struct hostile *h)
{
	struct cay_nqe n;
	for (uint32_t p = 0; p < PORTS; p++)
		while (machines_consume(&h->ms, p, &n))
			;
}

/* A VCI that is valid but for some words. */
static struct cay_vci random_vci(struct hostile *h, uint32_t from)
{
	static const unsigned commands[] = { CAY_SEND, CAY_PUT, CAY_GET,
		CAY_FAA, CAY_CAS, CAY_MISALIGNED_PUT, CAY_FAST_SEND | 2,
		CAY_FAST_PUT | 1, CAY_FAST_GET | 3 };
	uint32_t to = roll(h, PORTS);
	unsigned command = commands[roll(h, ARRAY_COUNT(commands))];
	struct cay_vci v = vci_copy(&h->ms, from, to, command, roll(h, 32), 1,
		1, &h->window[to], roll(h, 8192));
	unsigned random = roll(h, 5);
	for (unsigned i = 0; i < random; i++)
		v.word[roll(h, CAY_WORDS)] = random_word(h);
	if (roll(h, 8) == 0)
		for (unsigned i = 0; i < CAY_WORDS; i++)
			v.word[i] = random_word(h);
	return v;
}

static void random_vcis(void **state)
{
	for (uint32_t machines = 1; machines <= 2; machines++) {
		struct hostile *h = hostile_new(state, 11 + machines);
		struct machine_config c = *machine_preset("multi-wait");
		c.mtu = 512;
		c.encode_local = machines - 1;
		machines_open(&h->ms, h->tb, &c, machines);
		for (uint32_t i = 0; i < 20000; i++) {
			uint32_t from = roll(h, PORTS);
			struct cay_vci v = random_vci(h, from);
			machines_issue(&h->ms, from, &v);
			for (uint32_t k = roll(h, 12); k; k--)
				machines_step(&h->ms);
			consume_all(h);
		}
		machines_finish(&h->ms);
		machines_close(&h->ms);
		hostile_free(h);
	}
}

/* ---- packets ---- */

static struct packet_header random_header(struct hostile *h)
{
	static const uint16_t commands[] = { CAY_SEND, CAY_PUT, CAY_GET,
		CAY_FAA, CAY_CAS, CAY_MISALIGNED_PUT, CAY_FAST_SEND | 2,
		CAY_FAST_PUT | 1, CAY_FAST_GET | 3, CAY_ACKNOWLEDGE,
		CAY_GET_RESPONSE, CAY_FAA_RESPONSE, CAY_CAS_RESPONSE,
		CAY_FAST_GET_RESPONSE | 2,
		CAY_SEND | CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT,
		CAY_PUT | CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT };
	static const uint64_t lengths[] = { 0, 8, 16, 24, 40, 41, 64, 512, 1000,
		2000, 8192, 100000, 1ull << 40, PACKET_LENGTH_MAX };
	uint32_t to = roll(h, PORTS + 1);
	struct packet_header p = {
		.command = commands[roll(h, ARRAY_COUNT(commands))],
		.flags = (uint8_t)roll(h, 32),
		.origin_vpid = (uint16_t)(1 + roll(h, PORTS + 1)),
		.target_vpid = (uint16_t)(1 + to),
		.origin_node = 1 + roll(h, 4),
		.origin_epoch = roll(h, 8) ? 1 : roll(h, 3),
		.target_epoch = roll(h, 8) ? 1 : roll(h, 3),
		.tag = 0x666,
		.length = lengths[roll(h, ARRAY_COUNT(lengths))],
		.request = roll(h, 8) | roll(h, 4) << 16,
		.completed = commands[roll(h, 9)] | CAY_COMMAND_ACK,
		.window = (uint16_t)(roll(h, 8) ? 1 : roll(h, 65536)),
		.capability = to < PORTS && roll(h, 8)
				      ? h->window[to].capability
				      : random_word(h) & CAY_CAPABILITY_MASK,
		.offset = roll(h, 4) ? roll(h, 1024) * 8 : random_word(h),
		.operand = { random_word(h), random_word(h) },
		.last = true,
	};
	unsigned words = p.command & CAY_COMMAND_LENGTH;
	if (words && words < 4)
		p.length = p.bytes = 8ull * words;
	if (p.command == CAY_ACKNOWLEDGE && roll(h, 2))
		p.command |= (uint16_t)(roll(h, CAY_ERROR_COUNT)
					<< CAY_COMMAND_ERROR_SHIFT);
	if (p.command == CAY_ACKNOWLEDGE && roll(h, 4) == 0) {
		p.segment = roll(h, 2) ? 512 : roll(h, 8192);
		p.completed = roll(h, 2) ? CAY_SEND : CAY_PUT;
	}
	unsigned operation = command_operation(p.command);
	bool segmented = operation == CAY_SEND || operation == CAY_PUT ||
			 p.command == CAY_GET_RESPONSE;
	if (segmented) {
		p.segment = roll(h, 2) ? 0 : roll(h, 40) * 64;
		if (roll(h, 8) == 0)
			p.segment = random_word(h) & PACKET_LENGTH_MAX;
		uint64_t left = p.length - bits_min(p.segment, p.length);
		p.bytes = bits_min(left, 1 + roll(h, 512));
		if (p.command & CAY_COMMAND_ERROR_MASK)
			p.bytes = 0;
		p.last = p.bytes == left || p.command & CAY_COMMAND_ERROR_MASK;
	}
	return p;
}

/* Encodes a packet; returns its bytes, or 0 if there is no such packet. */
static size_t random_packet(struct hostile *h, uint32_t mtu, void *to)
{
	struct routing_string there = { .tag = 1,
		.count = 4,
		.phit = { phit_make(0, 1, 0), STRING_PORT_ANY | STRING_RETURN,
			phit_make(1, 1, 0), STRING_PORT_ANY } };
	struct routing_string one_way = { .tag = 1,
		.count = 2,
		.phit = { phit_make(0, 1, 0), STRING_PORT_ANY } };
	struct packet_header p = random_header(h);
	struct iovec data = { h->tb->data, p.bytes };
	int size = packet_encode(&p, roll(h, 8) ? &there : &one_way, &data, 1,
		mtu, to, PACKET_BYTES_MAX(mtu));
	if (size < 0)
		return 0;
	/* Some are altered without their CRC, or cut off. */
	if (roll(h, 8) == 0)
		((unsigned char *)to)[roll(h, (uint32_t)size)] ^=
			(unsigned char)(1 + roll(h, 255));
	return roll(h, 16) ? (size_t)size : roll(h, (uint32_t)size);
}

/* Locks by ports that exist and by others, while packets arrive. */
static void random_lock(struct hostile *h, struct machine *m)
{
	uint32_t to = roll(h, PORTS);
	const struct machine_lock l = { .vpid = fixture_vpid(to),
		.window = (uint16_t)(roll(h, 8) ? 1 : random_word(h)),
		.capability = h->window[to].capability ^ !roll(h, 8),
		.holder = { .node = 1 + roll(h, 4),
			.epoch = roll(h, 3),
			.vpid = (uint16_t)(1 + roll(h, PORTS + 1)) } };
	switch (roll(h, 8)) {
	case 0:
	case 1:
		machine_window_lock(m, &l);
		break;
	case 2:
		machine_window_locked(m, &l);
		break;
	case 3:
		machine_window_quiesce(m, l.vpid, l.window);
		break;
	case 4:
		machine_holder_gone(m, &l.holder);
		break;
	default:
		machine_window_unlock(m, &l);
	}
}

static void random_packets(void **state)
{
	for (uint32_t machines = 1; machines <= 2; machines++) {
		struct hostile *h = hostile_new(state, 77 + machines);
		struct machine_config c = *machine_preset("multi-wait");
		c.mtu = 512;
		c.park_cycles = 500;
		machines_open(&h->ms, h->tb, &c, machines);
		unsigned char *bytes = malloc(PACKET_BYTES_MAX(c.mtu));
		uint32_t taken = 0;
		for (uint32_t i = 0; i < 100000; i++) {
			size_t size = random_packet(h, c.mtu, bytes);
			if (size &&
				machine_receive(h->ms.m[0], bytes, size) == 0)
				taken++;
			/* Requests that responses may name. */
			if (roll(h, 4) == 0) {
				uint32_t from = roll(h, PORTS);
				struct cay_vci v = random_vci(h, from);
				machines_issue(&h->ms, from, &v);
			}
			for (uint32_t k = roll(h, 4); k; k--)
				machines_step(&h->ms);
			if (roll(h, 16) == 0)
				random_lock(h, h->ms.m[0]);
			if (roll(h, 64) == 0)
				consume_all(h);
			if (roll(h, 4096) == 0)
				for (uint32_t n = 3; n <= 4; n++)
					machine_node_gone(h->ms.m[0], n);
		}
		assert_true(taken > 10000);
		/* What no segment continues ends with its node. */
		for (uint32_t k = 0; k < 20000; k++) {
			machines_step(&h->ms);
			consume_all(h);
		}
		for (uint32_t n = 1; n <= 4; n++)
			for (uint32_t i = 0; i < machines; i++)
				machine_node_gone(h->ms.m[i], n);
		machines_finish(&h->ms);
		free(bytes);
		machines_close(&h->ms);
		hostile_free(h);
	}
}

/* ---- forged segments ---- */

static void inject(struct machines *ms, const struct packet_header *p)
{
	struct routing_string there = { .tag = 1,
		.count = 2,
		.phit = { STRING_PORT_ANY | STRING_RETURN, STRING_PORT_ANY } };
	unsigned char bytes[PACKET_BYTES_MAX(512)];
	struct iovec data = { ms->tb->data, p->bytes };
	int size =
		packet_encode(p, &there, &data, 1, 512, bytes, sizeof(bytes));
	assert_true(size > 0);
	assert_int_equal(machine_receive(ms->m[0], bytes, (size_t)size), 0);
}

static void receive(struct machines *ms, const struct packet_header *p)
{
	inject(ms, p);
	machines_run(ms);
}

/* Only the next segment of the same transfer uses the room of the first. */
static void forged_segments(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct machine_config c = *machine_preset("multi-wait");
	c.mtu = 512;
	machines_open(&ms, tb, &c, 1);
	const struct packet_header first = { .command = CAY_SEND,
		.origin_vpid = 9,
		.target_vpid = 2,
		.origin_node = 7,
		.target_epoch = 1,
		.length = 1000,
		.bytes = 512,
		.request = 5 };
	unsigned char *rdr = fixture_own(&tb->fixture, 1)->rdr;
	receive(&ms, &first);
	memset(rdr + 1024, 0x77, 4096);
	struct packet_header p = first;
	p.segment = 2048; /* behind the room */
	p.length = 4096;
	receive(&ms, &p);
	p.length = 1ull << 40;
	p.segment = 1ull << 30;
	receive(&ms, &p);
	p = first;
	p.segment = 512; /* of a longer message */
	p.length = 4096;
	receive(&ms, &p);
	p = first;
	p.segment = 576; /* a gap */
	p.bytes = 424;
	p.last = true;
	receive(&ms, &p);
	p.segment = 512;
	p.bytes = 488;
	p.origin_vpid = 8; /* another port */
	receive(&ms, &p);
	p.origin_vpid = 9;
	p.command = CAY_PUT;
	receive(&ms, &p);
	assert_false(machines_consume(&ms, 1, &n));
	assert_int_equal(machine_counts(ms.m[0])->stale, 6);
	for (uint32_t i = 1024; i < 1024 + 4096; i++)
		assert_int_equal(rdr[i], 0x77);
	p.command = CAY_SEND;
	receive(&ms, &p);
	assert_true(machines_consume(&ms, 1, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_LENGTH], 1000);
	assert_memory_equal(rdr, tb->data, 512);
	assert_memory_equal(rdr + 512, tb->data, 488);
	assert_true(machine_idle(ms.m[0]));
	/* A node that begins again abandons the first transfer. */
	receive(&ms, &first);
	receive(&ms, &first);
	receive(&ms, &p);
	assert_true(machines_consume(&ms, 1, &n));
	assert_int_equal(nqe_command(&n) & CAY_COMMAND_MASK, CAY_NQE_INVALID);
	assert_true(machines_consume(&ms, 1, &n));
	assert_int_equal(nqe_command(&n), CAY_NOTIFY_RECV);
	assert_true(machine_idle(ms.m[0]));
	/* A short message is never segmented: stale bytes would be delivered.
	 */
	p = first;
	p.length = 40;
	p.bytes = 8;
	receive(&ms, &p);
	p.segment = 8;
	p.bytes = 32;
	p.last = true;
	receive(&ms, &p);
	assert_false(machines_consume(&ms, 1, &n));
	assert_true(machine_idle(ms.m[0]));
	machines_close(&ms);
}

/* A positive ACK neither completes a get nor ends what is being sent. */
static void forged_acknowledges(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	struct target t = tb_window(tb, 1, 1, 8192, TB_RIGHTS);
	uint64_t unused, at = fixture_memory(&tb->fixture, 8192);
	fixture_window(&tb->fixture, 0, 2, at, 8192, TB_RIGHTS, &unused);
	memcpy(tb_memory(tb, &t), tb->data, 8192);
	unsigned char *mine = fixture_at(&tb->fixture, at);
	unsigned char *theirs = tb_memory(tb, &t);
	for (uint32_t get = 0; get < 2; get++)
		for (uint32_t when = 0; when < 60; when++) {
			struct machine_config c = *machine_preset("multi-wait");
			c.mtu = 512;
			machines_open(&ms, tb, &c, 2);
			memset(get ? mine : theirs, 0, 8192);
			memcpy(get ? theirs : mine, tb->data, 8192);
			struct cay_vci v = vci_copy(&ms, 0, 1,
				get ? CAY_GET : CAY_PUT, CAY_VCI_NOTIFY, 7, 2,
				&t, 8192);
			assert_true(machines_issue(&ms, 0, &v));
			for (uint32_t k = 0; k < when; k++)
				machines_step(&ms);
			inject(&ms, &(struct packet_header){
					    .command = CAY_ACKNOWLEDGE,
					    .last = true,
					    .origin_vpid = 2,
					    .target_vpid = 1,
					    .origin_node = 2,
					    .origin_epoch = 1,
					    .target_epoch = 1,
					    .request = 1u << 16, /* the first */
					    .completed = CAY_PUT });
			machines_run(&ms);
			assert_true(machines_consume(&ms, 0, &n));
			assert_int_equal(nqe_command(&n), CAY_NOTIFY_CC);
			assert_false(machines_consume(&ms, 0, &n));
			assert_memory_equal(mine, theirs, 8192);
			assert_true(machine_idle(ms.m[0]));
			machines_close(&ms);
		}
}

/* ---- responses that arrive twice ---- */

struct twice {
	struct wire_port port; /* first */
	struct machine **to;
};

static bool twice_send(struct wire_port *port, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	struct twice *t = (struct twice *)port;
	if (machine_receive(t->to[node - 1], bytes, size) == -EAGAIN)
		return false;
	if (response)
		machine_receive(t->to[node - 1], bytes, size);
	return true;
}

static void responses_that_arrive_twice(void **state)
{
	struct machines ms;
	struct cay_nqe n;
	machines_open(&ms, *state, machine_preset("multi-wait"), 2);
	struct twice t = { { twice_send }, ms.m };
	machine_connect(ms.m[0], &t.port);
	machine_connect(ms.m[1], &t.port);
	for (uint64_t tag = 0; tag < 1000; tag++) {
		struct cay_vci v = vci_fast(&ms, 0, 1, CAY_VCI_NOTIFY, tag);
		assert_true(machines_issue(&ms, 0, &v));
		machines_run(&ms);
		assert_true(machines_consume(&ms, 0, &n));
		assert_int_equal(n.word[CAY_NQE_WORD_TAG], tag);
		assert_false(machines_consume(&ms, 0, &n));
		assert_true(machines_consume(&ms, 1, &n));
		assert_false(machines_consume(&ms, 1, &n));
	}
	assert_int_equal(machine_counts(ms.m[0])->stale, 1000);
	assert_true(machine_idle(ms.m[0]) && machine_idle(ms.m[1]));
	machines_close(&ms);
}

/* ---- a port that overwrites what it can ---- */

static void scribble(struct hostile *h, uint32_t port)
{
	struct context *own = fixture_own(&h->tb->fixture, port);
	struct cay_window_descriptor *d =
		&h->tb->port[port].origin.wdt[roll(h, 2)];
	struct cay_posted_receive *slot =
		&own->posted[roll(h, own->posted_entries)];
	switch (roll(h, 10)) {
	case 0:
		atomic_store(&own->control->w, random_word(h));
		break;
	case 1:
		atomic_store(&own->control->r, random_word(h));
		break;
	case 2:
		atomic_store(&own->control->posted, roll(h, 4));
		break;
	case 3:
		d->rights = roll(h, 64);
		d->length = random_word(h);
		break;
	case 4:
		d->start = random_word(h);
		d->pid = roll(h, 8) ? 0 : 1;
		break;
	case 5:
		slot->state = random_word(h);
		slot->length = random_word(h);
		break;
	case 6:
		slot->offset = random_word(h);
		slot->flags = roll(h, 2);
		break;
	case 7:
		d->lock = random_word(h);
		d->next = (uint16_t)random_word(h);
		break;
	case 8:
		atomic_store(&own->posted_head->available, random_word(h));
		atomic_store(&own->posted_head->next, random_word(h));
		break;
	default:
		for (unsigned i = 0; i < CAY_WORDS; i++)
			tb_entry(h->tb, port, roll(h, 16))->word[i] =
				random_word(h);
	}
}

/* Port 3 scribbles; messages from port 0 to port 1 arrive in order. */
static void a_port_that_scribbles(void **state)
{
	struct hostile *h = hostile_new(state, 5);
	struct machine_config c = *machine_preset("multi-wait");
	struct cay_nqe n;
	c.mtu = 512;
	c.park_cycles = 200;
	machines_open(&h->ms, h->tb, &c, 1);
	uint64_t sent = 0, received = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		scribble(h, 3);
		uint32_t from = 2 + roll(h, 2);
		struct cay_vci v = random_vci(h, from);
		v.word[1] = (v.word[1] & ~0xffffull) | 4;
		if (roll(h, 2))
			machines_issue(&h->ms, from, &v);
		if (roll(h, 8) == 0)
			machine_trigger(h->ms.m[0], 4,
				(enum cay_issue)roll(h, 16), roll(h, 40));
		if (roll(h, 16) == 0)
			machine_completions_returned(
				h->ms.m[0], 4, roll(h, 1000));
		if (roll(h, 16) == 0)
			random_lock(h, h->ms.m[0]);
		struct cay_vci good = vci_send(&h->ms, 0, 1, 0, sent, 600);
		if (sent - received < 8 && machines_issue(&h->ms, 0, &good))
			sent++;
		machines_step(&h->ms);
		while (machines_consume(&h->ms, 1, &n))
			if ((nqe_command(&n) & CAY_COMMAND_MASK) ==
				CAY_NOTIFY_RECV) {
				assert_int_equal(
					n.word[CAY_NQE_WORD_TAG], received);
				received++;
			}
		while (machines_consume(&h->ms, 2, &n))
			;
		while (machines_consume(&h->ms, 0, &n))
			;
	}
	assert_true(received > 1000);
	machine_detach(h->ms.m[0], fixture_vpid(3));
	for (uint32_t i = 0; i < 2000; i++)
		machines_step(&h->ms);
	while (machines_consume(&h->ms, 0, &n) ||
		machines_consume(&h->ms, 1, &n) ||
		machines_consume(&h->ms, 2, &n))
		machines_run(&h->ms);
	assert_true(machine_idle(h->ms.m[0]));
	machines_close(&h->ms);
	free(h); /* a window of port 3 may lead to the guard */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_vcis),
		TEST(random_packets),
		TEST(forged_segments),
		TEST(forged_acknowledges),
		TEST(responses_that_arrive_twice),
		TEST(a_port_that_scribbles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
