/* SPDX-License-Identifier: BSD-2-Clause */
/* What `cay sim` says to people; see sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cli/sim.h"

/* ---- names and units ---- */

void sim_title(const struct sim_outcome *o, char title[SIM_TITLE_BYTES])
{
	const struct sim_call *c = o->call;
	char dims[SIM_DIMS_BYTES];
	sim_dims_text(&o->topology, dims);
	snprintf(title, SIM_TITLE_BYTES, "%s %s, %s, %s, %s", c->topology, dims,
		c->network.router.name, sim_rules[c->network.rule],
		c->task == SIM_REPLAY
			? "trace"
			: traffic_pattern_name(c->study.traffic.pattern));
}

double sim_cycles_ns(const struct sim_call *c, double cycles)
{
	double mhz = c->network.router.clock_mhz;
	return mhz > 0 ? cycles * 1000 / mhz : 0;
}

void sim_channel_text(const struct topology *t, const struct channel *c,
	char text[SIM_CHANNEL_BYTES])
{
	snprintf(text, SIM_CHANNEL_BYTES, "node %u, port %u to node %u, %s",
		c->node, c->port, topology_next(t, c->node, c->port),
		c->group == PATH_HIGH ? "high group" : "low group");
}

static void ns_print(const struct sim_call *c, double cycles)
{
	double ns = sim_cycles_ns(c, cycles);
	if (ns > 0)
		printf(" = %.1f ns", ns);
}

/* ---- one load ---- */

void sim_print_head(const struct sim_outcome *o)
{
	const struct sim_call *c = o->call;
	const struct router *r = &c->network.router;
	char title[SIM_TITLE_BYTES];
	sim_title(o, title);
	printf("%s\n", title);
	printf("%u nodes; router with %u virtual channel%s of %u flits, %s, "
	       "%s",
		o->topology.nodes, r->channels, r->channels > 1 ? "s" : "",
		r->buffer, sim_switchings[r->switching],
		router_arbiter_name(r->arbiter));
	if (r->clock_mhz > 0)
		printf(", %g MHz", r->clock_mhz);
	if (c->task != SIM_REPLAY)
		printf("; packets of %s flit%s", c->length_text,
			strcmp(c->length_text, "1") ? "s" : "");
	printf("\n");
	fflush(stdout);
}

static void verdict_print(
	const struct sim_outcome *o, const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	switch (r->verdict) {
	case STUDY_STEADY:
		if (o->call->task == SIM_REPLAY)
			printf("done: all packets have arrived or are "
			       "reported\n");
		else
			printf("steady\n");
		break;
	case STUDY_SATURATED:
		printf("saturated: accepts %.4g of the %.4g flits that are "
		       "offered, queues grow.\n"
		       "What follows is of what arrived. Try a lower --load; "
		       "--saturation finds the highest.\n",
			r->accepted, r->offered);
		break;
	case STUDY_DEADLOCKED:
		printf("deadlocked after %" PRIu64
		       " cycles: packets wait for each other for ever.\n"
		       "Try --groups dated, --routing up-down or "
		       "--deadlock-countdown; --check tells beforehand.\n",
			r->cycles);
		break;
	case STUDY_UNSETTLED:
		printf("unsettled: after %" PRIu64
		       " cycles the mean is not known well enough.\n"
		       "Try more --max-cycles or a coarser --precision.\n",
			r->cycles);
		break;
	case STUDY_STOPPED:
		printf("stopped after %" PRIu64
		       " cycles; this is what was known then.\n",
			r->cycles);
		break;
	}
}

static void latency_print(
	const struct sim_call *c, const struct study_result *r)
{
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
		r->latency_p50, r->latency_p90, r->latency_p99, r->latency_p999,
		r->latency_least, r->latency_most);
}

static void load_print(const struct study_result *r)
{
	printf("  offered load   %.4f flits per node and cycle\n", r->offered);
	printf("  accepted load  %.4f\n", r->accepted);
	printf("  channel load   %.4f flits per cycle in the mean, %.4f at "
	       "most\n",
		r->channel_mean, r->channel_most);
}

