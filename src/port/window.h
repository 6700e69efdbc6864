/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of this process inside the library. */
#ifndef CAY_PORT_WINDOW_H
#define CAY_PORT_WINDOW_H

#include "cay/window.h"
#include "port/port.h"

/* Returns the refusals since the last call. The consuming thread. */
uint64_t window_refusals(struct cay_port *, uint32_t window);

/* Closes the windows on this memory. Returns as cay_window_close(). */
int windows_close_on(struct cay_port *, const void *memory, uint64_t bytes);

/* Frees the tables and all window handles; the port is closed. */
void windows_free(struct cay_port *);

/*
 * Waits until no access to the window is in progress (1 + Win-ID; 0: to any
 * memory of the port). Returns 0, -ETIMEDOUT, -ENOTCONN, or -EOPNOTSUPP (no
 * membarrier(2)).
 */
int port_quiesce(struct cay_port *, uint32_t window);

#endif
