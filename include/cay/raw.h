/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw API: posts VCIs and reads NQEs. See cay_raw(3), cay_contract(7). */
#ifndef CAY_RAW_H
#define CAY_RAW_H

#include "cay/contract.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes a VCI into the work queue of the port. Returns 0, -EAGAIN (the work
 * queue is full: trigger), -EFAULT (no VCI), -EACCES (the port is disabled), or
 * -ECHILD. Does not block. One posting thread at a time.
 */
CAY_API int cay_vci_post(struct cay_port *, const struct cay_vci *);

/*
 * Triggers the device: executes posted VCIs, requests a snapshot, returns
 * notification entries, or adds posted receives; with the bit CAY_ISSUE_STATUS
 * then requests a snapshot, too. Work beyond cay_answer.accepted has not been
 * started. An invalid VCI is accepted and completed by a NOTIFY_CC with an
 * error. Does not block. Posting thread; consuming thread for CAY_ISSUE_NQ and
 * CAY_ISSUE_RDR.
 */
CAY_API struct cay_answer cay_trigger(
	struct cay_port *, enum cay_issue, unsigned parameter);

/*
 * Returns the next notification, or NULL. It is valid until CAY_ISSUE_NQ
 * returns it. Do not combine with cay_poll() on one port. Does not block.
 * Consuming thread.
 */
CAY_API const struct cay_nqe *cay_nqe_next(struct cay_port *);

/*
 * Returns the send data region, for payloads of SEND VCIs, and its size unless
 * `bytes` is NULL; NULL and 0 for a NULL port. Thread-safe.
 */
CAY_API void *cay_sdr(struct cay_port *, size_t *bytes);

/* Returns likewise the receive data region, for word 3 of NOTIFY_RECV. */
CAY_API const void *cay_rdr(struct cay_port *, size_t *bytes);

/*
 * Computes the arena offset of cay_alloc() memory, for posted receives. Returns
 * 0, -EFAULT (not in one block of cay_alloc(), or no place for it), -EACCES
 * (the port is disabled), or -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_offset(
	struct cay_port *, const void *, size_t, uint64_t *offset);

/*
 * Returns the posted receive queue, a ring. Write descriptors from entry 0 on
 * and add them with CAY_ISSUE_POSTED. Do not combine with cay_receive_post() on
 * one port. Stores the number of entries unless `entries` is NULL. Returns NULL
 * for a NULL port, in a child of the process that opened the port, or if the
 * port is disabled. Thread-safe.
 */
CAY_API struct cay_posted_receive *cay_posted(
	struct cay_port *, uint32_t *entries);

#ifdef __cplusplus
}
#endif

#endif