static void counters_print(const struct network_counters *c)
{
	const struct {
		const char *text;
		uint64_t value;
	} all[] = {
		{ "packets that could not be delivered, reported",
			c->packets_reported },
		{ "flits repeated by links", c->flits_repeated },
		{ "interrupts", c->interrupts },
		{ "heads at masked ports", c->masked },
		{ "detours", c->detours },
		{ "packets drained to hosts", c->drained },
		{ "deadlock alarms", c->deadlock_alarms },
		{ "of these false", c->deadlock_false },
		{ "packets removed for a deadlock", c->deadlock_removed },
	};
	for (unsigned i = 0; i < ARRAY_COUNT(all); i++)
		if (all[i].value)
			printf("  %s: %" PRIu64 "\n", all[i].text,
				all[i].value);
}

static void speed_print(
	const struct sim_outcome *o, const struct study_result *r)
{
	printf("  measured       %" PRIu64 " packets in %" PRIu64
	       " cycles, of which %" PRIu64 " to warm up\n",
		r->packets, r->cycles, r->warm_up);
	if (r->seconds > 0)
		printf("  simulated      in %.2f s: %.3g node-cycles and %.3g "
		       "flit-hops per second\n",
			r->seconds,
			(double)r->cycles * o->topology.nodes / r->seconds,
			(double)r->flit_hops / r->seconds);
}

void sim_print_point(const struct sim_outcome *o, const struct sim_point *p)
{
	if (o->call->task != SIM_REPLAY)
		printf("load %g: ", p->load);
	verdict_print(o, p);
	if (o->cycle.count)
		sim_print_cycle(&o->topology, &o->cycle);
	printf("\n");
	if (p->result.packets) {
		latency_print(o->call, &p->result);
		printf("  hops           %.2f\n", p->result.hops);
	}
	load_print(&p->result);
	counters_print(&p->result.counters);
	speed_print(o, &p->result);
}

void sim_print_cycle(const struct topology *t, const struct sim_cycle *c)
{
	char text[SIM_CHANNEL_BYTES];
	printf("A cycle of %u channels, each waits for the next and the last "
	       "for the first:\n",
		c->count);
	for (uint32_t i = 0; i < c->count; i++) {
		sim_channel_text(t, &c->channel[i], text);
		printf("  %s\n", text);
	}
}

void sim_print_links(const struct sim_outcome *o)
{
	double cycles = o->link_cycles ? (double)o->link_cycles : 1;
	printf("\n%8s %4s %8s %12s %10s %12s %8s\n", "from", "port", "to",
		"flits", "repeated", "blocked", "load");
	for (uint64_t i = 0; i < o->links; i++) {
		const struct network_link *l = &o->link[i];
		printf("%8u %4u %8u %12" PRIu64 " %10" PRIu64 " %12" PRIu64
		       " %8.4f%s\n",
			l->from, l->port, l->to, l->flits, l->repeated,
			l->blocked, (double)l->flits / cycles,
			l->dead ? " dead" : "");
	}
}

/* ---- several loads ---- */

void sim_print_row_head(void)
{
	printf("\n%8s %9s %10s %8s %8s %8s %7s %9s  %s\n", "load", "accepted",
		"latency", "p50", "p99", "p99.9", "hops", "channel", "verdict");
	fflush(stdout);
}

void sim_print_row(const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	printf("%8.4f %9.4f %10.2f %8" PRIu64 " %8" PRIu64 " %8" PRIu64
	       " %7.2f %9.4f  %s\n",
		p->load, r->accepted, r->packet_latency, r->latency_p50,
		r->latency_p99, r->latency_p999, r->hops, r->channel_most,
		study_verdict_name(r->verdict));
	fflush(stdout);
}

static bool any_deadlocked(const struct sim_outcome *o)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->point[i].result.verdict == STUDY_DEADLOCKED)
			return true;
	return false;
}

void sim_print_sweep(const struct sim_outcome *o)
{
	printf("\n");
	if (any_deadlocked(o)) {
		printf("deadlocked: try --groups dated, --routing up-down or "
		       "--deadlock-countdown.\n");
		sim_print_cycle(&o->topology, &o->cycle);
	}
	if (o->saturated > 0 && o->saturation > 0)
		printf("steady up to %.4g, no longer at %.4g flits per node "
		       "and cycle\n",
			o->saturation, o->saturated);
	else if (o->saturated > 0)
		printf("not steady at any of these loads; try lower ones\n");
	else
		printf("steady at all of these loads\n");
}
