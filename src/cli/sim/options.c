/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `cay sim`, see sim.h. */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"

static const char sim_help[] =
	"usage: cay sim torus|mesh|ring|hypercube|full|graph [OPTIONS]\n"
	"\n"
	"Simulates an interconnect cycle by cycle and tells its latency and\n"
	"throughput. Times are in cycles, lengths in flits, loads in flits "
	"per\n"
	"node and cycle.\n"
	"\n"
	"The network:\n"
	"  --dims 8x8x8        sizes of a torus or mesh; nodes of a ring or a\n"
	"                      full one; dimensions of a hypercube\n"
	"  --graph FILE        lines 'nodes N' and 'A B' for each link\n"
	"  --router NAME       extoll (default), atoll, iq4; of which may be\n"
	"                      changed:\n"
	"  --vcs N  --buffer N  --link-delay N  --tag-bits N\n"
	"  --arbiter round-robin|first-come|smart|smart-simple\n"
	"  --switching wormhole|cut-through  --groups plain|dated|fixed\n"
	"  --deadlock-countdown N   cycles until a deadlock is broken; 0: "
	"never\n"
	"  --routing dimension-order|up-down\n"
	"  --ordered           packets between two nodes stay in order\n"
	"What it carries:\n"
	"  --load X            default 0.1\n"
	"  --loads FROM:TO:STEP, --loads A,B,C   one after the other\n"
	"  --saturation        looks for the highest load that is steady\n"
	"  --traffic NAME      uniform (default), neighbour, tornado,\n"
	"                      transpose, complement, reverse\n"
	"  --hot-spot NODE:SHARE\n"
	"  --length N, --length 1-16, --length 1:9,16:1   default 1\n"
	"  --trace FILE        packets 'TIME FROM TO LENGTH' instead\n"
	"  --barriers N        so many barriers of all nodes instead\n"
	"What goes wrong:\n"
	"  --fail link:NODE:PORT@TIME, --fail node:NODE@TIME,\n"
	"  --fail error:NODE:PORT@TIME   repeatable\n"
	"  --fail-random links:COUNT@TIME, --fail-random nodes:COUNT@TIME\n"
	"                      chosen by the seed\n"
	"  --error-rate P      of a flit on a link\n"
	"How:\n"
	"  --threads N  --seed N  --max-cycles N\n"
	"  --precision P       of the mean latency, default 0.01\n"
	"Output; FILE may be - for standard output:\n"
	"  --json              a JSON object instead of text\n"
	"  --csv FILE          a line for each load\n"
	"  --svg FILE          a plot of latency over load\n"
	"  --heat FILE         a map of the load of links, as SVG\n"
	"  --links             what each link has carried\n"
	"  --timeline FILE     the ways of some packets, for Perfetto\n"
	"  --packets N         how many, default 32\n"
	"Without a simulation:\n"
	"  --check             can routes deadlock? Exit status 1 if so\n"
	"  --route FROM:TO     a route, and its routing string\n"
	"  --metrics           diameter, distances, bisection\n"
	"\n"
	"Exit status: 0 done, also if saturated; 1 failed or deadlocked; 2\n"
	"wrong usage; 130 interrupted, with what was known until then.\n";

/* ---- one function for each kind of value ---- */

static bool task_add(struct sim_call *c, enum sim_task task)
{
	c->tasks |= 1u << task;
	c->task = task;
	return true;
}

static bool take_router(struct sim_call *c, const char *value)
{
	return router_preset(value, &c->network.router) == 0;
}

static bool take_groups(struct sim_call *c, const char *value)
{
	int i = sim_value_name(value, sim_groups);
	if (i < 0)
		return false;
	c->network.router.grouping = (enum route_groups)i;
	c->network.router.groups = i == ROUTE_GROUPS_PLAIN ? 1 : 2;
	return true;
}

static bool take_arbiter(struct sim_call *c, const char *value)
{
	int i = sim_value_name(value, sim_arbiters);
	c->network.router.arbiter = (enum router_arbiter)i;
	return i >= 0;
}

