/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traces: windows of all rights, messages of all lengths, accesses of
 * all kinds, most of them right and some wrong in each way; queues that are
 * small enough to fill up. See random.h.
 */
#include "trace/random.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "trace/bytes.h"

#define WINDOWS_EACH 3

struct made_window {
	unsigned rights; /* 0: not open */
	uint64_t key, bytes;
};

struct made {
	const struct random_options *o;
	struct trace *t;
	uint64_t random;
	struct made_window window[TRACE_PORTS_MAX][WINDOWS_EACH];
	bool closed[TRACE_PORTS_MAX];
	uint64_t tags;
	bool heavy; /* messages so long that the RDR comes round */
	int failure;
};

static uint64_t below(struct made *m, uint64_t n)
{
	return bytes_random(&m->random) % n;
}

static bool one_in(struct made *m, uint64_t n)
{
	return below(m, n) == 0;
}

static void add(struct made *m, const struct trace_instruction *i)
{
	if (!m->failure)
		m->failure = trace_add(m->t, i);
}

/* ---- payloads ---- */

static uint64_t length_of_message(struct made *m)
{
	const uint64_t longest = CAY_EAGER_MAX;
	if (m->heavy && one_in(m, 2))
		return longest - below(m, longest - CAY_FAST_SEND_BYTES);
	switch (below(m, 10)) {
	case 0:
		return CAY_FAST_SEND_BYTES + below(m, 2);
	case 1:
	case 2:
		return CAY_FAST_SEND_BYTES + 1 + below(m, 300);
	case 3:
		return one_in(m, 4) ? longest - below(m, 2) : 64;
	case 4:
		return !m->o->race && one_in(m, 3)
			       ? CAY_EAGER_MAX + 1 + below(m, 3000)
			       : 100;
	default:
		return below(m, CAY_FAST_SEND_BYTES + 1);
	}
}

static void fill(struct made *m, struct trace_instruction *i, uint64_t bytes)
{
	i->bytes = bytes;
	if (bytes == 0)
		return;
	i->seed = bytes_random(&m->random) | 1;
	if (bytes <= TRACE_DATA_MAX && one_in(m, 2)) {
		bytes_generate(i->seed, i->data, bytes);
		i->data_bytes = (uint8_t)bytes;
		i->seed = 0;
	}
}

static uint8_t flags(struct made *m)
{
	static const uint8_t some[] = { CAY_NOTIFY, CAY_ACK,
		CAY_NOTIFY | CAY_ACK, CAY_FREE_ORDER, CAY_FENCE,
		CAY_FENCE | CAY_NOTIFY, CAY_PRIORITY, CAY_PRIORITY | CAY_NOTIFY,
		CAY_INTERRUPT };
	return one_in(m, 2) ? 0 : some[below(m, ARRAY_COUNT(some))];
}

/* ---- set-up, and what owners do later ---- */

static unsigned rights(struct made *m)
{
	unsigned r = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	if (one_in(m, 4))
		r = 1u << below(m, 3);
	if (one_in(m, 4))
		r |= CAY_RIGHT_NOTIFY_ACCESS;
	if (!m->o->race && one_in(m, 3))
		r |= CAY_RIGHT_NOTIFY_REFUSAL;
	return r;
}

static void window_add(struct made *m, uint16_t port, uint16_t id)
{
	struct made_window *w = &m->window[port][id];
	struct trace_instruction i = { .kind = TRACE_WINDOW,
		.port = port,
		.peer = port,
		.window = id,
		.rights = (uint8_t)rights(m),
		.key = 1 + below(m, CAY_CAPABILITY_MASK),
		.bytes = 8 * (m->o->ports + below(m, 40)) + below(m, 8) };
	if (m->o->race && m->o->conflicts)
		i.bytes = 8 * (3 + below(m, 2));
	/* Now and then two windows of a port lie on the same memory. */
	if (m->o->conflicts && one_in(m, 3))
		i.base = 0x10000 + 8 * below(m, 16) + 0x1000 * port;
	if (one_in(m, 2))
		i.seed = bytes_random(&m->random) | 1;
	*w = (struct made_window){ i.rights, i.key, i.bytes };
	add(m, &i);
}

