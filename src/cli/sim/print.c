/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of `cay sim` in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cli/sim/sim.h"

/* ---- names and units ---- */

void sim_title(const struct sim_results *o, char title[SIM_TITLE_BYTES])
{
	const struct sim_options *c = o->options;
	char dims[SIM_DIMS_BYTES];
	sim_dims_text(c, &o->topology, dims);
	snprintf(title, SIM_TITLE_BYTES, "%s %s, %s, %s, %s", c->topology, dims,
		c->network.router.name, routing_class_name(c->network.routing),
		c->task == SIM_REPLAY
			? "trace"
			: traffic_pattern_name(c->study.traffic.pattern));
}

double sim_cycles_ns(const struct sim_options *c, double cycles)
{
	double mhz = c->network.router.clock_mhz;
	return mhz > 0 ? cycles * 1000 / mhz : 0;
}

void sim_channel_text(const struct topology *t, const struct channel *c,
	char text[SIM_CHANNEL_BYTES])
{
	int n = snprintf(text, SIM_CHANNEL_BYTES,
		"node %u, port %u to node %u, class %u", c->node, c->port,
		topology_next(t, c->node, c->port), c->class);
	if (c->vc != CHANNEL_VC_ANY)
		snprintf(text + n, SIM_CHANNEL_BYTES - (size_t)n, ", VC %u",
			c->vc);
}

static void ns_print(const struct sim_options *c, double cycles)
{
	double ns = sim_cycles_ns(c, cycles);
	if (ns > 0)
		printf(" = %.1f ns", ns);
}

/* ---- one load ---- */

void sim_print_head(const struct sim_results *o)
{
	const struct sim_options *c = o->options;
	const struct router *r = &c->network.router;
	char title[SIM_TITLE_BYTES];
	sim_title(o, title);
	printf("%s\n", title);
	if (o->topology.host_node)
		printf("%u host%s at ", o->topology.hosts,
			plural(o->topology.hosts));
	printf("%u node%s; router with %u virtual channel%s of %u flit%s, %s, "
	       "%s",
		o->topology.nodes, plural(o->topology.nodes), r->channels,
		plural(r->channels), r->buffer, plural(r->buffer),
		sim_switchings[r->switching], router_arbiter_name(r->arbiter));
	if (r->clock_mhz > 0)
		printf(", %g MHz", r->clock_mhz);
	if (c->task != SIM_REPLAY)
		printf("; packets of %s flit%s", c->length_text,
			strcmp(c->length_text, "1") ? "s" : "");
	printf("\n");
	fflush(stdout);
}

static void no_links_print(const struct sim_results *o)
{
	printf("no packet can be delivered: there is no link%s\n",
		o->links ? " left" : "");
}

static void unsettled_print(
	const struct sim_results *o, const struct study_result *r)
{
	unsigned long long cycles = r->cycles;
	if (o->options->task == SIM_REPLAY)
		printf("unsettled: after %llu cycles not all packets have "
		       "arrived; try more --max-cycles.\n",
			cycles);
	else if (o->no_links)
		no_links_print(o);
	else if (r->packets)
		printf("unsettled: after %llu cycles the mean is not precise "
		       "enough.\n"
		       "Try more --max-cycles or a coarser --precision.\n",
			cycles);
	else if (r->counters.packets_reported)
		printf("no packets are delivered any more.\n");
	else
		printf("unsettled: almost no packets were sent in %llu "
		       "cycles.\n"
		       "Try more --max-cycles or a higher --load.\n",
			cycles);
}

static void verdict_print(
	const struct sim_results *o, const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	switch (r->verdict) {
	case STUDY_STEADY:
		if (o->options->task == SIM_REPLAY)
			printf("done: all packets have arrived or are "
			       "reported\n");
		else
			printf("steady\n");
		break;
	case STUDY_SATURATED:
		printf("saturated: accepts %.4g of %.4g offered flits, queues "
		       "grow.\n"
		       "The figures below are of delivered packets. Try a "
		       "lower --load; --saturation finds the highest.\n",
			r->accepted, r->offered);
		break;
	case STUDY_DEADLOCKED:
		printf("deadlocked after %" PRIu64
		       " cycles: packets wait for each other in a cycle.\n"
		       "Try --groups dated, --routing up-down or "
		       "--deadlock-countdown; --check predicts deadlocks.\n",
			r->cycles);
		break;
	case STUDY_UNSETTLED:
		unsettled_print(o, r);
		break;
	case STUDY_LINKS_FAILED:
		if (o->no_links) {
			no_links_print(o);
			break;
		}
		printf("links failed: %" PRIu64 " of %" PRIu64
		       " links have failed after %u errors of one flit, and "
		       "what is left is not steady.\n"
		       "Try a lower --error-rate.\n",
			r->counters.links_failed, o->links / 2,
			NETWORK_LINK_ERRORS);
		break;
	case STUDY_STOPPED:
		printf("stopped after %" PRIu64
		       " cycles; these are the results so far.\n",
			r->cycles);
		break;
	}
}

