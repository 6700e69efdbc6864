/* SPDX-License-Identifier: BSD-2-Clause */
/* cay sim: an interconnect, cycle by cycle. See cay-sim(1). */
#include "cli/sim/sim.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options.h"

#define PACKETS_DEFAULT 32

static int (*const tasks[])(struct sim_call *) = {
	[SIM_STUDY] = sim_study,
	[SIM_SWEEP] = sim_study,
	[SIM_SATURATION] = sim_study,
	[SIM_REPLAY] = sim_replay,
	[SIM_BARRIERS] = sim_barriers,
	[SIM_CHECK] = sim_check,
	[SIM_ROUTE] = sim_route,
	[SIM_METRICS] = sim_metrics,
};

int cli_sim(int argc, char **argv)
{
	/* It holds a list of loads: too much for a stack. */
	static struct sim_call call;
	int status = sim_options(&call, argc, argv);
	if (status >= 0)
		return status;
	if (call.packets == 0)
		call.packets = PACKETS_DEFAULT;
	option_pipe_ignore();
	return tasks[call.task](&call);
}
