/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtual port: a process's own entrance to the device. See cay_port(3).
 *
 * Any number of ports per process. Any thread may issue on a port; one thread
 * at a time may consume (poll, release, wait, arm) unless the port was opened
 * CAY_PORT_SHARED. After fork() every handle answers -ECHILD in the child,
 * which may open ports of its own. A port that has tried thousands of wrong
 * capabilities is disabled: every call but cay_port_close() answers -EACCES.
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

/* Absolute deadlines are CLOCK_MONOTONIC nanoseconds; 0 does not wait. */
#define CAY_FOREVER UINT64_MAX

enum cay_port_flag {
	CAY_PORT_SHARED = 1 << 0,    /* several threads consume */
	CAY_PORT_GUARDED = 1 << 1,   /* never map what others may write */
	CAY_PORT_WORD_MODE = 1 << 2, /* word mode */
	CAY_PORT_HUGE = 1 << 3, /* queues on huge pages, if there are any */
};

/* Zeroed means defaults; counts are rounded up to powers of two. */
struct cay_port_options {
	size_t size;	   /* sizeof(struct cay_port_options), or 0 */
	const char *node;  /* default: $CAY_NODE, else the batch job's id */
	const char *realm; /* default: $CAY_REALM */
	const char *name;  /* by which peers may look the port up; unique */
	uint32_t wq_entries, nq_entries;
	size_t sdr_bytes, rdr_bytes;
	uint32_t windows, peers;
	uint64_t flags;	 /* enum cay_port_flag */
	uint32_t posted; /* posted receives */
};

struct cay_stats {
	uint64_t issued;       /* requests that the device accepted */
	uint64_t refused;      /* -EAGAIN for want of room */
	uint64_t received;     /* messages handed out by cay_poll() */
	uint64_t completed;    /* completions handed out */
	uint64_t sleeps;       /* times that a wait gave up spinning */
	uint64_t voids;	       /* entries skipped: their sender died */
	uint64_t sent_mapped;  /* by reference, from cay_alloc() memory */
	uint64_t sent_process; /* by reference, read from this process */
	uint64_t sent_staged;  /* by reference, copied into the arena first */
	uint64_t
		emulated_requested; /* accesses that a peer was asked to make */
	uint64_t emulated_executed; /* accesses made here for peers */
	uint64_t posted;	    /* messages that came into posted buffers */
	uint64_t invalid_capabilities; /* wrong capabilities tried */
	uint64_t nq_used, nq_entries;
	uint64_t rdr_used, rdr_bytes;
	uint64_t refs_used, refs_entries;
	uint32_t epoch;	     /* of the queue set */
	uint32_t node_alive; /* 0: no open, resolve or repair any more */
};

/*
 * Opens a port, starting the node if there is none. NULL for defaults.
 * Blocks for some seconds at most. Any thread. NULL and errno: EINVAL (an
 * option), EOPNOTSUPP (a flag this device does not have), ENOSPC (no VPID or
 * arena space left), EEXIST (the name is taken), EPERM (the node belongs to
 * somebody else), EPROTONOSUPPORT (the node speaks another version), ETIMEDOUT
 * (no node came up), ENOENT (the node's program was not found), EMFILE, ENFILE,
 * ENOMEM.
 */
CAY_API struct cay_port *cay_port_open(const struct cay_port_options *);

/*
 * Closes it: peers that resolved it get NOTIFY_GONE, its entry in the arena
 * goes. Nobody may use the handle any more, nor its peers. If it has had
 * windows or posted receives, waits until nobody is in the middle of an access
 * to them. 0, -ECHILD, or -ETIMEDOUT (after ten seconds somebody still is: the
 * memory of its windows must not be reused). The handle is gone in any case.
 */
CAY_API int cay_port_close(struct cay_port *);

CAY_API struct cay_addr cay_port_addr(const struct cay_port *);

/*
 * A descriptor that becomes readable when a port that was armed has something
 * to poll. It belongs to the port; read nothing from it, close it never.
 * The consuming thread. A descriptor, or -EMFILE, -ENFILE, -ENOTCONN, -ECHILD.
 */
CAY_API int cay_port_fd(struct cay_port *);

/*
 * Before epoll_wait(): 0: sleep on the descriptor; -EAGAIN: there is something
 * to poll. The consuming thread; does not block. Or -EBADF (no cay_port_fd()
 * yet), -ENOTCONN (the node has given the port up), -ENOMEM, -ECHILD.
 */
CAY_API int cay_port_arm(struct cay_port *);

/* Any thread; does not block. 0 or -ECHILD. */
CAY_API int cay_port_stats(struct cay_port *, struct cay_stats *);

#ifdef __cplusplus
}
#endif

#endif
