/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame of cay top as text: lines of a screen, or of a pipe. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/node/status.h"
#include "cli/top/top.h"
#include "contract/arena.h"

#define LINE_MAX_BYTES 512
#define NAME_WIDTH_MIN 4
#define NAME_WIDTH_MAX 16 /* on a screen; a pipe gets all */
#define BAR_WIDTH      5
#define PROGRAM_WIDTH  7 /* of the heading */

/* ---- lines ---- */

/* Where lines go, and how many more of them fit. */
struct page {
	FILE *to;
	const struct top_view *view;
	unsigned rows;
};

enum line_style {
	LINE_PLAIN,
	LINE_HEADING,
	LINE_BUSY,
};

static const char *style_begin(enum line_style style)
{
	switch (style) {
	case LINE_HEADING:
		return "\033[7m";
	case LINE_BUSY:
		return "\033[1m";
	default:
		return "";
	}
}

/*
 * A screen's line is cut at its border. What was there before goes first:
 * behind a full line, the last cell would go with it.
 */
static void line_screen(struct page *p, enum line_style style, const char *text)
{
	int width = (int)bits_min(p->view->columns, LINE_MAX_BYTES);
	if (p->rows == 0)
		return;
	p->rows--;
	fprintf(p->to, "\033[K%s%.*s", style_begin(style), width, text);
	if (style == LINE_HEADING)
		fprintf(p->to, "%*s",
			width - (int)bits_min(strlen(text), (size_t)width), "");
	fprintf(p->to, "%s%s", style == LINE_PLAIN ? "" : "\033[0m",
		p->rows ? "\n" : "");
}

