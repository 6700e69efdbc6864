/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `cay sim` is asked for, and what its files tell each other.
 */
#ifndef CAY_CLI_SIM_H
#define CAY_CLI_SIM_H

#include <stdio.h>

#include "base/fields.h"
#include "network/routing/dependency.h"
#include "network/study/sweep.h"
#include "plot/timeline.h"

#define SIM_FAULTS_MAX	    256
#define SIM_PACKETS_MAX	    10000
#define SIM_BARRIERS_MAX    100000
#define SIM_LOAD_MAX	    ROUTER_NETWORK_MAX
#define SIM_ROUTING_DEFAULT UINT32_MAX
#define SIM_INTERRUPTED	    130 /* exit status, as a shell has it */

/* What is simulated; barriers and analyses have functions of their own. */
enum sim_task {
	SIM_STUDY, /* one load */
	SIM_SWEEP, /* several loads */
	SIM_SATURATION,
	SIM_REPLAY, /* the packets of a file */
};

/* ---- files ---- */

struct sim_file {
	const char *option; /* of the command line, for complaints */
	const char *path;   /* NULL: not asked for; "-": standard output */
	char *target, *temporary;
	FILE *stream;
};

/* Makes sure that all can be written, before anything takes time. The exit
 * status; complains. */
int sim_files_open(struct sim_file *const *, unsigned count);
/* Puts it in its place; `r` is what writing has returned. The exit status. */
int sim_file_end(struct sim_file *, int r);
/* Forgets it, if it is still open. */
void sim_file_drop(struct sim_file *);
/* Remembers what writing to standard output has returned; and how that has
 * ended: the exit status, see cli_output_flush(). */
void sim_output_note(int r);
int sim_output_end(void);
/* What is to be read; "-" is standard input. The exit status; complains. */
int sim_input_open(const char *path, FILE **);
void sim_input_close(FILE *);

/* ---- what is asked for ---- */

struct sim_fault {
	enum network_fault kind;
	uint32_t node;
	unsigned port;
	uint64_t time;
};

/* So many that fail, chosen by the seed. */
struct sim_random {
	uint32_t count;
	uint64_t time;
};

struct sim_call {
	enum sim_task task;
	bool saturation, check, metrics, route;
	/* The network. */
	const char *topology, *dims_text;
	uint32_t dims[TOPOLOGY_DIMENSIONS_MAX];
	unsigned dims_count; /* 0: not said */
	const char *graph;
	struct network_options network;
	unsigned routing; /* enum routing_rule, or SIM_ROUTING_DEFAULT */
	struct sim_fault fault[SIM_FAULTS_MAX];
	unsigned faults;
	struct sim_random random_links, random_nodes;
	/* What it carries. */
	struct study_options study;
	const char *traffic_text, *length_text, *trace;
	double loads[SWEEP_LOADS_MAX];
	unsigned loads_count;
	uint32_t route_from, route_to;
	uint64_t barriers, packets;
	/* What is shown. */
	bool json, links;
	struct sim_file csv, svg, heat, timeline;
};

/* A topology and the network on it, which may take links out of it. */
struct sim_network {
	const struct sim_call *call;
	struct topology topology;
	struct network *network;
};

/* One load that was measured. */
struct sim_point {
	double load;
	struct study_result result;
	const char *verdict;
	bool saturated, deadlocked;
	double latency_ns; /* NAN: the router has no clock rate */
};

/* Channels that wait for each other. */
struct sim_cycle {
	struct channel *channel;
	uint32_t count;
};

/* Ways that packets took. */
struct sim_ways {
	struct timeline_packet *packet;
	uint32_t count, room;
};

/* All that a run has found out. */
struct sim_outcome {
	struct sim_call *call;
	struct topology topology; /* as it was in the beginning */
	struct sim_point *point;
	unsigned count;
	/* See struct sweep_outcome; 0: none. */
	double steady, saturated;
	bool stopped;		   /* before all was measured */
	struct sim_cycle cycle;	   /* of a deadlock */
	bool no_links;		   /* none was left in the end */
	struct network_link *link; /* of the last point */
	uint64_t links, link_cycles;
	struct sim_ways ways;
};

/* ---- value.c ---- */

extern const char *const sim_switchings[], *const sim_groups[],
						   *const sim_routings[];

/* Parse the value of an option into a struct sim_call. */
bool sim_dims_parse(void *call, const char *text);
bool sim_loads_parse(void *call, const char *text);
bool sim_fault_parse(void *call, const char *text);
bool sim_fault_random_parse(void *call, const char *text);
bool sim_spot_parse(void *call, const char *text);
bool sim_pair_parse(void *call, const char *text);

