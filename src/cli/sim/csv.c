/* SPDX-License-Identifier: BSD-2-Clause */
/* What `cay sim` says to spreadsheets: a line for each load. See sim.h. */
#include <errno.h>
#include <inttypes.h>

#include "cli/sim/sim.h"

/* What is not known, because no packet was measured, is empty. */
static void latencies_write(FILE *to, const struct study_result *r)
{
	if (r->packets == 0) {
		fputs(",,,,,,,,,,", to);
		return;
	}
	fprintf(to, "%.4f,%.4f,%.4f,%.4f,", r->packet_latency, r->packet_error,
		r->network_latency, r->hops);
	fprintf(to,
		"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",",
		r->latency_p50, r->latency_p90, r->latency_p99, r->latency_p999,
		r->latency_least, r->latency_most);
}

static void row_write(FILE *to, const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	fprintf(to, "%.6g,%.6g,%.6g,", p->load, r->offered, r->accepted);
	latencies_write(to, r);
	fprintf(to, "%.6g,%.6g,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		r->channel_mean, r->channel_most, r->packets, r->cycles,
		r->warm_up, r->flit_hops);
	fprintf(to, ",%s\n", study_verdict_name(r->verdict));
}

int sim_csv_write(const struct sim_outcome *o, FILE *to)
{
	fputs("load,offered_load,accepted_load,packet_latency,"
	      "packet_latency_error,network_latency,hops,p50,p90,p99,p999,"
	      "min,max,channel_load_mean,channel_load_max,packets,cycles,"
	      "warm_up_cycles,flit_hops,verdict\n",
		to);
	for (unsigned i = 0; i < o->count; i++)
		row_write(to, &o->point[i]);
	if (fflush(to) != 0)
		return -errno;
	return ferror(to) ? -EIO : 0;
}
