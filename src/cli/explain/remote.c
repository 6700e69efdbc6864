/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory and posted receives for `cay explain`. The target has a window
 * 0 on memory of the arena, the origin one too, for work requests that move
 * bytes between two windows.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

#define WINDOW_BYTES (128u << 10)
#define RIGHTS	     (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)
#define OPERAND	     5 /* what is added, or swapped in */
#define ENABLES	     0x0f

/* ---- before it is issued ---- */

static int windows_open(struct fixture *b, struct explanation *e)
{
	uint64_t mine = fixture_memory(b, WINDOW_BYTES), unused;
	e->memory = fixture_memory(b, WINDOW_BYTES);
	if (!mine || !e->memory)
		return -ENOMEM;
	int r = fixture_window(
		b, 1, 0, e->memory, WINDOW_BYTES, RIGHTS, &e->capability);
	return r ? r
		 : fixture_window(b, 0, 0, mine, WINDOW_BYTES, RIGHTS, &unused);
}

/* Window 0 and offset 0 at the target. */
static int prepare(struct fixture *b, struct explanation *e, unsigned command)
{
	vci_fill(e, command, 0);
	int r = windows_open(b, e);
	e->vci.word[CAY_VCI_WORD_WINDOW] = e->capability
					   << CAY_VCI_CAPABILITY_SHIFT;
	return r;
}

/* The origin's window 0 too. */
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

int prepare_put(struct fixture *b, struct explanation *e)
{
	return prepare_bytes(b, e, CAY_PUT);
}

int prepare_get(struct fixture *b, struct explanation *e)
{
	return prepare_bytes(b, e, CAY_GET);
}

int prepare_fast_put(struct fixture *b, struct explanation *e)
{
	int r = prepare_fast(b, e, CAY_FAST_PUT);
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_OPERAND]);
	return r;
}

int prepare_fast_get(struct fixture *b, struct explanation *e)
{
	return prepare_fast(b, e, CAY_FAST_GET);
}

int prepare_masked_put(struct fixture *b, struct explanation *e)
{
	int r = prepare(b, e, CAY_MISALIGNED_PUT);
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_OPERAND]);
	e->vci.word[CAY_VCI_WORD_OPERAND + 1] = ENABLES;
	return r;
}

int prepare_faa(struct fixture *b, struct explanation *e)
{
	e->vci.word[CAY_VCI_WORD_OPERAND] = OPERAND;
	return prepare(b, e, CAY_FAA);
}

int prepare_cas(struct fixture *b, struct explanation *e)
{
	e->vci.word[CAY_VCI_WORD_OPERAND + 1] = OPERAND;
	return prepare(b, e, CAY_CAS);
}

int prepare_posted(struct fixture *b, struct explanation *e)
{
	vci_fill(e, CAY_SEND, 0);
	e->vci.word[CAY_VCI_WORD_LENGTH] = e->bytes;
	e->memory = fixture_memory(b, WINDOW_BYTES);
	if (!e->memory)
		return -ENOMEM;
	return fixture_post(b, 1, e->memory, WINDOW_BYTES, EXPLAIN_TAG);
}

/* ---- put and get, in the straight line of a request without flags ---- */

static struct target target_of(const struct explanation *e)
{
	return (struct target){ .capability = e->capability };
}

int run_put(struct fixture *b, struct explanation *e)
{
	static unsigned char data[WINDOW_BYTES];
	const struct target t = target_of(e);
	payload_fill(e, data);
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_put(&b->port[0].origin, b->port[0].op,
		fixture_route(b, 0, 1), &t, data, e->bytes, EXPLAIN_TAG);
	phase_end();
	if (r)
		return r;
	return memcmp(fixture_at(b, e->memory), data, e->bytes) ? -EIO : 0;
}

int run_get(struct fixture *b, struct explanation *e)
{
	static unsigned char data[WINDOW_BYTES];
	const struct target t = target_of(e);
	payload_fill(e, fixture_at(b, e->memory));
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_get(&b->port[0].origin, b->port[0].op,
		fixture_route(b, 0, 1), &t, data, e->bytes, EXPLAIN_TAG);
	phase_end();
	if (r)
		return r;
	return memcmp(fixture_at(b, e->memory), data, e->bytes) ? -EIO : 0;
}

