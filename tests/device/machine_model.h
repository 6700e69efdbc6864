/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random work on the ports of some machines, and the sequential model that it
 * is checked against: per origin and target, messages, completions, results and
 * memory are those of the order of issue.
 *
 *	struct model *d = model_new(tb, seed);
 *	machines_open(&d->ms, tb, &config, count);
 *	model_run(d, requests);
 *	machines_close(&d->ms);
 *	model_free(d);
 */
#ifndef CAY_TESTS_DEVICE_MACHINE_MODEL_H
#define CAY_TESTS_DEVICE_MACHINE_MODEL_H

#include "machine.h"

#define PORTS	    4
#define REGION	    4096u /* of each origin, in the window of a target */
#define SOURCE	    65536u
#define EXPECT_MAX  4096
#define GET_BUFFERS 64u

struct expected {
	uint64_t tag, offset, length; /* of a message: where in the SDR */
	uint64_t result, previous;
	unsigned command, error;
	uint32_t buffer; /* of a GET */
	unsigned char data[REGION];
};

struct queue {
	struct expected *item;
	uint32_t first, count;
};

struct model {
	struct machines ms;
	struct testbench *tb;
	uint64_t seed, capability[PORTS], memory[PORTS], gets[PORTS];
	uint32_t buffer_next[PORTS];
	unsigned char *source; /* the same in every SDR and source window */
	unsigned char region[PORTS][PORTS][REGION]; /* target, origin */
	struct queue messages[PORTS][PORTS], completions[PORTS][PORTS];
	uint64_t issued, received, completed;
};

static inline uint32_t roll(struct model *d, uint32_t n)
{
	d->seed = d->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(d->seed >> 33) % n;
}

static inline struct expected *queue_push(struct queue *q)
{
	assert_true(q->count < EXPECT_MAX);
	return &q->item[(q->first + q->count++) % EXPECT_MAX];
}

static inline struct expected *queue_pop(struct queue *q)
{
	assert_true(q->count > 0);
	struct expected *e = &q->item[q->first];
	q->first = (q->first + 1) % EXPECT_MAX;
	q->count--;
	return e;
}

/* The memory of all ports, once. */
static inline struct model *model_new(struct testbench *tb, uint64_t seed)
{
	struct model *d = calloc(1, sizeof(*d));
	struct fixture *f = &tb->fixture;
	d->tb = tb;
	d->seed = seed;
	d->source = malloc(SOURCE);
	for (uint32_t i = 0; i < SOURCE; i++)
		d->source[i] = (unsigned char)roll(d, 256);
	for (uint32_t p = 0; p < PORTS; p++) {
		uint64_t source = fixture_memory(f, SOURCE), unused;
		d->memory[p] = fixture_memory(f, PORTS * REGION);
		d->gets[p] = fixture_memory(f, GET_BUFFERS * REGION);
		assert_int_equal(
			fixture_window(f, p, 0, d->memory[p], PORTS * REGION,
				CAY_RIGHT_READ | CAY_RIGHT_WRITE |
					CAY_RIGHT_ATOMIC,
				&d->capability[p]),
			0);
		assert_int_equal(fixture_window(f, p, 1, source, SOURCE,
					 CAY_RIGHT_READ, &unused),
			0);
		assert_int_equal(
			fixture_window(f, p, 2, d->gets[p],
				GET_BUFFERS * REGION, CAY_RIGHT_WRITE, &unused),
			0);
		memcpy(fixture_at(f, source), d->source, SOURCE);
		memcpy(tb->port[p].origin.sdr, d->source, SOURCE);
		for (uint32_t q = 0; q < PORTS; q++) {
			d->messages[p][q].item =
				calloc(EXPECT_MAX, sizeof(struct expected));
			d->completions[p][q].item =
				calloc(EXPECT_MAX, sizeof(struct expected));
		}
	}
	return d;
}

static inline void model_free(struct model *d)
{
	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t q = 0; q < PORTS; q++) {
			free(d->messages[p][q].item);
			free(d->completions[p][q].item);
		}
	free(d->source);
	free(d);
}

/* A message of random length; it may fit in the VCI. */
static inline struct cay_vci model_send(struct model *d, uint32_t from,
	uint32_t to, uint64_t tag, unsigned flags)
{
	static const uint32_t limits[] = { 8, 41, 300, 5000, 20000 };
	uint32_t length = roll(d, limits[roll(d, ARRAY_COUNT(limits))]);
	uint32_t offset = roll(d, SOURCE - length);
	bool fast = length <= CAY_FAST_SEND_BYTES && roll(d, 2);
	unsigned command = fast ? CAY_FAST_SEND | (length + 7) / 8 : CAY_SEND;
	if (roll(d, 4) == 0)
		command |= CAY_COMMAND_ACK;
	struct cay_vci v = vci_begin(
		&d->ms, from, to, command, flags, tag, fast ? length : 0);
	if (fast) {
		memcpy(&v.word[CAY_VCI_WORD_DATA], d->source + offset, length);
	} else {
		v.word[CAY_VCI_WORD_SDR_OFFSET] = offset;
		v.word[CAY_VCI_WORD_LENGTH] = length;
	}
	struct expected *e = queue_push(&d->messages[to][from]);
	e->tag = tag;
	e->offset = offset;
	e->length = length;
	if (flags & CAY_VCI_NOTIFY || command & CAY_COMMAND_ACK ||
		length > QUEUE_PAYLOAD_MAX) {
		e = queue_push(&d->completions[from][to]);
		*e = (struct expected){
			.tag = tag, .command = command, .length = length
		};
	}
	return v;
}

