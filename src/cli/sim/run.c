/* SPDX-License-Identifier: BSD-2-Clause */
/* Simulates one load, several loads, or searches for saturation. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

/* Relative precision of the search. */
#define SATURATION_PRECISION 0.01

struct run {
	struct sim_results *results;
	struct sim_network network; /* of the current point */
	int status;		    /* after an error message */
	int error;		    /* -errno without a message */
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
		n, run->results->options, &run->results->topology);
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

static void run_measured(void *context, struct network *n, double load,
	const struct study_result *result)
{
	struct run *run = context;
	struct sim_results *o = run->results;
	sim_progress_end();
	int r = sim_results_add(o, n, load, result);
	if (r == 0 && o->options->timeline.path &&
		result->verdict != STUDY_DEADLOCKED)
		r = sim_paths_probe(&o->paths, o->options, n);
	if (r == -EDEADLK)
		r = 0;
	if (r)
		run->error = r;
	else if (o->options->task != SIM_STUDY && sim_prints(o->options))
		sim_print_row(&o->point[o->count - 1]);
}

static int run_all(struct run *run)
{
	const struct sim_options *c = run->results->options;
	const struct sweep sweep = { .study = c->study,
		.open = run_open,
		.close = run_close,
		.measured = run_measured,
		.context = run };
	/* No more flits than this can enter a node, or be created there. */
	double most = fmin(
		c->network.router.network_ports, length_mean(&c->study.length));
	struct sweep_outcome found;
	int r;
	if (c->task == SIM_STUDY)
		r = sweep_loads(&sweep, &c->study.load, 1, &found);
	else if (c->task == SIM_SWEEP)
		r = sweep_loads(&sweep, c->loads, c->loads_count, &found);
	else
		r = sweep_saturation(
			&sweep, most, SATURATION_PRECISION, &found);
	sim_progress_end();
	if (run->status)
		return run->status;
	r = run->error ? run->error : r;
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	run->results->steady = found.steady;
	run->results->saturated = found.unsteady;
	run->results->stopped = found.verdict == STUDY_STOPPED;
	return CLI_OK;
}

int sim_study(struct sim_options *c)
{
	struct sim_results o;
	struct run run = { .results = &o };
	int status = sim_results_open(&o, c);
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
	return sim_results_close(&o, run_all(&run));
}
