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
#define CLIENT_TIMEOUT_NS (10 * 1000000000ull)

/*
 * Connects to a running node, by its path or else by its abstract name, and
 * checks that it belongs to this user or to root. Returns a socket,
 * -ECONNREFUSED (no such node), -EAGAIN (its backlog is full) or -EPERM:
 * another user listens on the abstract name, and this user has no directory.
 */
int client_connect(const struct node_address *);

/* Returns 0 if a node listens on the path, or -errno. Does not block. */
int client_probe_path(const struct node_address *);

/*
 * Finds who listens on the abstract name. Returns 0, or -errno: -ECONNREFUSED
 * if no process listens. A process that has bound the name and does not listen
 * remains unknown: the kernel does not tell. Does not block.
 */
int client_holder(const struct node_address *, struct ucred *);

/*
 * Sends a request, which waits until the node has read earlier ones. Returns 0,
 * -ETIMEDOUT or -ENOTCONN.
 */
int client_send(int socket, const struct node_request *, uint64_t deadline);

/*
 * Receives a reply. A descriptor in it is stored in *fd_in, or closed if fd_in
 * is NULL. Returns 0, the error of the reply, -ENOTCONN, -EPROTO, -ETIMEDOUT or
 * -EMFILE.
 */
int client_receive(
	int socket, struct node_reply *, int *fd_in, uint64_t deadline);

/* Both, with CLIENT_TIMEOUT_NS. */
int client_call(int socket, const struct node_request *, struct node_reply *,
	int *fd_in);

/*
 * Sends a request that has no reply, without blocking. Returns 0, -EAGAIN (the
 * node has not read earlier ones) or -ENOTCONN. Any thread.
 */
int client_post(int socket, const struct node_request *);

#endif
