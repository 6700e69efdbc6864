/* SPDX-License-Identifier: BSD-2-Clause */
/* Studies of `cay sim`, see sim.h: one load, several, up to saturation. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

/* How well a search finds the border, of the load there. */
#define SATURATION_PRECISION 0.01

struct run {
	struct sim_outcome *outcome;
	struct sim_network network; /* of the point that is measured */
	int status;		    /* what was complained about already */
	int error;		    /* -errno that was not */
};

static bool run_progress(void *context, uint64_t cycle, double latency)
{
	struct run *run = context;
	sim_progress("cycle %" PRIu64 ", latency %.1f", cycle, latency);
	return run->error || sim_interrupted();
}

static int run_open(void *context, struct network **network)
{
	struct run *run = context;
	struct sim_network *n = &run->network;
	run->status = sim_network_open(
		n, run->outcome->call, &run->outcome->topology);
	if (run->status)
		return -ECANCELED;
	*network = n->network;
	return 0;
}

static void run_close(void *context, struct network *network)
{
	(void)network;
	sim_network_close(&((struct run *)context)->network);
}

/* Some packets of one's own, in the load that goes on. */
static int run_probe(struct sim_outcome *o, struct network *n)
{
	int r = sim_ways_probe(&o->ways, o->call, n);
	return r == -EDEADLK ? 0 : r;
}

static void run_measured(void *context, struct network *n, double load,
	const struct study_result *result)
{
	struct run *run = context;
	struct sim_outcome *o = run->outcome;
	sim_progress_end();
	int r = sim_outcome_add(o, n, load, result);
	if (r == 0 && o->call->timeline.path &&
		result->verdict != STUDY_DEADLOCKED)
		r = run_probe(o, n);
	if (r)
		run->error = r;
	else if (o->call->task != SIM_STUDY && sim_prints(o->call))
		sim_print_row(&o->point[o->count - 1]);
}

/* More cannot enter a node, or be created by it. */
static double load_most(const struct sim_call *c)
{
	return fmin(
		c->network.router.network_ports, length_mean(&c->study.length));
}

static int run_sweep(struct run *run, struct sweep_outcome *found)
{
	const struct sim_call *c = run->outcome->call;
	const struct sweep sweep = { .study = c->study,
		.open = run_open,
		.close = run_close,
		.measured = run_measured,
		.context = run };
	if (c->task == SIM_STUDY)
		return sweep_loads(&sweep, &c->study.load, 1, found);
	if (c->task == SIM_SWEEP)
		return sweep_loads(&sweep, c->loads, c->loads_count, found);
	return sweep_saturation(
		&sweep, load_most(c), SATURATION_PRECISION, found);
}

static int run_all(struct run *run)
{
	struct sweep_outcome found;
	int r = run_sweep(run, &found);
	sim_progress_end();
	if (run->status)
		return run->status;
	r = run->error ? run->error : r;
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	run->outcome->steady = found.steady;
	run->outcome->saturated = found.unsteady;
	run->outcome->stopped = found.verdict == STUDY_STOPPED;
	return CLI_OK;
}

int sim_study(struct sim_call *c)
{
	struct sim_outcome o;
	struct run run = { .outcome = &o };
	int status = sim_outcome_open(&o, c);
	if (status)
		return status;
	c->network.record = c->timeline.path != NULL;
	c->study.progress = run_progress;
	c->study.context = &run;
	if (sim_prints(c))
		sim_print_head(&o);
	if (sim_prints(c) && c->task != SIM_STUDY)
		sim_print_row(NULL);
	sim_progress_begin();
	return sim_outcome_end(&o, run_all(&run));
}
