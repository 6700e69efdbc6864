/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes work requests on machines and records their events. */
#include "cli/explain/journey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cay/ultra.h"
#include "device/machine/machine.h"
#include "device/machine/wire.h"

#define CYCLES_MAX   1000000u
#define WINDOW_BYTES (128u << 10)

/* Of the scenario `order`; what it reads follows. */
#define ORDER_BYTES_MAX (64u << 10)

const char *const journey_scenarios[JOURNEY_SCENARIOS] = { "order", "ultra" };

/* ---- events ---- */

/* Requests have consecutive tags. */
static uint32_t request_of(const struct journey *j, uint64_t tag)
{
	uint64_t n = tag - EXPLAIN_TAG;
	return n < j->requests ? (uint32_t)n + 1 : 0;
}

/* Waiting for several cycles is one event. Returns false if there is none. */
static bool event_repeats(struct journey *j, const struct machine_note *n)
{
	for (uint32_t i = j->events; n->event == MACHINE_HELD && i-- > 0;) {
		struct journey_event *e = &j->event[i];
		if (e->note.tag != n->tag || e->note.node != n->node)
			continue;
		if (e->note.event != MACHINE_HELD ||
			e->note.ordered != n->ordered)
			return false;
		e->cycles++;
		return true;
	}
	return false;
}

static void event_add(void *to, const struct machine_note *n)
{
	struct journey *j = to;
	if (event_repeats(j, n))
		return;
	if (j->events == j->events_max) {
		uint32_t most = j->events_max ? 2 * j->events_max : 64;
		struct journey_event *grown =
			realloc(j->event, most * sizeof(*grown));
		if (!grown) {
			j->failed = true;
			return;
		}
		j->event = grown;
		j->events_max = most;
	}
	struct journey_event *e = &j->event[j->events++];
	*e = (struct journey_event){
		.note = *n, .request = request_of(j, n->tag), .cycles = 1
	};
	if (n->packet)
		e->header = *n->packet;
	if (n->event != MACHINE_TRANSMITTED)
		return;
	j->packets++;
	j->bytes += n->size;
	if (n->bytes) {
		e->bytes = malloc(n->size);
		j->failed |= !e->bytes;
		if (e->bytes)
			memcpy(e->bytes, n->bytes, n->size);
	}
}

void journey_free(struct journey *j)
{
	for (uint32_t i = 0; i < j->events; i++)
		free(j->event[i].bytes);
	free(j->event);
	j->event = NULL;
	j->events = 0;
}

/* ---- the machines ---- */

struct journey_machines {
	struct machine *machine[2];
	uint32_t count;
	struct wire *wire;
	struct fixture fixture;
};

/* Origins are on the first machine, the last port is on the last one. */
static uint32_t home_of(const struct journey_machines *x, uint32_t port)
{
	return port + 1 == x->fixture.ports ? x->count - 1 : 0;
}

static int machines_open(
	struct journey_machines *x, struct journey *j, uint32_t ports)
{
	/* One hop there, one hop back. */
	const struct routing_string string = { .tag = 2,
		.count = 4,
		.phit = { phit_make(0, 1, 0), STRING_PORT_ANY | STRING_RETURN,
			phit_make(1, 1, 0), STRING_PORT_ANY } };
	int r = 0;
	x->count = j->options->local ? 1 : 2;
	for (uint32_t i = 0; r == 0 && i < x->count; i++) {
		r = machine_open(
			&x->machine[i], &j->options->config, i + 1, ports);
		if (r == 0)
			machine_observe(x->machine[i], event_add, j);
	}
	for (uint32_t p = 0; r == 0 && p < ports; p++) {
		struct machine *m = x->machine[home_of(x, p)];
		r = machine_attach(m, fixture_own(&x->fixture, p));
		if (r)
			break;
		struct origin *o = machine_origin(m, fixture_vpid(p));
		o->routes = x->fixture.port[p].origin.routes;
		o->windows = x->fixture.port[p].origin.windows;
	}
	if (r == 0 && x->count == 2)
		r = machine_route(x->machine[0], ports - 1,
			&(struct machine_peer){ 2,
				fixture_own(&x->fixture, ports - 1)->epoch,
				fixture_vpid(ports - 1) },
			&string);
	return r ? r : wire_open(&x->wire, x->machine, x->count, 0, 1);
}

static void machines_close(struct journey_machines *x)
{
	wire_close(x->wire);
	for (uint32_t i = 0; i < x->count; i++)
		machine_close(x->machine[i]);
}

static bool machines_step(struct journey_machines *x, struct journey *j)
{
	bool more = wire_step(x->wire);
	for (uint32_t i = 0; i < x->count; i++)
		more |= machine_step(x->machine[i]);
	j->cycles++;
	return more;
}

