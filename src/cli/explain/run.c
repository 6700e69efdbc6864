/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instructions of `cay explain`, run between port 0, the origin, and port
 * 1, the target, of a fixture. Here: messages, and what all have in common.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cli/explain/explain.h"

/* ---- phases ---- */

void phase_begin(struct fixture *b, struct explanation *e, const char *name,
	const char *who)
{
	struct explain_phase *p = &e->phase[e->phases++];
	p->name = name;
	p->who = who;
	p->counting = (struct counting){ .arena = &b->arena,
		.trace = p->trace,
		.trace_max = EXPLAIN_TRACE_MAX };
	counting_begin(&p->counting);
}

void phase_end(void)
{
	counting_end();
}

int entry_take(struct fixture *b, uint32_t port, struct explanation *e,
	const char *name)
{
	struct context *own = fixture_own(b, port);
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	if (!counting_peek(own, queue_nq(r)))
		return -EIO;
	struct cay_nqe *nqe =
		&own->nq[queue_nq(r) & ((1ull << own->nq_log2) - 1)];
	e->entry[e->entries++] = (struct explain_entry){ name, *nqe };
	return 0;
}

void entry_return(struct fixture *b, uint32_t port)
{
	struct context *own = fixture_own(b, port);
	uint64_t w =
		atomic_load_explicit(&own->control->w, memory_order_relaxed);
	counting_return_entries(own, w & ~W_FLAGS);
}

int target_takes(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "the target takes it", "target");
	int r = entry_take(b, 1, e, "at the target");
	entry_return(b, 1);
	phase_end();
	return r;
}

int origin_takes(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "the origin takes the completion", "origin");
	int r = entry_take(b, 0, e, "at the origin");
	entry_return(b, 0);
	counting_completions_returned(&b->port[0].origin, 1);
	phase_end();
	return r;
}

/* ---- requests ---- */

struct packet packet_of(const struct fixture *b, uint16_t command,
	const struct iovec *payload, unsigned flags)
{
	const struct origin *o = &b->port[0].origin;
	return (struct packet){ .command = command,
		.flags = (uint8_t)flags,
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = EXPLAIN_TAG,
		.api_tag = EXPLAIN_API_TAG,
		.pieces = 1,
		.length = payload->iov_len,
		.payload = payload };
}

/* Its head; the rest is the command's own. */
void vci_fill(struct explanation *e, unsigned command, unsigned flags)
{
	uint64_t *w = e->vci.word;
	w[CAY_VCI_WORD_COMMAND] = command |
				  (uint64_t)flags << CAY_VCI_FLAGS_SHIFT |
				  1ull << CAY_VCI_ROUTING_OFFSET_SHIFT |
				  1ull << CAY_VCI_GENERATION_SHIFT;
	w[CAY_VCI_WORD_TARGET] = fixture_vpid(1) |
				 (uint64_t)EXPLAIN_API_TAG
					 << CAY_VCI_API_TAG_SHIFT;
	w[CAY_VCI_WORD_TAG] = EXPLAIN_TAG;
}

void payload_fill(const struct explanation *e, unsigned char *data)
{
	for (uint64_t i = 0; i < e->bytes; i++)
		data[i] = (unsigned char)(i + 1);
}

/* ---- messages ---- */

static void vci_fill_send(struct explanation *e, unsigned flags)
{
	if (e->bytes > CAY_FAST_SEND_BYTES) {
		vci_fill(e, CAY_SEND, flags);
		e->vci.word[CAY_VCI_WORD_LENGTH] = e->bytes;
		return;
	}
	vci_fill(e, CAY_FAST_SEND | (unsigned)(e->bytes + 7) / 8, flags);
	e->vci.word[CAY_VCI_WORD_TARGET] |= e->bytes << CAY_VCI_BYTES_SHIFT;
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_DATA]);
}

static int prepare_send(struct fixture *b, struct explanation *e)
{
	(void)b;
	vci_fill_send(e, 0);
	return 0;
}

static int prepare_completion(struct fixture *b, struct explanation *e)
{
	(void)b;
	vci_fill_send(e, CAY_VCI_NOTIFY);
	return 0;
}

static int run_fast_send(struct fixture *b, struct explanation *e)
{
	unsigned char data[CAY_FAST_SEND_BYTES];
	payload_fill(e, data);
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_send_fast(&b->port[0].origin, b->port[0].op,
		fixture_route(b, 0, 1), EXPLAIN_TAG, EXPLAIN_API_TAG, data,
		e->bytes);
	phase_end();
	return r ? r : target_takes(b, e);
}

static int send_with(struct fixture *b, struct explanation *e, unsigned flags)
{
	unsigned char data[QUEUE_PAYLOAD_MAX];
	const struct iovec payload = { data, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, flags);
	payload_fill(e, data);
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_send(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r ? r : target_takes(b, e);
}

static int run_send(struct fixture *b, struct explanation *e)
{
	return send_with(b, e, 0);
}

static int run_completion(struct fixture *b, struct explanation *e)
{
	int r = send_with(b, e, CAY_VCI_NOTIFY);
	return r ? r : origin_takes(b, e);
}

/* What fits into the send data region can be asked for by a work request. */
static int prepare_reference(struct fixture *b, struct explanation *e)
{
	if (e->bytes <= b->port[0].origin.sdr_bytes)
		vci_fill_send(e, 0);
	return 0;
}

/* The copy itself is a matter between two processes, not the device's. */
static int target_completes(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "the target takes it and completes", "target");
	int r = entry_take(b, 1, e, "at the target");
	if (r == 0) {
		const uint64_t *w = e->entry[0].nqe.word;
		uint64_t index = w[CAY_NQE_WORD_REFERENCE] - 1;
		const struct completion done = { .tag = w[CAY_NQE_WORD_TAG],
			.api_tag = EXPLAIN_API_TAG,
			.command = CAY_SEND,
			.peer_node = FIXTURE_NODE,
			.peer_vpid = fixture_vpid(1),
			.length = w[CAY_NQE_WORD_LENGTH],
			.reference = (uint16_t)(index + 1),
			.sequence = (uint32_t)w[CAY_NQE_WORD_START] };
		struct context *origin = atomic_load_explicit(
			fixture_route(b, 1, 0), memory_order_relaxed);
		counting_reference_done(&origin->refs[index], done.sequence);
		r = counting_complete(origin, b->port[1].op, &done, 0);
	}
	entry_return(b, 1);
	phase_end();
	return r;
}

