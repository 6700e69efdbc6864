/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells of ports that sleep in epoll. A doorbell is a pair of datagram
 * sockets that the node makes: the port has the reading end, the node and the
 * senders have the writing end. A byte rings it; if no byte fits, it is
 * readable already.
 *
 * The members of a realm share the writing end, and the port may do anything
 * with the reading end, so the node relies on neither: it sends with
 * MSG_DONTWAIT, whatever the flags of the description. Each end is shut down in
 * one direction for good. Nothing, in particular no descriptor, can be queued
 * at the writing end, so closing it does not block. Datagram sockets, because a
 * connected pair would hang up, and keep epoll busy, when the node has exited.
 */
#ifndef CAY_NODE_DOORBELL_H
#define CAY_NODE_DOORBELL_H

#include "node/node.h"

/*
 * Makes the doorbell of a port, in place of an earlier one. *reader is the
 * reading end, which the caller closes. Returns 0 or -errno.
 */
int doorbell_make(struct vport *, int *reader);

/* arena.ring_doorbell of the node. */
void doorbell_ring_node(struct context *to);
void doorbell_ring_port(struct vport *);

#endif
