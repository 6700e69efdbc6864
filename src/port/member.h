/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member: this process in one realm of one node. It owns the control socket
 * and the mapping of the arena; all ports of the process in the realm share it.
 */
#ifndef CAY_PORT_MEMBER_H
#define CAY_PORT_MEMBER_H

#include <pthread.h>
#include <sys/types.h>

#include "base/list.h"
#include "device/context.h"
#include "node/protocol.h"

/* Limit for the start of a node, its replies, and quiescing. */
#define MEMBER_TIMEOUT_NS (10 * 1000000000ull)

/* Replies that the node may owe; half as many calls leave one. */
#define MEMBER_OWED_MAX 64

struct doorbell {
	uint32_t epoch;
	int fd;
};

struct staging; /* heap.c */

/* The reply to a request that a caller has started and does not wait for. */
struct control_pending {
	bool done;
	int result; /* 0 or -errno, and with 0: */
	struct node_reply reply;
	int fd; /* -1: none, or taken */
};

/* A request without a reply yet. */
struct control_owed {
	struct node_request request;
	struct control_pending *pending; /* NULL: its effect is undone */
};

struct member {
	struct list link, live;
	uint64_t serial;      /* never reused, unlike the address */
	uint32_t incarnation; /* see process.h */
	uint32_t users;	      /* ports; under the lock of the member list */
	uint32_t node;
	char node_name[NODE_NAME_MAX], realm[NODE_NAME_MAX];
	struct arena arena;
	uint64_t block_bytes_max; /* quotas and heap allow no larger block */

	pthread_mutex_t control; /* one request at a time */
	int socket;
	dev_t socket_device; /* recognizes the socket after fork() */
	ino_t socket_inode;
	bool broken; /* the node has exited or violated the protocol */
	/* Ring of requests without a reply yet, under `control`: control.c. */
	struct control_owed *owed;
	uint32_t owed_first, owed_count;

	pthread_mutex_t lock; /* for all members below */
	struct op_record **record_pages;
	uint32_t record_page_count;
	struct doorbell *doorbells; /* by VPID; NULL until needed */
	uint32_t doorbell_count, doorbell_limit;
	_Atomic(_Atomic(struct context *) *) origins; /* likewise */
	struct staging *staging;
	struct list copied;   /* blocks of copied messages, by port */
	struct list mappings; /* window_map.c */

	pthread_mutex_t allocations_lock;
	void *allocations; /* root of a tree; see allocation.c */

	/*
	 * By VPID: operations counted by threads that have since switched to
	 * another port or exited; NULL until needed.
	 */
	_Atomic(_Atomic uint64_t *) issued;
};

/* Joins a realm, or returns the existing member. Returns 0 or -errno. */
int member_join(const char *node, const char *realm, struct member **);
void member_leave(struct member *);

/* Returns false once the node has exited. Does not block. */
bool member_node_alive(struct member *);

/*
 * Returns the context of a port that has sent a message to this process, for
 * the completion. Returns 0, -ENOMEM, or -EPIPE (the port is gone). Any thread.
 */
int member_origin(struct member *, uint16_t vpid, _Atomic(struct context *) **);

/*
 * Sends a request to the node and waits for the reply until the deadline, or
 * MEMBER_TIMEOUT_NS. Stores a received descriptor in *fd_in, or closes it if
 * fd_in is NULL. Returns 0, the error of the reply, -ENOTCONN, -EPROTO, or
 * -ETIMEDOUT: the node lives and does not reply. It will execute the request,
 * and what the request has made is then given back, unless it was not even sent
 * because the node owes too many replies.
 */
int control_call(struct member *, const struct node_request *,
	struct node_reply *, int *fd_in);
int control_call_until(struct member *, const struct node_request *,
	struct node_reply *, int *fd_in, uint64_t deadline);

/*
 * Returns how long to wait for one reply in a call with a deadline that repeats
 * its request: so other threads can call the node meanwhile, and a node that is
 * not slow has the time to reply even if the deadline has passed.
 */
uint64_t control_reply_deadline(uint64_t deadline);

/*
 * The same for a request whose result does not matter: it does not wait for the
 * reply if the node owes others.
 */
void control_tell(struct member *, const struct node_request *);

/*
 * Sends a request that has no reply. Waits only if the socket is full, up to
 * MEMBER_TIMEOUT_NS.
 */
void control_post(struct member *, const struct node_request *);

/*
 * Starts a request, without waiting for the node or for another thread that
 * does. The reply goes to *pending, which stays valid until control_result() or
 * control_abandon(), or nowhere if that is NULL. Returns 0, -EAGAIN (try again
 * later) or -ENOTCONN.
 */
int control_start(
	struct member *, const struct node_request *, struct control_pending *);
/*
 * Returns -EINPROGRESS if there is no reply yet, or it is not known, because
 * another thread waits for the node; or else the result.
 */
int control_result(struct member *, struct control_pending *);
/*
 * Ends the interest in a request. Returns true if it has been executed and the
 * caller has to undo it, which is otherwise done when the reply arrives. Waits
 * for other threads that wait for the node.
 */
bool control_abandon(struct member *, struct control_pending *);

/* Returns true if the node owes replies. Does not block. */
bool control_slow(struct member *);

/* Connects to a node and starts it if necessary. Returns a socket or -errno. */
int control_connect(
	const char *node, char name[NODE_NAME_MAX], uint64_t deadline);

/*
 * Starts the node program. Returns 0 when a node listens, 1 if that is unknown,
 * or -errno: -ENOENT (no program), -ENOEXEC (it failed), or its error.
 */
int spawn_node(const char *name);

#endif
