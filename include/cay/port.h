/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual ports. See cay_port(3).
 *
 * A process may open any number of ports. Any thread may issue operations on a
 * port; one thread at a time, the consuming thread, may poll, release, wait and
 * arm, unless the port was opened with CAY_PORT_SHARED. In the child of a
 * fork(), calls on inherited handles return -ECHILD; the child may open ports
 * of its own. A port that has presented thousands of invalid capabilities is
 * disabled: every call except cay_port_close() returns -EACCES. Calls that set
 * something up or wait return -EINVAL for a NULL port or window, and -EFAULT if
 * the place for their result is NULL; those that return a property of a NULL
 * handle return 0 or NULL. Those that send, access, poll, release and flush do
 * not check for a NULL port. Calls that block for a reply of the node return
 * -ETIMEDOUT if it has not replied for ten seconds, because it is stopped or
 * gets no processor time: call again. See cay(7).
 */
#ifndef CAY_PORT_H
#define CAY_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "cay/export.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cay_port;

struct cay_addr {
	uint32_t node;
	uint16_t vpid;
};

/* Deadlines are absolute CLOCK_MONOTONIC nanoseconds; 0: do not wait. */
#define CAY_FOREVER UINT64_MAX

/*
 * Return the deadline so many microseconds, milliseconds or seconds from now,
 * and CAY_FOREVER if it cannot be represented. Thread-safe; do not block.
 */
CAY_API uint64_t cay_deadline_us(uint64_t us);
CAY_API uint64_t cay_deadline_ms(uint64_t ms);
CAY_API uint64_t cay_deadline_s(uint64_t s);

enum cay_port_flag {
	CAY_PORT_SHARED = 1 << 0,    /* several consuming threads */
	CAY_PORT_GUARDED = 1 << 1,   /* use the guarded path only */
	CAY_PORT_WORD_MODE = 1 << 2, /* require 8-byte alignment */
	CAY_PORT_HUGE = 1 << 3,	     /* queues on huge pages if available */
	CAY_PORT_TELL_GONE = 1 << 4, /* CAY_EVENT_GONE of unresolved senders */
	CAY_PORT_FETCH = 1 << 5,     /* borrowed messages without bytes */
};

/* Zero means the default; counts are rounded up to powers of two. */
struct cay_port_options {
	size_t size;	   /* sizeof(struct cay_port_options), or 0 */
	const char *node;  /* default: $CAY_NODE, else the batch job ID */
	const char *realm; /* default: $CAY_REALM */
	const char *name;  /* for cay_peer_lookup(); unique */
	uint32_t wq_entries, nq_entries;
	size_t sdr_bytes, rdr_bytes;
	uint32_t windows, peers;
	uint64_t flags;	 /* enum cay_port_flag */
	uint32_t posted; /* entries of the posted receive queue */
};

struct cay_stats {
	uint64_t issued;	       /* accepted operations */
	uint64_t refused;	       /* operations refused with -EAGAIN */
	uint64_t received;	       /* messages returned by cay_poll() */
	uint64_t completed;	       /* completions returned by cay_poll() */
	uint64_t sleeps;	       /* waits that slept */
	uint64_t voids;		       /* void entries skipped */
	uint64_t sent_mapped;	       /* borrowed, from cay_alloc() memory */
	uint64_t sent_process;	       /* borrowed, from process memory */
	uint64_t sent_staged;	       /* borrowed, staged in the arena */
	uint64_t sent_copied;	       /* long messages, copied */
	uint64_t emulated_requested;   /* sent to a peer */
	uint64_t emulated_executed;    /* executed here for peers */
	uint64_t posted;	       /* messages received in posted buffers */
	uint64_t invalid_capabilities; /* refused for the capability */
	uint64_t nq_used, nq_entries;
	uint64_t rdr_used, rdr_bytes;
	uint64_t refs_used, refs_entries; /* borrowed, and emulated accesses */
	uint64_t copied_used;  /* copied messages that are not read yet */
	uint64_t copied_bytes; /* staging memory that they occupy */
	uint32_t epoch;	       /* of the queue set */
	uint32_t node_alive;   /* 0: the node has exited */
};

/*
 * Opens a port, starting the node if none is running. NULL options select the
 * defaults. Returns NULL and sets errno: EINVAL (an option), EOPNOTSUPP (an
 * unsupported flag), ENOSPC (no VPID or arena space is left), EDQUOT (a quota
 * of this process or of its realm is exhausted; see cay(7)), EEXIST (the name
 * is in use), EPERM (another user has the name of the node), ENOSYS
 * (memfd_create(2) is refused to the node), EPROTONOSUPPORT (the node has
 * another protocol version), ETIMEDOUT (the node did not start), ENOENT (the
 * node's program was not found), ENOEXEC (it failed), ENOTCONN (the node died
 * during the call), EPROTO or EBADMSG (not a node), EFBIG (RLIMIT_FSIZE is
 * below the size of the arena), EMFILE, ENFILE, ENOMEM. Blocks for a few
 * seconds at most. Thread-safe.
 */
CAY_API struct cay_port *cay_port_open(const struct cay_port_options *);

/*
 * Closes a port. Ports that have resolved it receive CAY_EVENT_GONE, and so do
 * ports with CAY_PORT_TELL_GONE that it has resolved and sent a message to. If
 * it has had windows or posted receives, waits until no access to them is in
 * progress. The handle and its peers must not be used by any thread afterwards,
 * whatever is returned. Returns 0, -ETIMEDOUT (an access is still in progress
 * after ten seconds) or -EOPNOTSUPP (no membarrier(2)): the memory of the
 * windows must not be reused; or -ECHILD. NULL is allowed.
 */
CAY_API int cay_port_close(struct cay_port *);

/*
 * Returns the address of a port; zeros, which no port has, for NULL.
 * Thread-safe; does not block.
 */
CAY_API struct cay_addr cay_port_addr(const struct cay_port *);

/*
 * Returns a descriptor for epoll that becomes readable when an armed port has
 * an event. The port owns the descriptor: do not read or close it. On failure
 * returns -EMFILE, -ENFILE, -ENOTCONN (the node has exited), -EACCES (the port
 * is disabled), -ECHILD. Blocks for a reply of the node. Consuming thread.
 */
CAY_API int cay_port_fd(struct cay_port *);

/*
 * Arms the descriptor. Call it before epoll_wait(). Returns 0 if the port is
 * armed and has no event, -EAGAIN if there is an event to poll, or -EBADF (call
 * cay_port_fd() first), -ENOTCONN (the node has closed the port), -ENOMEM,
 * -EACCES (the port is disabled), -ECHILD. Does not block. Consuming thread.
 */
CAY_API int cay_port_arm(struct cay_port *);

/*
 * Reads the counters of a port. Returns 0, -EFAULT (NULL), -EACCES (the port is
 * disabled), or -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_port_stats(struct cay_port *, struct cay_stats *);

#ifdef __cplusplus
}
#endif

#endif
