/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State and internal interface of a node. One thread runs one epoll loop;
 * everything here is private to it except the arenas. What the node decides
 * (epochs, configurations, migrations, fenced entries, peers) it reads only
 * here: the arena has copies for the members, which can overwrite them.
 *
 *	node -> realms -> processes -> ports -> watches
 */
#ifndef CAY_NODE_NODE_H
#define CAY_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "contract/ultra.h"
#include "device/device_node.h"
#include "device/queue_set.h"
#include "node/extent.h"
#include "node/protocol.h"
#include "node/quota.h"
#include "node/tree.h"

struct realm {
	struct list link;
	struct node *node;
	uint64_t serial; /* never reused, unlike its address */
	char name[NODE_NAME_MAX];
	int fd;
	struct arena arena;
	struct extents heap;
	struct list processes;
	struct list reference_origins; /* ports that send by reference */
	struct list gone;     /* watches whose NOTIFY_GONE found no room */
	struct op_record *op; /* the node's own, for notifications */
	/* VPIDs that its queues named when so many had been freed; vpid.c */
	uint64_t named_freed, named[CAY_VPIDS / 64];
	uint64_t used[QUOTA_KINDS];
	/* The latest pass over all references; see repair_reference.c. */
	uint64_t pass, pass_round;
	struct list *pass_next;	   /* origin; NULL: the pass is complete */
	uint64_t scan, scan_round; /* the latest scan of all op records */
	/* Op records and references that may still be read in this round. */
	int64_t record_left, reference_left;
};

/* The data pointer of an epoll event. */
struct source {
	enum source_kind {
		SOURCE_LISTENER,
		SOURCE_PATH_LISTENER,
		SOURCE_SOCKET,
		SOURCE_PIDFD,
	} kind;
	struct process *process;
};

enum process_state {
	PROCESS_CONNECTED, /* has not sent HELLO */
	PROCESS_MEMBER,
	PROCESS_LEFT,	      /* has unmapped the arena */
	PROCESS_DISCONNECTED, /* socket closed, but the process still runs */
	PROCESS_EXITED,
};

/* Memory of cay_alloc(). The key is its offset, the weight its length. */
struct block {
	struct tree_link link;
	struct list freed_link; /* of node.freed */
	struct realm *realm;
	struct process *process; /* NULL: it has left or exited */
	uint32_t mapped;	 /* mappings of windows on it */
	bool freed; /* by its owner; a peer reads it or has it mapped */
};

struct process {
	struct list link; /* of the realm, or of node.connected */
	struct node *node;
	struct realm *realm; /* NULL until HELLO */
	enum process_state state;
	struct source socket_source, pidfd_source;
	int socket, pidfd;
	pid_t pid;
	struct list report_link; /* of node.report_waiting or report_later */
	struct account *account;
	uint64_t used[QUOTA_KINDS];
	struct list ports;
	struct tree blocks;
	struct tree mappings; /* of windows, by their number */
	uint64_t mapping_serial;
	uint64_t alloc_bytes;	       /* of these */
	struct list reference_origins; /* ports that send by reference */
	uint32_t origin_count;	       /* of these */
	uint64_t *record_pages;	       /* arena offsets */
	uint32_t record_page_count;
	bool repaired;	       /* all its op records were repaired */
	uint32_t repair_at;    /* the next record, */
	uint32_t abandoned_at; /* and among the abandoned ones */
	bool has_abandoned;    /* some of its op records await repair */
	bool registered;       /* NODE_HELLO_BARRIER */
	bool socket_closed;
};

/*
 * The watcher gets a NOTIFY_GONE of the target: it has resolved the target, or
 * has CAY_PORT_TELL_GONE and the target has resolved it (a reverse watch, which
 * lasts until one of the two ports is closed).
 */
struct watch {
	struct list link;	  /* of target->watchers, or of realm.gone */
	struct list reverse_link; /* of watcher->reverse */
	struct vport *watcher, *target; /* target NULL: it is gone */
	uint32_t index; /* in the peer table; WATCH_REVERSE: none */
	uint16_t vpid;	/* of the target */
	uint8_t path;	/* enum arena_path; of a reverse watch: PATH_NONE */
};
#define WATCH_REVERSE UINT32_MAX

