/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to a running node. Unlike the library, these calls never start one.
 * They validate everything that the node returns.
 */
#ifndef CAY_CLI_NODE_CLIENT_H
#define CAY_CLI_NODE_CLIENT_H

#include <stddef.h>

#include "node/client.h"

/* A node's answer to NODE_STATUS; one block of memory. */
struct node_report {
	struct node_status *head;
	struct node_status_process *processes;
	struct node_status_port *ports;
	struct node_status_thread *threads;
};

/*
 * Sends a request and receives the reply, with its descriptor if fd is not
 * NULL. Returns 0, the reply's error, -ECONNREFUSED, -ENOTCONN, -EPROTO or
 * -ETIMEDOUT.
 */
int node_client_call(const struct node_address *, const struct node_request *,
	struct node_reply *, int *fd);

/* Returns 0 and a report for node_report_free(), or -errno as above. */
int node_client_status(const struct node_address *, struct node_report *);
void node_report_free(struct node_report *);

/*
 * Calls `visit` with the name of each node of this user that is listening, by
 * /proc/net/unix, until it returns true. Returns whether it did.
 */
bool node_client_any(
	bool (*visit)(const char *name, void *argument), void *argument);

/* Writes "a, b": the names of some nodes of this user that are listening, or
 * "none is running". Returns `text`. */
#define NODE_NAMES_BYTES 256
const char *node_client_names(char text[NODE_NAMES_BYTES]);

/* Returns true if a node of this name is listening. */
bool node_client_listens(const struct node_address *);

/* Returns the text of an error of these calls. */
const char *node_client_error(int error);

#endif