__attribute__((format(printf, 3, 4))) static void line(
	struct page *p, enum line_style style, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* Names are checked elsewhere; a terminal is told nothing by them. */
	for (char *at = text; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	if (p->view->screen)
		line_screen(p, style, text);
	else
		fprintf(p->to, "%s\n", text);
}

/* ---- numbers ---- */

/* "12.3K"; "-" if it is not known; text has room for 16. */
static const char *rate_text(double rate, char text[16])
{
	static const char units[] = " KMGT";
	unsigned unit = 0;
	if (isnan(rate))
		return "-";
	while (rate >= 999.5 && unit + 2 < sizeof(units)) {
		rate /= 1000;
		unit++;
	}
	bool fraction = rate > 0 && (unit ? rate < 99.95 : rate < 9.95);
	snprintf(text, 16, fraction ? "%.1f%.1s" : "%.0f%.1s", rate,
		unit ? &units[unit] : "");
	return text;
}

/* "##...": how full the fuller of queue and data is; what waits is seen. */
static const char *fill_bar(
	const struct node_status_port *p, char bar[BAR_WIDTH + 1])
{
	uint64_t all = (uint64_t)p->rdr_units * RDR_UNIT;
	uint64_t entries = port_entries(p) * BAR_WIDTH + p->nq_entries - 1;
	uint64_t bytes = port_bytes(p) * BAR_WIDTH + all - 1;
	for (uint64_t i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < entries / p->nq_entries || i < bytes / all ? '#'
									: '.';
	bar[BAR_WIDTH] = 0;
	return bar;
}

static const char *or_dash(const char *name)
{
	return *name ? name : "-";
}

/* ---- head ---- */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void head_lines(struct page *p, const struct top_frame *f)
{
	const struct node_status *s = f->report.head;
	const struct top_total *t = &f->total;
	char up[48], a[16], b[16], c[16];
	line(p, LINE_PLAIN,
		"node %s, pid %u, up %s: %u process%s, %u port%s, %u thread%s, "
		"%u busy",
		s->name, s->pid, uptime_text(s->uptime_ns, up), s->processes,
		s->processes == 1 ? "" : "es", s->ports, plural(s->ports),
		s->threads, plural(s->threads), t->busy);
	line(p, LINE_PLAIN,
		"repaired %" PRIu64 ", voided %" PRIu64 ", fenced %" PRIu64
		", refused %" PRIu64 "; heap %s, memory %s",
		s->repaired, s->voided, s->fenced, s->refused,
		bytes_text(s->heap_used, a), bytes_text(s->memory_bytes, b));
	char data[16];
	line(p, LINE_PLAIN,
		"total: %s/s received, %s/s given back, %s/s issued; "
		"%" PRIu64 " entr%s wait, %s",
		rate_text(t->received, a), rate_text(t->returned, b),
		rate_text(t->issued, c), t->entries,
		t->entries == 1 ? "y" : "ies", bytes_text(t->bytes, data));
}

/* ---- order ---- */

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
	return (int)port_at(a)->now->vpid - (int)port_at(b)->now->vpid;
}

static int port_by_rate(const void *a, const void *b)
{
	int order = descending(port_at(a)->received, port_at(b)->received);
	return order ? order : port_by_vpid(a, b);
}

static int port_by_queue(const void *a, const void *b)
{
	int order = descending((double)port_entries(port_at(a)->now),
		(double)port_entries(port_at(b)->now));
	return order ? order : port_by_vpid(a, b);
}

static int port_by_pid(const void *a, const void *b)
{
	uint32_t p = port_at(a)->now->pid, q = port_at(b)->now->pid;
	return p != q ? (p > q) - (p < q) : port_by_vpid(a, b);
}

static const struct top_thread *thread_at(const void *p)
{
	return *(const struct top_thread *const *)p;
}

/* As they stand in the frame: by process and number. */
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

/* Who is in the middle of something, the longest first. */
static int thread_by_busy(const void *a, const void *b)
{
	const struct top_thread *p = thread_at(a), *q = thread_at(b);
	int busy = (q->now->state != OP_IDLE) - (p->now->state != OP_IDLE);
	int order = descending((double)p->stuck_ns, (double)q->stuck_ns);
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

/* Pointers to `count` members, in this order; NULL without memory. */
static const void **ordered(const void *members, uint32_t count, size_t size,
	const struct order *order)
{
	const void **at = calloc(count + 1ul, sizeof(*at));
	for (uint32_t i = 0; at && i < count; i++)
		at[i] = (const char *)members + i * size;
	if (at)
		qsort(at, count, sizeof(*at), order->compare);
	return at;
}

/* ---- tables ---- */

/* How wide a column of names must be. */
static int name_width(const struct page *p, size_t width, size_t longest)
{
	if (longest > width)
		width = longest;
	if (p->view->screen && width > NAME_WIDTH_MAX)
		width = NAME_WIDTH_MAX;
	return (int)width;
}

/* Rows that a screen has left; of the last one it needs, it says how many. */
static uint32_t rows_shown(const struct page *p, uint32_t count)
{
	if (!p->view->screen || count <= p->rows)
		return count;
	return p->rows ? p->rows - 1 : 0;
}

static void rows_more(struct page *p, uint32_t count)
{
	if (count)
		line(p, LINE_PLAIN, "... and %u more", count);
}

static void port_line(
	struct page *p, const struct top_port *port, int name, int program)
{
	const struct node_status_port *now = port->now;
	char received[16], returned[16], bar[BAR_WIDTH + 1], queue[32];
	char bytes[16], windows[16], locks[64], posted[32];
	snprintf(queue, sizeof(queue), "%" PRIu64 "/%u", port_entries(now),
		now->nq_entries);
	line(p, LINE_PLAIN,
		"%5u %-*.*s %7u %-*.*s %6s %6s %s %7s %8s %-8s %5u %-7s %3s "
		"%-7s %8s %4u",
		now->vpid, name, name, or_dash(now->name), now->pid, program,
		program, or_dash(port->program),
		rate_text(port->received, received),
		rate_text(port->returned, returned), fill_bar(now, bar), queue,
		bytes_text(port_bytes(now), bytes),
		now->disabled ? "disabled" : port_state(now), now->peers,
		port_path(now), count_text(now->windows_open, windows),
		locks_text(now, locks), posted_text(now, posted),
		now->references_used);
}

static void port_lines(struct page *p, const struct top_frame *f)
{
	uint32_t count = f->report.head->ports;
	size_t names = 0, programs = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t name = strlen(f->ports[i].now->name);
		size_t program = strlen(f->ports[i].program);
		names = name > names ? name : names;
		programs = program > programs ? program : programs;
	}
	int name = name_width(p, NAME_WIDTH_MIN, names);
	int program = name_width(p, PROGRAM_WIDTH, programs);
	line(p, LINE_HEADING,
		" VPID %-*s     PID %-*s RECV/S BACK/S FILL  ENTRIES     DATA "
		"STATE    PEERS PATH    WIN LOCKED    POSTED REFS",
		name, "NAME", program, "PROGRAM");
	const void **at = ordered(
		f->ports, count, sizeof(*f->ports), order_of(p->view, false));
	uint32_t shown = at ? rows_shown(p, count) : 0;
	for (uint32_t i = 0; i < shown; i++)
		port_line(p, at[i], name, program);
	rows_more(p, count - shown);
	free(at);
}

static void thread_line(struct page *p, const struct top_frame *f,
	const struct top_thread *t, int program)
{
	const struct node_status_thread *now = t->now;
	char issued[16], text[256], since[48] = "";
	thread_text(&f->report, now, text, sizeof(text));
	if (t->stuck_ns)
		uptime_text(t->stuck_ns, since);
	line(p, now->state == OP_IDLE ? LINE_PLAIN : LINE_BUSY,
		"%7u %-*.*s %7u %c %5u %8s %8s %s", now->pid, program, program,
		or_dash(t->program), now->tid, t->state, now->vpid,
		rate_text(t->issued, issued), since, text);
}

static void thread_lines(struct page *p, const struct top_frame *f)
{
	uint32_t count = f->report.head->threads;
	size_t programs = 0;
	for (uint32_t i = 0; i < count; i++) {
		size_t program = strlen(f->threads[i].program);
		programs = program > programs ? program : programs;
	}
	int program = name_width(p, PROGRAM_WIDTH, programs);
	line(p, LINE_HEADING,
		"    PID %-*s     TID S  PORT ISSUED/S      FOR IN THE MIDDLE "
		"OF",
		program, "PROGRAM");
	const void **at = ordered(f->threads, count, sizeof(*f->threads),
		order_of(p->view, true));
	uint32_t shown = at ? rows_shown(p, count) : 0;
	for (uint32_t i = 0; i < shown; i++)
		thread_line(p, f, at[i], program);
	rows_more(p, count - shown);
	free(at);
}

/* ---- all of it ---- */

static void keys_line(struct page *p)
{
	const struct top_view *v = p->view;
	if (v->complaint)
		line(p, LINE_BUSY, "%s", v->complaint);
	else
		line(p, LINE_PLAIN,
			"q quit, s sort (%s), p ports, t threads, space look "
			"now",
			order_of(v, v->tables & TOP_THREADS)->name);
}

void top_view_print(
	const struct top_frame *f, const struct top_view *v, FILE *to)
{
	struct page p = { to, v, v->rows };
	if (v->screen)
		fputs("\033[H", to);
	head_lines(&p, f);
	if (v->screen)
		keys_line(&p);
	if (v->tables & TOP_PORTS) {
		line(&p, LINE_PLAIN, "%s", "");
		port_lines(&p, f);
	}
	if (v->tables & TOP_THREADS) {
		line(&p, LINE_PLAIN, "%s", "");
		thread_lines(&p, f);
	}
	if (v->screen)
		fputs("\033[J", to);
	else
		fputc('\n', to);
}