/* Posts and triggers all requests in the first cycle, then runs to the end. */
static int machines_run(struct journey_machines *x, struct journey *j)
{
	for (uint32_t i = 0; i < j->requests; i++) {
		const struct journey_request *r = &j->request[i];
		uint16_t vpid = fixture_vpid(r->from);
		if (!machine_post(x->machine[0], vpid, &r->vci) ||
			!machine_trigger(x->machine[0], vpid, CAY_ISSUE_VCI, 1)
				 .accepted)
			return -EAGAIN;
	}
	while (j->cycles < CYCLES_MAX && machines_step(x, j))
		;
	if (j->failed)
		return -ENOMEM;
	return machine_counts(x->machine[0])->retired == j->requests ? 0 : -EIO;
}

/* ---- what is executed ---- */

/* Routes a request to the last port, and gives it the tag of its number. */
static void request_add(struct journey *j, uint32_t from, uint32_t to,
	const struct cay_vci *vci, uint64_t bytes)
{
	struct journey_request *r = &j->request[j->requests];
	uint64_t *w = r->vci.word;
	*r = (struct journey_request){
		.from = from, .to = to, .bytes = bytes, .vci = *vci
	};
	w[CAY_VCI_WORD_COMMAND] &= ~(
		0xffull << CAY_VCI_ROUTING_LENGTH_SHIFT |
		CAY_VCI_ROUTING_OFFSET_MASK << CAY_VCI_ROUTING_OFFSET_SHIFT);
	w[CAY_VCI_WORD_COMMAND] |= (j->options->local ? 1ull : 2ull)
					   << CAY_VCI_ROUTING_LENGTH_SHIFT |
				   (uint64_t)to << CAY_VCI_ROUTING_OFFSET_SHIFT;
	w[CAY_VCI_WORD_TARGET] &= ~0xffffull;
	w[CAY_VCI_WORD_TARGET] |= fixture_vpid(to);
	w[CAY_VCI_WORD_TAG] = EXPLAIN_TAG + j->requests++;
}

static int prepare_one(struct journey *j, struct fixture *b,
	const struct explain_instruction *i, uint64_t bytes)
{
	static struct explanation e;
	memset(&e, 0, sizeof(e));
	e.bytes = bytes;
	int r = i->prepare(b, &e);
	if (r)
		return r;
	if (bytes > b->port[0].origin.sdr_bytes)
		return -EMSGSIZE;
	/* The payload of a SEND is in the SDR, that of a PUT in window 0. */
	payload_fill(&e, b->port[0].origin.sdr);
	if (b->port[0].windows) {
		payload_fill(&e, b->port[0].windows[0].base);
		if (i->bytes_max > 8)
			payload_fill(&e, fixture_at(b, e.memory));
	}
	request_add(j, 0, 1, &e.vci, bytes);
	return 0;
}

/*
 * Two origins, one target: a PUT of several packets and then a GET of its last
 * word by the first origin, which must not overtake it although another kind of
 * unit executes it, and a FAST_SEND by the second origin, which may.
 */
static int prepare_order(struct journey *j, struct fixture *b)
{
	uint64_t own = fixture_memory(b, WINDOW_BYTES);
	uint64_t target = fixture_memory(b, WINDOW_BYTES), key, unused;
	uint64_t bytes =
		bits_min(3ull * j->options->config.mtu, ORDER_BYTES_MAX);
	struct cay_vci put = { .word = { CAY_PUT } };
	struct cay_vci get = { .word = { CAY_GET } };
	struct cay_vci send = { .word = { CAY_FAST_SEND | 1u,
					8ull << CAY_VCI_BYTES_SHIFT } };
	if (!own || !target)
		return -ENOMEM;
	int r = fixture_window(b, 2, 0, target, WINDOW_BYTES,
		CAY_RIGHT_READ | CAY_RIGHT_WRITE, &key);
	if (r == 0)
		r = fixture_window(
			b, 0, 0, own, WINDOW_BYTES, CAY_RIGHT_READ, &unused);
	if (r)
		return r;
	put.word[CAY_VCI_WORD_WINDOW] = key << CAY_VCI_CAPABILITY_SHIFT;
	put.word[CAY_VCI_WORD_BYTES] = bytes;
	get.word[CAY_VCI_WORD_WINDOW] = key << CAY_VCI_CAPABILITY_SHIFT;
	get.word[CAY_VCI_WORD_OFFSET] = bytes - 8;
	get.word[CAY_VCI_WORD_ORIGIN_OFFSET] = ORDER_BYTES_MAX;
	get.word[CAY_VCI_WORD_BYTES] = 8;
	memset(fixture_at(b, own), 0xa5, bytes);
	request_add(j, 0, 2, &put, bytes);
	request_add(j, 0, 2, &get, 8);
	request_add(j, 1, 2, &send, 8);
	return 0;
}

