/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client side of the control protocol, for the library and for the command
 * line, which does not join a realm.
 */
#ifndef CAY_NODE_CLIENT_H
#define CAY_NODE_CLIENT_H

#include "node/address.h"
#include "node/protocol.h"

/* Time-out for a reply. */
#define CLIENT_TIMEOUT_S 10

/*
 * Connects to a running node and checks that it belongs to this user or to
 * root. Returns a socket, -ECONNREFUSED (no such node), -EAGAIN (its backlog is
 * full) or -EPERM.
 */
int client_connect(const struct node_address *);

/*
 * Sends a request, with fd_out unless it is -1, and receives the reply. A
 * descriptor in the reply is stored in *fd_in, or closed if fd_in is NULL.
 * Returns 0, the error of the reply, -ENOTCONN, -EPROTO, -ETIMEDOUT or -EMFILE.
 */
int client_call(int socket, const struct node_request *, int fd_out,
	struct node_reply *, int *fd_in);

/*
 * Sends a request that has no reply, without blocking. Returns 0, -EAGAIN (the
 * node has not read earlier ones) or -ENOTCONN. Any thread.
 */
int client_post(int socket, const struct node_request *);

#endif
