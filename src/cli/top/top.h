/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay top: a node's report again and again, with what happened between two.
 */
#ifndef CAY_CLI_TOP_H
#define CAY_CLI_TOP_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/node/client.h"

/* ---- frames ---- */

#define TOP_PROGRAM_MAX 32

/* What the kernel says about a process. */
struct top_process {
	uint32_t pid;
	char program[TOP_PROGRAM_MAX]; /* printable; empty: not known */
};

/* Rates are per second; NAN where nothing is known to compare with. */
struct top_port {
	const struct node_status_port *now;
	const char *program;
	double received; /* entries that W has moved by */
	double returned; /* that R has */
};

struct top_thread {
	const struct node_status_thread *now;
	const char *program;
	double issued;
	char state;	   /* as in proc(5): R, S, D, T; '?' if not known */
	uint64_t stuck_ns; /* in the middle of the very same since; or 0 */
};

struct top_total {
	double received, returned, issued;
	uint64_t entries, bytes; /* that wait in queues */
	uint32_t busy;		 /* threads in the middle of something */
};

struct top_frame {
	struct node_report report; /* ports by VPID, threads by process */
	double elapsed;		   /* seconds since the former one, or NAN */
	double wall;		   /* seconds since 1970 */
	struct top_process *processes; /* as in the report */
	struct top_port *ports;
	struct top_thread *threads;
	struct top_total total;
};

/*
 * Looks; `former` may be empty. 0, -ENOMEM or an error of node_client_status():
 * then the frame is empty.
 */
int top_frame_take(const struct node_address *, const struct top_frame *former,
	struct top_frame *);
/* All zeros is an empty one. */
void top_frame_free(struct top_frame *);

/* ---- as text ---- */

enum top_table {
	TOP_PORTS = 1 << 0,
	TOP_THREADS = 1 << 1,
};

/* What to show, and how. */
struct top_view {
	unsigned tables; /* enum top_table */
	unsigned sort;	 /* counts the presses of a key */
	bool screen;
	unsigned columns, rows; /* of the screen */
	const char *complaint;	/* why there is no newer frame, or NULL */
};

void top_view_print(const struct top_frame *, const struct top_view *, FILE *);

/* ---- as JSON: one object in a line ---- */

void top_json_print(const struct top_frame *, FILE *);

/* ---- the terminal ---- */

/* Is standard output one that can be drawn on? */
bool top_screen_possible(void);

/* Takes the terminal; it is given back also if a signal ends us. */
void top_screen_begin(void);
void top_screen_end(void);
void top_screen_size(unsigned *columns, unsigned *rows);

enum top_key {
	TOP_KEY_TIMEOUT = -1,
	TOP_KEY_REDRAW = -2, /* another size, or in the foreground again */
	TOP_KEY_GONE = -3,   /* the terminal is */
};

/* Waits for a key, until the deadline. A character or enum top_key. */
int top_screen_key(uint64_t deadline);

#endif
