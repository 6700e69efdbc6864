/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that an application sends, to be replayed: a text of one packet per
 * line, "TIME FROM TO LENGTH" in decimal with blanks between, the time in
 * cycles and the length in flits. From "#" on a line is a comment; empty lines
 * are fine, and so is any order of times.
 */
#ifndef CAY_NETWORK_TRAFFIC_WORKLOAD_H
#define CAY_NETWORK_TRAFFIC_WORKLOAD_H

#include <stdint.h>
#include <stdio.h>

#include "network/topology/topology.h"
#include "network/traffic/length.h"

#define WORKLOAD_TIME_MAX    (1ull << 48)
#define WORKLOAD_PACKETS_MAX (1u << 26)
#define WORKLOAD_LINE_MAX    1000 /* characters, without the end of the line */

struct workload_packet {
	uint64_t time;
	uint32_t from, to;
	uint32_t length;
};

struct workload {
	struct workload_packet *packet; /* by time; else as in the text */
	uint64_t count;
};

struct workload_complaint {
	uint64_t line;	 /* from 1 */
	const char *why; /* lives for ever */
};

/*
 * Reads to the end of the file. 0; -EINVAL and what is wrong in which line; or
 * -ENOMEM, -EIO. If it fails, the workload is empty. Any thread, while no other
 * uses the file; blocks as that does.
 */
int workload_read(FILE *, const struct topology *, struct workload *,
	struct workload_complaint *);
/* What workload_read() reads. 0 or -EIO. */
int workload_write(FILE *, const struct workload *);
void workload_free(struct workload *);

#endif
