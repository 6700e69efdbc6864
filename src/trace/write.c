/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats a trace as text. Fields that have their default value are omitted. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "trace/format.h"

/* Text under construction; `used` counts characters that did not fit, too. */
struct text {
	char *to;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void text_add(
	struct text *t, const char *format, ...)
{
	va_list arguments;
	size_t left = t->used < t->size ? t->size - t->used : 0;
	va_start(arguments, format);
	int n = vsnprintf(
		left ? t->to + t->used : NULL, left, format, arguments);
	va_end(arguments);
	t->used += n > 0 ? (size_t)n : 0;
}

static void text_field(struct text *t, const struct format_field *f,
	const struct trace_instruction *i)
{
	uint64_t value = format_get(f, i);
	const char *separator = "";
	text_add(t, " %s=", f->name);
	switch (f->type) {
	case FORMAT_NUMBER:
		text_add(t, "%" PRIu64, value);
		break;
	case FORMAT_WORD:
		text_add(t, "0x%" PRIx64, value);
		break;
	case FORMAT_DATA:
		for (unsigned at = 0; at < i->data_bytes; at++)
			text_add(t, "%02x", i->data[at]);
		break;
	default:
		for (const struct format_name *n = f->names; n->name; n++) {
			if (f->type == FORMAT_LIST ? !(value & n->value)
						   : value != n->value)
				continue;
			text_add(t, "%s%s", separator, n->name);
			separator = ",";
		}
	}
}

/* Returns false for a field that is not allowed or has its default value. */
static bool field_written(enum format_field_id id, const struct format_kind *k,
	const struct trace_instruction *i)
{
	if (id == FIELD_NODE)
		return i->node;
	if (!(k->allowed >> id & 1))
		return false;
	if (k->required >> id & 1)
		return true;
	if (id == FIELD_TO)
		return i->event != k->event;
	/* The length of the data is the number of bytes. */
	if (id == FIELD_BYTES && i->data_bytes)
		return false;
	return format_get(&format_fields[id], i) != 0;
}

size_t trace_line(const struct trace_instruction *i, char line[TRACE_LINE_MAX])
{
	const struct format_kind *k = &format_kinds[i->kind];
	struct text t = { line, TRACE_LINE_MAX, 0 };
	if (i->time_ns || i->duration_ns || i->thread)
		text_add(&t, "@%" PRIu64, i->time_ns);
	if (i->duration_ns || i->thread)
		text_add(&t, "+%" PRIu64, i->duration_ns);
	if (i->thread)
		text_add(&t, "/%u", i->thread);
	if (t.used)
		text_add(&t, " ");
	text_add(&t, "%s %u", k->name, i->port);
	if (k->peer)
		text_add(&t, " %u", i->peer);
	for (int id = 0; id < FORMAT_FIELDS; id++)
		if (field_written((enum format_field_id)id, k, i))
			text_field(&t, &format_fields[id], i);
	text_add(&t, "\n");
	return t.used;
}

static void text_queues(struct text *t, const struct trace_queues *q)
{
	text_add(t,
		"queues nq_entries=%u rdr_bytes=%" PRIu64
		" windows=%u posted=%u\n",
		q->nq_entries, q->rdr_bytes, q->windows, q->posted);
}

size_t trace_queues_line(
	const struct trace_queues *q, char line[TRACE_LINE_MAX])
{
	struct text t = { line, TRACE_LINE_MAX, 0 };
	text_queues(&t, q);
	return t.used;
}

size_t trace_head(const struct trace *trace, char *to, size_t size)
{
	struct text t = { to, size, 0 };
	text_add(&t, FORMAT_HEADER "\n");
	text_queues(&t, &trace->queues);
	for (uint32_t p = 0; p < trace->ports; p++) {
		const struct trace_port *port = &trace->port[p];
		text_add(&t, "port %u%s", p, port->words ? " words" : "");
		if (port->process)
			text_add(&t, " process=%u", port->process);
		text_add(&t, "\n");
	}
	return t.used;
}
