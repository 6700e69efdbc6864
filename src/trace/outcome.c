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

static bool nqes_differ(const struct outcome *a, const struct outcome *b,
	uint32_t port, char *text, size_t size)
{
	const struct outcome_port *x = &a->port[port], *y = &b->port[port];
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
	uint32_t i, char *text, size_t size)
{
	const struct outcome_result *x = &a->result[i], *y = &b->result[i];
	if (x->result == y->result && x->data_digest == y->data_digest &&
		x->retried == y->retried)
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
		if (results_differ(a, b, i, text, size))
			return true;
	for (uint32_t i = 0; i < t->ports; i++)
		if (nqes_differ(a, b, i, text, size))
			return true;
	for (uint32_t i = 0; i < t->regions; i++)
		if (memory_differs(a, b, i, text, size))
			return true;
	return false;
}
