/* SPDX-License-Identifier: BSD-2-Clause */
/* cay top: samples of a node's report, and the rates between two of them. */
#ifndef CAY_CLI_TOP_H
#define CAY_CLI_TOP_H

#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/node/status.h"

/* ---- frames ---- */

#define TOP_PROGRAM_MAX 32

struct top_process {
	uint32_t pid;
	char program[TOP_PROGRAM_MAX]; /* printable; empty: not known */
};

/* Rates are per second; NAN if there is no earlier sample to compare with. */
#define TOP_BAR 5

/* Bytes that passed a receive data region since a frame; see frame.c. */
struct top_data {
	uint64_t bytes;
	bool estimated; /* exact below 1.6 GB/s */
	bool unknown;	/* the count may have wrapped unnoticed */
};

struct top_port {
	struct status_port port; /* first, for `port_fields` */
	const char *program;	 /* or NULL */
	const char *path;	 /* to its peers: "direct", "mixed"; or NULL */
	double received;	 /* entries that senders claimed */
	double returned;	 /* entries that the receiver returned */
	double data; /* bytes of the receive data region that they used */
	bool data_estimated;	      /* exact below 1.6 GB/s */
	struct node_status_port last; /* by top_frame_follow() */
	struct top_data since;	      /* up to `last` */
	char data_text[16];	      /* "12.3K", "~1.2G" */
	bool sleeping, armed, senders_wait;
	char fill[TOP_BAR + 1]; /* "##...": of queue or data region */
};

struct top_thread {
	struct status_thread thread; /* first, for `thread_fields` */
	const char *program;	     /* or NULL */
	double issued;
	char state[2];	/* as in proc(5): R, S, D, T; empty: not known */
	double stuck_s; /* how long the same operation has been in progress */
};

struct top_total {
	double received, returned, data, issued;
	bool data_estimated;
	uint64_t entries, bytes; /* in the queues */
	uint32_t busy;		 /* threads with an operation in progress */
};

struct top_frame {
	struct node_report report; /* ports by VPID, threads by process */
	double elapsed; /* seconds since the previous frame, or NAN */
	double wall;	/* seconds since 1970 */
	struct top_process *processes; /* by process number */
	struct top_port *ports;
	struct top_thread *threads;
	struct top_total total;
	bool fast;	  /* a port needs top_frame_follow() */
	uint64_t last_ns; /* uptime of the node in the last report */
};

/*
 * Takes a sample; `previous` may be empty. Returns 0, -ENOMEM or an error of
 * node_client_status(), with an empty frame.
 */
int top_frame_take(const struct node_address *,
	const struct top_frame *previous, struct top_frame *);
/*
 * Follows the counters of fast ports, which would wrap before the next frame.
 * To be called every TOP_FOLLOW_NS until then.
 */
#define TOP_FOLLOW_NS (20 * CLOCK_NS_PER_MS)
void top_frame_follow(const struct node_address *, struct top_frame *);

/* A frame of zeros is empty. */
void top_frame_free(struct top_frame *);

/* ---- output ---- */

enum top_table {
	TOP_PORTS = 1 << 0,
	TOP_THREADS = 1 << 1,
};

struct top_view {
	unsigned tables; /* enum top_table */
	unsigned sort;	 /* how often the sort key was pressed */
	bool screen;
	unsigned columns, rows; /* of the screen */
	bool colour;
	const char *error; /* why there is no newer frame, or NULL */
	const char *help;  /* shown instead of the tables, or NULL */
};

void top_view_print(const struct top_frame *, const struct top_view *, FILE *);

/* Prints one JSON object on a line. */
void top_json_print(const struct top_frame *, FILE *);

/* ---- the terminal ---- */

/* Returns true if standard output is a terminal that can be drawn on. */
bool top_screen_possible(void);

/* Sets the terminal up. Its modes are restored at the end, and by signals. */
void top_screen_begin(void);
void top_screen_end(void);
void top_screen_size(unsigned *columns, unsigned *rows);

enum top_key {
	TOP_KEY_TIMEOUT = -1,
	TOP_KEY_REDRAW = -2, /* new size, or in the foreground again */
	TOP_KEY_GONE = -3,   /* the terminal is gone */
};

/* Waits for a key until the deadline. Returns a character or enum top_key. */
int top_screen_key(uint64_t deadline);

#endif
