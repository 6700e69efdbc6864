/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending messages, tagged or not. */
#ifndef CAY_PROVIDER_SEND_H
#define CAY_PROVIDER_SEND_H

#include "provider/endpoint.h"

/* A call to send something. */
struct request {
	bool tagged;
	bool data_given;
	bool inject; /* the buffer is the caller's again, and no completion */
	const struct iovec *iov;
	size_t count;
	fi_addr_t to;
	uint64_t tag, data;
	void *context;
	uint64_t flags;
};

/* All calls of fi_msg(3) and fi_tagged(3) that send. Takes the guard. */
ssize_t send_request(struct fid_ep *, const struct request *);

#endif
