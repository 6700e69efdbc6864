/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages: the sender says where the message lies, the receiver fetches
 * it into the posted buffers, with one copy, and says that it has it.
 */
#ifndef CAY_PROVIDER_FETCH_H
#define CAY_PROVIDER_FETCH_H

#include "provider/message/receive.h"

/* What is needed for one; NULL without memory. */
struct op *fetch_new(
	struct endpoint *, struct receive *, const struct arrival *);
void fetch_start(struct op *);
/* A get of it has come. */
void fetch_event(struct op *, const struct cay_event *);
/* It goes on from where it is. */
void fetch_continue_one(struct op *);
/* Those that found no room, once more. */
void fetch_continue(struct endpoint *);
/* The end, with op->error or without. */
void fetch_end(struct op *);
/* The endpoint closes: nobody is told. */
void fetch_drop(struct op *);

#endif
