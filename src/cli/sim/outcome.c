/* SPDX-License-Identifier: BSD-2-Clause */
/* What `cay sim` has found out, and where it goes; see sim.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"

static void outcome_free(struct sim_outcome *o)
{
	sim_file_drop(&o->call->csv);
	sim_file_drop(&o->call->svg);
	sim_file_drop(&o->call->heat);
	sim_file_drop(&o->call->timeline);
	sim_ways_free(&o->ways);
	topology_free(&o->topology);
	free(o->point);
	free(o->cycle.channel);
	free(o->link);
}

static int files_open(struct sim_call *c)
{
	struct sim_file *const files[] = { &c->csv, &c->svg, &c->heat,
		&c->timeline };
	return sim_files_open(files, ARRAY_COUNT(files));
}

int sim_outcome_open(struct sim_outcome *o, struct sim_call *c)
{
	*o = (struct sim_outcome){ .call = c };
	int status = sim_topology_open(c, &o->topology);
	if (status)
		return status;
	status = sim_network_check(c, &o->topology);
	if (status == CLI_OK)
		status = files_open(c);
	if (status)
		outcome_free(o);
	return status;
}

/* ---- what was measured ---- */

static int links_keep(
	struct sim_outcome *o, const struct network *n, uint64_t cycles)
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

static int cycle_keep(struct sim_outcome *o, struct network *n)
{
	free(o->cycle.channel);
	o->cycle = (struct sim_cycle){ 0 };
	return network_deadlock(n, &o->cycle.channel, &o->cycle.count);
}

int sim_outcome_add(struct sim_outcome *o, struct network *n, double load,
	const struct study_result *result)
{
	struct sim_point *more =
		realloc(o->point, (o->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	o->point = more;
	double ns = sim_cycles_ns(o->call, result->packet_latency);
	more[o->count++] = (struct sim_point){ .load = load,
		.result = *result,
		.verdict = study_verdict_name(result->verdict),
		.saturated = result->verdict == STUDY_SATURATED,
		.deadlocked = result->verdict == STUDY_DEADLOCKED,
		.latency_ns = o->call->network.router.clock_mhz > 0 ? ns
								    : NAN };
	int r = 0;
	if (result->verdict == STUDY_DEADLOCKED)
		r = cycle_keep(o, n);
	return r ? r : links_keep(o, n, result->cycles);
}

/* ---- where it goes ---- */

bool sim_prints(const struct sim_call *c)
{
	const struct sim_file *const files[] = { &c->csv, &c->svg, &c->heat,
		&c->timeline };
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++)
		if (files[i]->path && strcmp(files[i]->path, "-") == 0)
			return false;
	return !c->json;
}

static int file_write(struct sim_outcome *o, struct sim_file *f,
	int (*write)(const struct sim_outcome *, FILE *))
{
	return f->stream ? sim_file_end(f, write(o, f->stream)) : CLI_OK;
}

static int point_compare(const void *left, const void *right)
{
	const struct sim_point *a = left, *b = right;
	return (a->load > b->load) - (a->load < b->load);
}

static void text_write(const struct sim_outcome *o)
{
	if (o->call->task == SIM_STUDY || o->call->task == SIM_REPLAY)
		sim_print_point(o, &o->point[0]);
	else
		sim_print_sweep(o);
	if (o->call->links)
		sim_print_links(o);
}

static int all_write(struct sim_outcome *o)
{
	struct sim_call *c = o->call;
	int status[4];
	/* Rows were printed as they came; files and plots go by load. */
	qsort(o->point, o->count, sizeof(*o->point), point_compare);
	if (sim_prints(c))
		text_write(o);
	if (c->json)
		sim_output_note(sim_json_outcome(o, stdout));
	status[0] = file_write(o, &c->csv, sim_csv_write);
	status[1] = file_write(o, &c->svg, sim_svg_write);
	status[2] = file_write(o, &c->heat, sim_heat_write);
	status[3] = file_write(o, &c->timeline, sim_timeline_write);
	int end = sim_output_end();
	for (unsigned i = 0; i < ARRAY_COUNT(status); i++)
		end = status[i] ? status[i] : end;
	return end;
}

static int verdict_status(const struct sim_outcome *o)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->point[i].result.verdict == STUDY_DEADLOCKED)
			return CLI_FAILED;
		if (o->point[i].result.verdict == STUDY_STOPPED)
			return SIM_INTERRUPTED;
	}
	return CLI_OK;
}

int sim_outcome_end(struct sim_outcome *o, int status)
{
	if (status == CLI_OK && o->count) {
		status = all_write(o);
		if (status == CLI_OK)
			status = verdict_status(o);
	}
	outcome_free(o);
	return status;
}
