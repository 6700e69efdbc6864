/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory for `cay explain`. Target and origin have a window 0 on memory
 * of the arena; work requests for put and get move bytes between the two
 * windows.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

#define WINDOW_BYTES (128u << 10)
#define RIGHTS	     (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)
#define OPERAND	     5 /* addend, or value to swap in */
#define ENABLES	     0x0f

/* ---- set-up ---- */

/* Opens window 0 at both ports; the access names window 0 and offset 0. */
static int prepare(struct fixture *b, struct explanation *e, unsigned command)
{
	uint64_t own = fixture_memory(b, WINDOW_BYTES), unused;
	e->memory = fixture_memory(b, WINDOW_BYTES);
	if (!own || !e->memory)
		return -ENOMEM;
	int r = fixture_window(
		b, 1, 0, e->memory, WINDOW_BYTES, RIGHTS, &e->capability);
	if (r == 0)
		r = fixture_window(b, 0, 0, own, WINDOW_BYTES, RIGHTS, &unused);
	vci_fill(e, command, 0);
	e->vci.word[CAY_VCI_WORD_WINDOW] = e->capability
					   << CAY_VCI_CAPABILITY_SHIFT;
	return r;
}

/* Between window 0 of the origin and window 0 of the target. */
static int prepare_bytes(
	struct fixture *b, struct explanation *e, unsigned command)
{
	int r = prepare(b, e, command);
	e->vci.word[CAY_VCI_WORD_BYTES] = e->bytes;
	return r;
}

static int prepare_fast(
	struct fixture *b, struct explanation *e, unsigned command)
{
	int r = prepare(b, e, command | (unsigned)(e->bytes + 7) / 8);
	e->vci.word[CAY_VCI_WORD_TARGET] |= e->bytes << CAY_VCI_BYTES_SHIFT;
	return r;
}

static int prepare_put(struct fixture *b, struct explanation *e)
{
	return prepare_bytes(b, e, CAY_PUT);
}

static int prepare_get(struct fixture *b, struct explanation *e)
{
	return prepare_bytes(b, e, CAY_GET);
}

static int prepare_fast_put(struct fixture *b, struct explanation *e)
{
	int r = prepare_fast(b, e, CAY_FAST_PUT);
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_OPERAND]);
	return r;
}

static int prepare_fast_get(struct fixture *b, struct explanation *e)
{
	return prepare_fast(b, e, CAY_FAST_GET);
}

static int prepare_masked_put(struct fixture *b, struct explanation *e)
{
	int r = prepare(b, e, CAY_MISALIGNED_PUT);
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_OPERAND]);
	e->vci.word[CAY_VCI_WORD_OPERAND + 1] = ENABLES;
	return r;
}

static int prepare_faa(struct fixture *b, struct explanation *e)
{
	e->vci.word[CAY_VCI_WORD_OPERAND] = OPERAND;
	return prepare(b, e, CAY_FAA);
}

static int prepare_cas(struct fixture *b, struct explanation *e)
{
	e->vci.word[CAY_VCI_WORD_OPERAND + 1] = OPERAND;
	return prepare(b, e, CAY_CAS);
}

/* ---- put and get without flags: the fast path ---- */

static struct cay_key key_of(const struct explanation *e)
{
	return (struct cay_key){ .capability = e->capability };
}

static int run_put(struct fixture *b, struct explanation *e)
{
	static unsigned char data[WINDOW_BYTES];
	payload_fill(e, data);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_put(&b->port[0].origin, fixture_route(b, 0, 1),
		key_of(e), 0, data, e->bytes, EXPLAIN_TAG, b->port[0].op);
	phase_end();
	if (r)
		return r;
	return memcmp(fixture_at(b, e->memory), data, e->bytes) ? -EIO : 0;
}

static int run_get(struct fixture *b, struct explanation *e)
{
	static unsigned char data[WINDOW_BYTES];
	payload_fill(e, fixture_at(b, e->memory));
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_get(&b->port[0].origin, fixture_route(b, 0, 1),
		key_of(e), 0, data, e->bytes, EXPLAIN_TAG, b->port[0].op);
	phase_end();
	if (r)
		return r;
	return memcmp(fixture_at(b, e->memory), data, e->bytes) ? -EIO : 0;
}

/* ---- accesses with a packet ---- */

static struct packet packet_remote(const struct fixture *b,
	const struct explanation *e, uint16_t command,
	const struct iovec *payload)
{
	const struct origin *o = &b->port[0].origin;
	return (struct packet){ .command = command,
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = EXPLAIN_TAG,
		.api_tag = EXPLAIN_API_TAG,
		.pieces = 1,
		.length = e->bytes,
		.payload = payload,
		.capability = e->capability,
		.operand = { e->vci.word[CAY_VCI_WORD_OPERAND],
			e->vci.word[CAY_VCI_WORD_OPERAND + 1] },
		.origin_lock = o->lock_word };
}