enum vport_state {
	VPORT_OPEN,
	VPORT_CLOSED,	 /* claims fail; watchers are not all notified */
	VPORT_ANNOUNCED, /* GONE is sent; memory not yet quiesced */
};

struct vport {
	struct list link; /* of its process */
	struct list name_link;
	struct list closing_link;	 /* of node.closing */
	struct list origin_link;	 /* of realm.reference_origins */
	struct list process_origin_link; /* of process.reference_origins */
	struct list fence_link;		 /* while fence_process() migrates it */
	uint32_t fence_claims;		 /* op records that claim its entries */
	struct process *process;
	struct realm *realm;
	enum vport_state state;
	bool disabled;	 /* closed by the node; its process has not closed it */
	bool no_barrier; /* none was issued since the port was closed */
	uint64_t barrier_mark; /* node.slow_barriers when it was closed */
	uint64_t pass_first; /* of realm.pass, that began after it was closed */
	uint64_t pass_left;  /* the last one that found it work to do later */
	uint64_t scan_first; /* of realm.scan, that began after the barrier */
	uint64_t scan_busy;  /* the last one that found its queue sets in use */
	uint32_t repair_at;  /* the next reference, if its process is dead */
	bool tell_gone;	     /* CAY_PORT_TELL_GONE */
	uint32_t epoch, first_epoch;
	struct queue_config config;
	struct queue_config previous; /* replaced queue set; epoch 0: none */
	uint32_t fenced_count;	      /* entries of that set that are void */
	struct queue_range fenced[QUEUE_FENCED_MAX];
	char name[NODE_NAME_MAX];
	struct list watchers;
	uint32_t watcher_count; /* of these, without the reverse watches */
	struct list mappings;	/* of its windows, by any process */
	struct tree locks;	/* ports whose windows it has locked, by VPID */
	struct list lockers;	/* the same of others on its windows */
	struct list reverse;	/* reverse watches of this port */
	uint64_t *reversed;	/* a bit per target of these; NULL: none yet */
	struct watch **peers;	/* by index; grows */
	uint32_t peer_room, peer_count;
	int doorbell;			 /* writing end, or -1: doorbell.h */
	struct list ultra_in, ultra_out; /* paths to and from this port */
};

#define NODE_READS_MAX	     (256 << 10) /* of record_left, reference_left */
#define NODE_NOTIFY_MAX	     4096	 /* of notify_left */
#define NODE_NAME_BUCKETS    1024
#define NODE_ACCOUNT_BUCKETS 256

struct node {
	char name[NODE_NAME_MAX];
	uint32_t id;
	int epoll;
	int listener;	   /* on the abstract name; < 0: another user has it */
	int path_listener; /* in the user's directory; < 0: there is none */
	char path[108];	   /* of the latter, */
	ino_t path_inode;  /* and its file */
	int spare; /* descriptor kept to accept and refuse at the limit */
	struct source listener_source, path_source;
	uint64_t started_ns, idle_since_ns;
	uint64_t random; /* seeds of the trees */
	bool stay;
	uint64_t arena_bytes;
	uint32_t control_stride;
	struct list realms;
	struct list connected; /* processes that have not joined a realm */
	struct list reaped;    /* freed after the events of this round */
	struct list closing;   /* ports that could not be reclaimed at once */
	struct report *report; /* in progress, or NULL */
	struct list report_waiting; /* processes that wait for it */
	struct list report_later;   /* and for the next one */
	uint64_t report_work;	    /* of its last step */
	struct list freed;	    /* blocks with block.freed set */
	uint64_t round;
	int64_t unlock_left; /* descriptors that it may still read */
	int64_t notify_left; /* watchers that a step of it may notify */
	struct list names[NODE_NAME_BUCKETS];
	struct vport *ports[CAY_VPIDS];
	uint32_t epochs[CAY_VPIDS];
	struct ultra_path *upids[ULTRA_UPIDS]; /* both ends of each path */
	uint16_t upid_last;
	uint32_t ultra_offers; /* paths whose descriptors the node has */
	uint16_t free_vpids[CAY_VPIDS]; /* FIFO: reuse as late as possible */
	uint32_t free_first, free_count;
	uint64_t vpids_freed;	 /* VPIDs added to free_vpids so far */
	uint64_t slow_barriers;	 /* that reach all processes of the machine */
	uint64_t round_barriers; /* of these, before this round of events */
	uint32_t port_count, process_count;
	uint32_t realm_count;
	uint64_t realm_serial; /* of the latest realm */
	uint32_t waiting;      /* connections that have not joined a realm */
	struct quota quota;
	struct list accounts[NODE_ACCOUNT_BUCKETS];
	struct {
		uint64_t repaired, voided, gone_sent, fenced, refused, barriers;
		uint64_t over_quota; /* requests refused with -EDQUOT */
	} count;
};

