/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options and results of `cay sim`. Functions that return an exit status
 * have printed the error message.
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
#define SIM_INTERRUPTED	    130 /* exit status of a process after SIGINT */

/* What is simulated; barriers and analyses have functions of their own. */
enum sim_task {
	SIM_STUDY, /* one load */
	SIM_SWEEP, /* several loads */
	SIM_SATURATION,
	SIM_REPLAY, /* the packets of a file */
};

/* ---- file.c ---- */

/* An output file. It is written under a temporary name and renamed when it is
 * complete. */
struct sim_file {
	const char *option; /* of the command line, for error messages */
	const char *path;   /* NULL: not requested; "-": standard output */
	char *target, *temporary;
	FILE *stream;
};

/* Opens the requested files before the simulation. Returns the exit status. */
int sim_files_open(struct sim_file *const *, unsigned count);
/* Completes a file; `r` is the result of writing to it. Returns the exit
 * status. */
int sim_file_close(struct sim_file *, int r);
/* Removes a file that is not complete. */
void sim_file_discard(struct sim_file *);
/* Records the result of writing to standard output. */
void sim_output_record(int r);
/* Flushes standard output. Returns the exit status, as of cli_output_flush().
 */
int sim_output_flush(void);
/* Opens a file for reading; "-" is standard input. Returns the exit status. */
int sim_input_open(const char *path, FILE **);
void sim_input_close(FILE *);

/* ---- options ---- */

struct sim_fault {
	enum network_fault kind;
	uint32_t node;
	unsigned port;
	uint64_t time;
};

/* Faults at places that the seed selects. */
struct sim_random {
	uint32_t count;
	uint64_t time;
};

struct sim_options {
	enum sim_task task;
	bool saturation, check, metrics, route;
	/* Network */
	const char *topology, *dims_text;
	const struct topology_class *class;
	uint32_t dims[TOPOLOGY_GRID_MAX];
	unsigned dims_count; /* 0: the default */
	unsigned hosts;	     /* of each node; 0: those of the topology */
	const char *graph;
	struct network_options network;
	unsigned routing; /* of routing_names, or SIM_ROUTING_DEFAULT */
	struct sim_fault fault[SIM_FAULTS_MAX];
	unsigned faults;
	struct sim_random random_links, random_nodes;
	/* Traffic */
	struct study_options study;
	const char *traffic_text, *length_text, *trace;
	double loads[SWEEP_LOADS_MAX];
	unsigned loads_count;
	uint32_t route_from, route_to;
	uint64_t barriers, packets;
	/* Output */
	bool json, links;
	struct sim_file csv, svg, heat, timeline;
};

/* ---- value.c ---- */

/* Names, in the order of the enumerations. */
extern const char *const sim_switchings[];
extern const char *const sim_groups[];

/* Parse the value of an option into a struct sim_options. */
bool sim_dims_parse(void *options, const char *text);
bool sim_loads_parse(void *options, const char *text);
bool sim_fault_parse(void *options, const char *text);
bool sim_fault_random_parse(void *options, const char *text);
bool sim_spot_parse(void *options, const char *text);
bool sim_pair_parse(void *options, const char *text);

/* ---- network.c ---- */

/* A network on its own copy of the topology, from which faults remove links. */
struct sim_network {
	const struct sim_options *options;
	struct topology topology;
	struct network *network;
};

/* Builds the topology and selects the routing algorithm. Returns the exit
 * status. */
int sim_topology_open(struct sim_options *, struct topology *);
/* Checks the options against the topology. Returns the exit status. */
int sim_network_check(struct sim_options *, const struct topology *);
/* Builds the network and schedules its faults. Returns the exit status. */
int sim_network_open(struct sim_network *, const struct sim_options *,
	const struct topology *);
void sim_network_close(struct sim_network *);
/* Writes the sizes, "8x8x8", or the number of nodes of a graph. */
#define SIM_DIMS_BYTES 80
void sim_dims_text(const struct sim_options *, const struct topology *,
	char text[SIM_DIMS_BYTES]);

/* ---- tasks; all return the exit status ---- */

int sim_study(struct sim_options *);
int sim_replay(struct sim_options *);
int sim_barriers(struct sim_options *);
int sim_check(struct sim_options *);
int sim_route(struct sim_options *);
int sim_metrics(struct sim_options *);

