/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cookie: a random number in this process's memory, by which others who
 * reach that memory through the kernel know that they have the right process.
 */
#ifndef CAY_PORT_COOKIE_H
#define CAY_PORT_COOKIE_H

#include <stdint.h>

/* Where it lies; its value never changes. Any thread. */
const uint64_t *cookie_of_process(void);

#endif
