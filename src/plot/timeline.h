/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways of packets as a timeline, in the JSON that Perfetto and
 * chrome://tracing open: a track for each packet, and one for each virtual
 * channel of a link that any of them has used. A cycle is shown as a
 * microsecond.
 */
#ifndef CAY_PLOT_TIMELINE_H
#define CAY_PLOT_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

struct timeline_hop {
	uint64_t time; /* when its head left */
	uint32_t node, to;
	uint8_t port, channel;
};

/* sent <= entered <= times of the hops, in order <= arrived. */
struct timeline_packet {
	uint32_t from, to, length;
	uint64_t sent, entered, arrived;
	const char *end; /* what became of it: "delivered", ... */
	const struct timeline_hop *hop;
	uint32_t hops;
};

struct timeline {
	const char *title;
	const struct timeline_packet *packet;
	uint32_t count;
};

/* 0, -ENOMEM, or -errno if not all could be written. */
int timeline_write(FILE *, const struct timeline *);

#endif
