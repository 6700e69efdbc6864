/* SPDX-License-Identifier: BSD-2-Clause */
/* See status.h. */
#include "status.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "contract/arena.h"
#include "harness.h"

static int status_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "cay/%u/%s",
		(unsigned)geteuid(), node_name());
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				       1 + (size_t)n);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(s >= 0);
	assert_int_equal(connect(s, (const struct sockaddr *)&a, length), 0);
	return s;
}

/* Only the descriptor of the reply is needed. */
static int status_receive(int s)
{
	struct node_reply reply;
	struct iovec data = { &reply, sizeof(reply) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space;
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = sizeof(space) };
	int fd = -1;
	assert_int_equal(recvmsg(s, &m, MSG_CMSG_CLOEXEC), sizeof(reply));
	assert_int_equal(reply.error, 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	assert_true(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int status_ask(void)
{
	struct node_request request = { .kind = NODE_STATUS };
	int s = status_connect();
	assert_int_equal(send(s, &request, sizeof(request), MSG_NOSIGNAL),
		sizeof(request));
	int fd = status_receive(s);
	close(s);
	return fd;
}

struct node_status status_read(void)
{
	struct node_status status;
	int fd = status_ask();
	assert_int_equal(pread(fd, &status, sizeof(status), 0), sizeof(status));
	close(fd);
	assert_int_equal(status.magic, NODE_MAGIC);
	return status;
}

struct node_status_process status_process(pid_t pid)
{
	struct node_status_process p, found = { 0 };
	struct node_status status;
	int fd = status_ask();
	assert_int_equal(pread(fd, &status, sizeof(status), 0), sizeof(status));
	for (uint32_t i = 0; i < status.processes; i++) {
		off_t at = (off_t)(sizeof(status) + i * sizeof(p));
		assert_int_equal(pread(fd, &p, sizeof(p), at), sizeof(p));
		if (p.pid == (uint32_t)pid)
			found = p;
	}
	close(fd);
	return found;
}

uint64_t status_received(pid_t pid)
{
	struct node_status_port p;
	struct node_status status;
	uint64_t received = 0, ports = 0;
	int fd = status_ask();
	assert_int_equal(pread(fd, &status, sizeof(status), 0), sizeof(status));
	for (uint32_t i = 0; i < status.ports; i++) {
		off_t at = (off_t)(sizeof(status) +
				   status.processes *
					   sizeof(struct node_status_process) +
				   i * sizeof(p));
		assert_int_equal(pread(fd, &p, sizeof(p), at), sizeof(p));
		if (p.pid != (uint32_t)pid)
			continue;
		received = p.w & QUEUE_NQ_MASK;
		ports++;
	}
	close(fd);
	assert_int_equal(ports, 1);
	return received;
}

struct node_status status_settled(void)
{
	uint64_t deadline = soon();
	for (;;) {
		struct node_status status = status_read();
		if (status.zombies == 0)
			return status;
		assert_true(now_ns() < deadline);
		nap_ns(2 * NS_PER_MS);
	}
}
