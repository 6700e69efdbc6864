/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of an application, for replay: a text with one packet per line, "TIME
 * FROM TO LENGTH" in decimal separated by blanks, the time in cycles and the
 * length in flits. "#" starts a comment; empty lines and any order of times are
 * allowed.
 */
#ifndef CAY_NETWORK_TRAFFIC_WORKLOAD_H
#define CAY_NETWORK_TRAFFIC_WORKLOAD_H

#include <stdint.h>
#include <stdio.h>

#include "network/topology/topology.h"
#include "network/traffic/length.h"

#define WORKLOAD_TIME_MAX    (1ull << 48)
#define WORKLOAD_PACKETS_MAX (1u << 26)
#define WORKLOAD_LINE_MAX    1000 /* characters, without the newline */

struct workload_packet {
	uint64_t time;
	uint32_t from, to;
	uint32_t length;
};

struct workload {
	struct workload_packet *packet; /* sorted by time, stable */
	uint64_t count;
};

struct workload_error {
	uint64_t line;	 /* from 1 */
	const char *why; /* static string */
};

/*
 * Reads to the end of the file. Returns 0; -EINVAL and the error; -ENOMEM
 * or -EIO. On failure the workload is empty. No other thread may use the file;
 * blocks as the file does.
 */
int workload_read(FILE *, const struct topology *, struct workload *,
	struct workload_error *);
/* Writes the format of workload_read(). Returns 0 or -EIO. */
int workload_write(FILE *, const struct workload *);
void workload_free(struct workload *);

#endif
