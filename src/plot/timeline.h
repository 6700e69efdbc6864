/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The paths of packets as a timeline, in the JSON format of Perfetto and
 * chrome://tracing: a track for each packet, and one for each virtual channel
 * of a link that a packet has used. A cycle is shown as a microsecond.
 */
#ifndef CAY_PLOT_TIMELINE_H
#define CAY_PLOT_TIMELINE_H

#include <stdint.h>
#include <stdio.h>

struct timeline_hop {
	uint64_t time; /* of the head flit */
	uint32_t node, to;
	uint8_t port, channel;
};

/* sent <= entered <= times of the hops, in order <= arrived. */
struct timeline_packet {
	uint32_t from, to, length;
	uint64_t sent, entered, arrived;
	const char *end; /* "delivered", ... */
	const struct timeline_hop *hop;
	uint32_t hops;
};

struct timeline {
	const char *title;
	const struct timeline_packet *packet;
	uint32_t count;
};

/* Writes a timeline. Returns 0, -ENOMEM, or -errno of the stream. */
int timeline_write(FILE *, const struct timeline *);

#endif