static void post_add(struct made *m, uint16_t port)
{
	const struct trace_instruction i = { .kind = TRACE_RECEIVE_POST,
		.port = port,
		.peer = port,
		.bytes = 1 + below(m, one_in(m, 4) ? 12000 : 400),
		.cookie = below(m, 6) };
	add(m, &i);
}

static void mode_add(struct made *m, uint16_t port)
{
	const struct trace_instruction i = { .kind = TRACE_RECEIVE_MODE,
		.port = port,
		.peer = port,
		.mode = one_in(m, 2) ? CAY_RECEIVE_POSTED_ONLY
				     : CAY_RECEIVE_RDR };
	add(m, &i);
}

static void setup_add(struct made *m)
{
	for (uint16_t p = 0; p < m->o->ports; p++) {
		for (uint16_t w = 0; w < WINDOWS_EACH; w++)
			if (w == 0 || one_in(m, 2))
				window_add(m, p, w);
		/* Which buffer a message finds depends on who comes first. */
		for (uint64_t n = one_in(m, 3) ? below(m, 6) : 0;
			n && !m->o->race; n--)
			post_add(m, p);
	}
}

static void window_change(struct made *m, uint16_t port)
{
	uint16_t id = (uint16_t)below(m, WINDOWS_EACH);
	struct made_window *w = &m->window[port][id];
	struct trace_instruction i = { .kind = TRACE_WINDOW_CLOSE,
		.port = port,
		.peer = port,
		.window = id };
	if (!w->rights && !one_in(m, 8)) {
		window_add(m, port, id);
		return;
	}
	if (one_in(m, 2)) {
		i.kind = TRACE_WINDOW_REVOKE;
		i.key = w->key = 1 + below(m, CAY_CAPABILITY_MASK);
	} else {
		w->rights = 0;
	}
	add(m, &i);
}

static void owner_add(struct made *m, uint16_t port)
{
	struct trace_instruction i = {
		.kind = TRACE_DRAIN, .port = port, .peer = port
	};
	switch (below(m, 8)) {
	case 0:
		window_change(m, port);
		return;
	case 1:
		mode_add(m, port);
		return;
	case 2:
	case 3:
		post_add(m, port);
		return;
	case 4:
		i.kind = TRACE_RECEIVE_CANCEL;
		i.cookie = below(m, 6);
		break;
	case 5:
		i.kind = TRACE_FLUSH;
		i.peer = (uint16_t)below(m, m->o->ports);
		break;
	}
	add(m, &i);
}

/* ---- accesses ---- */

/* The part of a window that is an origin's own, if there are no conflicts. */
static void slice(struct made *m, uint16_t port, uint64_t bytes,
	uint64_t *start, uint64_t *size)
{
	*start = 0;
	*size = bytes;
	if (m->o->conflicts)
		return;
	*size = bytes / m->o->ports / 8 * 8;
	*start = port * *size;
}

/* An offset and a length inside, in whole words if that is wanted. */
static void place(
	struct made *m, struct trace_instruction *i, uint64_t most, bool words)
{
	const struct made_window *w = &m->window[i->peer][i->window];
	uint64_t start, size;
	slice(m, i->port, w->rights ? w->bytes : 8 * m->o->ports, &start,
		&size);
	uint64_t step = words ? 8 : 1;
	uint64_t length = step * (1 + below(m, bits_min(most, size) / step));
	i->bytes = length;
	i->offset = start + step * below(m, (size - length) / step + 1);
}

