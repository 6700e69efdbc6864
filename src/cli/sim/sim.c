/* SPDX-License-Identifier: BSD-2-Clause */
/* cay sim: simulates an interconnect cycle by cycle. See cay-sim(1). */
#include "cli/sim/sim.h"

#include <float.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "network/topology/class.h"

/* ---- values that need more than the table ---- */

static bool router_parse(void *to, const char *text)
{
	struct sim_options *c = to;
	return router_preset(text, &c->network.router) == 0;
}

static bool groups_parse(void *to, const char *text)
{
	struct router *r = &((struct sim_options *)to)->network.router;
	int i = option_choice(sim_groups, text);
	if (i < 0)
		return false;
	r->grouping = (enum route_groups)i;
	r->groups = i == ROUTE_GROUPS_PLAIN ? 1 : 2;
	return true;
}

static unsigned delay_clamp(int delay)
{
	if (delay < 1)
		return 1;
	return delay < ROUTER_DELAY_MAX ? (unsigned)delay : ROUTER_DELAY_MAX;
}

/* The delay of a link adds to credits too, and twice to a retransmission. */
static bool link_delay_parse(void *to, const char *text)
{
	struct router *r = &((struct sim_options *)to)->network.router;
	uint64_t delay;
	if (!option_number(text, ROUTER_DELAY_MAX, &delay) || delay == 0)
		return false;
	int more = (int)delay - (int)r->link_delay;
	r->link_delay = (unsigned)delay;
	r->credit_delay = delay_clamp((int)r->credit_delay + more);
	r->retry_delay = delay_clamp((int)r->retry_delay + 2 * more);
	return true;
}

static bool traffic_parse(void *to, const char *text)
{
	struct sim_options *c = to;
	c->traffic_text = text;
	return traffic_pattern_parse(text, &c->study.traffic.pattern);
}

static bool length_option_parse(void *to, const char *text)
{
	struct sim_options *c = to;
	c->length_text = text;
	return length_parse(text, &c->study.length) == 0;
}

/* ---- combinations that need more than the table ---- */

static bool to_stdout(const struct sim_file *f)
{
	return f->path && strcmp(f->path, "-") == 0;
}

/* Returns -1, or CLI_USAGE after a message. */
static int combination_check(const struct sim_options *c)
{
	const struct traffic *t = &c->study.traffic;
	bool graph = strcmp(c->topology, "graph") == 0;
	if (graph != (c->graph != NULL))
		return cli_usage_error("sim",
			graph ? "a graph needs --graph FILE"
			      : "--graph FILE is for the topology graph");
	if (graph && c->dims_count)
		return cli_usage_error("sim", "a graph has no --dims");
	if (t->pattern == TRAFFIC_HOT_SPOT && t->share == 0)
		return cli_usage_error("sim",
			"--traffic hot-spot needs --hot-spot NODE:SHARE");
	if (t->share > 0 && c->traffic_text &&
		strcmp(c->traffic_text, "hot-spot") != 0)
		return cli_usage_error("sim",
			"--hot-spot: not with --traffic %s", c->traffic_text);
	if (c->json + to_stdout(&c->csv) + to_stdout(&c->svg) +
			to_stdout(&c->heat) + to_stdout(&c->timeline) >
		1)
		return cli_usage_error("sim",
			"only one of --json and the files named - can go to "
			"standard output");
	const struct sim_file *const files[] = { &c->csv, &c->heat,
		&c->timeline };
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++)
		if (c->links && to_stdout(files[i]))
			return cli_usage_error("sim",
				"--links: not with --%s -: both go to standard "
				"output",
				files[i]->option);
	return -1;
}

static int sim_run(const struct command *command, int argc, char **argv)
{
	/* The lists of loads and faults are too large for the stack. */
	static struct sim_options options;
	struct sim_options *c = &options;
	*c = (struct sim_options){
		.network = { .seed = 1, .threads = 1, .host_delay = 100 },
		.study = { .load = 0.1, .precision = 0.01 },
		.csv = { .option = "csv" },
		.svg = { .option = "svg" },
		.heat = { .option = "heat" },
		.timeline = { .option = "timeline" },
		.routing = SIM_ROUTING_DEFAULT,
		.packets = 32,
	};
	router_parse(c, "extoll");
	length_option_parse(c, "1");
	int status = command_parse(command, &argc, &argv, c);
	if (status >= 0)
		return status;
	c->topology = argv[0];
	status = combination_check(c);
	if (status >= 0)
		return status;
	c->class = topology_class_find(c->topology);
	c->network.routing = routing_class_find(
		c->routing == SIM_ROUTING_DEFAULT ? c->class->routing
						  : routing_names[c->routing]);
	cli_ignore_sigpipe();
	if (c->check)
		return sim_check(c);
	if (c->metrics)
		return sim_metrics(c);
	if (c->route)
		return sim_route(c);
	if (c->barriers)
		return sim_barriers(c);
	if (c->trace) {
		c->task = SIM_REPLAY;
		return sim_replay(c);
	}
	if (c->loads_count)
		c->task = SIM_SWEEP;
	else if (c->saturation)
		c->task = SIM_SATURATION;
	return sim_study(c);
}

