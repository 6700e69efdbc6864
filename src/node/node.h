/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a node knows. One thread, one epoll loop; everything here is private to
 * it but the arenas.
 *
 *	node -> realms -> processes -> ports -> watches
 */
#ifndef CAY_NODE_NODE_H
#define CAY_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "device/device.h"
#include "device/queue_set.h"
#include "node/extent.h"
#include "node/protocol.h"

struct realm {
	struct list link;
	struct node *node;
	char name[NODE_NAME_MAX];
	int fd;
	struct arena arena;
	struct extents heap;
	struct list processes;
	struct list senders;  /* ports that send by reference */
	struct op_record *op; /* the node's own, for what it sends */
};

/* What epoll hands back. */
struct source {
	enum source_kind {
		SOURCE_LISTENER,
		SOURCE_SOCKET,
		SOURCE_PIDFD,
	} kind;
	struct process *process;
};

enum process_state {
	PROCESS_GREETING, /* connected, has not said hello */
	PROCESS_MEMBER,
	PROCESS_LEFT,	/* has unmapped everything */
	PROCESS_CLOSED, /* its socket is closed, but it has not exited */
	PROCESS_DEAD,	/* exited; being repaired after */
};

struct block {
	struct list link;
	uint64_t offset, bytes;
	bool freed; /* given back, but somebody still reads it */
};

struct process {
	struct list link; /* of the realm, or of the node while greeting */
	struct node *node;
	struct realm *realm;
	enum process_state state;
	struct source socket_source, pidfd_source;
	int socket, pidfd;
	pid_t pid;
	struct list ports;
	struct list blocks;
	uint64_t *record_pages; /* offsets */
	uint32_t record_page_count;
	bool repaired;
	bool abandoned; /* it has records that wait to be repaired */
	bool hung_up;	/* its socket is closed */
};

/* One entry of a port's peer table. */
struct watch {
	struct list link; /* of the target's watchers, or the node's `gone` */
	struct vport *by, *target; /* target NULL: gone */
	uint32_t index;
	uint16_t vpid; /* of the target */
};

enum vport_state {
	VPORT_OPEN,
	VPORT_CLOSED, /* no claim succeeds; GONE not yet said to all */
	VPORT_QUIET,  /* said; waits until nobody touches its memory */
};

struct vport {
	struct list link; /* of its process */
	struct list name_link;
	struct list closing_link; /* of the node's `closing` */
	struct list sender_link;  /* of the realm's `senders` */
	struct process *process;
	struct realm *realm; /* outlives the process's interest in it */
	enum vport_state state;
	bool disabled; /* closed by us: its process has not closed it yet */
	uint32_t epoch, first_epoch;
	struct queue_config config;
	struct queue_config former; /* replaced set, epoch 0: none */
	char name[NODE_NAME_MAX];
	struct list watchers;
	struct list locks;    /* windows of others that it has locked */
	struct watch **peers; /* by index; grows */
	uint32_t peer_room, peer_count;
	int doorbell; /* eventfd or -1 */
};

#define NODE_NAME_BUCKETS 1024

struct node {
	char name[NODE_NAME_MAX];
	uint32_t id;
	int epoll, listener, spare; /* spare: to refuse when none is left */
	struct source listener_source;
	uint64_t started_ns, idle_since_ns;
	bool stay;
	uint64_t arena_bytes;
	struct list realms;
	struct list greeting; /* processes that have not joined */
	struct list buried;   /* to be freed when no event names them */
	struct list closing;  /* ports that could not be reclaimed at once */
	struct list gone;     /* watches whose NOTIFY_GONE found no room */
	struct list names[NODE_NAME_BUCKETS];
	struct vport *ports[CAY_VPIDS];
	uint32_t epochs[CAY_VPIDS];
	uint16_t free_vpids[CAY_VPIDS]; /* a ring: reuse as late as possible */
	uint32_t free_first, free_count;
	uint32_t port_count, process_count;
	uint32_t deferred_blocks; /* given back, but still read by somebody */
	struct {
		uint64_t repaired, voided, gone_sent, fenced, refused;
	} count;
};

/* ---- node.c ---- */

struct node_options;

/* All zeros before. */
void node_init(struct node *, const struct node_options *);
/* What could not be finished at once. True while something is left. */
bool node_tick(struct node *);
void node_end(struct node *);

/* ---- realm.c ---- */

int realm_find(struct node *, const char *name, struct realm **);
void realm_maybe_end(struct realm *);
/* Takes zeroed pages of the heap; 0 if there are none. */
uint64_t realm_take(struct realm *, uint64_t bytes);
/* The same, where huge pages begin. */
uint64_t realm_take_huge(struct realm *, uint64_t bytes);
void realm_put(struct realm *, uint64_t offset, uint64_t bytes);

