/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two endpoints of one libfabric provider, one in each process, and what is
 * under way between them. Used by one thread.
 */
#ifndef CAY_BENCH_FABRIC_LINK_H
#define CAY_BENCH_FABRIC_LINK_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "bench/fabric/board.h"
#include "bench/fabric/message.h"

/* An operation that will complete; libfabric may use its first member. */
struct slot {
	struct fi_context2 context;
	unsigned index;
	bool receive;
	uint64_t due; /* a receive: the number of its message */
};

struct link {
	const char *provider;
	struct seat *seat;
	const struct pool *pool;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer;
	struct slot receives[MESSAGE_WINDOW_MAX], sends[MESSAGE_WINDOW_MAX];
	/* Slots of sends that are free, and of receives that are full. */
	unsigned free[MESSAGE_WINDOW_MAX], free_count;
	unsigned full[MESSAGE_WINDOW_MAX], full_head, full_tail;
	uint64_t due; /* the number that the next receive is for */
};

/* Complains on stderr; 0 or a negative fi_errno. */
int link_open(struct link *, const char *provider, struct seat *,
	const struct pool *);
void link_close(struct link *);

/* Prints what a call that failed said, and gives that. */
int link_complain(const struct link *, const char *call, int error);

/* Nothing is under way: sends begin at slot 0 again. */
void link_rewind(struct link *);

/* Looks for completions once. */
int link_poll(struct link *);

/* A receive of the slot's part of the pool. */
int link_receive(struct link *, unsigned slot, size_t bytes, uint64_t tag);
/* The slot of the next receive that completed; waits for it. */
int link_take(struct link *, unsigned *slot);

/* A free slot to send from; waits for one. */
int link_claim(struct link *, unsigned window, unsigned *slot);
/* Sends from it. */
int link_send(struct link *, unsigned slot, size_t bytes, uint64_t tag);
/* Sends and has the buffer back at once. */
int link_inject(struct link *, const void *, size_t bytes, uint64_t tag);
/* Until everything that was sent has completed. */
int link_drain(struct link *);

#endif
