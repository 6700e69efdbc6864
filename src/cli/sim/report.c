/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of `cay sim` as tables of fields: JSON, CSV and text tables. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/sim/sim.h"

#define CYCLE_DECIMALS 4

/* ---- tables ---- */

#define POINT(member, ...)   FIELD(struct sim_point, member, __VA_ARGS__)
#define COUNTER(member, ...) FIELD(struct network_counters, member, __VA_ARGS__)
#define LINK(member, ...)    FIELD(struct link_row, member, __VA_ARGS__)

/* Without a measured packet there are no latencies. */
static bool measured(const void *point)
{
	return ((const struct sim_point *)point)->result.packets > 0;
}

#define MEAN .kind = FIELD_REAL, .decimals = CYCLE_DECIMALS, .known = measured

static const struct field point_fields[] = {
	POINT(load, "load", .kind = FIELD_LOAD, .csv = "load"),
	POINT(result.offered, "offered_load", .kind = FIELD_LOAD,
		.csv = "offered_load"),
	POINT(result.accepted, "accepted_load", .kind = FIELD_LOAD,
		.csv = "accepted_load"),
	POINT(result.packet_latency, "packet_latency", MEAN,
		.csv = "packet_latency"),
	POINT(result.packet_error, "packet_latency_error", MEAN,
		.csv = "packet_latency_error"),
	POINT(latency_ns, "packet_latency_ns", MEAN, .optional = true),
	POINT(result.network_latency, "network_latency", MEAN,
		.csv = "network_latency"),
	POINT(result.hops, "hops", MEAN, .csv = "hops"),
	POINT(result.latency_p50, "p50", .object = "latency", .csv = "p50",
		.known = measured),
	POINT(result.latency_p90, "p90", .object = "latency", .csv = "p90",
		.known = measured),
	POINT(result.latency_p99, "p99", .object = "latency", .csv = "p99",
		.known = measured),
	POINT(result.latency_p999, "p999", .object = "latency", .csv = "p999",
		.known = measured),
	POINT(result.latency_least, "min", .object = "latency", .csv = "min",
		.known = measured),
	POINT(result.latency_most, "max", .object = "latency", .csv = "max",
		.known = measured),
	POINT(result.channel_mean, NULL, .kind = FIELD_LOAD,
		.csv = "channel_load_mean"),
	POINT(result.channel_most, NULL, .kind = FIELD_LOAD,
		.csv = "channel_load_max"),
	POINT(result.packets, "packets", .csv = "packets"),
	POINT(result.cycles, "cycles", .csv = "cycles"),
	POINT(result.warm_up, "warm_up_cycles", .csv = "warm_up_cycles"),
	POINT(result.flit_hops, "flit_hops", .csv = "flit_hops"),
	POINT(result.backlog, "backlog"),
	POINT(verdict, "verdict", .kind = FIELD_STRING, .csv = "verdict"),
	POINT(saturated, "saturated", .kind = FIELD_BOOL),
	POINT(deadlocked, "deadlocked", .kind = FIELD_BOOL),
	POINT(result.channel_mean, "mean", .object = "channel_load",
		.kind = FIELD_LOAD),
	POINT(result.channel_most, "max", .object = "channel_load",
		.kind = FIELD_LOAD),
	FIELDS_END,
};

/* Columns of a sweep. */
static const struct field row_fields[] = {
	POINT(load, NULL, .kind = FIELD_LOAD, .title = "load", .width = 8),
	POINT(result.accepted, NULL, .kind = FIELD_LOAD, .title = "accepted",
		.width = 9),
	POINT(result.packet_latency, NULL, .kind = FIELD_REAL, .decimals = 2,
		.known = measured, .title = "latency", .width = 10),
	POINT(result.latency_p50, NULL, .known = measured, .title = "p50",
		.width = 8),
	POINT(result.latency_p99, NULL, .known = measured, .title = "p99",
		.width = 8),
	POINT(result.latency_p999, NULL, .known = measured, .title = "p99.9",
		.width = 8),
	POINT(result.hops, NULL, .kind = FIELD_REAL, .decimals = 2,
		.known = measured, .title = "hops", .width = 7),
	POINT(result.channel_most, NULL, .kind = FIELD_LOAD, .title = "channel",
		.width = 9),
	POINT(verdict, NULL, .kind = FIELD_STRING, .title = "verdict",
		.width = -1),
	FIELDS_END,
};