/* An access to the origin's part of the target's window. */
static inline struct cay_vci model_access(struct model *d, uint32_t from,
	uint32_t to, uint64_t tag, unsigned flags)
{
	static const unsigned commands[] = { CAY_PUT, CAY_FAST_PUT, CAY_GET,
		CAY_FAST_GET, CAY_FAA, CAY_CAS, CAY_MISALIGNED_PUT };
	unsigned command = commands[roll(d, ARRAY_COUNT(commands))];
	unsigned char *mine = d->region[to][from];
	bool refused = roll(d, 16) == 0;
	bool fast = command == CAY_FAST_PUT || command == CAY_FAST_GET;
	bool word = command_is_word(command);
	uint32_t length = word ? 8 : fast ? 1 + roll(d, 24) : roll(d, REGION);
	uint32_t at = word ? roll(d, REGION / 8) * 8 : roll(d, REGION - length);
	uint32_t source = roll(d, SOURCE - length);
	if (fast)
		command |= (length + 7) / 8;
	if (command_is_put(command) && roll(d, 3) == 0)
		command |= CAY_COMMAND_ACK;
	if (command_is_get(command))
		flags |= CAY_VCI_NOTIFY;
	struct cay_vci v = vci_begin(
		&d->ms, from, to, command, flags, tag, fast ? length : 0);
	v.word[CAY_VCI_WORD_WINDOW] = (d->capability[to] ^ refused)
				      << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OFFSET] = from * REGION + at;
	struct expected x = { .tag = tag,
		.command = command,
		.length = length,
		.result = v.word[CAY_VCI_WORD_OFFSET],
		.error = refused ? CAY_ERROR_CAPABILITY : CAY_ERROR_NONE };
	bool completes = refused || flags & CAY_VCI_NOTIFY ||
			 command & CAY_COMMAND_ACK ||
			 command_is_atomic(command);
	uint64_t old;
	memcpy(&old, mine + (word ? at : 0), 8);
	switch (command_operation(command)) {
	case CAY_PUT:
		v.word[CAY_VCI_WORD_ORIGIN] = 1;
		v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = source;
		v.word[CAY_VCI_WORD_BYTES] = length;
		if (!refused)
			memcpy(mine + at, d->source + source, length);
		break;
	case CAY_FAST_PUT:
		memcpy(&v.word[CAY_VCI_WORD_OPERAND], d->source + source,
			length);
		if (!refused)
			memcpy(mine + at, d->source + source, length);
		break;
	case CAY_GET:
		x.buffer = d->buffer_next[from]++ % GET_BUFFERS;
		v.word[CAY_VCI_WORD_ORIGIN] = 2;
		v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = x.buffer * REGION;
		v.word[CAY_VCI_WORD_BYTES] = length;
		memcpy(x.data, mine + at, length);
		break;
	case CAY_FAST_GET:
		memcpy(x.data, mine + at, length);
		break;
	case CAY_MISALIGNED_PUT: {
		uint64_t value = roll(d, 1u << 31) * 0x123456789ull;
		unsigned enables = roll(d, 256);
		v.word[CAY_VCI_WORD_OPERAND] = value;
		v.word[CAY_VCI_WORD_OPERAND + 1] = enables;
		for (unsigned i = 0; i < 8 && !refused; i++)
			if (enables >> i & 1)
				mine[at + i] =
					(unsigned char)(value >> (8 * i));
		break;
	}
	default: { /* FAA, CAS */
		bool add = command == CAY_FAA;
		uint64_t operand = add || roll(d, 2) ? roll(d, 1000) : old;
		uint64_t new = add ? old + operand : roll(d, 1000);
		v.word[CAY_VCI_WORD_OPERAND] = operand;
		v.word[CAY_VCI_WORD_OPERAND + 1] = add ? 0 : new;
		if (!add && operand != old)
			new = old;
		if (!refused)
			memcpy(mine + at, &new, 8);
		if (!refused) {
			x.result = new;
			x.previous = old;
		}
	}
	}
	if (completes)
		*queue_push(&d->completions[from][to]) = x;
	return v;
}