static bool take_switching(struct sim_call *c, const char *value)
{
	int i = sim_value_name(value, sim_switchings);
	c->network.router.switching = (enum router_switching)i;
	return i >= 0;
}

static bool take_routing(struct sim_call *c, const char *value)
{
	int i = sim_value_name(value, sim_rules);
	c->network.rule = (enum space_rule)i;
	return i >= 0;
}

static bool take_ordered(struct sim_call *c, const char *value)
{
	(void)value;
	c->network.router.ordered = true;
	return true;
}

static bool take_vcs(struct sim_call *c, const char *value)
{
	return sim_value_count(
		value, 1, ROUTER_CHANNELS_MAX, &c->network.router.channels);
}

static bool take_buffer(struct sim_call *c, const char *value)
{
	return sim_value_count(
		value, 1, ROUTER_BUFFER_MAX, &c->network.router.buffer);
}

static unsigned delay_clamp(int delay)
{
	if (delay < 1)
		return 1;
	return delay < ROUTER_DELAY_MAX ? (unsigned)delay : ROUTER_DELAY_MAX;
}

/* A longer link is longer for credits too, and twice for a repetition. */
static bool take_link_delay(struct sim_call *c, const char *value)
{
	struct router *r = &c->network.router;
	unsigned delay;
	if (!sim_value_count(value, 1, ROUTER_DELAY_MAX, &delay))
		return false;
	int more = (int)delay - (int)r->link_delay;
	r->link_delay = delay;
	r->credit_delay = delay_clamp((int)r->credit_delay + more);
	r->retry_delay = delay_clamp((int)r->retry_delay + 2 * more);
	return true;
}

static bool take_tag_bits(struct sim_call *c, const char *value)
{
	return sim_value_count(value, 1, 16, &c->network.router.tag_bits);
}

static bool take_countdown(struct sim_call *c, const char *value)
{
	return sim_value_count(
		value, 0, UINT16_MAX, &c->network.router.deadlock_countdown);
}

static bool take_load(struct sim_call *c, const char *value)
{
	return sim_value_real(value, &c->study.load) && c->study.load > 0 &&
	       c->study.load <= SIM_LOAD_MAX;
}

static bool take_loads(struct sim_call *c, const char *value)
{
	return task_add(c, SIM_SWEEP) && sim_value_loads(value, c);
}

static bool take_saturation(struct sim_call *c, const char *value)
{
	(void)value;
	return task_add(c, SIM_SATURATION);
}

static bool take_traffic(struct sim_call *c, const char *value)
{
	c->traffic_text = value;
	return traffic_pattern_parse(value, &c->study.traffic.pattern);
}

static bool take_length(struct sim_call *c, const char *value)
{
	c->length_text = value;
	return length_parse(value, &c->study.length) == 0;
}

static bool take_trace(struct sim_call *c, const char *value)
{
	c->trace = value;
	return task_add(c, SIM_REPLAY);
}

static bool take_barriers(struct sim_call *c, const char *value)
{
	return task_add(c, SIM_BARRIERS) &&
	       option_number(value, SIM_BARRIERS_MAX, &c->barriers) &&
	       c->barriers > 0;
}

static bool take_error_rate(struct sim_call *c, const char *value)
{
	return sim_value_real(value, &c->network.error_rate) &&
	       c->network.error_rate <= 0.5;
}

static bool take_threads(struct sim_call *c, const char *value)
{
	return sim_value_count(
		value, 1, NETWORK_THREADS_MAX, &c->network.threads);
}

static bool take_seed(struct sim_call *c, const char *value)
{
	return option_number(value, UINT64_MAX, &c->network.seed);
}

static bool take_precision(struct sim_call *c, const char *value)
{
	return sim_value_real(value, &c->study.precision) &&
	       c->study.precision > 0 && c->study.precision < 1;
}

static bool take_max_cycles(struct sim_call *c, const char *value)
{
	return option_number(value, UINT64_MAX / 4, &c->study.max_cycles) &&
	       c->study.max_cycles > 0;
}

