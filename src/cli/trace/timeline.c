/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay trace timeline: writes a trace in the JSON format of Perfetto. Each
 * thread of a port has a track, with a slice for each instruction. An arrow
 * leads from a message to the next poll of its target, and from an operation
 * with a completion to the next poll of its origin: a port consumes
 * everything that the order of the trace has before the poll.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/trace/trace.h"
#include "plot/events.h"
#include "trace/format.h"

#define COMMAND "trace timeline"

#define TIME_NS_MAX (1ull << 62) /* the sum of two does not overflow */
#define STEP_NS	    1000u	 /* per instruction of a trace without times */

/* A thread of a port. */
struct track {
	uint16_t port;
	uint32_t thread;
	uint32_t group; /* of its process, from 1 on */
	uint64_t end_ns;
};

/* An instruction on its track. */
struct slice {
	uint32_t track;
	uint64_t from_ns, to_ns;
};

struct timeline_call {
	const char *output;
	struct trace trace;
	struct track *track;
	uint32_t tracks;
	struct slice *slice; /* by instruction */
	bool timed;
};

/* ---- tracks and slices ---- */

/* Finds the track of an instruction, or adds it. The newest is looked at first:
 * programs have few threads. Returns -ENOMEM or 0. */
static int track_find(struct timeline_call *c,
	const struct trace_instruction *i, uint32_t *at)
{
	for (*at = c->tracks; (*at)-- > 0;)
		if (c->track[*at].port == i->port &&
			c->track[*at].thread == i->thread)
			return 0;
	struct track *grown =
		realloc(c->track, (c->tracks + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->track = grown;
	*at = c->tracks++;
	grown[*at] = (struct track){ .port = i->port, .thread = i->thread };
	return 0;
}

/* Numbers the groups: one for each process, and one for ports without one. */
static void groups_number(struct timeline_call *c)
{
	const struct trace_port *port = c->trace.port;
	uint32_t groups = 0;
	for (uint32_t i = 0; i < c->tracks; i++) {
		uint32_t process = port[c->track[i].port].process;
		for (uint32_t k = 0; k < i && !c->track[i].group; k++)
			if (port[c->track[k].port].process == process)
				c->track[i].group = c->track[k].group;
		if (!c->track[i].group)
			c->track[i].group = ++groups;
	}
}

static int slices_open(struct timeline_call *c)
{
	const struct trace *t = &c->trace;
	c->slice = calloc(t->count + 1ul, sizeof(*c->slice));
	if (!c->slice)
		return -ENOMEM;
	for (uint32_t n = 0; n < t->count; n++)
		c->timed |= t->instruction[n].time_ns != 0;
	for (uint32_t n = 0; n < t->count; n++) {
		const struct trace_instruction *i = &t->instruction[n];
		struct slice *s = &c->slice[n];
		uint64_t start = c->timed ? bits_min(i->time_ns, TIME_NS_MAX)
					  : STEP_NS * (uint64_t)n;
		uint64_t length =
			c->timed ? bits_min(i->duration_ns, TIME_NS_MAX)
				 : STEP_NS;
		if (track_find(c, i, &s->track))
			return -ENOMEM;
		/* Slices of a track are disjoint and not empty. */
		struct track *track = &c->track[s->track];
		s->from_ns = start > track->end_ns ? start : track->end_ns;
		s->to_ns = start + length > s->from_ns ? start + length
						       : s->from_ns + 1;
		track->end_ns = s->to_ns;
	}
	groups_number(c);
	return 0;
}

/* ---- output ---- */

static void names_write(struct events *e, const struct timeline_call *c)
{
	char name[64];
	uint32_t named = 0;
	for (uint32_t i = 0; i < c->tracks; i++) {
		const struct track *t = &c->track[i];
		uint32_t process = c->trace.port[t->port].process;
		if (t->group > named) {
			named = t->group;
			snprintf(name, sizeof(name), "process %u", process);
			events_group(e, named, process ? name : "ports");
		}
		int n = snprintf(name, sizeof(name), "port %u", t->port);
		if (t->thread)
			snprintf(name + n, sizeof(name) - (size_t)n,
				", thread %u", t->thread);
		events_track(e, t->group, i + 1, name);
	}
}

static void slice_write(
	struct events *e, const struct timeline_call *c, uint32_t n)
{
	const struct trace_instruction *i = &c->trace.instruction[n];
	const struct format_kind *k = &format_kinds[i->kind];
	const struct slice *s = &c->slice[n];
	events_slice_begin(e, c->track[s->track].group, s->track + 1, k->name,
		s->from_ns, s->to_ns);
	json_put_number(&e->j, "line", i->line);
	if (k->peer)
		json_put_number(&e->j, "target", i->peer);
	if (trace_issues(i->kind)) {
		json_put_number(&e->j, "bytes", trace_length(i));
		json_key(&e->j, "tag");
		json_word(&e->j, i->tag);
	}
	if (k->allowed >> FIELD_WINDOW & 1)
		json_put_number(&e->j, "window", i->window);
	events_slice_end(e);
}

/* An arrow between two instructions, unless `to` is none. */
static void arrow_write(struct events *e, const struct timeline_call *c,
	uint64_t *arrows, const char *name, uint32_t from, uint32_t to)
{
	const struct slice *a = &c->slice[from];
	const struct slice *b = to == UINT32_MAX ? NULL : &c->slice[to];
	if (!b || b->from_ns < a->from_ns)
		return;
	++*arrows;
	events_arrow(e, EVENTS_FROM, *arrows, c->track[a->track].group,
		a->track + 1, name, a->from_ns);
	events_arrow(e, EVENTS_TO, *arrows, c->track[b->track].group,
		b->track + 1, name, b->from_ns);
}

static void arrows_write(struct events *e, const struct timeline_call *c)
{
	uint32_t drain[TRACE_PORTS_MAX]; /* the next one of each port */
	uint64_t arrows = 0;
	memset(drain, 0xff, sizeof(drain));
	for (uint32_t n = c->trace.count; n-- > 0;) {
		const struct trace_instruction *i = &c->trace.instruction[n];
		if (i->kind == TRACE_DRAIN || i->kind == TRACE_PORT_CLOSE)
			drain[i->port] = n;
		if (i->kind == TRACE_SEND)
			arrow_write(
				e, c, &arrows, "message", n, drain[i->peer]);
		if (trace_issues(i->kind) && trace_completes(i))
			arrow_write(
				e, c, &arrows, "completion", n, drain[i->port]);
	}
}

static int timeline_write_trace(
	const struct timeline_call *c, const char *title, FILE *to)
{
	struct events e;
	events_open(&e, to, title,
		c->timed ? "times are those of the calls; a call without a "
			   "duration has 1 ns"
			 : "a microsecond is an instruction: the trace has no "
			   "times");
	names_write(&e, c);
	for (uint32_t n = 0; n < c->trace.count; n++)
		slice_write(&e, c, n);
	arrows_write(&e, c);
	return events_close(&e);
}

static int timeline_run(const struct command *command, int argc, char **argv)
{
	struct timeline_call c = { 0 };
	int status = command_parse(command, &argc, &argv, &c);
	if (status >= 0)
		return status;
	status = trace_file_load(COMMAND, argv[0], &c.trace);
	if (status)
		return status;
	cli_ignore_sigpipe();
	bool standard = !c.output || strcmp(c.output, "-") == 0;
	int r = slices_open(&c);
	if (r) {
		status = cli_error(COMMAND, "%s", strerror(-r));
	} else {
		FILE *f = standard ? stdout : fopen(c.output, "we");
		r = f ? timeline_write_trace(&c, argv[0], f) : -errno;
		if (f && !standard && fclose(f) != 0 && r == 0)
			r = -errno;
		/* A reader such as head(1) may stop early. */
		if (r && !(standard && r == -EPIPE))
			status = cli_error(COMMAND, "%s: %s",
				standard ? "standard output" : c.output,
				strerror(-r));
	}
	free(c.track);
	free(c.slice);
	trace_free(&c.trace);
	return status;
}

#define OPTIONS_STRUCT struct timeline_call

static const struct option_row timeline_rows[] = {
	OPTION_VALUE("output", "FILE", OPTION_FILE, output,
		"write to FILE instead of standard output", .letter = 'o'),
};

const struct command command_timeline = {
	.name = COMMAND,
	.summary = "write a trace as a timeline, for Perfetto",
	.arguments = "FILE",
	.help = "Writes a trace in the JSON format of Perfetto and "
		"chrome://tracing: a track for each thread of a port, a slice "
		"for each instruction, and arrows from messages and "
		"operations to the poll that receives them. Open the "
		"output in https://ui.perfetto.dev. FILE may be - for standard "
		"input.",
	.notes = "Arrows follow the order of the trace: a poll receives "
		 "everything that was sent to its port before it.",
	COMMAND_OPTIONS(timeline_rows),
	.run = timeline_run,
};
