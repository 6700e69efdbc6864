/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The asking side of the control protocol: for the library, and for the
 * command line, which asks without joining a realm.
 */
#ifndef CAY_NODE_CLIENT_H
#define CAY_NODE_CLIENT_H

#include "node/address.h"
#include "node/protocol.h"

/* How long to wait for an answer. */
#define CLIENT_PATIENCE_S 10

/*
 * Connects to a node that listens, and checks that it is this user's or root's.
 * A socket, or -ECONNREFUSED (there is none), -EAGAIN (it is overrun), -EPERM.
 */
int client_connect(const struct node_address *);

/*
 * One request and its reply. fd_out is sent along unless it is -1; a descriptor
 * that comes back is stored in *fd_in, or closed if that is NULL. 0, the
 * reply's error, -ENOTCONN, -EPROTO, -ETIMEDOUT, -EMFILE.
 */
int client_call(int socket, const struct node_request *, int fd_out,
	struct node_reply *, int *fd_in);

#endif