static bool take_graph(struct sim_call *c, const char *value)
{
	c->graph = value;
	return true;
}

static bool take_packets(struct sim_call *c, const char *value)
{
	return option_number(value, SIM_PACKETS_MAX, &c->packets) &&
	       c->packets > 0;
}

static bool take_csv(struct sim_call *c, const char *value)
{
	c->csv.path = value;
	return *value != 0;
}

static bool take_svg(struct sim_call *c, const char *value)
{
	c->svg.path = value;
	return *value != 0;
}

static bool take_heat(struct sim_call *c, const char *value)
{
	c->heat.path = value;
	return *value != 0;
}

static bool take_timeline(struct sim_call *c, const char *value)
{
	c->timeline.path = value;
	return *value != 0;
}

static bool take_json(struct sim_call *c, const char *value)
{
	(void)value;
	return c->json = true;
}

static bool take_links(struct sim_call *c, const char *value)
{
	(void)value;
	return c->links = true;
}

static bool take_check(struct sim_call *c, const char *value)
{
	(void)value;
	return task_add(c, SIM_CHECK);
}

static bool take_route(struct sim_call *c, const char *value)
{
	return task_add(c, SIM_ROUTE) && sim_value_pair(value, c);
}

static bool take_metrics(struct sim_call *c, const char *value)
{
	(void)value;
	return task_add(c, SIM_METRICS);
}

static bool take_dims(struct sim_call *c, const char *value)
{
	return sim_value_dims(value, c);
}

static bool take_fail(struct sim_call *c, const char *value)
{
	return sim_value_fault(value, c);
}

static bool take_fail_random(struct sim_call *c, const char *value)
{
	return sim_value_random(value, c);
}

static bool take_spot(struct sim_call *c, const char *value)
{
	return sim_value_spot(value, c);
}

/* ---- all of them ---- */

static const struct sim_option {
	const char *name;
	int argument;
	bool (*take)(struct sim_call *, const char *value);
	const char *right; /* what would be possible */
} table[] = {
	{ "dims", required_argument, take_dims,
		"sizes such as 8x8x8, at most three" },
	{ "graph", required_argument, take_graph, "" },
	{ "router", required_argument, take_router, "extoll, atoll or iq4" },
	{ "vcs", required_argument, take_vcs, "1 to 16" },
	{ "buffer", required_argument, take_buffer, "1 to 4096 flits" },
	{ "link-delay", required_argument, take_link_delay,
		"1 to 1000 cycles" },
	{ "tag-bits", required_argument, take_tag_bits, "1 to 16" },
	{ "arbiter", required_argument, take_arbiter,
		"round-robin, first-come, smart or smart-simple" },
	{ "switching", required_argument, take_switching,
		"wormhole or cut-through" },
	{ "groups", required_argument, take_groups, "plain, dated or fixed" },
	{ "deadlock-countdown", required_argument, take_countdown,
		"0 to 65535 cycles" },
	{ "routing", required_argument, take_routing,
		"dimension-order or up-down" },
	{ "ordered", no_argument, take_ordered, "" },
	{ "load", required_argument, take_load,
		"flits per node and cycle, above 0 and at most 4" },
	{ "loads", required_argument, take_loads,
		"FROM:TO:STEP or A,B,C: rising, at most 4, at most 1000 of "
		"them" },
	{ "saturation", no_argument, take_saturation, "" },
	{ "traffic", required_argument, take_traffic,
		"uniform, neighbour, tornado, transpose, complement or "
		"reverse" },
	{ "hot-spot", required_argument, take_spot,
		"NODE:SHARE such as 12:0.2, the share above 0 and at most 1" },
	{ "length", required_argument, take_length,
		"flits such as 4, 1-16 or 1:9,16:1, from 1 to 4096" },
	{ "trace", required_argument, take_trace, "" },
	{ "barriers", required_argument, take_barriers, "1 to 100000" },
	{ "fail", required_argument, take_fail,
		"link:NODE:PORT@TIME, node:NODE@TIME or error:NODE:PORT@TIME, "
		"the time at most 4294967295, at most 256 times" },
	{ "fail-random", required_argument, take_fail_random,
		"links:COUNT@TIME or nodes:COUNT@TIME, the count 1 to 256 and "
		"the time at most 4294967295" },
	{ "error-rate", required_argument, take_error_rate, "0 to 0.5" },
	{ "threads", required_argument, take_threads, "1 to 64" },
	{ "seed", required_argument, take_seed, "a number" },
	{ "max-cycles", required_argument, take_max_cycles, "1 or more" },
	{ "precision", required_argument, take_precision,
		"a share such as 0.01, above 0 and below 1" },
	{ "json", no_argument, take_json, "" },
	{ "csv", required_argument, take_csv, "a file, or -" },
	{ "svg", required_argument, take_svg, "a file, or -" },
	{ "heat", required_argument, take_heat, "a file, or -" },
	{ "links", no_argument, take_links, "" },
	{ "timeline", required_argument, take_timeline, "a file, or -" },
	{ "packets", required_argument, take_packets, "1 to 10000" },
	{ "check", no_argument, take_check, "" },
	{ "route", required_argument, take_route, "FROM:TO such as 0:63" },
	{ "metrics", no_argument, take_metrics, "" },
};

