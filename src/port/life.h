/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork: a child inherits handles but not the arena. A page that the kernel
 * wipes in the child tells the two apart with one load and no handler.
 */
#ifndef CAY_PORT_LIFE_H
#define CAY_PORT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/* On the wiped page: the number of this process's life, 0 after a fork. */
extern const uint32_t *life_now;

/*
 * Starts a life if there is none; the caller holds the members' lock. 1 if a
 * fork lies between this and the last call, 0, or -ENOMEM.
 */
int life_begin(void);

/* Was the handle with this life made by this very process? */
static inline bool life_valid(uint32_t life)
{
	return *life_now == life;
}

#endif
