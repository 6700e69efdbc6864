/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node status: a node's report for people. */
#include "cli/node/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "device/queue.h"
#include "device/step.h"

/* ---- what a port's words say ---- */

uint64_t port_entries(const struct node_status_port *p)
{
	return queue_ahead(queue_nq(p->w), queue_nq(p->r));
}

uint64_t port_bytes(const struct node_status_port *p)
{
	return RDR_UNIT * queue_rdr_ahead(queue_rdr(p->w), queue_rdr(p->r));
}

const char *port_state(const struct node_status_port *p)
{
	if (p->closed)
		return "closed";
	if (p->r & R_WAITERS)
		return "full"; /* a sender waits for room */
	if (p->w & W_SLEEP)
		return "asleep";
	return p->w & W_ARMED ? "armed" : "open";
}

const char *port_path(const struct node_status_port *p)
{
	static const char *const names[NODE_STATUS_PATHS] = {
		[PATH_NONE] = "none",
		[PATH_DIRECT] = "direct",
		[PATH_GUARDED] = "guarded",
		[PATH_LINK] = "link",
	};
	const char *name = "-";
	for (uint32_t i = 0; i < NODE_STATUS_PATHS; i++)
		if (p->paths[i])
			name = *name == '-' ? names[i] : "mixed";
	return name;
}

const char *posted_mode_name(unsigned mode)
{
	static const char *const names[] = {
		[POSTED_NONE] = "none",
		[POSTED_RDR] = "rdr",
		[POSTED_ONLY] = "only",
	};
	return mode < ARRAY_COUNT(names) ? names[mode] : "unknown";
}

/* ---- what a thread is in the middle of ---- */

static bool thread_fills(const struct node_status_thread *t)
{
	return t->posted && t->posted_target == t->target;
}

const char *thread_doing(const struct node_status_thread *t)
{
	switch (t->state) {
	case OP_IDLE:
		return "idle";
	case OP_TRY:
		return "claiming";
	case OP_OWN:
		return "owning";
	default:
		return thread_fills(t) ? "filling" : "accessing";
	}
}

static const char *port_name(const struct node_report *r, uint16_t vpid)
{
	for (uint32_t i = 0; i < r->head->ports; i++)
		if (r->ports[i].vpid == vpid && *r->ports[i].name)
			return r->ports[i].name;
	return NULL;
}

/* A text that grows; what does not fit is cut. */
struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void text_add(
	struct text *t, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(t->at, t->left, format, arguments);
	va_end(arguments);
	size_t some = n < 0 ? 0 : bits_min((size_t)n, t->left - 1);
	t->at += some;
	t->left -= some;
}

static void thread_what(const struct node_status_thread *t, struct text *to)
{
	text_add(to, "%s ", thread_doing(t));
	if (t->state == OP_TRY)
		text_add(to, "an entry");
	else if (t->state == OP_OWN)
		text_add(to, "entry %" PRIu64, t->entry);
	else if (thread_fills(t))
		text_add(to, "posted receive %u", t->posted - 1);
	else if (t->window)
		text_add(to, "window %u", t->window - 1);
	else
		text_add(to, "posted receives");
}

/* What the entry that it claims or owns will tell of. */
static void thread_why(const struct node_status_thread *t, struct text *to)
{
	if (t->state == OP_ACCESS)
		return;
	if (thread_fills(t))
		text_add(to, ", for posted receive %u", t->posted - 1);
	else if (t->window)
		text_add(to, ", for window %u", t->window - 1);
}

void thread_text(const struct node_report *r,
	const struct node_status_thread *t, char *text, size_t size)
{
	struct text to = { text, size };
	if (t->state == OP_IDLE) {
		text_add(&to, "idle");
		return;
	}
	const char *name = port_name(r, t->target);
	thread_what(t, &to);
	text_add(&to, " of port %u", t->target);
	if (name)
		text_add(&to, " (%s)", name);
	thread_why(t, &to);
	if (t->abandoned)
		text_add(&to, ", abandoned");
	if (t->step != STEP_NONE && t->step < STEP_COUNT)
		text_add(&to, ", after: %s", device_step_name(t->step));
}

/* ---- numbers for people ---- */

const char *bytes_text(uint64_t bytes, char text[16])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	unsigned unit = 0;
	while (value >= 1024 && unit + 1 < ARRAY_COUNT(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 16, unit && value < 100 ? "%.1f %s" : "%.0f %s", value,
		units[unit]);
	return text;
}

const char *uptime_text(uint64_t ns, char text[48])
{
	uint64_t s = ns / CLOCK_NS_PER_S;
	if (s >= 86400)
		snprintf(text, 48, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
			s / 3600 % 24);
	else if (s >= 3600)
		snprintf(text, 48, "%" PRIu64 " h %" PRIu64 " min", s / 3600,
			s / 60 % 60);
	else if (s >= 60)
		snprintf(text, 48, "%" PRIu64 " min %" PRIu64 " s", s / 60,
			s % 60);
	else
		snprintf(text, 48, "%.1f s", (double)ns / CLOCK_NS_PER_S);
	return text;
}