/* ---- with a packet ---- */

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
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_access(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r > 0 ? -EIO : r;
}

int run_masked_put(struct fixture *b, struct explanation *e)
{
	return access_issue(b, e, CAY_MISALIGNED_PUT, NULL);
}

int run_fast_get(struct fixture *b, struct explanation *e)
{
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	const struct iovec payload = { fetched, e->bytes };
	payload_fill(e, fixture_at(b, e->memory));
	int r = access_issue(
		b, e, (uint16_t)(CAY_FAST_GET | (e->bytes + 7) / 8), &payload);
	return r ? r : origin_takes(b, e);
}

int run_faa(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_FAA, NULL);
	return r ? r : origin_takes(b, e);
}

int run_cas(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_CAS, NULL);
	return r ? r : origin_takes(b, e);
}

/* The previous value into memory instead of an event. */
int run_faa_into(struct fixture *b, struct explanation *e)
{
	const struct target t = target_of(e);
	const uint64_t operand[2] = { OPERAND, 0 };
	uint64_t previous;
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_atomic(&b->port[0].origin, b->port[0].op,
		fixture_route(b, 0, 1), &t, CAY_FAA, operand, &previous,
		EXPLAIN_TAG);
	phase_end();
	return r;
}

/* ---- emulated: a FAA on memory that is the owner's own ---- */

/* As port/carry.c does it: staged, and then as a long message. */
static int carry(struct origin *o, struct op_record *op,
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

int prepare_emulated(struct fixture *b, struct explanation *e)
{
	int r = prepare_faa(b, e);
	b->port[0].origin.send_emulated = carry;
	if (r == 0)
		b->port[1].origin.wdt[0].pid = (uint32_t)getpid();
	return r;
}

static int emulated_execute(
	struct fixture *b, struct explanation *e, struct completion *done)
{
	const struct packet p = packet_remote(b, e, CAY_FAA, NULL);
	struct response response = { 0 };
	uint32_t rights;
	const struct origin_window window = { fixture_at(b, e->memory),
		WINDOW_BYTES };
	int r = counting_execute_emulated(fixture_own(b, 1), b->port[1].op, &p,
		&window, &response, &rights);
	done->result = response.result;
	done->previous = response.previous;
	return r > 0 ? -EIO : r;
}

static int emulated_complete(struct fixture *b, struct explanation *e)
{
	const uint64_t *w = e->entry[0].nqe.word;
	uint64_t index = w[CAY_NQE_WORD_REFERENCE] - 1;
	struct completion done = { .tag = w[CAY_NQE_WORD_TAG],
		.api_tag = EXPLAIN_API_TAG,
		.command = CAY_FAA,
		.peer_node = FIXTURE_NODE,
		.peer_vpid = fixture_vpid(1),
		.length = e->bytes,
		.reference = (uint16_t)(index + 1),
		.sequence = (uint32_t)w[CAY_NQE_WORD_START] };
	struct context *origin = atomic_load_explicit(
		fixture_route(b, 1, 0), memory_order_relaxed);
	struct reference *slot = &origin->refs[index];
	if (!counting_reference_begin(slot, done.sequence))
		return -EIO;
	int r = emulated_execute(b, e, &done);
	counting_reference_done(slot, done.sequence);
	return r ? r : counting_complete(origin, b->port[1].op, &done, 0);
}

int run_emulated(struct fixture *b, struct explanation *e)
{
	int r = access_issue(b, e, CAY_FAA, NULL);
	if (r)
		return r;
	phase_begin(b, e, "the target polls, makes it and completes", "target");
	r = entry_take(b, 1, e, "at the target");
	if (r == 0)
		r = emulated_complete(b, e);
	entry_return(b, 1);
	phase_end();
	return r ? r : origin_takes(b, e);
}

/* ---- posted receives ---- */

int run_posted(struct fixture *b, struct explanation *e)
{
	static unsigned char data[WINDOW_BYTES];
	const struct iovec payload = { data, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, 0);
	payload_fill(e, data);
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_send(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r ? r : target_takes(b, e);
}
