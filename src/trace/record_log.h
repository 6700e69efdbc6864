/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's file and its table of handles, in the recorded process. Each
 * line is one write() with O_APPEND, so threads need no lock and no line is
 * lost when the process is killed. The name of the file is the process number;
 * a forked child opens a file of its own. Any thread.
 */
#ifndef CAY_TRACE_RECORD_LOG_H
#define CAY_TRACE_RECORD_LOG_H

#include "trace/trace.h"

/* Environment variable: the directory of the files. */
#define RECORD_DIRECTORY "CAY_TRACE_DIRECTORY"

void record_line(const struct trace_instruction *);
void record_queues(const struct trace_queues *);

/* ---- handles: the port of each window and peer ---- */

struct record_handle {
	struct cay_addr port;
	uint16_t window;    /* Win-ID */
	const void *memory; /* of a window; NULL for a peer */
	size_t bytes;
};

/* If memory is exhausted, the handle is not found later. */
void handle_add(const void *handle, const struct record_handle *);

/* Returns false if the handle is unknown. */
bool handle_find(const void *handle, struct record_handle *);

/* The same, and removes it. */
bool handle_remove(const void *handle, struct record_handle *);

/* Returns true if an open window of the port overlaps the memory. */
bool handles_cover(struct cay_addr port, const void *memory, size_t bytes);

/* Removes all handles of a port. */
void handles_remove(struct cay_addr port);

#endif
