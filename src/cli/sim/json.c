/* SPDX-License-Identifier: BSD-2-Clause */
/* What `cay sim` says to programs; see sim.h. */
#include <math.h>
#include <string.h>

#include "cli/sim/sim.h"

#define LOAD_DECIMALS  6
#define CYCLE_DECIMALS 4
#define LOAD_SMALL     0.001

/* However small it is, it is not 0. */
static void load_put(struct json *j, double load)
{
	if (load > 0 && load < LOAD_SMALL)
		json_real(j, load);
	else
		json_fixed(j, load, LOAD_DECIMALS);
}

static void put_load(struct json *j, const char *key, double load)
{
	json_key(j, key);
	load_put(j, load);
}

/* null: no packet was measured. */
static void put_mean(struct json *j, const char *key,
	const struct study_result *r, double mean)
{
	json_put_fixed(j, key, r->packets ? mean : NAN, CYCLE_DECIMALS);
}

/* ---- the network ---- */

static void put_router(struct json *j, const struct router *r)
{
	json_key(j, "router_parameters");
	json_object_begin(j);
	json_put_number(j, "virtual_channels", r->channels);
	json_put_number(j, "buffer_flits", r->buffer);
	json_put_number(j, "flit_bits", r->flit_bits);
	json_put_string(j, "switching", sim_switchings[r->switching]);
	json_put_string(j, "arbiter", router_arbiter_name(r->arbiter));
	json_put_string(j, "groups", sim_groups[r->grouping]);
	json_put_number(j, "link_delay", r->link_delay);
	json_put_number(j, "tag_bits", r->tag_bits);
	json_put_number(j, "deadlock_countdown", r->deadlock_countdown);
	json_key(j, "clock_mhz");
	if (r->clock_mhz > 0)
		json_fixed(j, r->clock_mhz, 3);
	else
		json_string(j, NULL);
	json_object_end(j);
}

void sim_json_setup(
	struct json *j, const struct sim_call *c, const struct topology *t)
{
	char dims[SIM_DIMS_BYTES];
	sim_dims_text(t, dims);
	json_put_string(j, "topology", c->topology);
	json_put_string(j, "dims", dims);
	json_put_number(j, "nodes", t->nodes);
	json_put_string(j, "router", c->network.router.name);
	put_router(j, &c->network.router);
	json_put_string(j, "routing", sim_routings[c->network.rule]);
}

static void put_traffic(struct json *j, const struct sim_call *c)
{
	bool replay = c->task == SIM_REPLAY;
	json_put_string(j, "traffic",
		replay ? "trace"
		       : traffic_pattern_name(c->study.traffic.pattern));
	json_put_bool(j, "to_self", !replay && c->study.traffic.to_self);
	json_put_string(j, "length", replay ? NULL : c->length_text);
	json_put_number(j, "seed", c->network.seed);
	json_put_number(j, "threads", c->network.threads);
}

/* ---- what was measured ---- */

static void put_known(struct json *j, const char *key,
	const struct study_result *r, uint64_t cycles)
{
	json_key(j, key);
	if (r->packets)
		json_number(j, cycles);
	else
		json_string(j, NULL);
}

static void put_latency(
	struct json *j, const struct sim_call *c, const struct study_result *r)
{
	put_mean(j, "packet_latency", r, r->packet_latency);
	put_mean(j, "packet_latency_error", r, r->packet_error);
	if (c->network.router.clock_mhz > 0)
		put_mean(j, "packet_latency_ns", r,
			sim_cycles_ns(c, r->packet_latency));
	put_mean(j, "network_latency", r, r->network_latency);
	put_mean(j, "hops", r, r->hops);
	json_key(j, "latency");
	json_object_begin(j);
	put_known(j, "p50", r, r->latency_p50);
	put_known(j, "p90", r, r->latency_p90);
	put_known(j, "p99", r, r->latency_p99);
	put_known(j, "p999", r, r->latency_p999);
	put_known(j, "min", r, r->latency_least);
	put_known(j, "max", r, r->latency_most);
	json_object_end(j);
}

static void put_counters(struct json *j, const struct network_counters *c)
{
	json_key(j, "counters");
	json_object_begin(j);
	json_put_number(j, "packets_sent", c->packets_sent);
	json_put_number(j, "packets_delivered", c->packets_delivered);
	json_put_number(j, "packets_reported", c->packets_reported);
	json_put_number(j, "flit_hops", c->flit_hops);
	json_put_number(j, "flits_delivered", c->flits_delivered);
	json_put_number(j, "flits_repeated", c->flits_repeated);
	json_put_number(j, "interrupts", c->interrupts);
	json_put_number(j, "masked", c->masked);
	json_put_number(j, "detours", c->detours);
	json_put_number(j, "drained", c->drained);
	json_put_number(j, "forwarded", c->forwarded);
	json_put_number(j, "deadlock_alarms", c->deadlock_alarms);
	json_put_number(j, "deadlock_false", c->deadlock_false);
	json_put_number(j, "deadlock_removed", c->deadlock_removed);
	json_object_end(j);
}

