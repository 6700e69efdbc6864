/* SPDX-License-Identifier: BSD-2-Clause */
/* See outcome.h. */
#include "trace/outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cay/error.h"
#include "trace/bytes.h"

int outcome_open(struct outcome *o, const struct trace *t)
{
	uint32_t regions = t->regions ? t->regions : 1;
	*o = (struct outcome){ .trace = t,
		.port = calloc(t->ports + 1, sizeof(*o->port)),
		.result = calloc(t->count + 1, sizeof(*o->result)),
		.memory = calloc(regions, sizeof(*o->memory)) };
	if (!o->port || !o->result || !o->memory)
		goto err_free;
	for (uint32_t i = 0; i < t->regions; i++) {
		/* One more byte for ORACLE_BOUNDS. */
		o->memory[i] = calloc(1, t->region[i].bytes + 1);
		if (!o->memory[i])
			goto err_free;
	}
	return 0;
err_free:
	outcome_free(o);
	return -ENOMEM;
}

void outcome_free(struct outcome *o)
{
	for (uint32_t i = 0; o->port && i < o->trace->ports; i++)
		free(o->port[i].nqe);
	for (uint32_t i = 0; o->memory && i < o->trace->regions; i++)
		free(o->memory[i]);
	free(o->port);
	free(o->result);
	free(o->memory);
	*o = (struct outcome){ 0 };
}

void outcome_add(struct outcome *o, uint32_t port, const struct outcome_nqe *n)
{
	struct outcome_port *p = &o->port[port];
	if (p->count == p->capacity) {
		uint32_t capacity = p->capacity ? 2 * p->capacity : 16;
		struct outcome_nqe *grown =
			realloc(p->nqe, capacity * sizeof(*grown));
		if (!grown) {
			o->failed = true;
			return;
		}
		p->nqe = grown;
		p->capacity = capacity;
	}
	p->nqe[p->count++] = *n;
}

uint64_t outcome_memory_digest(const struct outcome *o, uint32_t region)
{
	return bytes_digest(o->memory[region], o->trace->region[region].bytes);
}

uint64_t outcome_nqes_digest(const struct outcome *o, uint32_t port)
{
	const struct outcome_port *p = &o->port[port];
	uint64_t digest = p->count;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct outcome_nqe *n = &p->nqe[i];
		digest = bytes_mix(
			digest, n->command | (uint64_t)n->bytes << 16 |
					(uint64_t)n->peer << 32 |
					(uint64_t)n->completed << 48);
		digest = bytes_mix(digest, n->api_tag);
		digest = bytes_mix(digest, n->tag);
		for (int w = 0; w < 3; w++)
			digest = bytes_mix(digest, n->word[w]);
		digest = bytes_mix(digest, n->payload);
	}
	return digest;
}

void outcome_describe(const struct outcome_nqe *n, char *text, size_t size)
{
	unsigned error = outcome_error(n);
	snprintf(text, size,
		"%s from %u%s%s of %s tag 0x%" PRIx64 " api_tag 0x%" PRIx32
		" bytes %u words 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
		" payload %016" PRIx64,
		cay_command_name(outcome_command(n)), n->peer,
		error ? " error " : "", error ? cay_error_name(error) : "",
		n->completed ? cay_command_name(n->completed) : "nothing",
		n->tag, n->api_tag, n->bytes, n->word[0], n->word[1],
		n->word[2], n->payload);
}

bool outcome_nqe_equal(const struct outcome_nqe *a, const struct outcome_nqe *b)
{
	return a->command == b->command && a->bytes == b->bytes &&
	       a->peer == b->peer && a->completed == b->completed &&
	       a->api_tag == b->api_tag && a->tag == b->tag &&
	       memcmp(a->word, b->word, sizeof(a->word)) == 0 &&
	       a->payload == b->payload;
}

static bool nqes_differ(const struct outcome_port *x,
	const struct outcome_port *y, uint32_t port, char *text, size_t size)
{
	char one[300] = "none", other[300] = "none";
	uint32_t i = 0;
	while (i < x->count && i < y->count &&
		outcome_nqe_equal(&x->nqe[i], &y->nqe[i]))
		i++;
	if (i == x->count && i == y->count)
		return false;
	if (i < x->count)
		outcome_describe(&x->nqe[i], one, sizeof(one));
	if (i < y->count)
		outcome_describe(&y->nqe[i], other, sizeof(other));
	snprintf(text, size, "port %u, notification %u: %s; %s", port, i, one,
		other);
	return true;
}

static bool results_differ(const struct outcome *a, const struct outcome *b,
	bool retries, uint32_t i, char *text, size_t size)
{
	const struct outcome_result *x = &a->result[i], *y = &b->result[i];
	if (x->result == y->result && x->data_digest == y->data_digest &&
		(x->retried == y->retried || !retries))
		return false;
	char line[TRACE_LINE_MAX];
	size_t length = trace_line(&a->trace->instruction[i], line);
	line[length - 1] = 0;
	snprintf(text, size,
		"instruction %u (%s): result %d%s data %016" PRIx64
		"; result %d%s data %016" PRIx64,
		i, line, x->result, x->retried ? " retried" : "",
		x->data_digest, y->result, y->retried ? " retried" : "",
		y->data_digest);
	return true;
}

