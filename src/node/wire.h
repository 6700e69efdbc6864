/* SPDX-License-Identifier: BSD-2-Clause */
/* One record of the control protocol, with or without a descriptor. */
#ifndef CAY_NODE_WIRE_H
#define CAY_NODE_WIRE_H

#include <stddef.h>
#include <sys/types.h>

/* fd -1: none. 0 or -errno. flags as for sendmsg(). */
int wire_send(int socket, const void *record, size_t bytes, int fd, int flags);

/*
 * The bytes read (0 at the end), or -errno: -EPROTO if the record was longer,
 * -EMFILE if a descriptor found no place. *fd is what came along, or -1.
 */
ssize_t wire_receive(
	int socket, void *record, size_t bytes, int *fd, int flags);

#endif