static int access_issue(struct fixture *b, struct explanation *e,
	uint16_t command, const struct iovec *payload)
{
	const struct packet p = packet_remote(b, e, command, payload);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_access(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r > 0 ? -EIO : r;
}

static int run_masked_put(struct fixture *b, struct explanation *e)
{
	return access_issue(b, e, CAY_MISALIGNED_PUT, NULL);
}

static int run_fast_get(struct fixture *b, struct explanation *e)
{
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	const struct iovec payload = { fetched, e->bytes };
	payload_fill(e, fixture_at(b, e->memory));
	int r = access_issue(
		b, e, (uint16_t)(CAY_FAST_GET | (e->bytes + 7) / 8), &payload);
	return r ? r : origin_receives(b, e);
}

static int run_faa(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_FAA, NULL);
	return r ? r : origin_receives(b, e);
}

static int run_cas(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_CAS, NULL);
	return r ? r : origin_receives(b, e);
}

/* Stores the previous value in memory instead of the completion. */
static int run_faa_into(struct fixture *b, struct explanation *e)
{
	uint64_t previous;
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_fetch_add(&b->port[0].origin, fixture_route(b, 0, 1),
		key_of(e), 0, OPERAND, &previous, EXPLAIN_TAG, b->port[0].op);
	phase_end();
	return r;
}

/* ---- emulated: an atomic on ordinary memory of the owner ---- */

/* As the port library sends it: staged, and then by reference. */
static int emulated_send(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	const struct context *target =
		atomic_load_explicit(to, memory_order_relaxed);
	struct emulated_access *c = (void *)o->sdr;
	const struct reference source = { .kind = REFERENCE_ACCESS,
		.address = (uint64_t)(o->sdr - target->arena->base),
		.length = sizeof(*c) };
	uint32_t index;
	*c = (struct emulated_access){ .command = p->command,
		.window = p->window,
		.capability = p->capability,
		.offset = p->offset,
		.length = p->length,
		.operand = { p->operand[0], p->operand[1] } };
	return counting_send_reference(o, op, to, p, &source, &index);
}

static int prepare_emulated(struct fixture *b, struct explanation *e)
{
	int r = prepare_faa(b, e);
	b->port[0].origin.send_emulated = emulated_send;
	if (r == 0)
		b->port[1].origin.wdt[0].pid = (uint32_t)getpid();
	return r;
}

/* The target polls, executes the access and completes it. */
static int target_executes(struct fixture *b, struct explanation *e)
{
	const struct origin_window window = { fixture_at(b, e->memory),
		WINDOW_BYTES };
	const struct packet p = packet_remote(b, e, CAY_FAA, NULL);
	struct response response = { 0 };
	uint32_t rights;
	struct completion done = completion_of(e, CAY_FAA);
	struct context *origin = atomic_load_explicit(
		fixture_route(b, 1, 0), memory_order_relaxed);
	struct reference *slot = &origin->refs[done.reference - 1];
	if (!counting_reference_begin(slot, done.sequence))
		return -EIO;
	int r = counting_execute_emulated(fixture_own(b, 1), b->port[1].op, &p,
		&window, &response, &rights);
	done.result = response.result;
	done.previous = response.previous;
	counting_reference_done(slot, done.sequence);
	if (r)
		return r > 0 ? -EIO : r;
	return counting_complete(origin, b->port[1].op, &done, 0);
}

static int run_emulated(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_FAA, NULL);
	if (r)
		return r;
	phase_begin(b, e, "target polls, executes and completes", "target");
	r = entry_consume(b, 1, e, "at the target");
	if (r == 0)
		r = target_executes(b, e);
	entries_return(b, 1);
	phase_end();
	return r ? r : origin_receives(b, e);
}

const struct explain_instruction explain_accesses[EXPLAIN_ACCESSES] = {
	{ "fast_put", 8, 1, CAY_FAST_PUT_BYTES, prepare_fast_put, run_put,
		false },
	{ "put", 4096, 0, EXPLAIN_BYTES_MAX, prepare_put, run_put, false },
	{ "masked_put", 8, 8, 8, prepare_masked_put, run_masked_put, false },
	{ "fast_get", 8, 1, CAY_FAST_PUT_BYTES, prepare_fast_get, run_fast_get,
		false },
	{ "get", 4096, 0, EXPLAIN_BYTES_MAX, prepare_get, run_get, false },
	{ "faa", 8, 8, 8, prepare_faa, run_faa, false },
	{ "faa_into", 8, 8, 8, prepare_faa, run_faa_into, true },
	{ "cas", 8, 8, 8, prepare_cas, run_cas, false },
	{ "emulated", 8, 8, 8, prepare_emulated, run_emulated, true },
};