/* ---- node.c ---- */

struct node_options;

/* The node must be zeroed. */
void node_init(struct node *, const struct node_options *);
/* Continues deferred work. Returns true while some is left. */
bool node_tick(struct node *);
void node_end(struct node *);

/* ---- listen.c ---- */

struct node_address;

/* Returns 0, 1 (another node has the name), or -errno. */
int listen_open(struct node *, const struct node_address *);
void listen_close(struct node *);

/* ---- realm.c ---- */

int realm_find(struct node *, const char *name, struct realm **);
void realm_end_if_empty(struct realm *);
/*
 * Creates a memfd that can be sealed. Returns -ENOSYS if the kernel or a system
 * call filter refuses it.
 */
int realm_memfd(const char *name);
/* Allocates zeroed pages of the heap; returns 0 if none is left. */
uint64_t realm_allocate(struct realm *, uint64_t bytes);
void realm_free(struct realm *, uint64_t offset, uint64_t bytes);
/*
 * Executes a memory barrier on every running thread of every member. Returns 0,
 * or -EOPNOTSUPP if the kernel or a system call filter prevents it. It may
 * block the node for some 10 ms, so a request must not call it for each port.
 */
int realm_barrier(struct realm *);
/*
 * Returns true if a member has not registered for expedited barriers: then
 * realm_barrier() is slow.
 */
bool realm_barrier_slow(const struct realm *);
/*
 * The same as realm_barrier(), but a slow barrier since node.slow_barriers had
 * the value `mark` suffices, of whatever realm: one serves all that wait.
 */
int realm_barrier_since(struct realm *, uint64_t mark);

/* ---- process.c ---- */

struct process *process_add(struct node *, int socket);
int process_hello(struct process *, struct realm *, uint32_t flags);
/* Allocates a page of op records. */
int process_records(struct process *, uint64_t *offset);
void process_leave(struct process *);
void process_disconnect(struct process *);
void process_exited(struct process *);
void process_close_socket(struct process *);

/* ---- block.c ---- */

/* Returns the largest block that the quotas and the heap could ever allow. */
uint64_t block_bytes_max(const struct process *);

/* Returns 0, -ENOSPC, -EDQUOT or -ENOMEM. */
int block_add(struct process *, uint64_t bytes, bool huge, uint64_t *offset);
/* Returns the block that contains all of this memory, or NULL. */
struct block *block_around(struct process *, uint64_t offset, uint64_t bytes);
/* Ends one mapping of a block; frees it if it was the last user. */
void block_unmapped(struct node *, struct block *);
int block_free(struct process *, uint64_t offset);
/*
 * Frees blocks that no peer reads any more, with limited work. Returns true
 * while some are left.
 */
bool block_sweep(struct node *);
/*
 * Frees blocks of a process that has exited, with limited work. Returns true
 * when none is left. Those that others have mapped stay allocated.
 */
bool block_free_all(struct process *);

/* ---- vpid.c ---- */

/*
 * Takes a free VPID for a port of the realm, one that no entry in a queue of
 * the realm names. Returns false if there is none.
 */
bool vpid_take(struct realm *, uint16_t *vpid);
void vpid_free(struct node *, uint16_t vpid);
/* Returns the next epoch of a VPID. */
uint32_t epoch_next(struct node *, uint16_t vpid);

/* ---- vport.c ---- */

int vport_open(struct process *, const struct node_request *, struct vport **);
/* Returns the open port of a process with this VPID, or NULL. */
struct vport *vport_find(struct node *, struct process *, uint16_t vpid);
struct vport *vport_by_name(struct node *, struct realm *, const char *name);
void vport_close(struct vport *);
/* Closes all open ports of a process with one memory barrier. */
void vport_close_all(struct process *);
/*
 * Notifies watchers of a closed port and frees it when no thread accesses its
 * memory. Returns true when it is freed; else the caller tries again later.
 */
