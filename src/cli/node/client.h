/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Talking to a node that runs: unlike the library, nothing here starts one.
 * Everything that comes back is checked before it is used.
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
 * One request and its reply, with the descriptor that comes along if fd is not
 * NULL. 0, the reply's error, -ENOTCONN, -EPROTO, -ETIMEDOUT.
 */
int node_client_call(const struct node_address *, const struct node_request *,
	struct node_reply *, int *fd);

/* 0, or -errno as above. To be freed with node_report_free(). */
int node_client_status(const struct node_address *, struct node_report *);
void node_report_free(struct node_report *);

/*
 * Calls for the name of each node of this user that listens, as the kernel
 * says; stops and gives true when `visit` does.
 */
bool node_client_any(
	bool (*visit)(const char *name, void *argument), void *argument);

/* Does a node of this name listen? */
bool node_client_listens(const struct node_address *);

/* What an error of these calls means and what to do; never NULL. */
const char *node_client_error(int error);

#endif
