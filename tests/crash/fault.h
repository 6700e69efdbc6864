/* SPDX-License-Identifier: BSD-2-Clause */
/* Dying or stopping after a numbered step of the device. One thread. */
#ifndef CAY_TESTS_CRASH_FAULT_H
#define CAY_TESTS_CRASH_FAULT_H

#include "parties.h"

void fault_prepare(struct page *, const struct scenario *, enum party);

/* Waits for permission; fails at the next pass of the step. */
void fault_wait(void);

/* Returns true until the step is passed. */
bool fault_due(void);

#endif
