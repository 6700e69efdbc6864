/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame of cay top as text, for a screen or a pipe, and as JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/top/top.h"
#include "contract/arena.h"

#define LINE_MAX_BYTES 512
#define NAME_WIDTH_MAX 16 /* on a screen; a pipe gets the whole name */

/* ---- tables ---- */

#define PORT(member, ...)   FIELD(struct top_port, member, __VA_ARGS__)
#define THREAD(member, ...) FIELD(struct top_thread, member, __VA_ARGS__)
#define TOTAL(member, ...)  FIELD(struct top_total, member, __VA_ARGS__)

/* The columns, and the members of JSON beyond `port_fields`. */
static const struct field top_port_fields[] = {
	PORT(port.now.vpid, NULL, .title = "VPID", .width = 5),
	PORT(port.now.name, NULL, .kind = FIELD_CHARS, .title = "NAME",
		.width = -4, .width_max = NAME_WIDTH_MAX),
	PORT(port.now.pid, NULL, .title = "PID", .width = 7),
	PORT(program, "program", .kind = FIELD_STRING, .title = "PROGRAM",
		.width = -7, .width_max = NAME_WIDTH_MAX),
	PORT(sleeping, "sleeping", .kind = FIELD_BOOL),
	PORT(armed, "armed", .kind = FIELD_BOOL),
	PORT(port.now.closed, "closed", .kind = FIELD_BOOL),
	PORT(senders_wait, "senders_wait", .kind = FIELD_BOOL),
	PORT(received, "received_per_s", .kind = FIELD_RATE, .title = "RECV/S"),
	PORT(returned, "returned_per_s", .kind = FIELD_RATE,
		.title = "RETURN/S"),
	PORT(data, "data_bytes_per_s", .kind = FIELD_RATE),
	PORT(data_estimated, "data_estimated", .kind = FIELD_BOOL),
	PORT(data_text, NULL, .kind = FIELD_CHARS, .title = "DATA/S",
		.width = 6),
	PORT(fill, NULL, .kind = FIELD_CHARS, .title = "FILL", .width = -5),
	PORT(port.queue, NULL, .kind = FIELD_CHARS, .title = "ENTRIES"),
	PORT(port.bytes, NULL, .kind = FIELD_SIZE, .title = "DATA", .width = 8),
	PORT(port.state_text, NULL, .kind = FIELD_STRING, .title = "STATE",
		.width = -8),
	PORT(port.now.peers, NULL, .title = "PEERS"),
	PORT(path, NULL, .kind = FIELD_STRING, .title = "PATH", .width = -7),
	PORT(port.now.windows_open, NULL, .kind = FIELD_COUNT, .title = "WIN"),
	PORT(port.locks, NULL, .kind = FIELD_CHARS, .title = "LOCKED",
		.width = -7),
	PORT(port.posted, NULL, .kind = FIELD_CHARS, .title = "POSTED",
		.width = 8),
	PORT(port.now.references_used, NULL, .title = "REFS"),
	FIELDS_END,
};

/* The columns, and the members of JSON beyond `thread_fields`. */
static const struct field top_thread_fields[] = {
	THREAD(thread.now.pid, NULL, .title = "PID", .width = 7),
	THREAD(program, "program", .kind = FIELD_STRING, .title = "PROGRAM",
		.width = -7, .width_max = NAME_WIDTH_MAX),
	THREAD(thread.now.tid, NULL, .title = "TID", .width = 7),
	THREAD(state, "state", .kind = FIELD_CHARS, .title = "S"),
	THREAD(thread.now.vpid, NULL, .title = "PORT", .width = 5),
	THREAD(issued, "issued_per_s", .kind = FIELD_RATE, .title = "ISSUED/S"),
	THREAD(stuck_s, "stuck_s", .kind = FIELD_SECONDS, .title = "FOR",
		.width = 8),
	THREAD(thread.operation, NULL, .kind = FIELD_CHARS,
		.title = "OPERATION IN PROGRESS", .width = -1),
	FIELDS_END,
};

