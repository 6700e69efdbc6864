/* SPDX-License-Identifier: BSD-2-Clause */
/* A node's report as text and JSON, and the parts of it that cay top shows. */
#ifndef CAY_CLI_NODE_STATUS_H
#define CAY_CLI_NODE_STATUS_H

#include "base/fields.h"
#include "cli/node/client.h"

void node_status_print(const struct node_report *);
void node_status_json(const struct node_report *);

/* A port, and the values that its words W and R and its modes stand for. */
struct status_port {
	struct node_status_port now;
	uint64_t entries, bytes; /* not returned yet */
	uint64_t rdr_bytes;
	const char *state;	 /* of the owner, "full", or "closed" */
	const char *state_text;	 /* the same, or "disabled" */
	const char *posted_mode; /* "rdr", "only" or "none" */
	char queue[32];		 /* "5/512": entries and size */
	char locks[64];		 /* "2 by 17": locked windows, by VPIDs */
	char posted[32];	 /* "12 only": posted receives and mode */
	char references[32];	 /* "3/16": in use, and all */
};

/* A thread, and its operation in progress; members that do not apply are all
 * ones or NULL. */
struct status_thread {
	struct node_status_thread now;
	uint64_t entry;
	uint32_t vpid, target, window, posted;
	const char *doing, *step;
	char operation[FIELD_BYTES]; /* in words */
};

struct status_port status_port_of(const struct node_status_port *);
struct status_thread status_thread_of(
	const struct node_report *, const struct node_status_thread *);

/* The members of the report in JSON, and the columns of cay node status. */
extern const struct field head_fields[], process_fields[], port_fields[],
	thread_fields[];

#endif