/* ---- process.c ---- */

struct process *process_add(struct node *, int socket);
int process_hello(struct process *, struct realm *);
int process_records(struct process *, uint64_t *offset);
/* 0, or -EAGAIN: later, and then the record is given back for it. */
int process_recover(struct process *, struct op_record *);
/* The same for what could not be done at once; true when nothing is left. */
bool process_recover_all(struct process *);
void process_leave(struct process *);
void process_hang_up(struct process *);
void process_exited(struct process *);
/* One step of cleaning up after one that left or died; true at the end. */
bool process_bury(struct process *);

struct block *block_add(struct process *, uint64_t bytes, bool huge);
/* One that was not given back, or NULL. */
struct block *block_find(struct process *, uint64_t offset);
int block_free(struct process *, uint64_t offset);
/* Frees what was given back and is no longer read. */
void block_sweep(struct node *);

/* ---- vport.c ---- */

int vport_open(struct process *, const struct node_request *, struct vport **);
struct vport *vport_find(struct node *, struct process *, uint16_t vpid);
struct vport *vport_named(struct node *, struct realm *, const char *name);
void vport_close(struct vport *);
/* Frees a closed port once nobody touches it; true when it is gone. */
bool vport_reclaim(struct vport *);
/* The same, or later. */
void vport_reclaim_soon(struct vport *);

/* The next epoch of a VPID. */
uint32_t epoch_next(struct node *, uint16_t vpid);

/* ---- watch.c ---- */

int watch_add(struct vport *by, struct vport *target, uint32_t *index);
/*
 * The realms keep them apart: the next free entry says so until it is used, for
 * whoever issues on it all the same.
 */
void watch_forbid(struct vport *by, uint16_t vpid);
int watch_remove(struct vport *by, uint32_t index);
/*
 * Tells all who have resolved it; unless `all`, only those to whom it owes no
 * completion, because GONE is the last that they hear.
 */
void watch_gone(struct vport *target, bool all);
/* Again those who had no room; false while some are left. */
bool watch_retry(struct node *);
/* The port's entries all follow a target to its new epoch. */
void watch_moved(struct vport *target);

/* ---- repair.c ---- */

/* Voids what a record of a dead (or recovering) thread covers. 0, -EAGAIN. */
int repair_record(struct realm *, struct op_record *);
/* Is no living thread in the middle of something with this queue set? */
bool repair_quiet(struct realm *, uint16_t vpid, uint32_t epoch);
/* Completes what others had sent by reference to a closed port. */
bool repair_references(struct vport *closed);
/* Has `by` sent it long messages that are not completed? */
bool repair_owed(const struct vport *by, const struct vport *closed);
/* A dead port's references that say READY: sent, or never seen? */
void repair_ready(struct vport *dead);
/* Does anybody still read what this port sent by reference? */
bool repair_pending(struct vport *, uint64_t from, uint64_t bytes);

/* A posted receive that a dead thread had taken; after its entries. */
void repair_posted(struct realm *, struct op_record *);

/* ---- window.c ---- */

/*
 * After a membarrier: 0 if no living thread is in the middle of an access to
 * this port's window (1 + Win-ID; 0: to anything of its), else -EAGAIN.
 */
int window_quiet(struct vport *, uint32_t window);
/* 0, -EINPROGRESS (locked, but others are not out), -EAGAIN, -EALREADY, ... */
int window_lock(struct vport *, const struct node_request *);
int window_unlock(struct vport *, const struct node_request *);
/* The port is closed. */
void window_unlock_all(struct vport *);

/* ---- fence.c ---- */

/* Every thread of every member has seen our stores. 0 or -EOPNOTSUPP. */
int barrier_everywhere(void);

int fence_process(struct node *, pid_t pid, uint32_t *moved);

/* ---- status.c ---- */

int status_write(struct node *, struct node_reply *, int *fd);

/* ---- server.c ---- */

#define NODE_ARENA_BYTES_MIN (ARENA_HEAP_OFFSET + (1ull << 20))

struct node_options {
	const char *name;
	uint64_t arena_bytes; /* 0: the default; else NODE_ARENA_BYTES_MIN */
	bool background;      /* leave the caller's process behind */
	bool stay;	      /* when nobody is left, too */
};

/*
 * Serves until the last process has gone. 0 also if another node has the name
 * already; else -errno.
 */
int node_serve(const struct node_options *);

static inline struct op_record *realm_records(
	const struct realm *r, uint64_t offset)
{
	return (struct op_record *)(void *)(r->arena.base + offset);
}

#endif
