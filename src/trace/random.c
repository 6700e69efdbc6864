/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traces: windows with all rights, messages of all lengths, accesses of
 * all kinds, most of them valid and some with each kind of error; queues small
 * enough to fill up. See random.h.
 */
#include "trace/random.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "trace/bytes.h"

#define WINDOWS_EACH 3

struct random_window {
	unsigned rights; /* 0: not open */
	uint64_t key, bytes;
};

struct generator {
	const struct random_options *o;
	struct trace *t;
	uint64_t random;
	struct random_window window[TRACE_PORTS_MAX][WINDOWS_EACH];
	bool closed[TRACE_PORTS_MAX];
	uint64_t tags;
	bool long_messages; /* so that the RDR wraps around */
	int error;
};

static uint64_t below(struct generator *g, uint64_t n)
{
	return bytes_random(&g->random) % n;
}

static bool one_in(struct generator *g, uint64_t n)
{
	return below(g, n) == 0;
}

static void add(struct generator *g, const struct trace_instruction *i)
{
	if (!g->error)
		g->error = trace_add(g->t, i);
}

/* ---- payloads ---- */

static uint64_t length_of_message(struct generator *g)
{
	const uint64_t longest = CAY_EAGER_MAX;
	if (g->long_messages && one_in(g, 2))
		return longest - below(g, longest - CAY_FAST_SEND_BYTES);
	switch (below(g, 10)) {
	case 0:
		return CAY_FAST_SEND_BYTES + below(g, 2);
	case 1:
	case 2:
		return CAY_FAST_SEND_BYTES + 1 + below(g, 300);
	case 3:
		return one_in(g, 4) ? longest - below(g, 2) : 64;
	case 4:
		return !g->o->race && one_in(g, 3)
			       ? CAY_EAGER_MAX + 1 + below(g, 3000)
			       : 100;
	default:
		return below(g, CAY_FAST_SEND_BYTES + 1);
	}
}

static void payload_fill(
	struct generator *g, struct trace_instruction *i, uint64_t bytes)
{
	i->bytes = bytes;
	if (bytes == 0)
		return;
	i->seed = bytes_random(&g->random) | 1;
	if (bytes <= TRACE_DATA_MAX && one_in(g, 2)) {
		bytes_generate(i->seed, i->data, bytes);
		i->data_bytes = (uint8_t)bytes;
		i->seed = 0;
	}
}

static uint8_t flags(struct generator *g)
{
	static const uint8_t some[] = { CAY_NOTIFY, CAY_ACK,
		CAY_NOTIFY | CAY_ACK, CAY_FREE_ORDER, CAY_FENCE,
		CAY_FENCE | CAY_NOTIFY, CAY_PRIORITY, CAY_PRIORITY | CAY_NOTIFY,
		CAY_INTERRUPT };
	return one_in(g, 2) ? 0 : some[below(g, ARRAY_COUNT(some))];
}

/* ---- instructions of owners ---- */

static unsigned rights(struct generator *g)
{
	unsigned r = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	if (one_in(g, 4))
		r = 1u << below(g, 3);
	if (one_in(g, 4))
		r |= CAY_RIGHT_NOTIFY_ACCESS;
	if (!g->o->race && one_in(g, 3))
		r |= CAY_RIGHT_NOTIFY_REFUSAL;
	return r;
}

static void window_add(struct generator *g, uint16_t port, uint16_t id)
{
	struct random_window *w = &g->window[port][id];
	struct trace_instruction i = { .kind = TRACE_WINDOW,
		.port = port,
		.peer = port,
		.window = id,
		.rights = (uint8_t)rights(g),
		.key = 1 + below(g, CAY_CAPABILITY_MASK),
		.bytes = 8 * (g->o->ports + below(g, 40)) + below(g, 8) };
	if (g->o->race && g->o->conflicts)
		i.bytes = 8 * (3 + below(g, 2));
	/* Some windows of a port overlap. */
	if (g->o->conflicts && one_in(g, 3))
		i.base = 0x10000 + 8 * below(g, 16) + 0x1000 * port;
	if (one_in(g, 2))
		i.seed = bytes_random(&g->random) | 1;
	*w = (struct random_window){ i.rights, i.key, i.bytes };
	add(g, &i);
}

static void post_add(struct generator *g, uint16_t port)
{
	const struct trace_instruction i = { .kind = TRACE_RECEIVE_POST,
		.port = port,
		.peer = port,
		.bytes = 1 + below(g, one_in(g, 4) ? 12000 : 400),
		.cookie = below(g, 6) };
	add(g, &i);
}

