/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of kernel interfaces between processes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/doctor/probe.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define TIMEOUT_MS 2000

/* ---- doorbell ---- */

static void probe_epoll(struct finding *f)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ends[2] = { -1, -1 };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int r = 0;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0 ||
		epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e) != 0)
		r = errno;
	else if (epoll_wait(epoll, &e, 1, 0) != 0)
		r = EBADMSG;
	else if (send(ends[1], "", 1, MSG_DONTWAIT) != 1)
		r = errno;
	else if (epoll_wait(epoll, &e, 1, TIMEOUT_MS) != 1)
		r = ETIMEDOUT;
	for (unsigned i = 0; i < ARRAY_COUNT(ends); i++)
		if (ends[i] >= 0)
			close(ends[i]);
	if (epoll >= 0)
		close(epoll);
	if (r == 0) {
		finding_set(f, PROBE_OK, "epoll reports a socket pair");
		return;
	}
	finding_set(
		f, PROBE_MISSING, "socket pair with epoll: %s", strerror(r));
	finding_advise(f, "allow socketpair and epoll in the sandbox, or raise "
			  "ulimit -n");
}

/* ---- exit of a process ---- */

static int exit_at_once(void *argument)
{
	(void)argument;
	return 0;
}

static void probe_pidfd(struct finding *f)
{
	pid_t child = probe_child(exit_at_once, NULL);
	int r = child < 0 ? (int)-child : 0;
	if (r == 0) {
		struct pollfd p = { .events = POLLIN };
		p.fd = (int)syscall(SYS_pidfd_open, child, 0);
		if (p.fd < 0)
			r = errno;
		else if (poll(&p, 1, TIMEOUT_MS) != 1)
			r = ETIMEDOUT;
		if (p.fd >= 0)
			close(p.fd);
		probe_wait(child);
	}
	if (r == 0) {
		finding_set(
			f, PROBE_OK, "a pidfd reports that a process exited");
		return;
	}
	finding_set(f, PROBE_MISSING, "pidfd_open: %s", strerror(r));
	finding_advise(f,
		"Cay needs Linux 5.3 and a seccomp filter that allows "
		"pidfd_open");
}

/* ---- sockets ---- */

struct socket_name {
	struct sockaddr_un address;
	socklen_t length;
};

/* Sends a descriptor with one byte. Returns 0 or errno. */
static int descriptor_send(int socket, int fd)
{
	char byte = 1;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &m, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* The child connects and sends one end of a pipe. */
static int client_run(void *argument)
{
	const struct socket_name *p = argument;
	int ends[2];
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0 ||
		connect(s, (const struct sockaddr *)&p->address, p->length) !=
			0 ||
		pipe2(ends, O_CLOEXEC) != 0)
		return errno;
	int r = descriptor_send(s, ends[0]);
	char byte;
	if (r == 0 && read(s, &byte, 1) < 0)
		r = errno; /* returns when the server has closed */
	return r;
}

static int descriptor_receive(int socket)
{
	char byte;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space) };
	int fd = -1;
	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) != 1)
		return EIO;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return ENOTSUP;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	close(fd);
	return 0;
}

/* Results of the operations that a node needs. */
struct socket_results {
	int credentials, descriptor, peer_pidfd; /* 0 or errno */
};

static void client_identify(int socket, pid_t child, struct socket_results *a)
{
	struct ucred c;
	int fd;
	socklen_t length = sizeof(c);
	a->credentials =
		getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &c, &length) != 0
			? errno
			: 0;
	if (!a->credentials && (c.pid != child || c.uid != geteuid()))
		a->credentials = EBADMSG;
	length = sizeof(fd);
	a->peer_pidfd =
		getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) != 0
			? errno
			: 0;
	if (!a->peer_pidfd)
		close(fd);
	a->descriptor = descriptor_receive(socket);
}

/* Returns 0 with the results, or errno. */
static int sockets_try(struct socket_results *a)
{
	struct socket_name p = { .address.sun_family = AF_UNIX };
	/* An abstract name, unique by the process number. */
	int n = snprintf(p.address.sun_path + 1, sizeof(p.address.sun_path) - 1,
		"cay-doctor/%d", getpid());
	p.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)n);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return errno;
	int r = bind(s, (const struct sockaddr *)&p.address, p.length) != 0 ||
				listen(s, 1) != 0
			? errno
			: 0;
	pid_t child = r ? -1 : probe_child(client_run, &p);
	if (child > 0) {
		struct pollfd wait = { .fd = s, .events = POLLIN };
		int c = poll(&wait, 1, TIMEOUT_MS) == 1
				? accept4(s, NULL, NULL, SOCK_CLOEXEC)
				: -1;
		if (c >= 0) {
			client_identify(c, child, a);
			close(c);
		}
		int ended = probe_wait(child);
		r = c < 0 ? ETIMEDOUT : ended < 0 ? EPERM : ended;
	}
	close(s);
	return r;
}

static void probe_sockets(struct finding *f)
{
	struct socket_results a = { EIO, EIO, EIO };
	int r = sockets_try(&a);
	if (!r)
		r = a.credentials ? a.credentials : a.descriptor;
	if (r) {
		finding_set(f, PROBE_MISSING,
			"abstract Unix sockets with credentials and "
			"descriptors: %s",
			strerror(r));
		finding_advise(f, "allow AF_UNIX sockets; processes must "
				  "share a network namespace to share a node");
		return;
	}
	finding_set(f, PROBE_OK,
		"abstract Unix sockets pass credentials and descriptors");
}

static void probe_peer_pidfd(struct finding *f)
{
	struct socket_results a = { EIO, EIO, EIO };
	int r = sockets_try(&a);
	r = r ? r : a.peer_pidfd;
	if (r == 0) {
		finding_set(f, PROBE_OK,
			"SO_PEERPIDFD identifies the peer of a socket");
		return;
	}
	finding_set(f, PROBE_WARN, "SO_PEERPIDFD: %s", strerror(r));
	finding_advise(f, "before Linux 6.5, peers are identified by a process "
			  "number that is verified");
}

/* ---- membarrier ---- */

static void probe_membarrier(struct finding *f)
{
	long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	if (known < 0) {
		finding_set(
			f, PROBE_WARN, "no membarrier: %s", strerror(errno));
		finding_advise(f, "stopped processes cannot be fenced without "
				  "Linux 4.16 and a seccomp filter that allows "
				  "membarrier");
		return;
	}
	bool expedited = syscall(SYS_membarrier,
				 MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
				 0) == 0 &&
			 syscall(SYS_membarrier,
				 MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
	if (expedited) {
		finding_set(f, PROBE_OK,
			"membarrier with global expedited commands");
		return;
	}
	finding_set(
		f, PROBE_WARN, "membarrier without global expedited commands");
	finding_advise(f, "Linux 4.16 fences stopped processes without delay");
}

static const struct probe probes[] = {
	{ "epoll", probe_epoll },
	{ "process exit", probe_pidfd },
	{ "sockets", probe_sockets },
	{ "peer identity", probe_peer_pidfd },
	{ "membarrier", probe_membarrier },
};

const struct probe_group probe_kernel = { probes, ARRAY_COUNT(probes) };
