/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages: they arrived before a matching receive was posted. An
 * endpoint that holds more than settings.unexpected_bytes sends XOFF to the
 * peers that send more, and XON when half of that is left. It sends no XOFF to
 * a peer that could match a posted receive: the awaited message may be behind
 * the unexpected ones.
 */
#ifndef CAY_PROVIDER_UNEXPECTED_H
#define CAY_PROVIDER_UNEXPECTED_H

#include "provider/message/receive.h"

/* Holds a copy of a message. Returns 0 or -FI_ENOMEM. */
int unexpected_hold(
	struct endpoint *, struct matcher *, const struct incoming *);
void unexpected_incoming(const struct unexpected *, struct incoming *);
/* Frees a message that was delivered or discarded. */
void unexpected_free(struct endpoint *, struct matcher *, struct unexpected *);
/* The same for a message that was taken out of its matcher. */
void unexpected_free_claimed(struct endpoint *, struct unexpected *);
/* Sends XON to the peers that could match a receive just posted. */
void unexpected_xon(struct endpoint *);
/* Frees all messages of both matchers. */
void unexpected_free_all(struct endpoint *);

#endif