/* Something about it is wrong. */
static void spoil(struct made *m, struct trace_instruction *i)
{
	switch (below(m, 6)) {
	case 0:
		i->window =
			(uint16_t)(WINDOWS_EACH +
				   below(m, one_in(m, 2) ? 4 : UINT16_MAX - 4));
		break;
	case 1:
		i->key ^= 1ull << below(m, 48);
		break;
	case 2:
		i->offset = m->window[i->peer][i->window % WINDOWS_EACH].bytes +
			    8 - below(m, 24);
		break;
	case 3:
		i->offset = bytes_random(&m->random);
		break;
	case 4:
		i->offset += 1 + below(m, 7);
		break;
	default:
		if (i->kind == TRACE_PUT || (i->kind == TRACE_GET && !i->event))
			i->bytes += 64 * (1 + below(m, 100));
		else
			i->window = UINT16_MAX;
	}
}

/*
 * With conflicts, what races must consist of whole words; alone, an origin may
 * do what it likes. What is wrong may become right by chance, so without
 * conflicts nothing is spoiled that could then hit somebody else's part.
 */
static void access_place(struct made *m, struct trace_instruction *i)
{
	bool race = m->o->race && m->o->conflicts;
	bool word = i->kind == TRACE_FETCH_ADD ||
		    i->kind == TRACE_COMPARE_SWAP ||
		    i->kind == TRACE_PUT_MASKED;
	uint64_t most = race ? CAY_FAST_PUT_BYTES : 200;
	if (word)
		most = 8;
	if (i->event && i->kind == TRACE_GET)
		most = CAY_FAST_PUT_BYTES;
	place(m, i, most, word || race);
	if (word)
		i->bytes = 0;
}

static void wrong_place(struct made *m, struct trace_instruction *i)
{
	bool aligned = m->o->race && m->o->conflicts;
	if (!m->o->conflicts || aligned) {
		/* Ways that are wrong whatever the window is like. */
		if (one_in(m, 2))
			i->key ^= 1ull << below(m, 48);
		else if (one_in(m, 2))
			i->window = (uint16_t)(WINDOWS_EACH + below(m, 100));
		else
			i->offset = (1ull << 40) + 8 * below(m, 1000);
		return;
	}
	spoil(m, i);
}

/* Few values, so that a compare_swap finds what it compares. */
static uint64_t operand(struct made *m)
{
	return one_in(m, 4) ? bytes_random(&m->random) : below(m, 3);
}

static void operands(struct made *m, struct trace_instruction *i)
{
	if (i->kind == TRACE_PUT || i->kind == TRACE_GET)
		return;
	i->operand[0] = operand(m);
	if (i->kind == TRACE_PUT_MASKED)
		i->operand[1] = below(m, 256);
	else if (i->kind == TRACE_COMPARE_SWAP)
		i->operand[1] = operand(m);
}

static void access_add(struct made *m, uint16_t port, enum trace_kind kind)
{
	struct trace_instruction i = { .kind = kind,
		.port = port,
		.peer = (uint16_t)below(m, m->o->ports),
		.window = (uint16_t)(one_in(m, 2) ? 0 : below(m, WINDOWS_EACH)),
		.flags = flags(m),
		.tag = one_in(m, 3) ? 0 : ++m->tags };
	/* The fewer places there are, the more origins meet. */
	if (m->o->race && m->o->conflicts && !one_in(m, 8))
		i.peer = i.window = 0;
	if (!m->window[i.peer][i.window].rights && !one_in(m, 8))
		i.window = 0;
	i.key = m->window[i.peer][i.window].key;
	i.event = kind >= TRACE_GET && one_in(m, 2);
	access_place(m, &i);
	operands(m, &i);
	if (one_in(m, 6))
		wrong_place(m, &i);
	if (kind == TRACE_PUT)
		fill(m, &i, i.bytes);
	add(m, &i);
}

