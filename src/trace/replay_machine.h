/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines of a replay; see replay.h. */
#ifndef CAY_TRACE_REPLAY_MACHINE_H
#define CAY_TRACE_REPLAY_MACHINE_H

#include "device/machine/wire.h"
#include "trace/replay_internal.h"

/* Payload of the VCIs of a port that are in flight. */
struct staging {
	struct origin_window *windows; /* the last one is the staging memory */
	unsigned char *memory;
	uint64_t bytes, used;
	uint64_t sdr_bytes, sdr_used;
};

/* An instruction in flight. */
struct flight {
	uint32_t instruction;
	uint64_t from, to; /* of the arena that it accesses; empty: none */
	const unsigned char *data; /* GET: where its data arrives */
};

struct replay_machine {
	struct replay_machine_options options;
	struct machine *machine[REPLAY_MACHINES_MAX];
	struct wire *wire;
	struct staging *staging; /* by port */
	struct flight flight[REPLAY_IN_FLIGHT_MAX];
	uint32_t flights;
	uint64_t issued, cycles, stalls;
	uint64_t random;
	bool held; /* an instruction is in flight that cannot end */
};

static inline uint32_t machine_of(const struct replay_machine *x, uint32_t port)
{
	return port % x->options.machines;
}

/* Runs one cycle of everything; false if nothing is left to do. */
static inline bool machines_step(struct replay_machine *x)
{
	bool some = wire_step(x->wire);
	for (uint32_t i = 0; i < x->options.machines; i++)
		some |= machine_step(x->machine[i]);
	x->cycles++;
	return some;
}

#endif
