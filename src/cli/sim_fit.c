/* SPDX-License-Identifier: BSD-2-Clause */
/* Which options of `cay sim` go together, see sim.h. */
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim.h"

static int check_topology(struct sim_call *c, int argc, char **argv)
{
	if (optind == argc)
		return option_misused("sim", "which topology? torus, mesh, "
					     "ring, hypercube, full or graph");
	c->topology = argv[optind];
	if (sim_value_name(c->topology, sim_topologies) < 0)
		return option_misused("sim",
			"'%s': must be torus, mesh, ring, hypercube, full or "
			"graph",
			c->topology);
	if (argc - optind > 1)
		return option_misused(
			"sim", "'%s': only one topology", argv[optind + 1]);
	bool graph = strcmp(c->topology, "graph") == 0;
	if (graph != (c->graph != NULL))
		return option_misused("sim",
			graph ? "a graph needs --graph FILE"
			      : "--graph FILE is for the topology graph");
	if (graph && c->dims_count)
		return option_misused("sim", "a graph has no --dims");
	return -1;
}

static int check_task(const struct sim_call *c)
{
	if (c->tasks & (c->tasks - 1))
		return option_misused("sim",
			"--loads, --saturation, --trace, --barriers, --check, "
			"--route and --metrics: one of them");
	if (c->load_given && c->tasks)
		return option_misused(
			"sim", "--load: not with what else is asked for");
	return -1;
}

static int check_traffic(const struct sim_call *c)
{
	const struct traffic *t = &c->study.traffic;
	enum traffic_pattern named = TRAFFIC_HOT_SPOT;
	if (c->traffic_text)
		traffic_pattern_parse(c->traffic_text, &named);
	if (t->pattern == TRAFFIC_HOT_SPOT && t->share == 0)
		return option_misused("sim", "--traffic hot-spot needs "
					     "--hot-spot NODE:SHARE");
	if (t->share > 0 && named != TRAFFIC_HOT_SPOT)
		return option_misused("sim",
			"--hot-spot: not with --traffic %s", c->traffic_text);
	return -1;
}

static int check_output(const struct sim_call *c)
{
	bool many = c->task == SIM_SWEEP || c->task == SIM_SATURATION;
	bool one = c->task == SIM_STUDY || c->task == SIM_REPLAY;
	if (c->svg.path && !many)
		return option_misused(
			"sim", "--svg: needs --loads or --saturation");
	if (c->csv.path && !many && !one)
		return option_misused("sim", "--csv: only of a simulation");
	if ((c->heat.path || c->links || c->timeline.path) && !one)
		return option_misused("sim",
			"--heat, --links and --timeline: only with one --load "
			"or a --trace");
	if (c->packets && !c->timeline.path)
		return option_misused("sim", "--packets: needs --timeline");
	return -1;
}

static unsigned at_output(const struct sim_file *f)
{
	return f->path && strcmp(f->path, "-") == 0;
}

static int check_standard_output(const struct sim_call *c)
{
	if (c->json + at_output(&c->csv) + at_output(&c->svg) +
			at_output(&c->heat) + at_output(&c->timeline) >
		1)
		return option_misused("sim",
			"only one of --json and files named - can have "
			"standard output");
	return -1;
}

int sim_options_fit(struct sim_call *c, int argc, char **argv)
{
	int status = check_topology(c, argc, argv);
	if (status < 0)
		status = check_task(c);
	if (status < 0)
		status = check_traffic(c);
	if (status < 0)
		status = check_output(c);
	return status < 0 ? check_standard_output(c) : status;
}
