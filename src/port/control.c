/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's end of the control protocol. Set-up path; may block. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/address.h"
#include "node/wire.h"
#include "port/lock.h"
#include "port/member.h"

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

static int control_exchange(int socket, const struct node_request *request,
	int fd_out, struct node_reply *reply, int *fd_in)
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

int control_call(struct member *m, const struct node_request *request,
	int fd_out, struct node_reply *reply, int *fd_in)
{
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	int r = -ENOTCONN;
	if (!m->broken) {
		r = control_exchange(m->socket, request, fd_out, reply, fd_in);
		/* After these a late reply could be taken for the next one. */
		m->broken = r == -ENOTCONN || r == -ETIMEDOUT || r == -EPROTO;
	}
	lock_drop(&m->control, &guard);
	return r == -ETIMEDOUT ? -ENOTCONN : r;
}

/* Is it our own user (or root) that listens there? */
static int server_check(int socket)
{
	struct ucred c;
	socklen_t length = sizeof(c);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0)
		return -errno;
	return c.uid == geteuid() || c.uid == 0 ? 0 : -EPERM;
}

static int connect_once(const struct node_address *a)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -errno;
	struct timeval patience = { MEMBER_PATIENCE_NS / CLOCK_NS_PER_S, 0 };
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

int control_connect(
	const char *node, char name[NODE_NAME_MAX], uint64_t deadline)
{
	struct node_address a;
	int r = node_address(node, &a);
	if (r)
		return r;
	snprintf(name, NODE_NAME_MAX, "%s", a.name);
	for (uint64_t nap = CLOCK_NS_PER_MS;; nap += nap / 2) {
		r = connect_once(&a);
		if (r != -ECONNREFUSED && r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (r == -ECONNREFUSED) {
			r = spawn_node(a.name);
			if (r)
				return r;
			r = connect_once(&a);
			if (r >= 0 || r == -EPERM)
				return r;
		}
		clock_nap_ns(nap);
	}
}