#define OPTIONS ARRAY_COUNT(table)
_Static_assert(OPTIONS <= 64, "a bit for each option");

bool sim_option_given(const struct sim_call *c, const char *name)
{
	for (unsigned i = 0; i < OPTIONS; i++)
		if (strcmp(table[i].name, name) == 0)
			return c->given >> i & 1;
	return false;
}

static void known_fill(struct option known[OPTIONS + 2])
{
	for (unsigned i = 0; i < OPTIONS; i++)
		known[i] = (struct option){ table[i].name, table[i].argument,
			NULL, OPTION_HELP + 1 + (int)i };
	known[OPTIONS] =
		(struct option){ "help", no_argument, NULL, OPTION_HELP };
	known[OPTIONS + 1] = (struct option){ 0 };
}

/* -1: go on; else the exit status. */
static int take_one(
	struct sim_call *c, const struct sim_option *o, const char *value)
{
	if (o->take(c, value))
		return -1;
	return option_misused(
		"sim", "--%s %s: must be %s", o->name, value, o->right);
}

/*
 * A router comes first, wherever it stands: other options change it. So there
 * are two rounds, and the first takes nothing else.
 */
static int take_round(
	struct sim_call *c, int argc, char **argv, bool routers_only)
{
	struct option known[OPTIONS + 2];
	int option, status = -1;
	known_fill(known);
	optind = 0;
	while (status < 0 &&
		(option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == OPTION_HELP)
			return option_help("sim", sim_help);
		if (option == '?') {
			fprintf(stderr, "try: cay sim --help\n");
			return CLI_USAGE;
		}
		unsigned which = (unsigned)(option - OPTION_HELP - 1);
		const struct sim_option *o = &table[which];
		c->given |= 1ull << which;
		if ((o->take == take_router) == routers_only)
			status = take_one(c, o, optarg);
	}
	return status;
}

int sim_options(struct sim_call *c, int argc, char **argv)
{
	*c = (struct sim_call){
		.network = { .seed = 1, .threads = 1, .host_delay = 100 },
		.study = { .load = 0.1, .precision = 0.01 },
		.length_text = "1",
		.csv = { .option = "csv" },
		.svg = { .option = "svg" },
		.heat = { .option = "heat" },
		.timeline = { .option = "timeline" }
	};
	/* What getopt_long() begins its complaints with. */
	char name[] = "cay sim", *before = argv[0];
	int status = take_router(c, "extoll") ? -1 : CLI_FAILED;
	argv[0] = name;
	take_length(c, "1");
	if (status < 0)
		status = take_round(c, argc, argv, true);
	if (status < 0)
		status = take_round(c, argc, argv, false);
	argv[0] = before;
	return status < 0 ? sim_options_fit(c, argc, argv) : status;
}
