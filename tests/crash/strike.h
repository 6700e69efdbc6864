/* SPDX-License-Identifier: BSD-2-Clause */
/* Dying or stopping after a numbered step of the device. One thread. */
#ifndef CAY_TESTS_CRASH_STRIKE_H
#define CAY_TESTS_CRASH_STRIKE_H

#include "parties.h"

void strike_prepare(struct page *, const struct scenario *, enum party);

/* Waits for leave to strike; the next time that the step is passed, it does. */
void strike_wait(void);

/* Has it not been passed yet? */
bool strike_due(void);

#endif
