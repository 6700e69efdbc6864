/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: received, validated, executed and answered. */
#ifndef CAY_NODE_REQUEST_H
#define CAY_NODE_REQUEST_H

#include "node/node.h"

/* Receives a request and replies. Returns 0, or -errno: disconnect. */
int request_handle(struct process *);

/*
 * Executes a request that has been received. *fd_out is the descriptor of the
 * reply, or -1; the caller closes it if this returns true. The fuzzer calls it
 * too.
 */
bool request_execute(struct process *, const struct node_request *,
	struct node_reply *, int *fd_out);

#endif
