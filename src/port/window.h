/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of ours, as the rest of the library needs them. */
#ifndef CAY_PORT_WINDOW_H
#define CAY_PORT_WINDOW_H

#include "cay/window.h"
#include "port/port.h"

/* Refusals since it was asked last. The consuming thread. */
uint64_t window_refusals(struct cay_port *, uint32_t window);

/* Closes those on this memory. 0, or as cay_window_close(). */
int windows_close_on(struct cay_port *, const void *memory, uint64_t bytes);

/* The port is closed: the handles go, whoever still has one. */
void windows_free(struct cay_port *);

/*
 * Waits until nobody is in the middle of an access to the window (1 + Win-ID;
 * 0: to anything of the port's). 0, -ETIMEDOUT, -ENOTCONN.
 */
int window_wait_quiet(struct cay_port *, uint32_t window);

#endif
