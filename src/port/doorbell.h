/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells of ports that sleep in epoll. */
#ifndef CAY_PORT_DOORBELL_H
#define CAY_PORT_DOORBELL_H

#include "port/member.h"

/* arena.ring_doorbell: rings the doorbell of a port. Cold; any thread. */
void doorbell_ring(struct context *to);

/* Makes the doorbell of this port unreadable. Does not block. */
void doorbell_clear(int fd);

/* Closes the descriptors that the member has cached. */
void doorbells_close(struct member *);

#endif
