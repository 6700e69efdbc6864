/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of what the kernel lets processes know and tell about each other. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/doctor/probe.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define PATIENCE_MS 2000

/* ---- descriptors that tell ---- */

static int epoll_try(int epoll, int event)
{
	struct epoll_event e = { .events = EPOLLIN };
	uint64_t one = 1;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &e) != 0)
		return errno;
	if (epoll_wait(epoll, &e, 1, 0) != 0)
		return EBADMSG;
	if (write(event, &one, sizeof(one)) != sizeof(one))
		return errno;
	return epoll_wait(epoll, &e, 1, PATIENCE_MS) == 1 ? 0 : ETIMEDOUT;
}

static void probe_epoll(struct finding *f)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int r = event < 0 || epoll < 0 ? errno : epoll_try(epoll, event);
	if (event >= 0)
		close(event);
	if (epoll >= 0)
		close(epoll);
	if (r == 0) {
		finding_set(f, PROBE_OK, "epoll sees an eventfd");
		return;
	}
	finding_set(f, PROBE_MISSING, "eventfd with epoll: %s", strerror(r));
	finding_advise(f, "allow eventfd2 and epoll in the sandbox, or raise "
			  "ulimit -n");
}

/* ---- death ---- */

static int end_at_once(void *argument)
{
	(void)argument;
	return 0;
}

static int pidfd_try(void)
{
	pid_t child = probe_child(end_at_once, NULL);
	if (child < 0)
		return (int)-child;
	int fd = (int)syscall(SYS_pidfd_open, child, 0);
	int r = fd < 0 ? errno : 0;
	if (r == 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		r = poll(&p, 1, PATIENCE_MS) == 1 ? 0 : ETIMEDOUT;
		close(fd);
	}
	probe_wait(child);
	return r;
}

static void probe_pidfd(struct finding *f)
{
	int r = pidfd_try();
	if (r == 0) {
		finding_set(f, PROBE_OK,
			"a pidfd reports the death of a "
			"process");
		return;
	}
	finding_set(f, PROBE_MISSING, "pidfd_open: %s", strerror(r));
	finding_advise(f, "Linux 5.3 or later is needed, and a seccomp filter "
			  "that allows pidfd_open");
}

/* ---- sockets ---- */

struct pair {
	struct sockaddr_un address;
	socklen_t length;
};

/* An abstract name that no other doctor has. */
static struct pair pair_name(void)
{
	struct pair p = { .address.sun_family = AF_UNIX };
	int n = snprintf(p.address.sun_path + 1, sizeof(p.address.sun_path) - 1,
		"cay-doctor/%d", getpid());
	p.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       (size_t)n);
	return p;
}

/* Sends one descriptor along with one byte. */
static int descriptor_send(int socket, int fd)
{
	char byte = 1;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &m, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* The child: connects and hands over one end of a pipe. */
static int client_run(void *argument)
{
	const struct pair *p = argument;
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
		r = errno; /* waits for the server to have looked */
	return r;
}

static int descriptor_receive(int socket)
{
	char byte;
	struct iovec data = { &byte, 1 };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room) };
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

/* What the sockets of a node are asked. */
struct acquaintance {
	int credentials, descriptor, peer_pidfd; /* 0 or errno */
};

static void client_meet(int socket, pid_t child, struct acquaintance *a)
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

/* 0 or errno; `a` is filled in on 0. */
static int sockets_try(struct acquaintance *a)
{
	struct pair p = pair_name();
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
		int c = poll(&wait, 1, PATIENCE_MS) == 1
				? accept4(s, NULL, NULL, SOCK_CLOEXEC)
				: -1;
		if (c >= 0) {
			client_meet(c, child, a);
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
	struct acquaintance a = { EIO, EIO, EIO };
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
		"abstract Unix sockets carry credentials "
		"and descriptors");
}

static void probe_peer_pidfd(struct finding *f)
{
	struct acquaintance a = { EIO, EIO, EIO };
	int r = sockets_try(&a);
	r = r ? r : a.peer_pidfd;
	if (r == 0) {
		finding_set(f, PROBE_OK,
			"SO_PEERPIDFD names the peer of a "
			"socket");
		return;
	}
	finding_set(f, PROBE_WARN, "SO_PEERPIDFD: %s", strerror(r));
	finding_advise(f, "Linux 6.5 or later knows a peer without its "
			  "number; until then the number is used, and checked");
}

/* ---- membarrier ---- */

static void probe_membarrier(struct finding *f)
{
	long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	if (known < 0) {
		finding_set(
			f, PROBE_WARN, "no membarrier: %s", strerror(errno));
		finding_advise(f, "stuck processes cannot be fenced off: "
				  "Linux 4.16 or later, or a seccomp filter "
				  "that allows membarrier");
		return;
	}
	bool expedited = syscall(SYS_membarrier,
				 MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
				 0) == 0 &&
			 syscall(SYS_membarrier,
				 MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
	if (expedited) {
		finding_set(f, PROBE_OK, "membarrier, global and expedited");
		return;
	}
	finding_set(f, PROBE_WARN, "membarrier without global expedited");
	finding_advise(f, "Linux 4.16 or later fences off stuck processes "
			  "without waiting");
}

static const struct probe probes[] = {
	{ "epoll", probe_epoll },
	{ "death notice", probe_pidfd },
	{ "sockets", probe_sockets },
	{ "peer identity", probe_peer_pidfd },
	{ "membarrier", probe_membarrier },
};

const struct probe_group probe_kernel = { probes, ARRAY_COUNT(probes) };
