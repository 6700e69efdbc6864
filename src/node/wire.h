/* SPDX-License-Identifier: BSD-2-Clause */
/* One record of the control protocol, with or without a descriptor. */
#ifndef CAY_NODE_WIRE_H
#define CAY_NODE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a record, with fd unless it is -1. Returns 0 or -errno. */
int wire_send(int socket, const void *record, size_t bytes, int fd, int flags);

/*
 * Receives a record. Returns its bytes (0 at end of file), or -errno: -EPROTO
 * if the record is longer, -EMFILE if the process has no room for the
 * descriptor. *fd is the descriptor of the record, or -1.
 */
ssize_t wire_receive(
	int socket, void *record, size_t bytes, int *fd, int flags);

/*
 * Receives a record that must not carry a descriptor; one that does remains in
 * the queue. Does not block. Returns its bytes (0 at end of file), or -errno:
 * -EPROTO if the record is longer or carries a descriptor.
 */
ssize_t wire_receive_plain(int socket, void *record, size_t bytes);

/*
 * Shuts the socket down and discards the records in its queue, up to one that
 * carries a descriptor. Returns true if there is one: then the kernel closes
 * the descriptor with the socket, which may block.
 */
bool wire_end(int socket);

#endif