const struct field sim_counter_fields[] = {
	COUNTER(packets_sent, "packets_sent"),
	COUNTER(packets_delivered, "packets_delivered"),
	COUNTER(packets_reported, "packets_reported"),
	COUNTER(packets_in_flight, "packets_in_flight"),
	COUNTER(flit_hops, "flit_hops"),
	COUNTER(flits_delivered, "flits_delivered"),
	COUNTER(flits_repeated, "flits_repeated",
		.title = "flits retransmitted by links"),
	COUNTER(links_failed, "links_failed",
		.title = "links failed because of errors"),
	COUNTER(interrupts, "interrupts", .title = "interrupts"),
	COUNTER(masked, "masked", .title = "head flits at masked ports"),
	COUNTER(detours, "detours", .title = "detours"),
	COUNTER(drained, "drained", .title = "packets drained to hosts"),
	COUNTER(forwarded, "forwarded", .title = "packets forwarded by hosts"),
	COUNTER(deadlock_alarms, "deadlock_alarms", .title = "deadlock alarms"),
	COUNTER(deadlock_false, "deadlock_false", .title = "false alarms"),
	COUNTER(deadlock_removed, "deadlock_removed",
		.title = "packets removed by deadlock recovery"),
	FIELDS_END,
};

struct link_row {
	struct network_link link;
	double load;
	const char *dead; /* or "" */
};

static const struct field link_fields[] = {
	LINK(link.from, "from", .title = "from", .width = 8),
	LINK(link.port, "port", .title = "port"),
	LINK(link.to, "to", .title = "to", .width = 8),
	LINK(link.dead, "dead", .kind = FIELD_BOOL),
	LINK(link.flits, "flits", .title = "flits", .width = 12),
	LINK(link.repeated, "repeated", .title = "repeated", .width = 10),
	LINK(link.blocked, "blocked", .title = "blocked", .width = 12),
	LINK(load, "load", .kind = FIELD_LOAD, .title = "load", .width = 8),
	LINK(dead, NULL, .kind = FIELD_STRING, .title = "", .width = -4),
	FIELDS_END,
};

static struct link_row link_row_of(const struct sim_results *o, uint64_t i)
{
	double cycles = o->link_cycles ? (double)o->link_cycles : 1;
	return (struct link_row){ .link = o->link[i],
		.load = (double)o->link[i].flits / cycles,
		.dead = o->link[i].dead ? "dead" : "" };
}

/* ---- text tables ---- */

/* Prints the row of a load, or the headings if it is NULL. */
void sim_print_row(const struct sim_point *p)
{
	int widths[FIELDS_MAX];
	char line[FIELD_BYTES];
	fields_widths(row_fields, widths);
	fields_line(row_fields, p, widths, line, sizeof(line));
	printf("%s%s\n", p ? "" : "\n", line);
	fflush(stdout);
}

void sim_print_links(const struct sim_results *o)
{
	int widths[FIELDS_MAX];
	char line[FIELD_BYTES];
	fields_widths(link_fields, widths);
	fields_line(link_fields, NULL, widths, line, sizeof(line));
	printf("\n%s\n", line);
	for (uint64_t i = 0; i < o->links; i++) {
		struct link_row row = link_row_of(o, i);
		fields_line(link_fields, &row, widths, line, sizeof(line));
		printf("%s\n", line);
	}
}

/* ---- CSV ---- */