static void warnings_print(
	const struct sim_options *c, const struct study_result *r)
{
	const struct network_counters *n = &r->counters;
	uint64_t late = 0; /* time of a fault after the end of the run */
	for (unsigned i = 0; i < c->faults; i++)
		if (c->fault[i].time >= r->cycles)
			late = c->fault[i].time;
	if (c->random_links.count && c->random_links.time >= r->cycles)
		late = c->random_links.time;
	if (c->random_nodes.count && c->random_nodes.time >= r->cycles)
		late = c->random_nodes.time;
	if (n->packets_reported)
		printf("warning: %" PRIu64 " of %" PRIu64
		       " packets could not be delivered and were reported\n",
			n->packets_reported, n->packets_sent);
	if (n->links_failed && r->verdict != STUDY_LINKS_FAILED)
		printf("warning: %" PRIu64
		       " link%s failed because of repeated errors\n",
			n->links_failed,
			n->links_failed == 1 ? " has" : "s have");
	if (n->packets_delivered && n->flit_hops == 0)
		printf("warning: no packet crosses a link; each is sent to its "
		       "own node\n");
	if (late)
		printf("warning: the run ended before the fault at %" PRIu64
		       "\n",
			late);
}

void sim_print_point(const struct sim_results *o, const struct sim_point *p)
{
	const struct sim_options *c = o->options;
	const struct study_result *r = &p->result;
	char a[FIELD_BYTES], b[FIELD_BYTES];

	if (c->task != SIM_REPLAY)
		printf("load %g: ", p->load);
	verdict_print(o, p);
	warnings_print(c, r);
	if (o->cycle.count)
		sim_print_cycle(&o->topology, &o->cycle);
	printf("\n");
	if (r->packets) {
		printf("  latency        %.2f", r->packet_latency);
		if (r->packet_error > 0)
			printf(" +- %.2f", r->packet_error);
		printf(" cycles");
		ns_print(c, r->packet_latency);
		printf("\n  in the network %.2f cycles", r->network_latency);
		ns_print(c, r->network_latency);
		printf("\n  percentiles    p50 %" PRIu64 ", p90 %" PRIu64
		       ", p99 %" PRIu64 ", p99.9 %" PRIu64 "; from %" PRIu64
		       " to %" PRIu64 "\n",
			r->latency_p50, r->latency_p90, r->latency_p99,
			r->latency_p999, r->latency_least, r->latency_most);
		printf("  hops           %.2f\n", r->hops);
	}
	printf("  offered load   %s flits per node and cycle\n",
		load_text(r->offered, a));
	printf("  accepted load  %s\n", load_text(r->accepted, a));
	printf("  channel load   %s flits per cycle on average, %s at most\n",
		load_text(r->channel_mean, a), load_text(r->channel_most, b));
	fields_list(stdout, sim_counter_fields, &r->counters);
	printf("  measured       %" PRIu64 " packet%s in %" PRIu64 " cycles",
		r->packets, plural(r->packets), r->cycles - r->warm_up);
	if (r->warm_up)
		printf(" after %" PRIu64 " to warm up", r->warm_up);
	printf("\n");
	if (r->seconds > 0)
		printf("  simulated      in %.2f s: %.3g node-cycles and %.3g "
		       "flit-hops per second\n",
			r->seconds,
			(double)r->cycles * o->topology.nodes / r->seconds,
			(double)r->flit_hops / r->seconds);
}

void sim_print_cycle(const struct topology *t, const struct sim_cycle *c)
{
	char text[SIM_CHANNEL_BYTES];
	printf("A cycle of %u channel%s, each waits for the next and the last "
	       "for the first:\n",
		c->count, plural(c->count));
	for (uint32_t i = 0; i < c->count; i++) {
		sim_channel_text(t, &c->channel[i], text);
		printf("  %s\n", text);
	}
}

/* ---- several loads ---- */

void sim_print_sweep(const struct sim_results *o)
{
	/* Warnings are about the load with the most undelivered packets. */
	const struct study_result *worst = NULL;
	bool deadlocked = false;
	for (unsigned i = 0; i < o->count; i++) {
		const struct study_result *r = &o->point[i].result;
		deadlocked |= o->point[i].deadlocked;
		if (!worst || r->counters.packets_reported >
				      worst->counters.packets_reported)
			worst = r;
	}
	printf("\n");
	if (deadlocked) {
		printf("deadlocked: try --groups dated, --routing up-down or "
		       "--deadlock-countdown.\n");
		sim_print_cycle(&o->topology, &o->cycle);
	}
	if (worst)
		warnings_print(o->options, worst);
	if (o->no_links) {
		no_links_print(o);
		return;
	}
	if (o->stopped)
		printf("stopped before the last load; so far: ");
	if (o->saturated > 0 && o->steady > 0)
		printf("steady up to %.4g, no longer at %.4g flits per node "
		       "and cycle\n",
			o->steady, o->saturated);
	else if (o->saturated > 0)
		printf("not steady at any of these loads; try lower ones\n");
	else if (o->stopped && o->steady > 0)
		printf("steady up to %.4g flits per node and cycle\n",
			o->steady);
	else if (o->stopped)
		printf("no load is known to be steady\n");
	else
		printf("steady at all of these loads\n");
}
