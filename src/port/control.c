/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of the control protocol. Set-up path; blocks. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "node/client.h"
#include "port/lock.h"
#include "port/member.h"

/* Starts without a known result, after which the program counts as failing. */
#define UNKNOWN_STARTS_MAX 3

int control_call(struct member *m, const struct node_request *request,
	struct node_reply *reply, int *fd_in)
{
	struct lock_guard guard;
	lock_take(&m->control, &guard);
	int r = -ENOTCONN;
	if (!m->broken) {
		r = client_call(m->socket, request, reply, fd_in);
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
	unsigned unknown = 0;
	for (uint64_t nap = CLOCK_NS_PER_MS;; nap += nap / 2) {
		r = client_connect(&a);
		if (r != -ECONNREFUSED && r != -EAGAIN)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		if (r == -ECONNREFUSED) {
			/*
			 * A failure of the program is final. After its success
			 * the node may have exited already, or have been an
			 * older one that was exiting: then another is started.
			 */
			int started = spawn_node(a.name);
			if (started < 0)
				return started;
			r = client_connect(&a);
			if (r >= 0 || r == -EPERM)
				return r;
			unknown += started > 0;
			if (unknown == UNKNOWN_STARTS_MAX)
				return -ENOEXEC;
		}
		clock_nap_ns(nap);
	}
}