#define OPTIONS_STRUCT struct sim_options

/* Tasks; at most one of these options may be given. */
#define ANALYSES   "check", "route", "metrics"
#define NOT_LOADED "trace", "barriers", ANALYSES
#define TASKS	   "loads", "saturation", NOT_LOADED

static const struct option_row sim_rows[] = {
	OPTION_CUSTOM("dims", "8x8x8", sim_dims_parse,
		"sizes of a torus, mesh or hyperx; number of nodes of a ring "
		"or a full graph; dimensions of a hypercube; KxN of a "
		"fat-tree; PxAxH of a dragonfly",
		.group = "Network",
		.expected = "sizes such as 8x8x8, at most six"),
	OPTION_VALUE("graph", "FILE", OPTION_FILE, graph,
		"read the graph from FILE: a line 'nodes N', and a line 'A B "
		"[delay N] [cycles N]' for each link"),
	OPTION_VALUE("hosts", "N", OPTION_COUNT, hosts,
		"hosts of each node (default 1; a fat-tree, a dragonfly and a "
		"graph have their own)",
		.min = 1, .max = TOPOLOGY_HOSTS_MAX),
	OPTION_CUSTOM("router", "NAME", router_parse,
		"preset of the router, whose parameters the following options "
		"change (default extoll)",
		.early = true, .choices = WORDS("extoll", "atoll", "iq4")),
	OPTION_VALUE("vcs", "N", OPTION_COUNT, network.router.channels,
		"virtual channels per link", .min = 1,
		.max = ROUTER_CHANNELS_MAX),
	OPTION_VALUE("buffer", "N", OPTION_COUNT, network.router.buffer,
		"flits in the buffer of a virtual channel", .min = 1,
		.max = ROUTER_BUFFER_MAX, .expected = "1 to 4096 flits"),
	OPTION_CUSTOM("link-delay", "N", link_delay_parse,
		"cycles a flit takes through a link",
		.expected = "1 to 1000 cycles"),
	OPTION_VALUE("tag-bits", "N", OPTION_COUNT, network.router.tag_bits,
		"bits of the destination host tag", .min = 1, .max = 16),
	OPTION_VALUE("arbiter", "NAME", OPTION_CHOICE, network.router.arbiter,
		"arbitration between inputs",
		.choices = WORDS(
			"round-robin", "first-come", "smart", "smart-simple")),
	OPTION_VALUE("switching", "NAME", OPTION_CHOICE,
		network.router.switching, "flow control of packets",
		.choices = sim_switchings),
	OPTION_CUSTOM("groups", "NAME", groups_parse,
		"how packets use the two groups of channels",
		.choices = sim_groups),
	OPTION_VALUE("deadlock-countdown", "N", OPTION_COUNT,
		network.router.deadlock_countdown,
		"cycles a packet is blocked before a deadlock is suspected; 0: "
		"no deadlock recovery",
		.max = UINT16_MAX, .expected = "0 to 65535 cycles"),
	OPTION_VALUE("routing", "NAME", OPTION_CHOICE, routing,
		"routing algorithm", .choices = routing_names),
	OPTION_SWITCH("ordered", network.router.ordered,
		"deliver packets between two nodes in order"),
	OPTION_VALUE("load", "X", OPTION_REAL, study.load,
		"offered load (default 0.1)", .group = "Traffic",
		.min = DBL_MIN, .max = SIM_LOAD_MAX, .excludes = WORDS(TASKS),
		.expected = "flits per node and cycle, above 0 and at most 4"),
	OPTION_CUSTOM("loads", "FROM:TO:STEP|A,B,C", sim_loads_parse,
		"offered loads, simulated one after the other",
		.excludes = WORDS(TASKS),
		.expected = "FROM:TO:STEP or A,B,C: rising, at most 4, at most "
			    "1000 of them"),
	OPTION_SWITCH("saturation", saturation,
		"search for the highest load that is steady",
		.excludes = WORDS(TASKS)),
	OPTION_CUSTOM("traffic", "NAME", traffic_parse,
		"destinations of packets (default uniform)",
		.excludes = WORDS(NOT_LOADED),
		.choices = WORDS("uniform", "neighbour", "tornado", "transpose",
			"complement", "reverse", "hot-spot")),
	OPTION_CUSTOM("hot-spot", "NODE:SHARE", sim_spot_parse,
		"send this share of the packets to one node",
		.excludes = WORDS(NOT_LOADED),
		.expected = "NODE:SHARE such as 12:0.2, the share above 0 and "
			    "at most 1"),
	OPTION_CUSTOM("length", "N|1-16|1:9,16:1", length_option_parse,
		"flits of a packet: fixed, uniform, or weighted lengths "
		"(default 1)",
		.excludes = WORDS(NOT_LOADED),
		.expected =
			"flits such as 4, 1-16 or 1:9,16:1, from 1 to 4096"),
	OPTION_VALUE("trace", "FILE", OPTION_FILE, trace,
		"send the packets 'TIME FROM TO LENGTH' of FILE",
		.excludes = WORDS(TASKS)),
	OPTION_VALUE("barriers", "N", OPTION_NUMBER, barriers,
		"simulate N barriers of all nodes", .min = 1,
		.max = SIM_BARRIERS_MAX, .excludes = WORDS(TASKS)),
	OPTION_CUSTOM("fail",
		"link:NODE:PORT@TIME|node:NODE@TIME|error:NODE:PORT@TIME",
		sim_fault_parse,
		"break a link or a node, or corrupt a flit, in this cycle; "
		"repeatable",
		.group = "Faults", .excludes = WORDS(ANALYSES),
		.expected = "link:NODE:PORT@TIME, node:NODE@TIME or "
			    "error:NODE:PORT@TIME, the time at most "
			    "4294967295, at most 256 times"),
	OPTION_CUSTOM("fail-random", "links:COUNT@TIME|nodes:COUNT@TIME",
		sim_fault_random_parse,
		"break this many links or nodes, chosen by the seed",
		.excludes = WORDS(ANALYSES),
		.expected = "links:COUNT@TIME or nodes:COUNT@TIME, the count 1 "
			    "to 256 and the time at most 4294967295"),
	OPTION_VALUE("host-delay", "N", OPTION_COUNT, network.host_delay,
		"cycles a host takes to send on a packet that could not "
		"continue (default 100)",
		.max = ROUTER_DELAY_MAX, .excludes = WORDS(ANALYSES),
		.expected = "0 to 1000 cycles"),
	OPTION_VALUE("error-rate", "P", OPTION_REAL, network.error_rate,
		"probability that a link corrupts a flit", .max = 0.5,
		.excludes = WORDS(ANALYSES)),
	OPTION_VALUE("threads", "N", OPTION_COUNT, network.threads,
		"threads of the simulator (default 1)", .group = "Simulation",
		.min = 1, .max = NETWORK_THREADS_MAX),
	OPTION_VALUE("seed", "N", OPTION_NUMBER, network.seed,
		"seed of the random numbers (default 1)"),
	OPTION_VALUE("max-cycles", "N", OPTION_NUMBER, study.max_cycles,
		"end the simulation after N cycles", .min = 1,
		.expected = "1 or more", .max = (double)(UINT64_MAX / 4),
		.excludes = WORDS("barriers", ANALYSES)),
	OPTION_VALUE("precision", "P", OPTION_REAL, study.precision,
		"relative error of the mean latency at which a simulation ends "
		"(default 0.01)",
		.min = DBL_MIN, .max = 1 - DBL_EPSILON,
		.excludes = WORDS(NOT_LOADED),
		.expected = "a share such as 0.01, above 0 and below 1"),
	OPTION_SWITCH("json", json, "print a JSON object instead of text",
		.group = "Output (FILE may be - for standard output)"),
	OPTION_VALUE("csv", "FILE", OPTION_FILE, csv.path,
		"write a line for each load",
		.excludes = WORDS("barriers", ANALYSES)),
	OPTION_VALUE("svg", "FILE", OPTION_FILE, svg.path,
		"plot latency over load",
		.needs = WORDS("loads", "saturation")),
	OPTION_VALUE("heat", "FILE", OPTION_FILE, heat.path,
		"draw a heat map of the links, as SVG",
		.excludes = WORDS("loads", "saturation", "barriers", ANALYSES)),
	OPTION_SWITCH("links", links, "print the load of each link",
		.excludes = WORDS("loads", "saturation", "barriers", ANALYSES)),
	OPTION_VALUE("timeline", "FILE", OPTION_FILE, timeline.path,
		"write the paths of some packets, for Perfetto",
		.excludes = WORDS("loads", "saturation", "barriers", ANALYSES)),
	OPTION_VALUE("packets", "N", OPTION_NUMBER, packets,
		"number of packets in the timeline (default 32)", .min = 1,
		.max = SIM_PACKETS_MAX, .needs = WORDS("timeline")),
	OPTION_SWITCH("check", check,
		"check whether routes can deadlock; exit status 1 if so",
		.group = "Analysis without a simulation",
		.excludes = WORDS(TASKS)),
	OPTION_CUSTOM("route", "FROM:TO", sim_pair_parse,
		"print a route and its routing string",
		.excludes = WORDS(TASKS), .expected = "FROM:TO such as 0:63"),
	OPTION_SWITCH("metrics", metrics,
		"print diameter, mean distance and bisection",
		.excludes = WORDS(TASKS)),
};

const struct command command_sim = {
	.name = "sim",
	.summary = "simulate an interconnect: latency and throughput",
	.arguments = "TOPOLOGY",
	.choices = topology_names,
	.help = "Simulates an interconnect cycle by cycle and prints its "
		"latency and throughput. TOPOLOGY is torus, mesh, ring, "
		"hypercube, full, hyperx, fat-tree, dragonfly or graph. Times "
		"are in cycles, lengths in flits, loads in flits per host and "
		"cycle.",
	.notes = "Exit status: 0 done, even if saturated; 1 failed or "
		 "deadlocked; 2 wrong usage; 130 interrupted, with the results "
		 "so far.",
	COMMAND_OPTIONS(sim_rows),
	.run = sim_run,
};
