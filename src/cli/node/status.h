/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's report on standard output, and what of it `cay top` says in the same
 * words.
 */
#ifndef CAY_CLI_NODE_STATUS_H
#define CAY_CLI_NODE_STATUS_H

#include <stddef.h>

#include "base/json.h"
#include "cli/node/client.h"

void node_status_print(const struct node_report *);
void node_status_json(const struct node_report *);

/* ---- what a port's words say ---- */

uint64_t port_entries(const struct node_status_port *); /* not given back */
uint64_t port_bytes(const struct node_status_port *);

/* One word: what its owner or its senders do. Closed also if disabled. */
const char *port_state(const struct node_status_port *);

/* How it sends to its peers: "direct", "mixed", or "-" without peers. */
const char *port_path(const struct node_status_port *);

/* "rdr", "only", or "none": where messages without a posted buffer go. */
const char *posted_mode_name(unsigned mode);

/* ---- what a thread is in the middle of ---- */

/* "idle", "claiming", "owning", "accessing", "filling". */
const char *thread_doing(const struct node_status_thread *);

/* The same in a sentence, with the port's name. */
void thread_text(const struct node_report *, const struct node_status_thread *,
	char *text, size_t size);

/* ---- numbers for people ---- */

/* "3.2 MiB"; text has room for 16. Gives text. */
const char *bytes_text(uint64_t bytes, char text[16]);

/* "3 min 20 s"; text has room for 48. Gives text. */
const char *uptime_text(uint64_t ns, char text[48]);

/* A count, or "?" for NODE_UNKNOWN; text has room for 16. Gives text. */
const char *count_text(uint32_t count, char text[16]);

/* Windows that are locked and by whom, "2 by 17"; text has room for 64. */
const char *locks_text(const struct node_status_port *, char text[64]);

/* What is posted, "12 only"; text has room for 32. Gives text. */
const char *posted_text(const struct node_status_port *, char text[32]);

/* ---- for programs: members of an object that is begun ---- */

void status_head_json(struct json *, const struct node_status *);
void status_process_json(struct json *, const struct node_status_process *);
void status_port_json(struct json *, const struct node_status_port *);
void status_thread_json(struct json *, const struct node_status_thread *);

#endif
