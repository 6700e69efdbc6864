/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes out of an endpoint's port. */
#ifndef CAY_PROVIDER_ARRIVE_H
#define CAY_PROVIDER_ARRIVE_H

#include "provider/endpoint.h"

/* 0: dealt with; -FI_EAGAIN, -FI_ENOMEM: offer it again later. */
int arrive(struct endpoint *, const struct cay_event *);

#endif
