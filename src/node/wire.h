/* SPDX-License-Identifier: BSD-2-Clause */
/* One record of the control protocol, with or without a descriptor. */
#ifndef CAY_NODE_WIRE_H
#define CAY_NODE_WIRE_H

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

#endif
