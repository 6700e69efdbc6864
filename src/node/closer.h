/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing sockets of clients. A record in the receive queue of a socket may
 * carry descriptors, which the kernel closes with the socket. Closing a file of
 * a client may take as long as the client wishes (a TCP socket that lingers, a
 * slow file system), so the thread of the node never does it.
 */
#ifndef CAY_NODE_CLOSER_H
#define CAY_NODE_CLOSER_H

/*
 * Closes the socket of a client; in another thread if descriptors are in its
 * queue. Does not block.
 */
void closer_close(int socket);

#endif