const char *count_text(uint32_t count, char text[16])
{
	if (count == NODE_UNKNOWN)
		snprintf(text, 16, "?");
	else
		snprintf(text, 16, "%u", count);
	return text;
}

const char *locks_text(const struct node_status_port *p, char text[64])
{
	struct text to = { text, 64 };
	char count[16];
	text_add(&to, "%s",
		p->windows_locked ? count_text(p->windows_locked, count) : "-");
	for (uint32_t i = 0; i < NODE_STATUS_HOLDERS && p->holders[i]; i++)
		text_add(&to, "%s%u", i ? "," : " by ", p->holders[i]);
	return text;
}

const char *posted_text(const struct node_status_port *p, char text[32])
{
	char count[16];
	if (p->posted_mode == POSTED_NONE)
		snprintf(text, 32, "-");
	else
		snprintf(text, 32, "%s %s",
			count_text(p->posted_available, count),
			posted_mode_name(p->posted_mode));
	return text;
}

/* ---- tables ---- */

static void head_print(const struct node_status *s)
{
	char up[48], used[16], all[16], memory[16];

	printf("node %s, id %08x, pid %u, up %s\n", s->name, s->node, s->pid,
		uptime_text(s->uptime_ns, up));
	printf("heap: %s of %s in use, %s of memory\n",
		bytes_text(s->heap_used, used), bytes_text(s->heap_bytes, all),
		bytes_text(s->memory_bytes, memory));
	printf("the dead: %" PRIu64 " repaired after, %" PRIu64
	       " entries voided, %" PRIu64 " peers told\n",
		s->repaired, s->voided, s->gone_sent);
	printf("queue sets replaced: %" PRIu64 ", requests refused: %" PRIu64
	       ", not yet reclaimed: %" PRIu64 "\n",
		s->fenced, s->refused, s->zombies);
}

static void processes_print(const struct node_report *r)
{
	char heap[16], alloc[16];
	printf("\n%u process%s\n", r->head->processes,
		r->head->processes == 1 ? "" : "es");
	if (r->head->processes)
		printf("     pid  ports  threads  busy       heap      alloc  "
		       "realm\n");
	for (uint32_t i = 0; i < r->head->processes; i++) {
		const struct node_status_process *p = &r->processes[i];
		printf("%8u %6u %8u %5u %10s %10s  %s\n", p->pid, p->ports,
			p->records, p->busy, bytes_text(p->heap_bytes, heap),
			bytes_text(p->alloc_bytes, alloc), p->realm);
	}
}

static void port_print(const struct node_status_port *p)
{
	char used[16];
	printf("%5u %6u %8u %-8s %5" PRIu64 "/%-6u %9s %5u %8u  %s\n", p->vpid,
		p->epoch, p->pid, p->disabled ? "disabled" : port_state(p),
		port_entries(p), p->nq_entries, bytes_text(port_bytes(p), used),
		p->peers, p->watchers, *p->name ? p->name : "-");
}

static void ports_print(const struct node_report *r)
{
	printf("\n%u port%s\n", r->head->ports, r->head->ports == 1 ? "" : "s");
	if (r->head->ports)
		printf(" vpid  epoch      pid state     queue/size       data "
		       "peers watchers  name\n");
	for (uint32_t i = 0; i < r->head->ports; i++)
		port_print(&r->ports[i]);
}

/* Has it more than a queue? */
static bool port_uses_memory(const struct node_status_port *p)
{
	return p->windows_open || p->posted_mode != POSTED_NONE ||
	       p->references_used;
}

static void memory_print(const struct node_report *r)
{
	bool begun = false;
	char windows[16], locks[64], posted[32];
	for (uint32_t i = 0; i < r->head->ports; i++) {
		const struct node_status_port *p = &r->ports[i];
		if (!port_uses_memory(p))
			continue;
		if (!begun)
			printf("\nwindows, posted receives, references\n"
			       " vpid  windows  locked            posted  "
			       "references  name\n");
		begun = true;
		printf("%5u %8s  %-12s %11s %8u/%-2u  %s\n", p->vpid,
			count_text(p->windows_open, windows),
			locks_text(p, locks), posted_text(p, posted),
			p->references_used, p->references_entries,
			*p->name ? p->name : "-");
	}
}

static void threads_print(const struct node_report *r)
{
	char text[256];
	printf("\n%u thread%s\n", r->head->threads,
		r->head->threads == 1 ? "" : "s");
	if (r->head->threads)
		printf("     pid      tid   port      issued  in the middle "
		       "of\n");
	for (uint32_t i = 0; i < r->head->threads; i++) {
		const struct node_status_thread *t = &r->threads[i];
		thread_text(r, t, text, sizeof(text));
		printf("%8u %8u %6u %11" PRIu64 "  %s\n", t->pid, t->tid,
			t->vpid, t->issued, text);
	}
}

void node_status_print(const struct node_report *r)
{
	head_print(r->head);
	processes_print(r);
	ports_print(r);
	memory_print(r);
	threads_print(r);
}
