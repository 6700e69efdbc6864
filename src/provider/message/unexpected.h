/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that came before their receives. An endpoint holds so many bytes of
 * them; a peer that sends more is told to wait, and told again when half of
 * them are gone. But not while a posted receive could be met by that peer: what
 * we wait for may lie behind what we do not want yet.
 */
#ifndef CAY_PROVIDER_UNEXPECTED_H
#define CAY_PROVIDER_UNEXPECTED_H

#include "provider/message/receive.h"

/* Keeps one; 0, -FI_ENOMEM. */
int unexpected_hold(
	struct endpoint *, struct matcher *, const struct arrival *);
void unexpected_arrival(const struct unexpected *, struct arrival *);
/* It was delivered. */
void unexpected_drop(struct endpoint *, struct matcher *, struct unexpected *);
/* A receive was posted: whoever could meet it may go on. */
void unexpected_resume(struct endpoint *);
/* FI_PEEK, FI_CLAIM, FI_DISCARD. */
ssize_t unexpected_look(struct endpoint *, const struct wanted *);
void unexpected_free_all(struct endpoint *);

#endif