static inline void check_message(
	struct model *d, uint32_t port, const struct cay_nqe *n, unsigned from)
{
	const struct expected *e = queue_pop(&d->messages[port][from]);
	const unsigned char *at = (const void *)&n->word[CAY_NQE_WORD_DATA];
	if (nqe_command(n) == CAY_NOTIFY_FAST_RECV)
		assert_int_equal(nqe_bytes(n), e->length);
	else
		assert_int_equal(n->word[CAY_NQE_WORD_LENGTH], e->length);
	if (nqe_command(n) == CAY_NOTIFY_RECV)
		at = fixture_own(&d->tb->fixture, port)->rdr +
		     n->word[CAY_NQE_WORD_START] * RDR_UNIT;
	assert_int_equal(n->word[CAY_NQE_WORD_TAG], e->tag);
	assert_memory_equal(at, d->source + e->offset, e->length);
	d->received++;
}

static inline void check_completion(
	struct model *d, uint32_t port, const struct cay_nqe *n, unsigned to)
{
	const struct expected *e = queue_pop(&d->completions[port][to]);
	unsigned error = nqe_command(n) >> CAY_COMMAND_ERROR_SHIFT;
	uint64_t command = n->word[CAY_NQE_WORD_COMPLETED] & 0xffff;
	assert_int_equal(n->word[CAY_NQE_WORD_TAG], e->tag);
	assert_int_equal(command, e->command);
	assert_int_equal(error, e->error);
	if (command_is_atomic((unsigned)command) && !error) {
		assert_int_equal(n->word[CAY_NQE_WORD_RESULT], e->result);
		assert_int_equal(n->word[CAY_NQE_WORD_PREVIOUS], e->previous);
	} else if (command_operation((unsigned)command) == CAY_GET && !error) {
		assert_memory_equal((unsigned char *)fixture_at(
					    &d->tb->fixture, d->gets[port]) +
					    e->buffer * REGION,
			e->data, e->length);
	} else if (command_operation((unsigned)command) == CAY_FAST_GET &&
		   !error) {
		assert_int_equal(nqe_bytes(n), e->length);
		assert_memory_equal(
			&n->word[CAY_NQE_WORD_LENGTH], e->data, e->length);
	}
	d->completed++;
}

/* Receives up to `most` notifications of a port. */
static inline void model_drain(struct model *d, uint32_t port, uint32_t most)
{
	struct cay_nqe n;
	while (most-- && machines_receive(&d->ms, port, &n)) {
		unsigned peer = (uint16_t)(n.word[7] >> CAY_NQE_VPID_SHIFT) - 1;
		assert_true(peer < PORTS);
		if ((nqe_command(&n) & CAY_COMMAND_MASK) == CAY_NOTIFY_CC)
			check_completion(d, port, &n, peer);
		else
			check_message(d, port, &n, peer);
		machines_return(&d->ms, port, &n);
	}
}

/* The trigger comes first: what it refuses is not part of the model. */
static inline bool model_trigger(struct model *d, uint32_t port)
{
	struct machine *m = d->ms.m[machines_of(&d->ms, port)];
	const struct origin *o = machine_origin(m, fixture_vpid(port));
	return o->client.wq_write - o->device.wq_read < 8 &&
	       machine_trigger(m, fixture_vpid(port), CAY_ISSUE_VCI, 1)
			       .accepted == 1;
}

static inline void model_run(struct model *d, uint32_t count)
{
	for (uint32_t i = 0; i < count;) {
		uint32_t from = roll(d, PORTS), to = roll(d, PORTS);
		unsigned flags = roll(d, 3) ? 0 : CAY_VCI_NOTIFY;
		if (roll(d, 16) == 0)
			flags |= CAY_VCI_FENCE;
		if (model_trigger(d, from)) {
			uint64_t tag = ++d->issued;
			struct cay_vci v =
				roll(d, 2)
					? model_send(d, from, to, tag, flags)
					: model_access(d, from, to, tag, flags);
			assert_true(
				machine_post(d->ms.m[machines_of(&d->ms, from)],
					fixture_vpid(from), &v));
			i++;
		}
		for (uint32_t k = roll(d, 8); k; k--)
			machines_step(&d->ms);
		if (roll(d, 3) == 0)
			model_drain(d, roll(d, PORTS), roll(d, 8));
	}
	/* Everything ends once everything is consumed. */
	for (uint32_t idle = 0; idle < 3; idle++) {
		for (uint32_t k = 0; k < 1000 && machines_step(&d->ms); k++)
			;
		for (uint32_t p = 0; p < PORTS; p++)
			model_drain(d, p, UINT32_MAX);
		for (uint32_t i = 0; i < d->ms.count; i++)
			if (!machine_idle(d->ms.m[i]))
				idle = 0;
	}
	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t q = 0; q < PORTS; q++) {
			assert_int_equal(d->messages[p][q].count, 0);
			assert_int_equal(d->completions[p][q].count, 0);
			assert_memory_equal(
				(unsigned char *)fixture_at(
					&d->tb->fixture, d->memory[p]) +
					q * REGION,
				d->region[p][q], REGION);
		}
}

#endif