static void put_speed(
	struct json *j, const struct topology *t, const struct study_result *r)
{
	double s = r->seconds > 0 ? r->seconds : 0;
	json_put_fixed(j, "seconds", s, 6);
	/* What is not finite is null: there was no time to measure. */
	json_put_fixed(j, "node_cycles_per_second",
		(double)r->cycles * t->nodes / s, 0);
	json_put_fixed(j, "flit_hops_per_second", (double)r->flit_hops / s, 0);
}

static void put_channels(struct json *j, const struct study_result *r)
{
	json_key(j, "channel_load");
	json_object_begin(j);
	put_load(j, "mean", r->channel_mean);
	put_load(j, "max", r->channel_most);
	json_object_end(j);
}

static void put_point(
	struct json *j, const struct sim_outcome *o, const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	put_load(j, "load", p->load);
	put_load(j, "offered_load", r->offered);
	put_load(j, "accepted_load", r->accepted);
	put_latency(j, o->call, r);
	json_put_number(j, "packets", r->packets);
	json_put_number(j, "cycles", r->cycles);
	json_put_number(j, "warm_up_cycles", r->warm_up);
	json_put_number(j, "flit_hops", r->flit_hops);
	json_put_number(j, "backlog", r->backlog);
	json_put_string(j, "verdict", study_verdict_name(r->verdict));
	json_put_bool(j, "saturated", r->verdict == STUDY_SATURATED);
	json_put_bool(j, "deadlocked", r->verdict == STUDY_DEADLOCKED);
	put_channels(j, r);
	put_counters(j, &r->counters);
	put_speed(j, &o->topology, r);
}

void sim_json_cycle(
	struct json *j, const struct topology *t, const struct sim_cycle *c)
{
	json_array_begin(j);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct channel *k = &c->channel[i];
		json_object_begin(j);
		json_put_number(j, "node", k->node);
		json_put_number(j, "port", k->port);
		json_put_number(j, "to", topology_next(t, k->node, k->port));
		json_put_string(
			j, "group", k->group == GROUP_HIGH ? "high" : "low");
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_links(struct json *j, const struct sim_outcome *o)
{
	double cycles = o->link_cycles ? (double)o->link_cycles : 1;
	json_key(j, "links");
	json_array_begin(j);
	for (uint64_t i = 0; i < o->links; i++) {
		const struct network_link *l = &o->link[i];
		json_object_begin(j);
		json_put_number(j, "from", l->from);
		json_put_number(j, "port", l->port);
		json_put_number(j, "to", l->to);
		json_put_bool(j, "dead", l->dead);
		json_put_number(j, "flits", l->flits);
		json_put_number(j, "repeated", l->repeated);
		json_put_number(j, "blocked", l->blocked);
		put_load(j, "load", (double)l->flits / cycles);
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- the whole ---- */

static void put_points(struct json *j, const struct sim_outcome *o)
{
	json_key(j, "points");
	json_array_begin(j);
	for (unsigned i = 0; i < o->count; i++) {
		json_object_begin(j);
		put_point(j, o, &o->point[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

/* null: there was no such load among the points. */
static void put_border(struct json *j, const char *key, double load)
{
	json_key(j, key);
	if (load > 0)
		load_put(j, load);
	else
		json_string(j, NULL);
}

int sim_json_outcome(const struct sim_outcome *o, FILE *to)
{
	enum sim_task task = o->call->task;
	struct json j;
	json_open(&j, to);
	json_object_begin(&j);
	sim_json_setup(&j, o->call, &o->topology);
	put_traffic(&j, o->call);
	if (task == SIM_STUDY || task == SIM_REPLAY) {
		put_point(&j, o, &o->point[0]);
	} else {
		put_points(&j, o);
		put_border(&j, "saturation", o->saturated > 0 ? o->steady : 0);
		put_border(&j, "saturated_at", o->saturated);
		json_put_bool(&j, "stopped", o->stopped);
	}
	if (o->cycle.count) {
		json_key(&j, "deadlock_cycle");
		sim_json_cycle(&j, &o->topology, &o->cycle);
	}
	if (o->call->links)
		put_links(&j, o);
	json_object_end(&j);
	return json_close(&j);
}
