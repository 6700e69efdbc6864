/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of the control protocol. Set-up path; blocks. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "node/client.h"
#include "port/lock.h"
#include "port/member.h"

int control_call(struct member *m, const struct node_request *request,
	int fd_out, struct node_reply *reply, int *fd_in)
{
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	int r = -ENOTCONN;
	if (!m->broken) {
		r = client_call(m->socket, request, fd_out, reply, fd_in);
		/* A late reply could be mistaken for the next one. */
		m->broken = r == -ENOTCONN || r == -ETIMEDOUT || r == -EPROTO;
	}
	lock_drop(&m->control, &guard);
	return r == -ETIMEDOUT ? -ENOTCONN : r;
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
		r = client_connect(&a);
		if (r != -ECONNREFUSED && r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (r == -ECONNREFUSED) {
			r = spawn_node(a.name);
			if (r)
				return r;
			r = client_connect(&a);
			if (r >= 0 || r == -EPERM)
				return r;
		}
		clock_nap_ns(nap);
	}
}
