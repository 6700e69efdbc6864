/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receiver of a rendezvous message: it gets the message from the sender's
 * memory into the posted buffers, with one copy, and sends FIN.
 */
#ifndef CAY_PROVIDER_FETCH_H
#define CAY_PROVIDER_FETCH_H

#include "provider/message/receive.h"

/* Prepares an OP_FETCH. Returns NULL without memory. */
struct op *fetch_new(
	struct endpoint *, struct receive *, const struct incoming *);
void fetch_start(struct op *);
/* Handles the completion of a get. */
void fetch_event(struct op *, const struct cay_event *);
/* Issues the next get, or completes; no-op while a get is in flight. */
void fetch_continue(struct op *);
/* Completes the receive, with op->error or without, and sends FIN. */
void fetch_end(struct op *);
/* Frees it without a report: the endpoint closes. */
void fetch_drop(struct op *);

#endif
