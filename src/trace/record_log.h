/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's file and what it remembers, in the recorded process. Each line
 * is one write() to the end of the file, so threads need no lock for it and
 * nothing is lost when the process is killed. The file has the number of the
 * process as its name, and a child after fork() has a file of its own. Any
 * thread.
 */
#ifndef CAY_TRACE_RECORD_LOG_H
#define CAY_TRACE_RECORD_LOG_H

#include "trace/trace.h"

/* The directory of the files; nothing is recorded without it. */
#define RECORD_DIRECTORY "CAY_TRACE_DIRECTORY"

void record_line(const struct trace_instruction *);
void record_queues(const struct trace_queues *);

/* ---- whose a window or a peer is: the handles do not say ---- */

struct record_handle {
	struct cay_addr port;
	uint16_t window;    /* Win-ID */
	const void *memory; /* of a window, else NULL */
	size_t bytes;
};

/* If there is no memory for it the handle is not known later. */
void record_remember(const void *handle, const struct record_handle *);

/* False: not known. */
bool record_recall(const void *handle, struct record_handle *);

/* The same, and forgets it. */
bool record_forget(const void *handle, struct record_handle *);

/* Does an open window of the port lie on this memory? */
bool record_covers(struct cay_addr port, const void *memory, size_t bytes);

/* Forgets all handles of a port. */
void record_forget_port(struct cay_addr port);

#endif
