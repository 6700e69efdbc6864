/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Membership: this process in one realm of one node. It has the control socket
 * and the mapped arena; all ports of the process in that realm share it.
 */
#ifndef CAY_PORT_MEMBER_H
#define CAY_PORT_MEMBER_H

#include <pthread.h>
#include <sys/types.h>

#include "base/list.h"
#include "device/context.h"
#include "node/protocol.h"

/* The longest time to wait for a node to come up or to answer. */
#define MEMBER_PATIENCE_NS (10 * 1000000000ull)

struct bell {
	uint32_t epoch;
	int fd;
};

struct staging; /* memory.c */

struct member {
	struct list link, live;
	uint64_t serial; /* never reused, unlike the address of a member */
	uint32_t life;	 /* see life.h */
	uint32_t users;	 /* ports; under the members' lock */
	uint32_t node;
	char node_name[NODE_NAME_MAX], realm[NODE_NAME_MAX];
	struct arena arena;

	pthread_mutex_t control; /* one request at a time */
	int socket;
	dev_t socket_device; /* to know it again after fork() */
	ino_t socket_inode;
	bool broken; /* the node is gone, or does not speak with us */

	pthread_mutex_t lock; /* all below */
	struct op_record **record_pages;
	uint32_t record_page_count;
	struct bell *bells; /* by VPID; made when first needed */
	uint32_t bell_count, bell_limit;
	_Atomic(_Atomic(struct context *) *) origins; /* by VPID; likewise */
	struct staging *staging;

	/* By VPID: requests that threads issued before they took up another
	 * port; made when first needed. */
	_Atomic(_Atomic uint64_t *) issued;
};

/* Joins, or finds that we are in already. 0 or -errno. */
int member_join(const char *node, const char *realm, struct member **);
void member_leave(struct member *);

/* True while the node answers. */
bool member_node_alive(struct member *);

/*
 * The context of whoever sent us something, to answer it. 0, -ENOMEM, -EPIPE
 * (it is gone for good). Any thread.
 */
int member_origin(struct member *, uint16_t vpid, _Atomic(struct context *) **);

/*
 * One request and its reply. fd_out is sent along unless it is -1; a
 * descriptor that comes back is stored in *fd_in, or closed if that is NULL.
 * 0, the reply's error, -ENOTCONN, -EPROTO, -ETIMEDOUT.
 */
int control_call(struct member *, const struct node_request *, int fd_out,
	struct node_reply *, int *fd_in);

/* Connects to a node, starting it if there is none. A socket or -errno. */
int control_connect(
	const char *node, char name[NODE_NAME_MAX], uint64_t deadline);

/* Starts a node's program. 0, or -errno (-ENOENT: no program found). */
int spawn_node(const char *name);

#endif
