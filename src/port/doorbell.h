/* SPDX-License-Identifier: BSD-2-Clause */
/* Ringing the descriptors of ports that sleep in epoll. */
#ifndef CAY_PORT_DOORBELL_H
#define CAY_PORT_DOORBELL_H

#include "port/member.h"

/* struct arena's interrupt line. Cold; any thread. */
void doorbell_ring(struct context *to);

/* Closes what the member has collected. */
void doorbell_forget(struct member *);

#endif