static void send_add(struct made *m, uint16_t port)
{
	struct trace_instruction i = { .kind = TRACE_SEND,
		.port = port,
		.peer = (uint16_t)below(m, m->o->ports),
		.flags = flags(m),
		.tag = ++m->tags,
		.api_tag = one_in(m, 3) ? (uint32_t)m->random : 0 };
	uint64_t bytes = length_of_message(m);
	if (m->o->full)
		bytes = below(m, CAY_FAST_SEND_BYTES + 1);
	fill(m, &i, bytes);
	add(m, &i);
}

static void lock_add(struct made *m, uint16_t port)
{
	struct trace_instruction i = {
		.kind = one_in(m, 2) ? TRACE_WINDOW_LOCK : TRACE_WINDOW_UNLOCK,
		.port = port,
		.peer = (uint16_t)below(m, m->o->ports),
		.window = (uint16_t)below(m, WINDOWS_EACH),
	};
	i.key = m->window[i.peer][i.window].key ^ one_in(m, 8);
	add(m, &i);
}

/* ---- all of it ---- */

static uint16_t open_port(struct made *m)
{
	uint16_t port;
	do
		port = (uint16_t)below(m, m->o->ports);
	while (m->closed[port]);
	return port;
}

/* Rarely, and one port stays. */
static bool close_add(struct made *m, uint16_t port)
{
	uint32_t open = 0;
	for (uint32_t p = 0; p < m->o->ports; p++)
		open += !m->closed[p];
	if (open < 2 || m->o->race || !one_in(m, 200 + m->o->count))
		return false;
	const struct trace_instruction i = {
		.kind = TRACE_PORT_CLOSE, .port = port, .peer = port
	};
	m->closed[port] = true;
	add(m, &i);
	return true;
}

static void instruction_add(struct made *m)
{
	static const enum trace_kind accesses[] = { TRACE_PUT, TRACE_PUT,
		TRACE_GET, TRACE_PUT_MASKED, TRACE_FETCH_ADD,
		TRACE_COMPARE_SWAP };
	uint16_t port = open_port(m);
	uint64_t what = below(m, 100);
	if (close_add(m, port))
		return;
	if (!m->o->race && what < 8)
		owner_add(m, port);
	else if (!m->o->race && what < 10 && m->o->conflicts)
		lock_add(m, port);
	else if (what < (m->o->full ? 70 : 45))
		send_add(m, port);
	else
		access_add(m, port, accesses[below(m, ARRAY_COUNT(accesses))]);
}

static void queues_choose(struct made *m)
{
	struct trace_queues *q = &m->t->queues;
	q->windows = WINDOWS_EACH + 2;
	q->rdr_bytes = RDR_UNIT << QUEUE_RDR_LOG2_MIN;
	q->nq_entries = 16u << below(m, 3);
	q->posted = 2u << below(m, 3);
	if (m->o->race) {
		q->nq_entries = m->o->full ? 16 : 1024;
		q->rdr_bytes = RDR_UNIT << 14;
	}
	for (uint32_t p = 0; p < m->o->ports; p++)
		m->t->port[p].words = !m->o->race && one_in(m, 16);
}

int random_trace(const struct random_options *o, struct trace *t)
{
	struct made m = { .o = o, .t = t, .random = o->seed };
	struct trace_complaint unused;
	if (o->ports == 0 || o->ports > TRACE_PORTS_MAX)
		return -EINVAL;
	trace_open(t);
	t->ports = o->ports;
	m.heavy = !o->race && one_in(&m, 4);
	queues_choose(&m);
	setup_add(&m);
	for (uint32_t n = 0; n < o->count && !m.failure; n++)
		instruction_add(&m);
	int r = m.failure ? m.failure : trace_check(t, &unused);
	if (r)
		trace_free(t);
	return r;
}

uint32_t random_setup(const struct trace *t)
{
	uint32_t n = 0;
	while (n < t->count && !trace_issues(t->instruction[n].kind))
		n++;
	return n;
}
