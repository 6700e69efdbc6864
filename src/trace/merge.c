/* SPDX-License-Identifier: BSD-2-Clause */
/* See merge.h. */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "contract/arena.h"

/* A line of some process, and where it comes from. */
struct line {
	const struct trace_instruction *i;
	uint32_t part;
};

/* Who has had a VPID, the last one of each. */
struct holder {
	uint32_t node;
	uint16_t vpid, port;
	bool open; /* it was seen to be opened, and not to be closed */
};

struct merging {
	struct trace *out;
	struct merge_report *report;
	struct line *line;
	uint32_t lines;
	struct holder *holder;
	uint32_t holders;
	uint64_t *key; /* capabilities, in the order of their numbers */
	uint32_t keys, keys_room;
	bool *window; /* by port and Win-ID: it is open */
	uint64_t start;
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

static int lines_open(
	struct merging *m, const struct trace *parts, uint32_t count)
{
	uint32_t all = 0, n = 0;
	for (uint32_t p = 0; p < count; p++)
		all += parts[p].count;
	if (all == 0)
		return -ENODATA;
	m->line = calloc(all, sizeof(*m->line));
	if (!m->line)
		return -ENOMEM;
	for (uint32_t p = 0; p < count; p++)
		for (uint32_t i = 0; i < parts[p].count; i++)
			m->line[n++] =
				(struct line){ &parts[p].instruction[i], p };
	qsort(m->line, all, sizeof(*m->line), line_order);
	m->lines = all;
	m->start = m->line[0].i->time_ns;
	return 0;
}

/* All ports have the largest queues that any of them had. */
static void queues_join(
	struct merging *m, const struct trace *parts, uint32_t count)
{
	struct trace_queues all = { 0 };
	for (uint32_t p = 0; p < count; p++)
		trace_queues_join(&all, &parts[p].queues);
	for (uint32_t n = 0; n < m->lines; n++)
		if (m->line[n].i->kind == TRACE_WINDOW &&
			m->line[n].i->window >= all.windows)
			all.windows = m->line[n].i->window + 1u;
	if (all.nq_entries)
		m->out->queues = all;
}

/* ---- ports ---- */

static struct holder *holder_find(
	struct merging *m, uint32_t node, uint16_t vpid)
{
	for (uint32_t i = 0; i < m->holders; i++)
		if (m->holder[i].node == node && m->holder[i].vpid == vpid)
			return &m->holder[i];
	return NULL;
}

/* A new port for a VPID, which may have had one before. */
static struct holder *holder_new(
	struct merging *m, uint32_t node, uint16_t vpid, bool open)
{
	struct holder *h = holder_find(m, node, vpid);
	if (m->out->ports == TRACE_PORTS_MAX)
		return NULL;
	if (!h)
		h = &m->holder[m->holders++];
	*h = (struct holder){ node, vpid, (uint16_t)m->out->ports++, open };
	return h;
}

/* The port behind a VPID; one that nobody has opened appears now. */
static int port_of(
	struct merging *m, uint32_t node, uint16_t vpid, uint16_t *port)
{
	struct holder *h = holder_find(m, node, vpid);
	if (!h) {
		h = holder_new(m, node, vpid, true);
		m->report->unknown++;
	}
	if (!h)
		return -E2BIG;
	*port = h->port;
	return 0;
}

static int port_open(struct merging *m, const struct trace_instruction *i)
{
	struct holder *h = holder_new(m, i->node, i->port, true);
	if (!h)
		return -E2BIG;
	m->out->port[h->port].words = i->words;
	return 0;
}

/* ---- keys ---- */

/* From 1 on; 0 stays for nobody's. Few are in use at a time, late ones most. */
static int key_number(struct merging *m, uint64_t *key)
{
	for (uint32_t k = m->keys; k > 0; k--)
		if (m->key[k - 1] == *key) {
			*key = k;
			return 0;
		}
	if (m->keys == m->keys_room) {
		uint32_t room = m->keys_room ? 2 * m->keys_room : 64;
		uint64_t *grown = realloc(m->key, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->key = grown;
		m->keys_room = room;
	}
	m->key[m->keys++] = *key;
	*key = m->keys;
	return 0;
}

static bool has_key(enum trace_kind kind)
{
	switch (kind) {
	case TRACE_WINDOW:
	case TRACE_WINDOW_REVOKE:
	case TRACE_WINDOW_LOCK:
	case TRACE_WINDOW_UNLOCK:
	case TRACE_PUT:
	case TRACE_PUT_MASKED:
	case TRACE_GET:
	case TRACE_FETCH_ADD:
	case TRACE_COMPARE_SWAP:
		return true;
	default:
		return false;
	}
}

/* ---- lines ---- */

/* Closed by cay_free(), perhaps without a call that could be recorded. */
static int window_track(struct merging *m, const struct trace_instruction *i)
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

static int line_add(struct merging *m, const struct trace_instruction *line)
{
	struct trace_instruction i = *line;
	i.time_ns -= m->start;
	if (i.kind == TRACE_PORT_OPEN)
		return port_open(m, &i);
	struct holder *from = holder_find(m, i.node, i.port);
	/* A thread that was still in a call when another closed its port. */
	if (from && !from->open)
		return 0;
	int r = port_of(m, i.node, i.port, &i.port);
	if (r == 0)
		r = port_of(m, i.node, line->peer, &i.peer);
	if (r == 0 && has_key(i.kind))
		r = key_number(m, &i.key);
	if (r == 0 && (i.kind == TRACE_WINDOW || i.kind == TRACE_WINDOW_CLOSE))
		r = window_track(m, &i);
	if (r)
		return r;
	if (i.kind == TRACE_PORT_CLOSE)
		holder_find(m, i.node, line->port)->open = false;
	i.node = 0;
	return trace_add(m->out, &i);
}

static int lines_add(struct merging *m)
{
	int r = 0;
	m->holder = calloc(TRACE_PORTS_MAX + 1, sizeof(*m->holder));
	m->window = calloc(
		(size_t)TRACE_PORTS_MAX * m->out->queues.windows, sizeof(bool));
	if (!m->holder || !m->window)
		return -ENOMEM;
	for (uint32_t n = 0; r == 0 && n < m->lines; n++)
		r = line_add(m, m->line[n].i);
	return r;
}

int merge(const struct trace *parts, uint32_t count, struct trace *out,
	struct merge_report *report, struct trace_complaint *c)
{
	struct merging m = { .out = out, .report = report };
	*report = (struct merge_report){ 0 };
	trace_open(out);
	int r = lines_open(&m, parts, count);
	if (r == 0) {
		queues_join(&m, parts, count);
		r = lines_add(&m);
	}
	free(m.line);
	free(m.holder);
	free(m.key);
	free(m.window);
	if (r == 0)
		r = trace_check(out, c);
	if (r)
		trace_free(out);
	return r;
}
