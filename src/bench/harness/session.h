/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session: the processes of one candidate (Cay, or a peer) that measure what
 * tools/bench asks for. Between two rounds all of them sleep, so that
 *candidates can take turns on the same two cores. Rank 0 is connected to
 *tools/bench by a Unix socket; requests and replies are lines of text:
 *
 *	(start)				hello VERSION
 *	case KIND BYTES PORTS		ready, or none
 *	round				figure NS L_BEFORE L_AFTER PREEMPTIONS
 *	done				closed
 *	(at any time)			failed REASON
 *
 * The ranks end when the connection does.
 */
#ifndef CAY_BENCH_HARNESS_SESSION_H
#define CAY_BENCH_HARNESS_SESSION_H

#include "bench/harness/workload.h"

enum session_kind {
	SESSION_LATENCY = 0,   /* one way, half a round trip */
	SESSION_RATE = 1,      /* per message of a stream */
	SESSION_PUT_SEEN = 2,  /* one way, until a polling target sees it */
	SESSION_PUT_FLUSH = 3, /* of the origin, until it is at the target */
	SESSION_GET = 4,
	SESSION_FETCH_ADD = 5,
	SESSION_RING = 6, /* per hop of a token, more processes than cores */
	SESSION_ALLREDUCE = 7, /* per collective operation */
	SESSION_ALLTOALL = 8,
	SESSION_KINDS = 9,
};

#define SESSION_BYTES_MAX (4u << 20)
/* Operations of a batch of one-sided operations. */
#define SESSION_OPERATIONS 64

struct session_peer {
	const char *name;
	const char *version;		      /* or NULL */
	size_t shared_bytes;		      /* memory of a workload */
	const char *(*error_text)(int error); /* NULL: strerror */
	/* Returns the workload, or NULL if the peer has none. */
	const struct workload *(*workload)(enum session_kind, size_t bytes);
};

/* Returns the bytes of a group's area. */
size_t session_bytes(const struct session_peer *);

/*
 * Runs one rank of a session until the end of the connection. The memory of the
 * group is all zero at the start. Returns 0, or -errno after group_fail().
 */
int session_rank(struct group *, unsigned rank, const struct session_peer *,
	const char *socket);

/*
 * The whole program of a candidate whose ranks are forked:
 *
 *	PROGRAM PEER SOCKET [RANKS]
 *
 * Returns the exit status.
 */
int session_main(
	int argc, char **argv, const struct session_peer *, unsigned peers);

#endif
