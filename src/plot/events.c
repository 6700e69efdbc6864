/* SPDX-License-Identifier: BSD-2-Clause */
/* See events.h. Events are complete ("X"), metadata ("M") and flow ("s", "f").
 */
#include "plot/events.h"

#define NS_PER_US 1000u

static void event_begin(struct events *e, const char *phase, uint64_t group,
	uint64_t track, const char *name)
{
	json_object_begin(&e->j);
	json_put_string(&e->j, "ph", phase);
	json_put_number(&e->j, "pid", group);
	json_put_number(&e->j, "tid", track);
	json_put_string(&e->j, "name", name);
}

/* The format has microseconds. */
static void time_put(struct events *e, const char *key, uint64_t ns)
{
	if (ns % NS_PER_US == 0)
		json_put_number(&e->j, key, ns / NS_PER_US);
	else
		json_put_fixed(&e->j, key, (double)ns / NS_PER_US, 3);
}

static void name_put(struct events *e, const char *kind, uint64_t group,
	uint64_t track, const char *name)
{
	event_begin(e, "M", group, track, kind);
	json_key(&e->j, "args");
	json_object_begin(&e->j);
	json_put_string(&e->j, "name", name);
	json_object_end(&e->j);
	json_object_end(&e->j);
}

void events_open(
	struct events *e, FILE *to, const char *title, const char *unit)
{
	json_open(&e->j, to);
	json_object_begin(&e->j);
	json_put_string(&e->j, "displayTimeUnit", "ms");
	json_key(&e->j, "otherData");
	json_object_begin(&e->j);
	json_put_string(&e->j, "title", title);
	json_put_string(&e->j, "unit", unit);
	json_object_end(&e->j);
	json_key(&e->j, "traceEvents");
	json_array_begin(&e->j);
}

int events_close(struct events *e)
{
	json_array_end(&e->j);
	json_object_end(&e->j);
	return json_close(&e->j);
}

void events_group(struct events *e, uint64_t group, const char *name)
{
	name_put(e, "process_name", group, 0, name);
}

void events_track(
	struct events *e, uint64_t group, uint64_t track, const char *name)
{
	name_put(e, "thread_name", group, track, name);
}

void events_slice(struct events *e, uint64_t group, uint64_t track,
	const char *name, uint64_t from_ns, uint64_t to_ns)
{
	event_begin(e, "X", group, track, name);
	time_put(e, "ts", from_ns);
	time_put(e, "dur", to_ns > from_ns ? to_ns - from_ns : 0);
	json_object_end(&e->j);
}

void events_slice_begin(struct events *e, uint64_t group, uint64_t track,
	const char *name, uint64_t from_ns, uint64_t to_ns)
{
	event_begin(e, "X", group, track, name);
	time_put(e, "ts", from_ns);
	time_put(e, "dur", to_ns > from_ns ? to_ns - from_ns : 0);
	json_key(&e->j, "args");
	json_object_begin(&e->j);
}

void events_slice_end(struct events *e)
{
	json_object_end(&e->j);
	json_object_end(&e->j);
}

void events_arrow(struct events *e, enum events_end end, uint64_t number,
	uint64_t group, uint64_t track, const char *name, uint64_t ns)
{
	event_begin(e, end == EVENTS_FROM ? "s" : "f", group, track, name);
	json_put_string(&e->j, "cat", "flow");
	json_put_number(&e->j, "id", number);
	if (end == EVENTS_TO)
		json_put_string(&e->j, "bp", "e"); /* the enclosing slice */
	time_put(e, "ts", ns);
	json_object_end(&e->j);
}