/* ---- results.c ---- */

/* One simulated load. */
struct sim_point {
	double load;
	struct study_result result;
	const char *verdict;
	bool saturated, deadlocked;
	double latency_ns; /* NAN: the router has no clock rate */
};

/* A cycle of channels, each of which waits for the next. */
struct sim_cycle {
	struct channel *channel;
	uint32_t count;
};

/* Recorded paths of packets. */
struct sim_paths {
	struct timeline_packet *packet;
	uint32_t count, capacity;
};

struct sim_results {
	struct sim_options *options;
	struct topology topology; /* without faults */
	struct sim_point *point;
	unsigned count;
	double steady, saturated;  /* of struct sweep_outcome; 0: none */
	bool stopped;		   /* interrupted */
	struct sim_cycle cycle;	   /* of a deadlock */
	bool no_links;		   /* every link is dead at the end */
	struct network_link *link; /* of the last point */
	uint64_t links, link_cycles;
	struct sim_paths paths;
};

/* Builds the topology, checks the options, opens the files. Returns the exit
 * status. */
int sim_results_open(struct sim_results *, struct sim_options *);
/* Prints and writes the results if `status` is CLI_OK, and frees them. Returns
 * the exit status. */
int sim_results_close(struct sim_results *, int status);
/* Adds a point, with its links and its deadlock. Returns 0 or -ENOMEM. */
int sim_results_add(struct sim_results *, struct network *, double load,
	const struct study_result *);
/* Returns true if text goes to standard output. */
bool sim_prints(const struct sim_options *);

/* ---- routes.c ---- */

/* Opens the routing function. Returns the exit status. */
int sim_routing_open(
	const struct sim_options *, const struct topology *, struct routing **);

/* ---- progress.c ---- */

void sim_progress_begin(void);
void sim_progress_end(void);
/* Returns true after SIGINT, SIGTERM or SIGHUP. */
bool sim_interrupted(void);
/* Updates the progress line of a terminal in a long run. */
__attribute__((format(printf, 1, 2))) void sim_progress(
	const char *format, ...);

/* ---- print.c, report.c ---- */

/* Writes "torus 8x8x8, extoll, ...". */
#define SIM_TITLE_BYTES 200
void sim_title(const struct sim_results *, char title[SIM_TITLE_BYTES]);
/* Returns nanoseconds, or 0 if the router has no clock rate. */
double sim_cycles_ns(const struct sim_options *, double cycles);
/* Writes "node 3, port 1 to node 2, class 0". */
#define SIM_CHANNEL_BYTES 96
void sim_channel_text(const struct topology *, const struct channel *,
	char text[SIM_CHANNEL_BYTES]);

extern const struct field sim_counter_fields[]; /* struct network_counters */

void sim_print_head(const struct sim_results *);
void sim_print_point(const struct sim_results *, const struct sim_point *);
/* Prints the row of a load, or the headings if it is NULL. */
void sim_print_row(const struct sim_point *);
void sim_print_sweep(const struct sim_results *);
void sim_print_cycle(const struct topology *, const struct sim_cycle *);
void sim_print_links(const struct sim_results *);

void sim_json_setup(
	struct json *, const struct sim_options *, const struct topology *);
void sim_json_cycle(
	struct json *, const struct topology *, const struct sim_cycle *);

/* Write a file. Return 0 or -errno. */
int sim_json_results(const struct sim_results *, FILE *);
int sim_csv_write(const struct sim_results *, FILE *);
int sim_svg_write(const struct sim_results *, FILE *);
int sim_heat_write(const struct sim_results *, FILE *);
int sim_timeline_write(const struct sim_results *, FILE *);

/* ---- timeline.c ---- */

/* Adds the recorded path of a packet. Returns 0 or -ENOMEM. */
int sim_paths_add(struct sim_paths *, const struct topology *,
	const struct network_delivery *);
/* Sends packets through the loaded network and records their paths. Returns 0
 * or -errno. */
int sim_paths_probe(
	struct sim_paths *, const struct sim_options *, struct network *);
void sim_paths_free(struct sim_paths *);

#endif
