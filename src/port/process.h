/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Identity of this process: its incarnation, by which handles inherited through
 * fork() are recognized, and its cookie.
 */
#ifndef CAY_PORT_PROCESS_H
#define CAY_PORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Number of this incarnation, on a page that the kernel wipes in a forked
 * child: one load tells parent and child apart, without an atfork handler. 0
 * before the first process_incarnation_begin() and after a fork.
 */
extern const uint32_t *process_incarnation;

/*
 * Starts an incarnation if there is none. The caller holds the lock of the
 * member list. Returns 1 if the process was forked since the last call, 0, or
 * -ENOMEM.
 */
int process_incarnation_begin(void);

/* Returns true if a handle with this incarnation belongs to this process. */
static inline bool process_incarnation_valid(uint32_t incarnation)
{
	return *process_incarnation == incarnation;
}

/* Returns the address of the cookie. Its value never changes. Any thread. */
const uint64_t *process_cookie(void);

#endif
