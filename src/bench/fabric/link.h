/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a connection between two endpoints of a libfabric provider, and
 * its operations in flight. Used by one thread. Functions that return int give
 * 0, or an error after group_fail().
 */
#ifndef CAY_BENCH_FABRIC_LINK_H
#define CAY_BENCH_FABRIC_LINK_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "bench/harness/workload.h"

enum {
	LINK_WINDOW = 64, /* messages of a stream in flight */
	LINK_SLOT_BYTES = 128,
};

/* Shared memory of a workload: the addresses of both endpoints. */
#define LINK_NAME_MAX	  256
#define LINK_SHARED_BYTES 4096

/* An operation that will complete; libfabric may use its first member. */
struct slot {
	struct fi_context2 context;
	unsigned index;
	bool receive;
	uint64_t expected; /* message number of a receive */
};

struct link {
	struct side *side;
	unsigned char *source, *target; /* slots */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer;
	struct slot receives[LINK_WINDOW], sends[LINK_WINDOW];
	unsigned free[LINK_WINDOW], free_count; /* slots of sends */
	/* Slots of receives that have completed. */
	unsigned full[LINK_WINDOW], full_head, full_tail;
	uint64_t sent, posted; /* messages; receives */
	uint32_t spins;
};

int link_open(struct link *, struct side *, uint64_t capabilities);
void link_close(struct link *);

/* Reports that a call failed. Returns -ECANCELED. */
int link_fail(const struct link *, const char *call, int error);

/* Returns where a slot is. Of long messages only slot 0 is used. */
static inline size_t link_at(unsigned slot)
{
	return slot * LINK_SLOT_BYTES;
}

/* Makes slot 0 the next to send from. Nothing is in flight. */
void link_rewind(struct link *);

/* Polls for completions once. */
int link_poll(struct link *);

/* Posts a receive into a slot. */
int link_receive(struct link *, unsigned slot, size_t bytes, uint64_t tag);
/* Waits for the next completed receive. */
int link_await_receive(struct link *, unsigned *slot);

/* Waits for a slot to send from; at most `window` are in flight. */
int link_claim(struct link *, unsigned window, unsigned *slot);
int link_send(struct link *, unsigned slot, size_t bytes, uint64_t tag);
/* Sends and may reuse the buffer at once. */
int link_inject(struct link *, const void *, size_t bytes, uint64_t tag);
/* Waits until all sends have completed. */
int link_drain(struct link *);

#endif
