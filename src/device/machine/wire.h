/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wire between machines on the counting platform: packets are delayed by a
 * seed. Those of one source, destination and class (requests; responses and
 * ULTRA messages) stay in order; all others may overtake each other.
 *
 *	struct wire *w;
 *	wire_open(&w, machines, count, delay_max, seed);
 *	while (wire_step(w) || ...)
 *		... machine_step() of each machine
 *	wire_close(w);
 */
#ifndef CAY_DEVICE_MACHINE_WIRE_H
#define CAY_DEVICE_MACHINE_WIRE_H

#include "device/machine/machine.h"

struct wire;

/*
 * Connects machines, which are node 1 to `count`. Returns 0 or -ENOMEM. The
 * machines are open until the wire is closed.
 */
int wire_open(struct wire **, struct machine *const *, uint32_t count,
	uint32_t delay_max, uint64_t seed);
void wire_close(struct wire *);

/* Delivers what is due; returns true if packets are under way. */
bool wire_step(struct wire *);

/* Drops all packets from a node, and connects it no more. */
void wire_cut(struct wire *, uint32_t node);

uint64_t wire_packets(const struct wire *); /* carried so far */

#endif