static bool memory_differs(const struct outcome *a, const struct outcome *b,
	uint32_t region, char *text, size_t size)
{
	const struct trace_region *r = &a->trace->region[region];
	const unsigned char *x = a->memory[region], *y = b->memory[region];
	uint64_t at = 0;
	if (memcmp(x, y, r->bytes) == 0)
		return false;
	while (x[at] == y[at])
		at++;
	snprintf(text, size,
		"region %u of port %u, byte %" PRIu64 ": 0x%02x; 0x%02x",
		region, r->port, at, x[at], y[at]);
	return true;
}

bool outcome_differs(const struct outcome *a, const struct outcome *b,
	char *text, size_t size)
{
	const struct trace *t = a->trace;
	for (uint32_t i = 0; i < t->count; i++)
		if (results_differ(a, b, true, i, text, size))
			return true;
	for (uint32_t i = 0; i < t->ports; i++)
		if (nqes_differ(&a->port[i], &b->port[i], i, text, size))
			return true;
	for (uint32_t i = 0; i < t->regions; i++)
		if (memory_differs(a, b, i, text, size))
			return true;
	return false;
}

/* ---- per origin and target ---- */

/* Returns true if both owners have polled at the same instructions. */
static bool polls_agree(const struct outcome *a, const struct outcome *b)
{
	const struct trace *t = a->trace;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct trace_instruction *x = &t->instruction[i];
		if (a->result[i].retried || b->result[i].retried ||
			(x->kind == TRACE_SEND && x->flags & CAY_BORROW &&
				x->bytes > CAY_EAGER_MAX))
			return false;
	}
	return true;
}

/* The stream of a notification: its pair, and which side of it. */
struct stream {
	uint32_t peer;
	enum {
		AT_TARGET,
		COMPLETION,
		COMPLETION_OF_REFERENCE
	} side;
};

static struct stream stream_of(const struct outcome_nqe *n)
{
	struct stream s = { .peer = n->peer, .side = AT_TARGET };
	if (outcome_command(n) != CAY_NOTIFY_CC)
		return s;
	s.side = COMPLETION;
	if ((n->completed & CAY_COMMAND_OPERATION) == CAY_SEND &&
		n->word[0] > CAY_EAGER_MAX)
		s.side = COMPLETION_OF_REFERENCE;
	return s;
}

/* Stable, because the first of equal positions in the queue is smaller. */
struct ordered {
	struct outcome_nqe nqe;
	uint32_t position;
};

static int ordered_compare(const void *one, const void *other)
{
	const struct ordered *a = one, *b = other;
	struct stream x = stream_of(&a->nqe), y = stream_of(&b->nqe);
	if (x.peer != y.peer)
		return x.peer < y.peer ? -1 : 1;
	if (x.side != y.side)
		return x.side < y.side ? -1 : 1;
	if (x.side == COMPLETION_OF_REFERENCE && a->nqe.tag != b->nqe.tag)
		return a->nqe.tag < b->nqe.tag ? -1 : 1;
	return a->position < b->position ? -1 : 1;
}

static bool port_closes(const struct trace *t, uint32_t port)
{
	uint32_t i = 0;
	while (i < t->count && (t->instruction[i].kind != TRACE_PORT_CLOSE ||
				       t->instruction[i].port != port))
		i++;
	return i < t->count;
}

/* The notifications of a port by stream. Returns false without memory. */
static bool port_by_stream(const struct outcome *o, uint32_t port,
	bool refusals, struct outcome_port *out)
{
	const struct outcome_port *p = &o->port[port];
	bool closes = port_closes(o->trace, port);
	struct ordered *all = calloc(p->count + 1ul, sizeof(*all));
	uint32_t count = 0;
	*out = (struct outcome_port){ .nqe = calloc(p->count + 1ul,
					      sizeof(*p->nqe)) };
	bool done = all && out->nqe;
	for (uint32_t i = 0; done && i < p->count; i++) {
		const struct outcome_nqe *n = &p->nqe[i];
		bool refusal = outcome_command(n) == CAY_NOTIFY_RMA &&
			       outcome_error(n);
		bool lost = closes &&
			    stream_of(n).side == COMPLETION_OF_REFERENCE;
		if ((!refusal || refusals) && !lost)
			all[count++] = (struct ordered){ *n, i };
	}
	if (done)
		qsort(all, count, sizeof(*all), ordered_compare);
	for (uint32_t i = 0; i < count; i++)
		out->nqe[out->count++] = all[i].nqe;
	free(all);
	return done;
}

bool outcome_pairs_differ(const struct outcome *a, const struct outcome *b,
	char *text, size_t size)
{
	const struct trace *t = a->trace;
	bool refusals = polls_agree(a, b), differ = false;
	for (uint32_t i = 0; i < t->count; i++)
		if (results_differ(a, b, false, i, text, size))
			return true;
	for (uint32_t i = 0; i < t->ports && !differ; i++) {
		struct outcome_port x, y = { 0 };
		if (!port_by_stream(a, i, refusals, &x) ||
			!port_by_stream(b, i, refusals, &y)) {
			snprintf(text, size, "memory is exhausted");
			differ = true;
		} else {
			differ = nqes_differ(&x, &y, i, text, size);
		}
		free(x.nqe);
		free(y.nqe);
	}
	for (uint32_t i = 0; i < t->regions && !differ; i++)
		differ = memory_differs(a, b, i, text, size);
	return differ;
}