/* ---- network.c ---- */

/* And the routing that suits it. The exit status; complains. */
int sim_topology_open(struct sim_call *, struct topology *);
/* Does everything fit together? The exit status; complains. */
int sim_network_check(struct sim_call *, const struct topology *);
/* On a copy of the topology, with its faults. The exit status; complains. */
int sim_network_open(
	struct sim_network *, const struct sim_call *, const struct topology *);
void sim_network_close(struct sim_network *);
/* "8x8x8", or the number of nodes where there are no dimensions. */
#define SIM_DIMS_BYTES 40
void sim_dims_text(const struct topology *, char text[SIM_DIMS_BYTES]);

/* ---- tasks: the exit status ---- */

int sim_study(struct sim_call *);
int sim_replay(struct sim_call *);
int sim_barriers(struct sim_call *);
int sim_check(struct sim_call *);
int sim_route(struct sim_call *);
int sim_metrics(struct sim_call *);

/* The topology, its checks, the files. The exit status; complains. */
int sim_outcome_open(struct sim_outcome *, struct sim_call *);
/* Prints, writes files, and frees it. `status` is that of what was done, and
 * nothing is written if it is not CLI_OK. The exit status. */
int sim_outcome_end(struct sim_outcome *, int status);
/* A point that was measured, and its links and deadlock. 0 or -ENOMEM. */
int sim_outcome_add(struct sim_outcome *, struct network *, double load,
	const struct study_result *);
/* Does standard output belong to a report for people? */
bool sim_prints(const struct sim_call *);

/* ---- routes.c ---- */

/* The routes that are asked for. 0 or -errno. */
int sim_routing_open(
	const struct sim_call *, const struct topology *, struct routing **);

/* A way, hop by hop. */
struct sim_walk {
	const struct topology *topology;
	const struct router *router;
	const struct routing_path *way;
	unsigned leg;
	uint32_t hop;	   /* of the leg */
	struct channel at; /* the hop */
	uint32_t node;	   /* where it leads */
};

void sim_walk_begin(struct sim_walk *, const struct topology *,
	const struct router *, uint32_t from, const struct routing_path *);
bool sim_walk_next(struct sim_walk *);

/* ---- progress.c ---- */

void sim_progress_begin(void);
void sim_progress_end(void);
/* Has somebody asked to end it? */
bool sim_interrupted(void);
/* Says where it is, if somebody looks and it takes long. */
__attribute__((format(printf, 1, 2))) void sim_progress(
	const char *format, ...);

/* ---- output ---- */

/* Names of a run, in one line: "torus 8x8x8, extoll, ...". */
#define SIM_TITLE_BYTES 160
void sim_title(const struct sim_outcome *, char title[SIM_TITLE_BYTES]);
double sim_cycles_ns(const struct sim_call *, double cycles); /* 0: no clock */
/* "node 3, port 1 to node 2, low group". */
#define SIM_CHANNEL_BYTES 96
void sim_channel_text(const struct topology *, const struct channel *,
	char text[SIM_CHANNEL_BYTES]);

extern const struct field sim_counter_fields[]; /* struct network_counters */

void sim_print_head(const struct sim_outcome *);
void sim_print_point(const struct sim_outcome *, const struct sim_point *);
/* Prints the row of a load, or the headings if it is NULL. */
void sim_print_row(const struct sim_point *);
void sim_print_sweep(const struct sim_outcome *);
void sim_print_cycle(const struct topology *, const struct sim_cycle *);
void sim_print_links(const struct sim_outcome *);

void sim_json_setup(
	struct json *, const struct sim_call *, const struct topology *);
void sim_json_cycle(
	struct json *, const struct topology *, const struct sim_cycle *);
/* 0 or -errno. */
int sim_json_outcome(const struct sim_outcome *, FILE *);
int sim_csv_write(const struct sim_outcome *, FILE *);
int sim_svg_write(const struct sim_outcome *, FILE *);
int sim_heat_write(const struct sim_outcome *, FILE *);

/* ---- timeline.c ---- */

/* Keeps the way of a packet that was recorded, through the topology as it was
 * in the beginning. 0 or -ENOMEM. */
int sim_ways_add(struct sim_ways *, const struct topology *,
	const struct network_delivery *);
/* Sends packets through the network as it is, and keeps their ways. 0 or
 * -errno. */
int sim_ways_probe(
	struct sim_ways *, const struct sim_call *, struct network *);
void sim_ways_free(struct sim_ways *);
int sim_timeline_write(const struct sim_outcome *, FILE *);

#endif
