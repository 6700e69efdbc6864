/* SPDX-License-Identifier: BSD-2-Clause */
/* See client.h. Set-up path; may block. */
#include "node/client.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "node/wire.h"

int client_connect(const struct node_address *a)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	struct timeval timeout = { CLIENT_TIMEOUT_S, 0 };
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	struct ucred peer;
	socklen_t length = sizeof(peer);
	int r = 0;
	if (connect(s, (const struct sockaddr *)&a->address, a->length) != 0 ||
		getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		r = -errno;
	else if (peer.uid != geteuid() && peer.uid != 0)
		r = -EPERM;
	if (r == 0)
		return s;
	close(s);
	return r;
}

int client_call(int socket, const struct node_request *request, int fd_out,
	struct node_reply *reply, int *fd_in)
{
	int fd = -1, r;
	ssize_t n = wire_send(socket, request, sizeof(*request), fd_out, 0);
	/*
	 * A node that refuses a client sends the reason and closes the socket
	 * before it has read the request. The kernel reports the reset first,
	 * and the reply after it.
	 */
	if (n == 0 || n == -EPIPE || n == -ECONNRESET)
		n = wire_receive(socket, reply, sizeof(*reply), &fd, 0);
	if (n == -ECONNRESET)
		n = wire_receive(socket, reply, sizeof(*reply), &fd, 0);
	if (n == sizeof(*reply))
		r = reply->error <= 0 && reply->error >= -4095 ? reply->error
							       : -EPROTO;
	else if (n == -EAGAIN)
		r = -ETIMEDOUT;
	else if (n == -EMFILE || n == -ETOOMANYREFS)
		r = -EMFILE;
	else
		r = n == -EPROTO || n > 0 ? -EPROTO : -ENOTCONN;
	if (r == 0 && fd_in) {
		*fd_in = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

int client_post(int socket, const struct node_request *request)
{
	int r = wire_send(socket, request, sizeof(*request), -1, MSG_DONTWAIT);
	return r == 0 || r == -EAGAIN ? r : -ENOTCONN;
}
