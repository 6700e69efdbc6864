/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: buffers into which messages of more than 40 bytes go
 * straight from their senders. See cay_receive(3).
 */
#ifndef CAY_POSTED_H
#define CAY_POSTED_H

#include <stddef.h>
#include <stdint.h>

#include "cay/contract.h"
#include "cay/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a message that finds no posted receive. */
enum cay_receive_mode {
	CAY_RECEIVE_RDR = 0, /* it goes to the receive data region */
	CAY_RECEIVE_POSTED_ONLY =
		1, /* its sender is refused until there is one */
};

/* Any thread; does not block. 0, -EINVAL, -ECHILD. */
CAY_API int cay_receive_mode(struct cay_port *, enum cay_receive_mode);

/*
 * Posts a buffer, which must lie in cay_alloc() memory. A message comes as
 * CAY_EVENT_POSTED with this cookie; if it was longer than the buffer, with
 * CAY_ERROR_POSTED_TRUNCATED. The buffer is the application's again when the
 * event has come. Any thread; does not block. 0, -EAGAIN (as many as
 * cay_port_options.posted are posted, or filled and not yet polled), -EINVAL
 * (no length), -EFAULT (not cay_alloc() memory), -ECHILD.
 */
CAY_API int cay_receive_post(
	struct cay_port *, void *, size_t, uint64_t cookie);

/*
 * Takes posted buffers with this cookie back. Any thread; does not block. How
 * many; those that a sender is filling are not among them. Or -ECHILD.
 */
CAY_API int cay_receive_cancel(struct cay_port *, uint64_t cookie);

#ifdef __cplusplus
}
#endif

#endif
