/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects the results of `cay sim` and writes them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"

static void results_free(struct sim_results *o)
{
	sim_file_discard(&o->options->csv);
	sim_file_discard(&o->options->svg);
	sim_file_discard(&o->options->heat);
	sim_file_discard(&o->options->timeline);
	sim_paths_free(&o->paths);
	topology_free(&o->topology);
	free(o->point);
	free(o->cycle.channel);
	free(o->link);
}

int sim_results_open(struct sim_results *o, struct sim_options *c)
{
	struct sim_file *const files[] = { &c->csv, &c->svg, &c->heat,
		&c->timeline };
	*o = (struct sim_results){ .options = c };
	int status = sim_topology_open(c, &o->topology);
	if (status)
		return status;
	status = sim_network_check(c, &o->topology);
	if (status == CLI_OK)
		status = sim_files_open(files, ARRAY_COUNT(files));
	if (status)
		results_free(o);
	return status;
}

static int links_copy(
	struct sim_results *o, const struct network *n, uint64_t cycles)
{
	uint64_t count = network_links(n, NULL, 0);
	struct network_link *link = malloc((count + 1) * sizeof(*link));
	if (!link)
		return -ENOMEM;
	network_links(n, link, count);
	free(o->link);
	o->link = link;
	o->links = count;
	o->link_cycles = cycles;
	o->no_links = true;
	for (uint64_t i = 0; i < count; i++)
		o->no_links &= link[i].dead;
	return 0;
}

int sim_results_add(struct sim_results *o, struct network *n, double load,
	const struct study_result *result)
{
	double ns = sim_cycles_ns(o->options, result->packet_latency);
	struct sim_point *more =
		realloc(o->point, (o->count + 1) * sizeof(*more));
	int r = 0;
	if (!more)
		return -ENOMEM;
	o->point = more;
	more[o->count++] = (struct sim_point){ .load = load,
		.result = *result,
		.verdict = study_verdict_name(result->verdict),
		.saturated = result->verdict == STUDY_SATURATED,
		.deadlocked = result->verdict == STUDY_DEADLOCKED,
		.latency_ns = o->options->network.router.clock_mhz > 0 ? ns
								       : NAN };
	if (result->verdict == STUDY_DEADLOCKED) {
		free(o->cycle.channel);
		o->cycle = (struct sim_cycle){ 0 };
		r = network_deadlock(n, &o->cycle.channel, &o->cycle.count);
	}
	return r ? r : links_copy(o, n, result->cycles);
}

/* ---- output ---- */

bool sim_prints(const struct sim_options *c)
{
	const struct sim_file *const files[] = { &c->csv, &c->svg, &c->heat,
		&c->timeline };
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++)
		if (files[i]->path && strcmp(files[i]->path, "-") == 0)
			return false;
	return !c->json;
}

static int point_compare(const void *left, const void *right)
{
	const struct sim_point *a = left, *b = right;
	return (a->load > b->load) - (a->load < b->load);
}

static int all_write(struct sim_results *o)
{
	struct sim_options *c = o->options;
	const struct {
		struct sim_file *file;
		int (*write)(const struct sim_results *, FILE *);
	} files[] = {
		{ &c->csv, sim_csv_write },
		{ &c->svg, sim_svg_write },
		{ &c->heat, sim_heat_write },
		{ &c->timeline, sim_timeline_write },
	};
	bool one = c->task == SIM_STUDY || c->task == SIM_REPLAY;
	int status = CLI_OK;
	/* The rows were printed in the order of the search. */
	qsort(o->point, o->count, sizeof(*o->point), point_compare);
	if (sim_prints(c) && one)
		sim_print_point(o, &o->point[0]);
	else if (sim_prints(c))
		sim_print_sweep(o);
	if (sim_prints(c) && c->links)
		sim_print_links(o);
	if (c->json)
		sim_output_record(sim_json_results(o, stdout));
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++) {
		struct sim_file *f = files[i].file;
		int r = f->stream ? sim_file_close(
					    f, files[i].write(o, f->stream))
				  : CLI_OK;
		status = r ? r : status;
	}
	int flushed = sim_output_flush();
	return status ? status : flushed;
}

int sim_results_close(struct sim_results *o, int status)
{
	if (status == CLI_OK && o->count) {
		status = all_write(o);
		for (unsigned i = 0; i < o->count && status == CLI_OK; i++) {
			if (o->point[i].deadlocked)
				status = CLI_FAILED;
			if (o->point[i].result.verdict == STUDY_STOPPED)
				status = SIM_INTERRUPTED;
		}
	}
	results_free(o);
	return status;
}
