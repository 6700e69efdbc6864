/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw level: VCIs in, NQEs out. See cay_raw(3) and cay_contract(7). */
#ifndef CAY_RAW_H
#define CAY_RAW_H

#include "cay/contract.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes a VCI into the port's work queue. One posting thread at a time; does
 * not block. 0, -EAGAIN (the work queue is full: trigger), -ECHILD.
 */
CAY_API int cay_vci_post(struct cay_port *, const struct cay_vci *);

/*
 * The one operation by which work reaches the device: issue, snapshot, advance.
 * What is not accepted was not done. VCIs that are wrong are accepted and
 * answered with a NOTIFY_CC that has the error. The thread that posts; for
 * CAY_ISSUE_NQ and CAY_ISSUE_RDR the thread that consumes.
 */
CAY_API struct cay_answer cay_trigger(
	struct cay_port *, enum cay_issue, unsigned parameter);

/*
 * The next notification, or NULL. It stays until CAY_ISSUE_NQ gives it back.
 * Not to be mixed with cay_poll() on one port. The consuming thread.
 */
CAY_API const struct cay_nqe *cay_nqe_next(struct cay_port *);

/* Where a SEND VCI's payload lies. Any thread. */
CAY_API void *cay_sdr(struct cay_port *, size_t *bytes);

/* Where a NOTIFY_RECV's word 3 points into. Any thread. */
CAY_API const void *cay_rdr(struct cay_port *, size_t *bytes);

/*
 * Where cay_alloc() memory lies in the arena, as posted receives want to know
 * it. Any thread; does not block. 0, -EFAULT (not such memory), -EACCES,
 * -ECHILD.
 */
CAY_API int cay_offset(
	struct cay_port *, const void *, size_t, uint64_t *offset);

/*
 * The posted receive queue: write descriptors, the first one at the entry that
 * the first CAY_ISSUE_POSTED will count, and so on in a circle; then trigger.
 * Not to be mixed with cay_receive_post() on one port. Any thread. NULL in a
 * child of the process that opened the port.
 */
CAY_API struct cay_posted_receive *cay_posted(
	struct cay_port *, uint32_t *entries);

#ifdef __cplusplus
}
#endif

#endif
