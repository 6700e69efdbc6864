/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node status: a node's report as text and JSON. */
#include "cli/node/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "device/queue.h"
#include "device/step.h"

/* Appends to a text; cuts off what does not fit. */
__attribute__((format(printf, 3, 4))) static void text_add(
	char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

/* ---- ports ---- */

static const char *port_state(const struct node_status_port *p)
{
	if (p->closed)
		return "closed";
	/* A sender waits for an entry, or would not get one. */
	if (p->r & R_WAITERS || queue_ahead(queue_nq(p->w), queue_nq(p->r)) >=
					p->message_entries)
		return "full";
	if (p->w & W_SLEEP)
		return "asleep";
	return p->w & W_ARMED ? "armed" : "open";
}

struct status_port status_port_of(const struct node_status_port *p)
{
	static const char *const modes[] = {
		[POSTED_NONE] = "none",
		[POSTED_RDR] = "rdr",
		[POSTED_ONLY] = "only",
	};
	struct status_port s = { .now = *p,
		.entries = queue_ahead(queue_nq(p->w), queue_nq(p->r)),
		.bytes = RDR_UNIT *
			 queue_rdr_ahead(queue_rdr(p->w), queue_rdr(p->r)),
		.rdr_bytes = (uint64_t)p->rdr_units * RDR_UNIT,
		.state = port_state(p),
		.state_text = p->disabled ? "disabled" : port_state(p),
		.posted_mode = p->posted_mode < ARRAY_COUNT(modes)
				       ? modes[p->posted_mode]
				       : "unknown" };
	snprintf(s.queue, sizeof(s.queue), "%" PRIu64 "/%u", s.entries,
		p->nq_entries);
	if (p->windows_locked == NODE_UNKNOWN)
		snprintf(s.locks, sizeof(s.locks), "?");
	else if (p->windows_locked)
		snprintf(s.locks, sizeof(s.locks), "%u", p->windows_locked);
	for (uint32_t i = 0; i < NODE_STATUS_HOLDERS && p->holders[i]; i++)
		text_add(s.locks, sizeof(s.locks), "%s%u", i ? "," : " by ",
			p->holders[i]);
	if (p->posted_mode != POSTED_NONE &&
		p->posted_available == NODE_UNKNOWN)
		snprintf(s.posted, sizeof(s.posted), "? %s", s.posted_mode);
	else if (p->posted_mode != POSTED_NONE)
		snprintf(s.posted, sizeof(s.posted), "%u %s",
			p->posted_available, s.posted_mode);
	snprintf(s.references, sizeof(s.references), "%u/%u",
		p->references_used, p->references_entries);
	return s;
}

static void holders_json(struct json *j, const void *port)
{
	const struct node_status_port *p = port;
	json_array_begin(j);
	for (uint32_t i = 0; i < NODE_STATUS_HOLDERS && p->holders[i]; i++)
		json_number(j, p->holders[i]);
	json_array_end(j);
}

/* ---- threads ---- */

static const char *port_name(const struct node_report *r, uint16_t vpid)
{
	for (uint32_t i = 0; i < r->head->ports; i++)
		if (r->ports[i].vpid == vpid && *r->ports[i].name)
			return r->ports[i].name;
	return NULL;
}

struct status_thread status_thread_of(
	const struct node_report *r, const struct node_status_thread *t)
{
	struct status_thread s = { .now = *t,
		.entry = UINT64_MAX,
		.vpid = t->vpid ? t->vpid : UINT32_MAX,
		.target = UINT32_MAX,
		.window = UINT32_MAX,
		.posted = UINT32_MAX,
		.doing = "idle",
		.operation = "idle" };
	char *text = s.operation;
	/* Writes to the buffer of a posted receive. */
	bool fills = t->posted && t->posted_target == t->target;
	size_t size = sizeof(s.operation);

	if (t->state == OP_IDLE)
		return s;
	s.target = t->target;
	s.window = t->window ? t->window - 1 : UINT32_MAX;
	s.posted = t->posted ? t->posted - 1 : UINT32_MAX;
	if (t->state == OP_TRY || t->state == OP_OWN)
		s.entry = t->entry;
	if (t->step != STEP_NONE && t->step < STEP_COUNT)
		s.step = device_step_name(t->step);
	if (t->state == OP_TRY)
		s.doing = "claiming";
	else if (t->state == OP_OWN)
		s.doing = "owning";
	else
		s.doing = fills ? "filling" : "accessing";

	snprintf(text, size, "%s", s.doing);
	if (t->state == OP_TRY)
		text_add(text, size, " an entry");
	else if (t->state == OP_OWN)
		text_add(text, size, " entry %" PRIu64, t->entry);
	else if (fills)
		text_add(text, size, " posted receive %u", s.posted);
	else if (t->window)
		text_add(text, size, " window %u", s.window);
	else
		text_add(text, size, " posted receives");
	text_add(text, size, " of port %u", t->target);
	if (port_name(r, t->target))
		text_add(text, size, " (%s)", port_name(r, t->target));
	/* The operation that the entry will notify the target of. */
	if (t->state != OP_ACCESS && fills)
		text_add(text, size, ", for posted receive %u", s.posted);
	else if (t->state != OP_ACCESS && t->window)
		text_add(text, size, ", for window %u", s.window);
	if (t->abandoned)
		text_add(text, size, ", abandoned");
	if (s.step)
		text_add(text, size, ", after: %s", s.step);
	return s;
}

/* ---- tables ---- */

#define HEAD(member, ...) FIELD(struct node_status, member, __VA_ARGS__)
#define PROCESS(member, ...) \
	FIELD(struct node_status_process, member, __VA_ARGS__)
#define PORT(member, ...)   FIELD(struct status_port, member, __VA_ARGS__)
#define THREAD(member, ...) FIELD(struct status_thread, member, __VA_ARGS__)

const struct field head_fields[] = {
	HEAD(name, "name", .kind = FIELD_CHARS),
	HEAD(node, "node"),
	HEAD(pid, "pid"),
	HEAD(uptime_ns, "uptime_ns"),
	HEAD(realms, "realms"),
	HEAD(heap_bytes, "heap_bytes"),
	HEAD(heap_used, "heap_used"),
	HEAD(memory_bytes, "memory_bytes"),
	HEAD(repaired, "repaired"),
	HEAD(voided, "voided"),
	HEAD(gone_sent, "gone_sent"),
	HEAD(fenced, "fenced"),
	HEAD(refused, "refused"),
	HEAD(over_quota, "over_quota"),
	HEAD(barriers, "barriers"),
	HEAD(zombies, "zombies"),
	FIELDS_END,
};

const struct field process_fields[] = {
	PROCESS(pid, "pid", .title = "pid", .width = 8),
	PROCESS(ports, "ports", .title = "ports"),
	PROCESS(records, "threads", .title = "threads"),
	PROCESS(busy, "busy", .title = "busy"),
	PROCESS(heap_bytes, "heap_bytes", .kind = FIELD_SIZE, .title = "heap",
		.width = 10),
	PROCESS(alloc_bytes, "alloc_bytes", .kind = FIELD_SIZE,
		.title = "alloc", .width = 10),
	PROCESS(blocks, "blocks"),
	PROCESS(peers, "peers", .title = "peers"),
	PROCESS(mappings, "mappings", .title = "mapped"),
	PROCESS(paths, "ultra_paths", .title = "paths"),
	PROCESS(realm, "realm", .kind = FIELD_CHARS, .title = "realm",
		.width = -1),
	FIELDS_END,
};

const struct field port_fields[] = {
	PORT(now.vpid, "vpid", .title = "vpid", .width = 5),
	PORT(now.epoch, "epoch", .title = "epoch"),
	PORT(now.pid, "pid", .title = "pid", .width = 8),
	PORT(state, "state", .kind = FIELD_STRING),
	PORT(state_text, NULL, .kind = FIELD_STRING, .title = "state",
		.width = -8),
	PORT(now.disabled, "disabled", .kind = FIELD_BOOL),
	PORT(now.doorbell, "descriptor", .kind = FIELD_BOOL),
	PORT(entries, "nq_used"),
	PORT(now.nq_entries, "nq_entries"),
	PORT(now.message_entries, "message_entries"),
	PORT(queue, NULL, .kind = FIELD_CHARS, .title = "queue/size"),
	PORT(bytes, "rdr_used_bytes", .kind = FIELD_SIZE, .title = "data",
		.width = 9),
	PORT(rdr_bytes, "rdr_bytes"),
	PORT(now.peers, "peers", .title = "peers"),
	PORT(now.peers_gone, "peers_gone"),
	PORT(now.paths[PATH_DIRECT], "direct", .object = "paths"),
	PORT(now.paths[PATH_GUARDED], "guarded", .object = "paths"),
	PORT(now.paths[PATH_LINK], "link", .object = "paths"),
	PORT(now.watchers, "watchers", .title = "watchers"),
	PORT(now.windows_open, "windows", .kind = FIELD_COUNT),
	PORT(now.window_entries, "window_entries"),
	PORT(now.windows_locked, "windows_locked", .kind = FIELD_COUNT),
	PORT(now.holders, "locked_by", .json = holders_json),
	PORT(posted_mode, "posted_mode", .kind = FIELD_STRING),
	PORT(now.posted_available, "posted_available", .kind = FIELD_COUNT),
	PORT(now.posted_entries, "posted_entries"),
	PORT(now.references_used, "references_used"),
	PORT(now.references_entries, "references_entries"),
	PORT(now.name, "name", .kind = FIELD_CHARS, .title = "name",
		.width = -1),
	FIELDS_END,
};

/* Columns of the ports that have windows, posted receives or references. */
static const struct field memory_fields[] = {
	PORT(now.vpid, NULL, .title = "vpid", .width = 5),
	PORT(now.windows_open, NULL, .kind = FIELD_COUNT, .title = "windows"),
	PORT(locks, NULL, .kind = FIELD_CHARS, .title = "locked", .width = -12),
	PORT(posted, NULL, .kind = FIELD_CHARS, .title = "posted", .width = 8),
	PORT(references, NULL, .kind = FIELD_CHARS, .title = "references"),
	PORT(now.name, NULL, .kind = FIELD_CHARS, .title = "name", .width = -1),
	FIELDS_END,
};

const struct field thread_fields[] = {
	THREAD(now.pid, "pid", .title = "pid", .width = 8),
	THREAD(now.tid, "tid", .title = "tid", .width = 8),
	THREAD(vpid, "vpid", .kind = FIELD_COUNT),
	THREAD(now.vpid, NULL, .title = "port", .width = 6),
	THREAD(now.issued, "issued", .title = "issued", .width = 11),
	THREAD(doing, "doing", .kind = FIELD_STRING),
	THREAD(target, "target", .kind = FIELD_COUNT),
	THREAD(entry, "entry", .kind = FIELD_COUNT),
	THREAD(window, "window", .kind = FIELD_COUNT),
	THREAD(posted, "posted", .kind = FIELD_COUNT),
	THREAD(now.abandoned, "abandoned", .kind = FIELD_BOOL),
	THREAD(step, "step", .kind = FIELD_STRING),
	THREAD(operation, NULL, .kind = FIELD_CHARS,
		.title = "operation in progress", .width = -1),
	FIELDS_END,
};

/* ---- the report ---- */

/* The ports and threads of a report as records of the tables. */
struct rows {
	struct status_port *ports;
	struct status_thread *threads;
	uint32_t ports_count, threads_count; /* 0 without memory */
};

static struct rows rows_open(const struct node_report *r)
{
	const struct node_status *s = r->head;
	struct rows rows = {
		.ports = calloc(s->ports + 1ul, sizeof(*rows.ports)),
		.threads = calloc(s->threads + 1ul, sizeof(*rows.threads)),
	};
	rows.ports_count = rows.ports ? s->ports : 0;
	rows.threads_count = rows.threads ? s->threads : 0;
	for (uint32_t i = 0; i < rows.ports_count; i++)
		rows.ports[i] = status_port_of(&r->ports[i]);
	for (uint32_t i = 0; i < rows.threads_count; i++)
		rows.threads[i] = status_thread_of(r, &r->threads[i]);
	return rows;
}

static void rows_close(struct rows *rows)
{
	free(rows->ports);
	free(rows->threads);
}

void node_status_json(const struct node_report *r)
{
	struct rows rows = rows_open(r);
	struct json j;

	json_open(&j, stdout);
	json_object_begin(&j);
	fields_json(&j, head_fields, r->head);
	fields_json_array(&j, "processes", process_fields, r->processes,
		r->head->processes, sizeof(*r->processes));
	fields_json_array(&j, "ports", port_fields, rows.ports,
		rows.ports_count, sizeof(*rows.ports));
	fields_json_array(&j, "threads", thread_fields, rows.threads,
		rows.threads_count, sizeof(*rows.threads));
	json_object_end(&j);
	json_close(&j);
	rows_close(&rows);
}

static void table_print(const struct field *fields, const void *records,
	size_t count, size_t size)
{
	if (count)
		fields_print(stdout, fields, records, count, size);
}

void node_status_print(const struct node_report *r)
{
	const struct node_status *s = r->head;
	struct rows rows = rows_open(r);
	char a[FIELD_BYTES], b[FIELD_BYTES], c[FIELD_BYTES];
	uint32_t using = 0;

	printf("node %s, id %08x, pid %u, up %s\n", s->name, s->node, s->pid,
		seconds_text((double)s->uptime_ns / CLOCK_NS_PER_S, a));
	printf("%u arena%s: %s of %s allocated, %s of memory\n", s->realms,
		plural(s->realms), bytes_text(s->heap_used, a),
		bytes_text(s->heap_bytes + s->realms * ARENA_HEAP_OFFSET, b),
		bytes_text(s->memory_bytes, c));
	printf("dead processes: %" PRIu64 " repaired, %" PRIu64
	       " entr%s voided, %" PRIu64 " peer%s notified\n",
		s->repaired, s->voided, s->voided == 1 ? "y" : "ies",
		s->gone_sent, plural(s->gone_sent));
	printf("queue sets replaced: %" PRIu64 ", requests refused: %" PRIu64
	       ", not yet reclaimed: %" PRIu64 "\n",
		s->fenced, s->refused, s->zombies);

	printf("\n%u process%s\n", s->processes, s->processes == 1 ? "" : "es");
	table_print(process_fields, r->processes, s->processes,
		sizeof(*r->processes));
	printf("\n%u port%s\n", s->ports, plural(s->ports));
	table_print(
		port_fields, rows.ports, rows.ports_count, sizeof(*rows.ports));
	for (uint32_t i = 0; i < rows.ports_count; i++) {
		const struct node_status_port *p = &rows.ports[i].now;
		if (p->windows_open || p->posted_mode != POSTED_NONE ||
			p->references_used)
			rows.ports[using ++] = rows.ports[i];
	}
	if (using)
		printf("\nwindows, posted receives, references\n");
	table_print(memory_fields, rows.ports, using, sizeof(*rows.ports));
	printf("\n%u thread%s\n", s->threads, plural(s->threads));
	table_print(thread_fields, rows.threads, rows.threads_count,
		sizeof(*rows.threads));
	rows_close(&rows);
}