bool vport_reclaim(struct vport *);
/*
 * Does the same, or only notifies the watchers of a disabled port;
 * vport_continue() retries.
 */
void vport_reclaim_soon(struct vport *);
/* Continues, with limited work. Returns true while some ports are left. */
bool vport_continue(struct node *);

/* Returns the port of a realm with this VPID, open or not, or NULL. */
static inline struct vport *vport_at(const struct realm *r, uint16_t vpid)
{
	struct vport *p = r->node->ports[vpid];
	return p && p->realm == r ? p : NULL;
}

/* Returns a table of the port, at so many lines in its second extent. */
static inline void *vport_table(const struct vport *p, uint32_t line)
{
	return p->realm->arena.base + p->config.tables_offset +
	       (uint64_t)line * CAY_LINE;
}

/* ---- context.c ---- */

/*
 * Makes a context of the port's queue set with this epoch, the current or the
 * replaced one, of the node's own configuration. Returns 0, or -EPIPE if the
 * port has no such set.
 */
int vport_context(const struct vport *, uint32_t epoch, struct context *);
/* Returns true if the entry of the replaced queue set with this epoch is void.
 */
bool vport_fenced(const struct vport *, uint32_t epoch, uint64_t position);

/* ---- watch.c ---- */

int watch_add(struct vport *watcher, struct vport *target, uint32_t *index);
/*
 * Adds a reverse watch if the watcher has requested that and has none for the
 * target. Returns 0 or -ENOMEM.
 */
int watch_add_reverse(struct vport *watcher, struct vport *target);
/* Removes the reverse watches of a port that is closed. */
void watch_remove_reverse(struct vport *watcher);
/*
 * Marks the next free entry as forbidden until it is used: a request through it
 * fails with CAY_ERROR_REALM.
 */
void watch_forbid(struct vport *watcher, uint16_t vpid);
int watch_remove(struct vport *watcher, uint32_t index);
/*
 * Sends NOTIFY_GONE to the watchers; unless `all`, only to those without a
 * reference to the target, because GONE follows the last completion. The work
 * is limited: returns true when no watcher is left.
 */
bool watch_notify_gone(struct vport *target, bool all);
/* Retries those without room; returns false while some are left. */
bool watch_retry_gone(struct node *);
/* Writes the target's new epoch into the peer tables of its watchers. */
void watch_migrate(struct vport *target);

/* ---- reap.c ---- */

/*
 * Reaps or recovers the processes of a list. Returns true while one of them is
 * not finished.
 */
bool reap_list(struct list *processes);
/* Frees the reaped processes: no event names them any more. */
void reap_free(struct node *);

/* ---- repair.c ---- */

/* Voids the entry that the record of a dead thread covers. 0 or -EAGAIN. */
int repair_record(struct realm *, struct op_record *);
/*
 * Repairs an abandoned record of a live process. Returns 0, or -EAGAIN: the
 * node retries, and returns the record to the process then.
 */
int repair_abandoned(struct process *, struct op_record *);
/* Retries all of a process; returns true when none is left. */
bool repair_all_abandoned(struct process *);

/* ---- repair_posted.c ---- */

struct record_copy;

/*
 * Posts again what a dead thread had claimed; the entry of its record, of which
 * there is a copy, is repaired.
 */
void repair_posted(
	struct realm *, struct op_record *, const struct record_copy *);

/* ---- repair_reference.c ---- */

/*
 * Completes references to a closed port, with limited work; returns false: try
 * again later.
 */
bool repair_references_to(struct vport *closed);
/* The port is no longer an origin of references. */
void repair_origin_end(struct vport *);
/* Returns true while `by` has references to the closed port. */
bool repair_has_references(const struct vport *by, const struct vport *closed);
/*
 * Turns READY references of a dead port into SENT or FREE, with limited work.
 * Returns true when all are.
 */
bool repair_references_of(struct vport *dead);
/* Returns true while a target reads arena memory in [from, from + bytes). */
bool repair_references_read(struct vport *, uint64_t from, uint64_t bytes);

/* ---- window.c ---- */

