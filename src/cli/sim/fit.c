/* SPDX-License-Identifier: BSD-2-Clause */
/* Which options of `cay sim` go together, see sim.h. */
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"

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

#define BIT(task)     (1u << (task))
#define NO_SIMULATION (BIT(SIM_CHECK) | BIT(SIM_ROUTE) | BIT(SIM_METRICS))
#define NO_STUDY      (BIT(SIM_REPLAY) | BIT(SIM_BARRIERS) | NO_SIMULATION)

/* Options that would mean nothing, and with what. */
static const struct {
	const char *option;
	unsigned tasks;
} useless[] = {
	{ "load", BIT(SIM_SWEEP) | BIT(SIM_SATURATION) | NO_STUDY },
	{ "traffic", NO_STUDY },
	{ "hot-spot", NO_STUDY },
	{ "length", NO_STUDY },
	{ "precision", NO_STUDY },
	{ "max-cycles", BIT(SIM_BARRIERS) | NO_SIMULATION },
	{ "fail", NO_SIMULATION },
	{ "fail-random", NO_SIMULATION },
	{ "error-rate", NO_SIMULATION },
};

static int check_useless(const struct sim_call *c)
{
	static const char *const names[] = { [SIM_SWEEP] = "loads",
		[SIM_SATURATION] = "saturation",
		[SIM_REPLAY] = "trace",
		[SIM_BARRIERS] = "barriers",
		[SIM_CHECK] = "check",
		[SIM_ROUTE] = "route",
		[SIM_METRICS] = "metrics" };
	for (unsigned i = 0; i < ARRAY_COUNT(useless); i++)
		if (useless[i].tasks & BIT(c->task) &&
			sim_option_given(c, useless[i].option))
			return option_misused("sim", "--%s: not with --%s",
				useless[i].option, names[c->task]);
	return -1;
}

static int check_task(const struct sim_call *c)
{
	if (c->tasks & (c->tasks - 1))
		return option_misused("sim",
			"--loads, --saturation, --trace, --barriers, --check, "
			"--route and --metrics: one of them");
	return check_useless(c);
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

static int check_links(const struct sim_call *c)
{
	const struct sim_file *const files[] = { &c->csv, &c->heat,
		&c->timeline };
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++)
		if (c->links && at_output(files[i]))
			return option_misused("sim",
				"--links: not with --%s -: both would be on "
				"standard output",
				files[i]->option);
	return -1;
}

static int check_standard_output(const struct sim_call *c)
{
	if (c->json + at_output(&c->csv) + at_output(&c->svg) +
			at_output(&c->heat) + at_output(&c->timeline) >
		1)
		return option_misused("sim",
			"only one of --json and files named - can have "
			"standard output");
	return check_links(c);
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