static int run_reference(struct fixture *b, struct explanation *e)
{
	struct origin *o = &b->port[0].origin;
	const struct iovec payload = { NULL, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, 0);
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = ARENA_HEAP_OFFSET,
		.length = e->bytes };
	uint32_t index = 0;
	phase_begin(b, e, "the origin issues", "origin");
	int r = counting_send_reference(
		o, b->port[0].op, fixture_route(b, 0, 1), &p, &source, &index);
	phase_end();
	if (r == 0)
		r = target_completes(b, e);
	return r ? r : origin_takes(b, e);
}

/* ---- all of them ---- */

/* As much as the set of lines of a phase can hold. */
#define BYTES_MAX 65536u

const struct explain_instruction explain_instructions[EXPLAIN_INSTRUCTIONS] = {
	{ "fast_send", 8, 0, CAY_FAST_SEND_BYTES, prepare_send, run_fast_send },
	{ "send", 256, 0, QUEUE_PAYLOAD_MAX, prepare_send, run_send },
	{ "reference", 65536, QUEUE_PAYLOAD_MAX + 1, 1ull << 40,
		prepare_reference, run_reference },
	{ "completion", 8, 0, QUEUE_PAYLOAD_MAX, prepare_completion,
		run_completion },
	{ "posted", 4096, CAY_FAST_SEND_BYTES + 1, BYTES_MAX, prepare_posted,
		run_posted },
	{ "fast_put", 8, 1, CAY_FAST_PUT_BYTES, prepare_fast_put, run_put },
	{ "put", 4096, 0, BYTES_MAX, prepare_put, run_put },
	{ "masked_put", 8, 8, 8, prepare_masked_put, run_masked_put },
	{ "fast_get", 8, 1, CAY_FAST_PUT_BYTES, prepare_fast_get,
		run_fast_get },
	{ "get", 4096, 0, BYTES_MAX, prepare_get, run_get },
	{ "faa", 8, 8, 8, prepare_faa, run_faa },
	{ "faa_into", 8, 8, 8, prepare_faa, run_faa_into },
	{ "cas", 8, 8, 8, prepare_cas, run_cas },
	{ "emulated", 8, 8, 8, prepare_emulated, run_emulated },
};

/* One kind of line: "W", "the notification", "4 of payload". */
static void lines_name(
	enum host_kind kind, uint64_t lines, char *text, size_t room)
{
	const char *name = counting_kind_name(kind);
	if (lines > 1)
		snprintf(text, room, "%" PRIu64 " of %s", lines, name);
	else
		snprintf(
			text, room, "%s%s", kind == HOST_W ? "" : "the ", name);
}

/* All kinds of shared lines, with "and" before the last. */
static void lines_list(const struct counting *c, char *text, size_t room)
{
	uint64_t left = 0, used = 0;
	for (int k = 0; k < HOST_KINDS; k++)
		left += k != HOST_RECORD && c->kind[k].lines;
	text[0] = 0;
	for (int k = 0; k < HOST_KINDS; k++) {
		char name[40];
		if (k == HOST_RECORD || c->kind[k].lines == 0)
			continue;
		lines_name((enum host_kind)k, c->kind[k].lines, name,
			sizeof(name));
		const char *joint = left-- > 1 ? ", " : " and ";
		used += (uint64_t)snprintf(text + used, room - used, "%s%s",
			used ? joint : ": ", name);
	}
}

static void explain_meaning(struct explanation *e)
{
	struct phase_sum sum = phase_sum(&e->phase[0]);
	char lines[256];
	lines_list(&e->phase[0].counting, lines, sizeof(lines));
	snprintf(e->meaning, sizeof(e->meaning),
		"The origin writes %" PRIu64 " shared line%s%s; it reads "
		"%" PRIu64 " more; with %" PRIu64
		" atomic operation%s and %s system call. Its op record is a "
		"line of its own that nobody reads on the way.",
		sum.lines_written, sum.lines_written == 1 ? "" : "s", lines,
		sum.lines_read, sum.atomics, sum.atomics == 1 ? "" : "s",
		sum.calls ? "a" : "no");
}

int explain_run(const struct explain_instruction *i, uint64_t bytes,
	struct explanation *e)
{
	struct fixture b;
	memset(e, 0, sizeof(*e));
	e->instruction = i->name;
	e->bytes = bytes;
	int r = fixture_open(&b, 2, &(struct queue_options){ 0 });
	if (r)
		return r;
	r = i->prepare(&b, e);
	if (r == 0)
		r = i->run(&b, e);
	if (r == 0)
		explain_meaning(e);
	fixture_close(&b);
	return r ? r : explain_errors(i, &e->errors);
}
