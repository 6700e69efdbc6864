/* SPDX-License-Identifier: BSD-2-Clause */
/* See client.h. Set-up path; may block. */
#include "node/client.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "node/wire.h"

/* Is it our own user (or root) that listens there? */
static int server_check(int socket)
{
	struct ucred c;
	socklen_t length = sizeof(c);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0)
		return -errno;
	return c.uid == geteuid() || c.uid == 0 ? 0 : -EPERM;
}

int client_connect(const struct node_address *a)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	struct timeval patience = { CLIENT_PATIENCE_S, 0 };
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	int r = 0;
	if (connect(s, (const struct sockaddr *)&a->address, a->length) != 0)
		r = -errno;
	if (r == 0)
		r = server_check(s);
	if (r == 0)
		return s;
	close(s);
	return r;
}

/* What went wrong with the connection itself. */
static int exchange_error(ssize_t n)
{
	if (n == -EAGAIN)
		return -ETIMEDOUT;
	if (n == -EMFILE || n == -ETOOMANYREFS)
		return -EMFILE;
	return n == -EPROTO || n > 0 ? -EPROTO : -ENOTCONN;
}

/*
 * A node that refuses us says why and hangs up, whatever we have sent: the
 * kernel reports that first, and what was said after it.
 */
static ssize_t reply_receive(int socket, struct node_reply *reply, int *fd)
{
	ssize_t n = wire_receive(socket, reply, sizeof(*reply), fd, 0);
	if (n == -ECONNRESET)
		n = wire_receive(socket, reply, sizeof(*reply), fd, 0);
	return n;
}

/* An errno, negated, or 0; anything else is not our protocol. */
static int reply_error(const struct node_reply *reply)
{
	return reply->error <= 0 && reply->error >= -4095 ? reply->error
							  : -EPROTO;
}

int client_call(int socket, const struct node_request *request, int fd_out,
	struct node_reply *reply, int *fd_in)
{
	int fd = -1;
	ssize_t n = wire_send(socket, request, sizeof(*request), fd_out, 0);
	if (n == 0 || n == -EPIPE || n == -ECONNRESET)
		n = reply_receive(socket, reply, &fd);
	int r = n == sizeof(*reply) ? reply_error(reply) : exchange_error(n);
	if (r == 0 && fd_in) {
		*fd_in = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return r;
}
