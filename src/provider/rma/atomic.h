/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomic operations: the calls, the origin and the target. */
#ifndef CAY_PROVIDER_ATOMIC_H
#define CAY_PROVIDER_ATOMIC_H

#include "provider/endpoint/endpoint.h"
#include "provider/rma/atomic_kernel.h"

/*
 * Bytes of operands in one request: they, their compare values and struct
 * wire_atomic travel in one eager message.
 */
#define ATOMIC_BYTES	     4096
#define ATOMIC_COMPARE_BYTES 4032

/* Elements of one request. The datatype must be valid. */
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

/* Elements in several segments. */
struct atomic_vector {
	const struct fi_ioc *ioc;
	size_t count; /* of segments */
};

/* A call of fi_atomic(3). */
struct atomic_request {
	enum atomic_kind kind;
	enum fi_datatype datatype;
	enum fi_op op;
	bool silent; /* an inject call */
	struct atomic_vector operands, compares, results;
	fi_addr_t to;
	uint64_t address, key;
	size_t count; /* elements */
	uint64_t flags;
	void *context;
};

/* ---- atomic_origin.c ---- */

/*
 * Issues a request. Returns 0, or -FI_EAGAIN (backpressure, or not ready yet)
 * and the errors of fi_atomic(3).
 */
int atomic_start(struct endpoint *, struct atomic_request *);
/* Handles the completion of an operation that the device executes. */
void atomic_event(struct op *, const struct cay_event *);
/* Handles WIRE_ATOMIC_RESULT. */
void atomic_result(struct op *, int status, const void *payload, size_t length);

/* ---- atomic_target.c ---- */

/* Handles WIRE_ATOMIC: executes it and sends the result. 0 or -FI_ENOMEM. */
int atomic_request_execute(struct endpoint *, struct peer *, uint64_t id,
	const void *payload, size_t length);
/* Frees the reply buffer of an endpoint that closes. */
void atomic_reply_free(const struct endpoint *);

#endif
