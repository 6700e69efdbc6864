/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomic operations: the calls, and what both ends must agree on. */
#ifndef CAY_PROVIDER_ATOMIC_H
#define CAY_PROVIDER_ATOMIC_H

#include "provider/endpoint/endpoint.h"
#include "provider/rma/atomic_kernel.h"

/*
 * Bytes of operands in one request: these, their compare values and struct
 * wire_atomic travel in one message, which the device copies.
 */
#define ATOMIC_BYTES	     4096
#define ATOMIC_COMPARE_BYTES 4032

/* Elements of one request. The type is known. */
static inline size_t atomic_count_max(
	enum atomic_kind kind, enum fi_datatype datatype)
{
	size_t bytes = kind == ATOMIC_COMPARES ? ATOMIC_COMPARE_BYTES
					       : ATOMIC_BYTES;
	return bytes / atomic_bytes(datatype);
}

#define ATOMIC_FLAGS                                                    \
	(FI_COMPLETION | FI_INJECT | FI_MORE | FI_FENCE | FI_PRIORITY | \
		FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |             \
		FI_DELIVERY_COMPLETE)

/* Elements in several places. */
struct atomic_places {
	const struct fi_ioc *ioc;
	size_t count; /* of places */
};

/* A call, whichever it was. */
struct atomic_request {
	enum atomic_kind kind;
	enum fi_datatype datatype;
	enum fi_op op;
	bool silent; /* an inject call */
	struct atomic_places operands, compares, results;
	fi_addr_t to;
	uint64_t address, key;
	size_t count; /* elements */
	uint64_t flags;
	void *context;
};

/* Takes the guard. 0, or as fi_atomic(3) says. */
ssize_t atomic_post(struct fid_ep *, struct atomic_request *);
/*
 * Asks a peer for its card, unless that is under way: an atomic read of what no
 * region can have as its key. 0 or -fi_errno.
 */
#define ATOMIC_KEY_CARD FI_KEY_NOTAVAIL
int atomic_ask_card(struct peer *);
/* The endpoint goes: its peers are owed nothing more. */
void atomic_forget(const struct endpoint *);

#endif
