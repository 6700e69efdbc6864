/* SPDX-License-Identifier: BSD-2-Clause */
/* See client.h. Set-up path; may block. */
#include "node/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/wire.h"

/* Does not block; the socket that it returns does. */
static int connect_to(
	const struct sockaddr_un *address, socklen_t length, struct ucred *peer)
{
	socklen_t peer_length = sizeof(*peer);
	int s = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return -errno;
	if (connect(s, (const struct sockaddr *)address, length) == 0 &&
		getsockopt(s, SOL_SOCKET, SO_PEERCRED, peer, &peer_length) ==
			0 &&
		fcntl(s, F_SETFL, 0) == 0)
		return s;
	int r = -errno;
	close(s);
	return r;
}

int client_connect(const struct node_address *a)
{
	struct ucred peer;
	int s = -ENOENT;
	if (a->path_length)
		s = connect_to(&a->path, a->path_length, &peer);
	switch (s) {
	case -EAGAIN:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return s;
	}
	bool abstract = s < 0;
	if (abstract)
		s = connect_to(&a->address, a->length, &peer);
	if (s < 0)
		/* The backlog may be another user's. */
		return s == -EAGAIN && a->path_length ? -ECONNREFUSED : s;
	if (peer.uid == geteuid() || peer.uid == 0)
		return s;
	close(s);
	/* A node can listen on the path. */
	return abstract && a->path_length ? -ECONNREFUSED : -EPERM;
}

int client_probe_path(const struct node_address *a)
{
	struct ucred peer;
	int s = connect_to(&a->path, a->path_length, &peer);
	if (s < 0)
		return s;
	close(s);
	return 0;
}

int client_holder(const struct node_address *a, struct ucred *holder)
{
	int s = connect_to(&a->address, a->length, holder);
	if (s < 0)
		return s;
	close(s);
	return 0;
}

/* Waits for room or a reply. Returns false after the deadline. */
static bool client_wait(int socket, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = socket, .events = events };
	uint64_t now = clock_now_ns();
	if (now >= deadline)
		return false;
	struct timespec left = clock_timespec(deadline - now);
	ppoll(&p, 1, deadline == UINT64_MAX ? NULL : &left, NULL);
	return true;
}

int client_send(
	int socket, const struct node_request *request, uint64_t deadline)
{
	int r;
	do
		r = wire_send(
			socket, request, sizeof(*request), -1, MSG_DONTWAIT);
	while (r == -EAGAIN && client_wait(socket, POLLOUT, deadline));
	/*
	 * A node that refuses a client sends the reason and closes the socket
	 * before it has read the request: the reply tells.
	 */
	if (r == -EPIPE || r == -ECONNRESET)
		return 0;
	return r == -EAGAIN ? -ETIMEDOUT : r ? -ENOTCONN : 0;
}

int client_receive(
	int socket, struct node_reply *reply, int *fd_in, uint64_t deadline)
{
	int fd = -1, r;
	bool reset = false;
	ssize_t n;
	do {
		n = wire_receive(
			socket, reply, sizeof(*reply), &fd, MSG_DONTWAIT);
		/* The kernel reports the reset first, and a reply after it. */
		if (n == -ECONNRESET && !reset) {
			reset = true;
			n = wire_receive(socket, reply, sizeof(*reply), &fd,
				MSG_DONTWAIT);
		}
	} while (n == -EAGAIN && client_wait(socket, POLLIN, deadline));
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

int client_call(int socket, const struct node_request *request,
	struct node_reply *reply, int *fd_in)
{
	uint64_t deadline = clock_after_ns(CLIENT_TIMEOUT_NS);
	int r = client_send(socket, request, deadline);
	return r ? r : client_receive(socket, reply, fd_in, deadline);
}

int client_post(int socket, const struct node_request *request)
{
	int r = wire_send(socket, request, sizeof(*request), -1, MSG_DONTWAIT);
	return r == 0 || r == -EAGAIN ? r : -ENOTCONN;
}