int sim_csv_write(const struct sim_results *o, FILE *to)
{
	fields_csv(to, point_fields, NULL);
	for (unsigned i = 0; i < o->count; i++)
		fields_csv(to, point_fields, &o->point[i]);
	if (fflush(to) != 0)
		return -errno;
	return ferror(to) ? -EIO : 0;
}

/* ---- JSON ---- */

static void put_router(
	struct json *j, const struct router *r, unsigned host_delay)
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
	json_put_number(j, "host_delay", host_delay);
	json_key(j, "clock_mhz");
	if (r->clock_mhz > 0)
		json_fixed(j, r->clock_mhz, 3);
	else
		json_string(j, NULL);
	json_object_end(j);
}

void sim_json_setup(
	struct json *j, const struct sim_options *c, const struct topology *t)
{
	char dims[SIM_DIMS_BYTES];
	sim_dims_text(c, t, dims);
	json_put_string(j, "topology", c->topology);
	json_put_string(j, "dims", dims);
	json_put_number(j, "nodes", t->nodes);
	json_put_number(j, "hosts", t->hosts);
	json_put_string(j, "router", c->network.router.name);
	put_router(j, &c->network.router, c->network.host_delay);
	json_put_string(j, "routing", routing_class_name(c->network.routing));
}

static void put_traffic(struct json *j, const struct sim_options *c)
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
		json_put_number(j, "class", k->class);
		if (k->vc != CHANNEL_VC_ANY)
			json_put_number(j, "vc", k->vc);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_point(
	struct json *j, const struct sim_results *o, const struct sim_point *p)
{
	const struct study_result *r = &p->result;
	double s = r->seconds > 0 ? r->seconds : 0;
	fields_json(j, point_fields, p);
	json_key(j, "counters");
	json_object_begin(j);
	fields_json(j, sim_counter_fields, &r->counters);
	json_object_end(j);
	json_put_fixed(j, "seconds", s, 6);
	/* Infinity, which is null, if there was no time to measure. */
	json_put_fixed(j, "node_cycles_per_second",
		(double)r->cycles * o->topology.nodes / s, 0);
	json_put_fixed(j, "flit_hops_per_second", (double)r->flit_hops / s, 0);
}

/* A load, or null for 0: none of the simulated loads. */
static void put_limit(struct json *j, const char *key, double load)
{
	const struct field f[] = {
		{ .key = key, .kind = FIELD_LOAD },
		FIELDS_END,
	};
	double value = load > 0 ? load : NAN;
	fields_json(j, f, &value);
}

int sim_json_results(const struct sim_results *o, FILE *to)
{
	enum sim_task task = o->options->task;
	struct json j;
	json_open(&j, to);
	json_object_begin(&j);
	sim_json_setup(&j, o->options, &o->topology);
	put_traffic(&j, o->options);
	if (task == SIM_STUDY || task == SIM_REPLAY) {
		put_point(&j, o, &o->point[0]);
	} else {
		json_key(&j, "points");
		json_array_begin(&j);
		for (unsigned i = 0; i < o->count; i++) {
			json_object_begin(&j);
			put_point(&j, o, &o->point[i]);
			json_object_end(&j);
		}
		json_array_end(&j);
		put_limit(&j, "saturation", o->saturated > 0 ? o->steady : 0);
		put_limit(&j, "saturated_at", o->saturated);
		json_put_bool(&j, "stopped", o->stopped);
	}
	if (o->cycle.count) {
		json_key(&j, "deadlock_cycle");
		sim_json_cycle(&j, &o->topology, &o->cycle);
	}
	if (o->options->links) {
		json_key(&j, "links");
		json_array_begin(&j);
		for (uint64_t i = 0; i < o->links; i++) {
			struct link_row row = link_row_of(o, i);
			json_object_begin(&j);
			fields_json(&j, link_fields, &row);
			json_object_end(&j);
		}
		json_array_end(&j);
	}
	json_object_end(&j);
	return json_close(&j);
}
