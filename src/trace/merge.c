/* SPDX-License-Identifier: BSD-2-Clause */
/* See merge.h. */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/format.h"

/* An instruction and the number of the part that contains it. */
struct line {
	const struct trace_instruction *i;
	uint32_t part;
};

/* The port that a VPID denotes at the current position; VPIDs are recycled. */
struct vpid {
	uint32_t node;
	uint16_t vpid, port;
	bool open; /* its close has not been seen */
};

struct merge {
	const struct trace *parts;
	struct trace *out;
	struct merge_report *report;
	struct line *line;
	uint32_t lines;
	struct vpid *vpid;
	uint32_t vpids;
	uint64_t *key; /* capabilities; the index + 1 replaces each */
	uint32_t keys, keys_capacity;
	bool *window; /* by port and Win-ID: the window is open */
};

static int line_order(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	if (x->i->time_ns != y->i->time_ns)
		return x->i->time_ns < y->i->time_ns ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Sorts the lines and gives all ports the largest queues of any port. */
static int lines_open(
	struct merge *m, const struct trace *parts, uint32_t count)
{
	struct trace_queues queues = { 0 };
	uint32_t all = 0, n = 0;
	for (uint32_t p = 0; p < count; p++)
		all += parts[p].count;
	if (all == 0)
		return -ENODATA;
	m->line = calloc(all, sizeof(*m->line));
	if (!m->line)
		return -ENOMEM;
	for (uint32_t p = 0; p < count; p++) {
		trace_queues_join(&queues, &parts[p].queues);
		for (uint32_t k = 0; k < parts[p].count; k++) {
			const struct trace_instruction *i =
				&parts[p].instruction[k];
			if (i->kind == TRACE_WINDOW &&
				i->window >= queues.windows)
				queues.windows = i->window + 1u;
			m->line[n++] = (struct line){ i, p };
		}
	}
	qsort(m->line, all, sizeof(*m->line), line_order);
	m->lines = all;
	if (queues.nq_entries)
		m->out->queues = queues;
	return 0;
}

/* ---- ports ---- */

static struct vpid *vpid_find(struct merge *m, uint32_t node, uint16_t vpid)
{
	for (uint32_t i = 0; i < m->vpids; i++)
		if (m->vpid[i].node == node && m->vpid[i].vpid == vpid)
			return &m->vpid[i];
	return NULL;
}

/* Adds a port and binds the VPID to it. Returns NULL if there are too many. */
static struct vpid *port_new(struct merge *m, uint32_t node, uint16_t vpid)
{
	struct vpid *v = vpid_find(m, node, vpid);
	if (m->out->ports == TRACE_PORTS_MAX)
		return NULL;
	if (!v)
		v = &m->vpid[m->vpids++];
	*v = (struct vpid){ node, vpid, (uint16_t)m->out->ports++, true };
	return v;
}

/* Replaces a VPID by its port, which is added if it was not recorded. */
static int port_number(struct merge *m, uint32_t node, uint16_t *port)
{
	struct vpid *v = vpid_find(m, node, *port);
	if (!v) {
		v = port_new(m, node, *port);
		m->report->unrecorded++;
	}
	if (!v)
		return -E2BIG;
	*port = v->port;
	return 0;
}

/* ---- instructions ---- */

/*
 * Replaces a capability by its number, from 1 on. The search starts with the
 * newest, which most instructions use.
 */
static int key_number(struct merge *m, uint64_t *key)
{
	for (uint32_t k = m->keys; k > 0; k--)
		if (m->key[k - 1] == *key) {
			*key = k;
			return 0;
		}
	if (m->keys == m->keys_capacity) {
		uint32_t capacity = m->keys_capacity ? 2 * m->keys_capacity
						     : 64;
		uint64_t *grown = realloc(m->key, capacity * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->key = grown;
		m->keys_capacity = capacity;
	}
	m->key[m->keys++] = *key;
	*key = m->keys;
	return 0;
}

/*
 * cay_free() closes windows without a call that the recorder sees: a window
 * that is opened twice gets a close in between.
 */
static int window_track(struct merge *m, const struct trace_instruction *i)
{
	uint32_t windows = m->out->queues.windows;
	int r = 0;
	if (i->window >= windows)
		return 0;
	bool *open = &m->window[(size_t)i->port * windows + i->window];
	if (i->kind == TRACE_WINDOW && *open) {
		const struct trace_instruction close = {
			.kind = TRACE_WINDOW_CLOSE,
			.time_ns = i->time_ns,
			.port = i->port,
			.peer = i->peer,
			.window = i->window,
		};
		r = trace_add(m->out, &close);
	}
	*open = i->kind == TRACE_WINDOW;
	return r;
}

static int line_add(struct merge *m, const struct line *at)
{
	const struct trace_instruction *line = at->i;
	struct trace_instruction i = *line;
	struct vpid *from = vpid_find(m, i.node, i.port);
	i.time_ns -= m->line[0].i->time_ns;
	i.node = 0;
	if (i.kind == TRACE_PORT_OPEN) {
		from = port_new(m, line->node, line->port);
		if (!from)
			return -E2BIG;
		m->out->port[from->port] = (struct trace_port){
			.words = i.words, .process = m->parts[at->part].process
		};
		return 0;
	}
	/* A call that was in progress while another thread closed the port. */
	if (from && !from->open)
		return 0;
	int r = port_number(m, line->node, &i.port);
	if (r == 0)
		r = port_number(m, line->node, &i.peer);
	if (r == 0 && format_kinds[i.kind].allowed >> FIELD_KEY & 1)
		r = key_number(m, &i.key);
	if (r == 0 && (i.kind == TRACE_WINDOW || i.kind == TRACE_WINDOW_CLOSE))
		r = window_track(m, &i);
	if (r)
		return r;
	if (i.kind == TRACE_PORT_CLOSE)
		vpid_find(m, line->node, line->port)->open = false;
	return trace_add(m->out, &i);
}

int trace_merge(const struct trace *parts, uint32_t count, struct trace *out,
	struct merge_report *report, struct trace_error *e)
{
	struct merge m = { .parts = parts, .out = out, .report = report };
	*report = (struct merge_report){ 0 };
	trace_open(out);
	int r = lines_open(&m, parts, count);
	if (r)
		goto err_free;
	m.vpid = calloc(TRACE_PORTS_MAX + 1, sizeof(*m.vpid));
	m.window = calloc(
		(size_t)TRACE_PORTS_MAX * out->queues.windows, sizeof(bool));
	if (!m.vpid || !m.window)
		r = -ENOMEM;
	for (uint32_t n = 0; r == 0 && n < m.lines; n++)
		r = line_add(&m, &m.line[n]);
	if (r == 0)
		r = trace_check(out, e);
err_free:
	free(m.line);
	free(m.vpid);
	free(m.key);
	free(m.window);
	if (r)
		trace_free(out);
	return r;
}
