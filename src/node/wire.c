/* SPDX-License-Identifier: BSD-2-Clause */
/* See wire.h. */
#include "node/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union fd_space {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int wire_send(int socket, const void *record, size_t bytes, int fd, int flags)
{
	struct iovec data = { (void *)record, bytes };
	union fd_space space = { 0 };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	if (fd >= 0) {
		m.msg_control = &space;
		m.msg_controllen = sizeof(space);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	ssize_t n;
	do
		n = sendmsg(socket, &m, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == bytes ? 0 : -EPROTO;
}

/* Keeps the first descriptor of a record and closes others. */
static int descriptors_receive(struct msghdr *m)
{
	int kept = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
}

ssize_t wire_receive(int socket, void *record, size_t bytes, int *fd, int flags)
{
	struct iovec data = { record, bytes };
	union fd_space space = { 0 };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = sizeof(space) };
	ssize_t n;
	do
		n = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	if (n < 0)
		return -errno;
	*fd = descriptors_receive(&m);
	if (m.msg_flags & MSG_TRUNC)
		n = -EPROTO;
	/* The kernel drops a descriptor if the table is full. */
	else if (m.msg_flags & MSG_CTRUNC && *fd < 0)
		n = -EMFILE;
	if (n < 0 && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return n;
}

/*
 * The kernel sets MSG_CTRUNC if there is no room for the descriptors of a
 * record. It closes them, but not those that it has only peeked at.
 */
static ssize_t wire_receive_data(int socket, struct msghdr *m, int flags)
{
	ssize_t n;
	m->msg_flags = 0;
	do
		n = recvmsg(socket, m, flags | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t wire_receive_plain(int socket, void *record, size_t bytes)
{
	struct iovec data = { record, bytes };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	ssize_t n = wire_receive_data(socket, &m, MSG_PEEK);
	if (n < 0)
		return n;
	if (m.msg_flags & MSG_CTRUNC)
		return -EPROTO;
	n = wire_receive_data(socket, &m, 0);
	return m.msg_flags & MSG_TRUNC ? -EPROTO : n;
}

bool wire_end(int socket)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} space;
	struct msghdr m = { 0 };
	/*
	 * Every record then has credentials, which distinguish an empty one
	 * from the end of file. They leave no room for descriptors.
	 */
	const int on = 1;
	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return false;
	/* The peer can send nothing more, so the loop ends. */
	shutdown(socket, SHUT_RDWR);
	for (int flags = MSG_PEEK;; flags ^= MSG_PEEK) {
		m.msg_control = &space;
		m.msg_controllen = sizeof(space);
		if (wire_receive_data(socket, &m, flags) < 0 ||
			m.msg_controllen == 0)
			return false;
		if (m.msg_flags & MSG_CTRUNC)
			return true;
	}
}
