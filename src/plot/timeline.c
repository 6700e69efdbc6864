/* SPDX-License-Identifier: BSD-2-Clause */
/* See timeline.h. */
#include "plot/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "plot/events.h"

#define NAME_BYTES 64
#define CYCLE_NS   1000u /* a cycle is shown as a microsecond */

/* Groups of tracks, shown as processes. */
enum group {
	GROUP_PACKETS = 1,
	GROUP_LINKS = 2,
};

/* A virtual channel of a link. */
struct track {
	uint32_t node, to;
	uint8_t port, channel;
};

struct tracks {
	struct track *track;
	uint64_t count;
};

static void slice_put(struct events *e, enum group group, uint64_t track,
	const char *name, uint64_t from, uint64_t to)
{
	events_slice(e, group, track, name, CYCLE_NS * from, CYCLE_NS * to);
}

/* ---- tracks of links ---- */

static int track_compare(const void *left, const void *right)
{
	const struct track *a = left, *b = right;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return (a->channel > b->channel) - (a->channel < b->channel);
}

static struct track track_of(const struct timeline_hop *h)
{
	return (struct track){ h->node, h->to, h->port, h->channel };
}

static int tracks_open(struct tracks *t, const struct timeline *line)
{
	uint64_t hops = 0;
	for (uint32_t i = 0; i < line->count; i++)
		hops += line->packet[i].hops;
	*t = (struct tracks){ .track = malloc((hops + 1) * sizeof(*t->track)) };
	if (!t->track)
		return -ENOMEM;
	for (uint32_t i = 0; i < line->count; i++)
		for (uint32_t h = 0; h < line->packet[i].hops; h++)
			t->track[t->count++] =
				track_of(&line->packet[i].hop[h]);
	qsort(t->track, t->count, sizeof(*t->track), track_compare);
	/* Remove duplicates. */
	uint64_t kept = 0;
	for (uint64_t i = 0; i < t->count; i++)
		if (i == 0 ||
			track_compare(&t->track[kept - 1], &t->track[i]) != 0)
			t->track[kept++] = t->track[i];
	t->count = kept;
	return 0;
}

static uint64_t tracks_find(
	const struct tracks *t, const struct timeline_hop *h)
{
	struct track wanted = track_of(h);
	const struct track *found = bsearch(
		&wanted, t->track, t->count, sizeof(wanted), track_compare);
	return (uint64_t)(found - t->track) + 1;
}

/* ---- packets ---- */

static void packet_put(struct events *e, const struct tracks *t,
	const struct timeline_packet *p, uint32_t number)
{
	char name[NAME_BYTES], step[NAME_BYTES];
	uint64_t track = number + 1;
	snprintf(name, sizeof(name), "packet %u: %u to %u", number, p->from,
		p->to);
	events_track(e, GROUP_PACKETS, track, name);

	/* The slice of the whole packet encloses those that follow. */
	events_slice_begin(e, GROUP_PACKETS, track, name, CYCLE_NS * p->sent,
		CYCLE_NS * p->arrived);
	json_put_number(&e->j, "flits", p->length);
	json_put_number(&e->j, "hops", p->hops);
	json_put_number(&e->j, "latency_cycles", p->arrived - p->sent);
	json_put_string(&e->j, "end", p->end);
	events_slice_end(e);

	uint64_t left = p->hops ? p->hop[0].time : p->arrived;
	if (p->entered > p->sent)
		slice_put(e, GROUP_PACKETS, track, "waits at its source",
			p->sent, p->entered);
	snprintf(step, sizeof(step), "at node %u", p->from);
	slice_put(e, GROUP_PACKETS, track, step, p->entered, left);
	for (uint32_t h = 0; h < p->hops; h++) {
		snprintf(step, sizeof(step), "to node %u", p->hop[h].to);
		slice_put(e, GROUP_PACKETS, track, step, p->hop[h].time,
			h + 1 < p->hops ? p->hop[h + 1].time : p->arrived);
	}
	/* One flit per cycle: a packet uses a link for at least its length. */
	for (uint32_t h = 0; h < p->hops; h++)
		slice_put(e, GROUP_LINKS, tracks_find(t, &p->hop[h]), name,
			p->hop[h].time, p->hop[h].time + p->length);
}

int timeline_write(FILE *to, const struct timeline *line)
{
	struct tracks t;
	struct events e;
	int r = tracks_open(&t, line);
	if (r)
		return r;
	events_open(&e, to, line->title, "a microsecond is a cycle");
	events_group(&e, GROUP_PACKETS, "packets");
	events_group(&e, GROUP_LINKS, "links");
	for (uint64_t i = 0; i < t.count; i++) {
		const struct track *k = &t.track[i];
		char name[NAME_BYTES];
		snprintf(name, sizeof(name), "%u to %u, port %u channel %u",
			k->node, k->to, k->port, k->channel);
		events_track(&e, GROUP_LINKS, i + 1, name);
	}
	for (uint32_t i = 0; i < line->count; i++)
		packet_put(&e, &t, &line->packet[i], i);
	free(t.track);
	return events_close(&e);
}