/* The GET has read what the PUT has stored. */
static int check_order(const struct fixture *b)
{
	const unsigned char *own = b->port[0].windows[0].base;
	return memcmp(own, own + ORDER_BYTES_MAX, 8) == 0 ? 0 : -EIO;
}

/* ---- ULTRA ---- */

#define ULTRA_SLICES_LOG2 2

/* One line each: a message with NOTIFY, one with ACK, one with IRQ. */
static int prepare_ultra(struct journey *j)
{
	static const uint8_t bytes[] = { 8, CAY_ULTRA_LINE_MAX, 0 };
	for (uint32_t i = 0; i < ARRAY_COUNT(bytes); i++)
		j->request[j->requests++] = (struct journey_request){ .from = 0,
			.to = 1,
			.bytes = bytes[i],
			.vci = { .word = { PACKET_ULTRA | 1u << i } } };
	return 0;
}

/* Writes all messages in the first cycle; the target polls in each. */
static int machines_run_ultra(struct journey_machines *x, struct journey *j)
{
	static struct ultra_return_page page;
	static struct ultra_origin_page own;
	static const unsigned char data[CAY_ULTRA_LINE_MAX];
	uint64_t at = fixture_memory(&x->fixture, 4096);
	struct machine *target = x->machine[home_of(x, 1)];
	const struct machine_ultra_ends e = { .origin = x->machine[0],
		.target = target,
		.vpid = fixture_vpid(0),
		.queue = { .vpid = fixture_vpid(1),
			.slice_log2 = ULTRA_SLICE_LOG2_MIN,
			.slices_log2 = ULTRA_SLICES_LOG2,
			.slices = fixture_at(&x->fixture, at) },
		.route = 1,
		.entries = 4 };
	struct ultra_completer reader = { .page = &page, .origin = &own };
	uint16_t oupid, tupid;
	int r = at ? machine_ultra_path(&e, &oupid, &tupid) : -ENOMEM;
	page.position = 0;
	ultra_cursor_init(&reader.next, e.queue.slices, e.queue.slice_log2,
		e.queue.slices_log2);
	for (uint32_t i = 0; r == 0 && i < j->requests; i++)
		r = machine_ultra_write(x->machine[0], fixture_vpid(0), oupid,
			EXPLAIN_TAG + i, data, j->request[i].bytes,
			(unsigned)j->request[i].vci.word[0] & CAY_COMMAND_MASK);
	for (bool more = r == 0; more && j->cycles < CYCLES_MAX;) {
		unsigned char buffer[CAY_ULTRA_LINE_MAX];
		uint64_t returned = page.position;
		more = machines_step(x, j);
		if (counting_ultra_receive(
			    &reader, NULL, buffer, sizeof(buffer)) >= 0)
			more = true;
		if (page.position != returned)
			r = machine_ultra_return(
				target, fixture_vpid(1), tupid, page.position);
	}
	if (r)
		return r;
	struct machine_ultra_status s;
	r = machine_ultra_origin_status(
		x->machine[0], fixture_vpid(0), oupid, &s);
	if (j->failed)
		return -ENOMEM;
	return r == 0 && s.returned == j->requests ? 0 : -EIO;
}

int journey_run(const struct explain_instruction *i,
	enum journey_scenario scenario, uint64_t bytes,
	const struct journey_options *options, struct journey *j)
{
	bool order = !i && scenario == JOURNEY_ORDER;
	bool ultra = !i && scenario == JOURNEY_ULTRA;
	struct journey_machines x = { 0 };
	uint32_t ports = order ? 3 : 2;
	*j = (struct journey){ .options = options,
		.name = i ? i->name : journey_scenarios[scenario] };
	int r = fixture_open(&x.fixture, ports, &(struct queue_options){ 0 });
	if (r)
		return r;
	r = order   ? prepare_order(j, &x.fixture)
	    : ultra ? prepare_ultra(j)
		    : prepare_one(j, &x.fixture, i, bytes);
	if (r == 0)
		r = machines_open(&x, j, ports);
	if (r == 0) {
		j->counted.arena = &x.fixture.arena;
		counting_begin(&j->counted);
		r = ultra ? machines_run_ultra(&x, j) : machines_run(&x, j);
		counting_end();
		if (r == 0 && order && !options->config.key_type)
			r = check_order(&x.fixture);
	}
	machines_close(&x);
	fixture_close(&x.fixture);
	j->counted.arena = NULL;
	if (r)
		journey_free(j);
	return r;
}