static void window_change(struct generator *g, uint16_t port)
{
	uint16_t id = (uint16_t)below(g, WINDOWS_EACH);
	struct random_window *w = &g->window[port][id];
	struct trace_instruction i = { .kind = TRACE_WINDOW_CLOSE,
		.port = port,
		.peer = port,
		.window = id };
	if (!w->rights && !one_in(g, 8)) {
		window_add(g, port, id);
		return;
	}
	if (one_in(g, 2)) {
		i.kind = TRACE_WINDOW_REVOKE;
		i.key = w->key = 1 + below(g, CAY_CAPABILITY_MASK);
	} else {
		w->rights = 0;
	}
	add(g, &i);
}

static void owner_add(struct generator *g, uint16_t port)
{
	struct trace_instruction i = {
		.kind = TRACE_DRAIN, .port = port, .peer = port
	};
	switch (below(g, 8)) {
	case 0:
		window_change(g, port);
		return;
	case 1:
		i.kind = TRACE_RECEIVE_MODE;
		i.mode = one_in(g, 2) ? CAY_RECEIVE_POSTED_ONLY
				      : CAY_RECEIVE_RDR;
		break;
	case 2:
	case 3:
		post_add(g, port);
		return;
	case 4:
		i.kind = TRACE_RECEIVE_CANCEL;
		i.cookie = below(g, 6);
		break;
	case 5:
		i.kind = TRACE_FLUSH;
		i.peer = (uint16_t)below(g, g->o->ports);
		break;
	}
	add(g, &i);
}

/* ---- accesses ---- */

/* Chooses offset and length inside the window, or inside the origin's part. */
static void place_choose(struct generator *g, struct trace_instruction *i,
	uint64_t most, bool words)
{
	const struct random_window *w = &g->window[i->peer][i->window];
	uint64_t start = 0, size = w->rights ? w->bytes : 8 * g->o->ports;
	if (!g->o->conflicts) {
		size = size / g->o->ports / 8 * 8;
		start = i->port * size;
	}
	uint64_t step = words ? 8 : 1;
	uint64_t length = step * (1 + below(g, bits_min(most, size) / step));
	i->bytes = length;
	i->offset = start + step * below(g, (size - length) / step + 1);
}

/* Corrupts the access, which may stay valid by chance. */
static void corrupt(struct generator *g, struct trace_instruction *i)
{
	switch (below(g, 6)) {
	case 0:
		i->window =
			(uint16_t)(WINDOWS_EACH +
				   below(g, one_in(g, 2) ? 4 : UINT16_MAX - 4));
		break;
	case 1:
		i->key ^= 1ull << below(g, 48);
		break;
	case 2:
		i->offset = g->window[i->peer][i->window % WINDOWS_EACH].bytes +
			    8 - below(g, 24);
		break;
	case 3:
		i->offset = bytes_random(&g->random);
		break;
	case 4:
		i->offset += 1 + below(g, 7);
		break;
	default:
		if (i->kind == TRACE_PUT || (i->kind == TRACE_GET && !i->event))
			i->bytes += 64 * (1 + below(g, 100));
		else
			i->window = UINT16_MAX;
	}
}

/*
 * Makes the access invalid for any window: without conflicts a corrupted access
 * must not hit another origin's part, and racing accesses must stay aligned.
 */
static void corrupt_certainly(struct generator *g, struct trace_instruction *i)
{
	if (one_in(g, 2))
		i->key ^= 1ull << below(g, 48);
	else if (one_in(g, 2))
		i->window = (uint16_t)(WINDOWS_EACH + below(g, 100));
	else
		i->offset = (1ull << 40) + 8 * below(g, 1000);
}

/* Few different values, so that some compare_swap succeed. */
static uint64_t operand(struct generator *g)
{
	return one_in(g, 4) ? bytes_random(&g->random) : below(g, 3);
}

static void access_add(struct generator *g, uint16_t port, enum trace_kind kind)
{
	bool race = g->o->race && g->o->conflicts;
	bool word = trace_is_word(kind);
	struct trace_instruction i = { .kind = kind,
		.port = port,
		.peer = (uint16_t)below(g, g->o->ports),
		.window = (uint16_t)(one_in(g, 2) ? 0 : below(g, WINDOWS_EACH)),
		.flags = flags(g),
		.tag = one_in(g, 3) ? 0 : ++g->tags };
	/* Few windows make conflicts likely. */
	if (race && !one_in(g, 8))
		i.peer = i.window = 0;
	if (!g->window[i.peer][i.window].rights && !one_in(g, 8))
		i.window = 0;
	i.key = g->window[i.peer][i.window].key;
	i.event = kind >= TRACE_GET && one_in(g, 2);

	uint64_t most = race ? CAY_FAST_PUT_BYTES : 200;
	if (word)
		most = 8;
	else if (i.event)
		most = CAY_FAST_PUT_BYTES;
	place_choose(g, &i, most, word || race);
	if (word) {
		i.bytes = 0;
		i.operand[0] = operand(g);
	}
	if (kind == TRACE_PUT_MASKED)
		i.operand[1] = below(g, 256);
	else if (kind == TRACE_COMPARE_SWAP)
		i.operand[1] = operand(g);
	if (one_in(g, 6)) {
		if (race || !g->o->conflicts)
			corrupt_certainly(g, &i);
		else
			corrupt(g, &i);
	}
	if (kind == TRACE_PUT)
		payload_fill(g, &i, i.bytes);
	add(g, &i);
}

