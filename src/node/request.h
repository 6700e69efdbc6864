/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: from a stranger's bytes to what the node does about them. */
#ifndef CAY_NODE_REQUEST_H
#define CAY_NODE_REQUEST_H

#include "node/node.h"

/* Reads one and answers it. 0, or -errno: hang up. */
int request_handle(struct process *);

/*
 * The same for a request that has been read. What is left in *fd_in is the
 * caller's to close, and so is *fd_out if it returns true. Also the way in for
 * the fuzzer.
 */
bool request_execute(struct process *, const struct node_request *, int *fd_in,
	struct node_reply *, int *fd_out);

#endif
