/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the JSON format of Perfetto and chrome://tracing ("Trace Event
 * Format"): tracks in groups, which are shown as threads of processes, slices
 * on them, and arrows between slices.
 *
 *	struct events e;
 *	events_open(&e, to, "a title", "what a microsecond is");
 *	events_group(&e, 1, "ports");
 *	events_track(&e, 1, 7, "port 7");
 *	events_slice(&e, 1, 7, "put", from_ns, to_ns);
 *	return events_close(&e);
 */
#ifndef CAY_PLOT_EVENTS_H
#define CAY_PLOT_EVENTS_H

#include "base/json.h"

struct events {
	struct json j;
};

void events_open(struct events *, FILE *, const char *title, const char *unit);

/* Returns 0, or -errno of the stream. */
int events_close(struct events *);

/* Name a group, and a track of it. */
void events_group(struct events *, uint64_t group, const char *name);
void events_track(
	struct events *, uint64_t group, uint64_t track, const char *name);

/* Slices of one track must be disjoint or nested. */
void events_slice(struct events *, uint64_t group, uint64_t track,
	const char *name, uint64_t from_ns, uint64_t to_ns);

/* A slice with arguments: the caller adds members to e->j in between. */
void events_slice_begin(struct events *, uint64_t group, uint64_t track,
	const char *name, uint64_t from_ns, uint64_t to_ns);
void events_slice_end(struct events *);

/* One end of an arrow, in the slice of the track at that time. The two ends
 * have the same number, and name. */
enum events_end {
	EVENTS_FROM,
	EVENTS_TO,
};
void events_arrow(struct events *, enum events_end, uint64_t number,
	uint64_t group, uint64_t track, const char *name, uint64_t ns);

#endif
