/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: buffers that senders fill directly with messages of more
 * than 40 bytes. See cay_receive(3).
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

/* Handling of a message of more than 40 bytes without a posted receive. */
enum cay_receive_mode {
	CAY_RECEIVE_RDR = 0,	     /* stored in the receive data region */
	CAY_RECEIVE_POSTED_ONLY = 1, /* refused with -EAGAIN */
};

/*
 * Sets the receive mode. Returns 0, -EINVAL, -EACCES (the port is disabled), or
 * -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_receive_mode(struct cay_port *, enum cay_receive_mode);

/*
 * Posts a buffer. Outside of cay_alloc() memory a sender writes it through the
 * kernel; where the kernel does not allow this sender to, its message goes to
 * the RDR, or is refused with CAY_RECEIVE_POSTED_ONLY. Such a buffer must stay
 * mapped until its event, cay_receive_cancel() or cay_port_close().
 *
 * A message in the buffer is reported as CAY_EVENT_POSTED with this cookie, and
 * with CAY_ERROR_POSTED_TRUNCATED if it was longer than the buffer. The event
 * ends the use of the buffer by senders. Returns 0, -EAGAIN
 * (cay_port_options.posted buffers are posted, or filled and not polled),
 * -EINVAL (no length), -EFAULT (not writable; or in the arena, but not in one
 * block of cay_alloc()), -ENOMEM, -EACCES (the port is disabled), or -ECHILD.
 * Does not block. Thread-safe.
 */
CAY_API int cay_receive_post(
	struct cay_port *, void *buffer, size_t length, uint64_t cookie);

/*
 * Cancels posted receives with this cookie, except those that a sender is
 * filling. Returns the number of cancelled receives, -EACCES (the port is
 * disabled), or -ECHILD. Does not block. Thread-safe.
 */
CAY_API int cay_receive_cancel(struct cay_port *, uint64_t cookie);

#ifdef __cplusplus
}
#endif

#endif