static void send_add(struct generator *g, uint16_t port)
{
	struct trace_instruction i = { .kind = TRACE_SEND,
		.port = port,
		.peer = (uint16_t)below(g, g->o->ports),
		.flags = flags(g),
		.tag = ++g->tags,
		.api_tag = one_in(g, 3) ? (uint32_t)g->random : 0 };
	uint64_t bytes = length_of_message(g);
	if (g->o->full)
		bytes = below(g, CAY_FAST_SEND_BYTES + 1);
	if (one_in(g, bytes > CAY_EAGER_MAX ? 2 : 8))
		i.flags |= CAY_BORROW;
	payload_fill(g, &i, bytes);
	add(g, &i);
}

static void lock_add(struct generator *g, uint16_t port)
{
	struct trace_instruction i = {
		.kind = one_in(g, 2) ? TRACE_WINDOW_LOCK : TRACE_WINDOW_UNLOCK,
		.port = port,
		.peer = (uint16_t)below(g, g->o->ports),
		.window = (uint16_t)below(g, WINDOWS_EACH),
	};
	i.key = g->window[i.peer][i.window].key ^ one_in(g, 8);
	add(g, &i);
}

/* ---- the trace ---- */

static void instruction_add(struct generator *g)
{
	static const enum trace_kind accesses[] = { TRACE_PUT, TRACE_PUT,
		TRACE_GET, TRACE_PUT_MASKED, TRACE_FETCH_ADD,
		TRACE_COMPARE_SWAP };
	uint16_t port;
	do
		port = (uint16_t)below(g, g->o->ports);
	while (g->closed[port]);
	uint64_t what = below(g, 100);
	/* Rarely, a port is closed; one stays open. */
	uint32_t open = 0;
	for (uint32_t p = 0; p < g->o->ports; p++)
		open += !g->closed[p];
	if (open > 1 && !g->o->race && one_in(g, 200 + g->o->count)) {
		const struct trace_instruction close = {
			.kind = TRACE_PORT_CLOSE, .port = port, .peer = port
		};
		g->closed[port] = true;
		add(g, &close);
		return;
	}
	if (!g->o->race && what < 8)
		owner_add(g, port);
	else if (!g->o->race && what < 10 && g->o->conflicts)
		lock_add(g, port);
	else if (what < (g->o->full ? 70 : 45))
		send_add(g, port);
	else
		access_add(g, port, accesses[below(g, ARRAY_COUNT(accesses))]);
}

int random_trace(const struct random_options *o, struct trace *t)
{
	struct generator generator = { .o = o, .t = t, .random = o->seed };
	struct generator *g = &generator;
	struct trace_queues *q = &t->queues;
	struct trace_error unused;
	if (o->ports == 0 || o->ports > TRACE_PORTS_MAX)
		return -EINVAL;
	trace_open(t);
	t->ports = o->ports;
	g->long_messages = !o->race && one_in(g, 4);
	q->windows = WINDOWS_EACH + 2;
	q->rdr_bytes = RDR_UNIT << QUEUE_RDR_LOG2_MIN;
	q->nq_entries = 16u << below(g, 3);
	q->posted = 2u << below(g, 3);
	if (o->race) {
		q->nq_entries = o->full ? 16 : 1024;
		q->rdr_bytes = RDR_UNIT << 14;
	}
	for (uint32_t p = 0; p < o->ports; p++)
		t->port[p].words = !o->race && one_in(g, 16);
	for (uint16_t p = 0; p < o->ports; p++) {
		for (uint16_t w = 0; w < WINDOWS_EACH; w++)
			if (w == 0 || one_in(g, 2))
				window_add(g, p, w);
		/* In a race the matching of posted buffers would be random. */
		for (uint64_t n = one_in(g, 3) ? below(g, 6) : 0; n && !o->race;
			n--)
			post_add(g, p);
	}
	for (uint32_t n = 0; n < o->count && !g->error; n++)
		instruction_add(g);
	int r = g->error ? g->error : trace_check(t, &unused);
	if (r)
		trace_free(t);
	return r;
}