/*
 * Issues a membarrier and returns 0 if no live thread accesses this window of
 * the port (1 + Win-ID; 0: any memory of the port), else -EAGAIN. Returns
 * -EBUSY if a process has the window mapped, unless `mapped`.
 */
int window_quiesce(struct vport *, uint32_t window, bool mapped);
/*
 * Copies the descriptor of the window that a request names, once, and checks
 * the capability. Returns 0, -EPIPE, -ENXIO or -EACCES.
 */
int window_copy(struct vport *, const struct node_request *,
	struct vport **target, struct cay_window_descriptor *);
/*
 * Returns 0, -EINPROGRESS (locked, but accesses of others are in progress),
 * -EAGAIN, -EALREADY, -EDQUOT, ...
 */
int window_lock(struct vport *, const struct node_request *);
int window_unlock(struct vport *, const struct node_request *);
/*
 * Releases the locks that a closed port holds, with limited work in a round of
 * the node. Returns true when none is left.
 */
bool window_unlock_all(struct vport *);
/* Forgets the locks on the windows of a port that is freed. */
void window_forget(struct vport *);

/* ---- mapping.c ---- */

/*
 * Counts a mapping of a window for a process; the descriptor is a copy. Returns
 * 0, -EPERM (rights), -EBUSY (locked), -EOPNOTSUPP (not memory of cay_alloc()),
 * -EDQUOT or -ENOMEM.
 */
int mapping_add(struct process *, struct vport *target, uint16_t window,
	const struct cay_window_descriptor *, struct node_reply *);
/* Returns 0 or -EINVAL. */
int mapping_remove(struct process *, uint64_t number);
void mapping_remove_all(struct process *);
/* Returns true if a process has this window mapped. */
bool mapping_of_window(const struct vport *target, uint32_t window);
/* Returns true if a process has a window of the port on this memory mapped. */
bool mapping_overlaps(
	const struct vport *target, uint64_t start, uint64_t length);
/* The mappings continue, but no longer name a window, or the port. */
void mapping_detach(struct vport *target, uint32_t window);
void mapping_detach_all(struct vport *target);

/* ---- ultra.c ---- */

/*
 * The set-up of ULTRA paths; the results of the requests are in ultra.c. Each
 * request but the first two names an end of the caller, which ultra_end()
 * checks.
 */
int ultra_accept(struct vport *, const struct node_request *,
	struct node_reply *, int *fd);
int ultra_connect(struct vport *, const struct node_request *,
	struct node_reply *, int *fd);
/* Returns the path of which the process has the end `upid`, or NULL. */
struct ultra_path *ultra_end(const struct process *, uint16_t upid);
int ultra_return_page(struct ultra_path *, uint16_t upid, int *fd);
int ultra_ready(struct ultra_path *, uint16_t upid);
void ultra_wake(struct ultra_path *, uint16_t upid, bool ring);
void ultra_close(struct ultra_path *, uint16_t upid);
/* Closes this end of all paths of a port that is closed. */
void ultra_close_all(struct vport *);

/* ---- fence.c ---- */

int fence_process(struct node *, pid_t pid, uint32_t *migrated);

/* ---- status.c ---- */

/*
 * Writes a report. Returns 0 with its descriptor, -errno, or -EINPROGRESS: the
 * reply is sent by status_continue().
 */
int status_request(struct process *, struct node_reply *, int *fd);
/* Continues a report, with limited work. Returns true while it is not done. */
bool status_continue(struct node *);
/* The process is freed, or its connection is closed. */
void status_forget(struct process *);
void status_end(struct node *);

/* ---- server.c ---- */

/* The default; tools such as Valgrind have twice this for a whole process. */
#define NODE_ARENA_BYTES (32ull << 30)

#define NODE_ARENA_BYTES_MIN(stride) ARENA_SIZE_FOR(1ull << 20, stride)

struct node_options {
	const char *name;
	uint64_t arena_bytes;	 /* at least NODE_ARENA_BYTES_MIN; 0: default */
	uint32_t control_stride; /* of the arenas; 0: ARENA_STRIDE_PACKED */
	struct quota quota;	 /* 0: default */
	bool background; /* continue in a child; the caller's process exits */
	bool stay;	 /* do not exit with the last process */
};

/*
 * Runs the node until its last process has exited. Returns 0, also if another
 * node has the name already, or -errno.
 */
int node_serve(const struct node_options *);

#endif