static const struct field total_fields[] = {
	TOTAL(received, "received_per_s", .kind = FIELD_RATE),
	TOTAL(returned, "returned_per_s", .kind = FIELD_RATE),
	TOTAL(data, "data_bytes_per_s", .kind = FIELD_RATE),
	TOTAL(data_estimated, "data_estimated", .kind = FIELD_BOOL),
	TOTAL(issued, "issued_per_s", .kind = FIELD_RATE),
	TOTAL(entries, "nq_used"),
	TOTAL(bytes, "rdr_used_bytes"),
	TOTAL(busy, "busy"),
	FIELDS_END,
};

static const struct field frame_fields[] = {
	FIELD(struct top_frame, wall, "time", .kind = FIELD_REAL,
		.decimals = 6),
	FIELD(struct top_frame, elapsed, "elapsed_s", .kind = FIELD_REAL,
		.decimals = 6),
	FIELDS_END,
};

/* ---- JSON ---- */

void top_json_print(const struct top_frame *f, FILE *to)
{
	const struct node_report *r = &f->report;
	struct json j;

	json_open(&j, to);
	json_object_begin(&j);
	fields_json(&j, frame_fields, f);
	fields_json(&j, head_fields, r->head);
	json_key(&j, "total");
	json_object_begin(&j);
	fields_json(&j, total_fields, &f->total);
	json_object_end(&j);
	fields_json_array(&j, "processes", process_fields, r->processes,
		r->head->processes, sizeof(*r->processes));
	json_key(&j, "ports");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->ports; i++) {
		json_object_begin(&j);
		fields_json(&j, port_fields, &f->ports[i]);
		fields_json(&j, top_port_fields, &f->ports[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_key(&j, "threads");
	json_array_begin(&j);
	for (uint32_t i = 0; i < r->head->threads; i++) {
		json_object_begin(&j);
		fields_json(&j, thread_fields, &f->threads[i]);
		fields_json(&j, top_thread_fields, &f->threads[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_close(&j);
}

/* ---- lines ---- */

struct page {
	FILE *to;
	const struct top_view *view;
	unsigned rows; /* that are left on the screen */
};

enum line_style {
	LINE_PLAIN,
	LINE_HEADING,
	LINE_BUSY,  /* a thread with an operation in progress */
	LINE_FULL,  /* a port whose senders wait for space */
	LINE_STUCK, /* a thread in one operation for a second, a disabled port
		     */
};

/* Sets the attributes of a line; with colours also outside of a screen. */
static const char *style_begin(const struct page *p, enum line_style style)
{
	static const char *const screen[] = { [LINE_PLAIN] = "",
		[LINE_HEADING] = "\033[7m",
		[LINE_BUSY] = "\033[1m",
		[LINE_FULL] = "\033[1m",
		[LINE_STUCK] = "\033[1m" };
	static const char *const colour[] = { [LINE_PLAIN] = "",
		[LINE_HEADING] = "\033[7m",
		[LINE_BUSY] = "\033[1m",
		[LINE_FULL] = "\033[1;33m",    /* yellow */
		[LINE_STUCK] = "\033[1;31m" }; /* red */
	if (p->view->colour)
		return colour[style];
	return p->view->screen ? screen[style] : "";
}

/*
 * Prints a line of a screen, cut at its border. The old line is cleared first:
 * after a full line, clearing would erase its last cell.
 */
static void line_screen(struct page *p, enum line_style style, const char *text)
{
	const char *begin = style_begin(p, style);
	int width = (int)bits_min(p->view->columns, LINE_MAX_BYTES);
	if (p->rows == 0)
		return;
	p->rows--;
	fprintf(p->to, "\033[K%s%.*s", begin, width, text);
	if (style == LINE_HEADING)
		fprintf(p->to, "%*s",
			width - (int)bits_min(strlen(text), (size_t)width), "");
	fprintf(p->to, "%s%s", *begin ? "\033[0m" : "", p->rows ? "\n" : "");
}

__attribute__((format(printf, 3, 4))) static void line(
	struct page *p, enum line_style style, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* Names are checked elsewhere; a terminal never sees an escape. */
	for (char *at = text; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	if (p->view->screen)
		line_screen(p, style, text);
	else
		fprintf(p->to, "%s%s%s\n", style_begin(p, style), text,
			*style_begin(p, style) ? "\033[0m" : "");
}

static void head_lines(struct page *p, const struct top_frame *f)
{
	const struct node_status *s = f->report.head;
	const struct top_total *t = &f->total;
	char a[FIELD_BYTES], b[FIELD_BYTES], c[FIELD_BYTES], d[FIELD_BYTES],
		e[FIELD_BYTES];
	line(p, LINE_PLAIN,
		"node %s, pid %u, up %s: %u process%s, %u port%s, %u thread%s, "
		"%u busy",
		s->name, s->pid,
		seconds_text((double)s->uptime_ns / CLOCK_NS_PER_S, a),
		s->processes, s->processes == 1 ? "" : "es", s->ports,
		plural(s->ports), s->threads, plural(s->threads), t->busy);
	line(p, LINE_PLAIN,
		"repaired %" PRIu64 ", voided %" PRIu64 ", fenced %" PRIu64
		", refused %" PRIu64 "; heap %s, memory %s",
		s->repaired, s->voided, s->fenced, s->refused,
		bytes_text(s->heap_used, a), bytes_text(s->memory_bytes, b));
	line(p, LINE_PLAIN,
		"total: %s/s received, %s/s returned, %s/s issued, %s%s "
		"bytes/s "
		"of 41 B to 8 KiB; in the queues: %" PRIu64 " entr%s, %s",
		rate_text(t->received, a), rate_text(t->returned, b),
		rate_text(t->issued, c),
		t->data_estimated && !isnan(t->data) ? "~" : "",
		rate_text(t->data, d), t->entries,
		t->entries == 1 ? "y" : "ies", bytes_text(t->bytes, e));
}

/* ---- sort orders ---- */

static int descending(double a, double b)
{
	a = isnan(a) ? -1 : a;
	b = isnan(b) ? -1 : b;
	return (a < b) - (a > b);
}

static const struct top_port *port_at(const void *p)
{
	return *(const struct top_port *const *)p;
}

static int port_by_vpid(const void *a, const void *b)
{
	return (int)port_at(a)->port.now.vpid - (int)port_at(b)->port.now.vpid;
}

static int port_by_rate(const void *a, const void *b)
{
	int order = descending(port_at(a)->received, port_at(b)->received);
	return order ? order : port_by_vpid(a, b);
}

static int port_by_queue(const void *a, const void *b)
{
	int order = descending((double)port_at(a)->port.entries,
		(double)port_at(b)->port.entries);
	return order ? order : port_by_vpid(a, b);
}

static int port_by_pid(const void *a, const void *b)
{
	uint32_t p = port_at(a)->port.now.pid, q = port_at(b)->port.now.pid;
	return p != q ? (p > q) - (p < q) : port_by_vpid(a, b);
}

static const struct top_thread *thread_at(const void *p)
{
	return *(const struct top_thread *const *)p;
}

/* The order of the frame: by process and thread number. */
static int thread_by_pid(const void *a, const void *b)
{
	const struct top_thread *p = thread_at(a), *q = thread_at(b);
	return (p > q) - (p < q);
}

static int thread_by_rate(const void *a, const void *b)
{
	int order = descending(thread_at(a)->issued, thread_at(b)->issued);
	return order ? order : thread_by_pid(a, b);
}

static bool thread_busy(const struct top_thread *t)
{
	return t->thread.now.state != OP_IDLE;
}

/* Busy threads first, those that are stuck longest at the top. */
static int thread_by_busy(const void *a, const void *b)
{
	const struct top_thread *p = thread_at(a), *q = thread_at(b);
	int busy = thread_busy(q) - thread_busy(p);
	int order = descending(p->stuck_s, q->stuck_s);
	return busy ? busy : order ? order : thread_by_rate(a, b);
}

struct order {
	const char *name;
	int (*compare)(const void *, const void *);
};

static const struct order port_orders[] = {
	{ "rate", port_by_rate },
	{ "queue", port_by_queue },
	{ "vpid", port_by_vpid },
	{ "pid", port_by_pid },
};

static const struct order thread_orders[] = {
	{ "busy", thread_by_busy },
	{ "rate", thread_by_rate },
	{ "pid", thread_by_pid },
};

static const struct order *order_of(const struct top_view *v, bool threads)
{
	return threads ? &thread_orders[v->sort % ARRAY_COUNT(thread_orders)]
		       : &port_orders[v->sort % ARRAY_COUNT(port_orders)];
}

/* ---- tables as text ---- */

#define STUCK_S 1.0 /* an operation takes nanoseconds */

static enum line_style row_style(bool threads, const void *record)
{
	const struct top_thread *t = record;
	const struct top_port *p = record;
	if (threads && t->stuck_s >= STUCK_S)
		return LINE_STUCK;
	if (threads)
		return thread_busy(t) ? LINE_BUSY : LINE_PLAIN;
	if (p->port.now.disabled)
		return LINE_STUCK;
	return strcmp(p->port.state, "full") == 0 ? LINE_FULL : LINE_PLAIN;
}

/* Prints a table in the view's order, as far as the screen has rows; its last
 * row counts the missing ones. */
static void table_lines(struct page *p, const struct field *fields,
	bool threads, const void *records, uint32_t count, size_t size)
{
	const void **at = calloc(count + 1ul, sizeof(*at));
	char text[LINE_MAX_BYTES];
	int widths[FIELDS_MAX];
	uint32_t shown = count;

	fields_widths(fields, widths);
	for (uint32_t i = 0; at && i < count; i++) {
		at[i] = (const char *)records + i * size;
		fields_widen(fields, at[i], widths);
	}
	if (at)
		qsort(at, count, sizeof(*at),
			order_of(p->view, threads)->compare);
	unsigned column = 0;
	for (const struct field *f = fields; f->key || f->title; f++) {
		if (f->width_max && p->view->screen &&
			widths[column] > f->width_max)
			widths[column] = f->width_max;
		column += f->title != NULL;
	}
	fields_line(fields, NULL, widths, text, sizeof(text));
	line(p, LINE_HEADING, "%s", text);
	if (p->view->screen && count > p->rows)
		shown = p->rows ? p->rows - 1 : 0;
	for (uint32_t i = 0; at && i < shown; i++) {
		fields_line(fields, at[i], widths, text, sizeof(text));
		line(p, row_style(threads, at[i]), "%s", text);
	}
	if (shown < count)
		line(p, LINE_PLAIN, "... and %u more", count - shown);
	free(at);
}

void top_view_print(
	const struct top_frame *f, const struct top_view *v, FILE *to)
{
	struct page p = { to, v, v->rows };
	if (v->screen)
		fputs("\033[H", to);
	if (v->help) {
		for (const char *at = v->help; *at; at += *at == '\n') {
			size_t length = strcspn(at, "\n");
			line(&p, LINE_PLAIN, "%.*s", (int)length, at);
			at += length;
		}
		fputs("\033[J", to);
		return;
	}
	head_lines(&p, f);
	if (v->screen && v->error)
		line(&p, LINE_BUSY, "%s", v->error);
	else if (v->screen)
		line(&p, LINE_PLAIN,
			"q quit, s sort (%s), p ports, t threads, space "
			"update, "
			"? help",
			order_of(v, v->tables & TOP_THREADS)->name);
	if (v->tables & TOP_PORTS) {
		line(&p, LINE_PLAIN, "%s", "");
		table_lines(&p, top_port_fields, false, f->ports,
			f->report.head->ports, sizeof(*f->ports));
	}
	if (v->tables & TOP_THREADS) {
		line(&p, LINE_PLAIN, "%s", "");
		table_lines(&p, top_thread_fields, true, f->threads,
			f->report.head->threads, sizeof(*f->threads));
	}
	fputs(v->screen ? "\033[J" : "\n", to);
}
