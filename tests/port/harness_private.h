/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of the harness. */
#ifndef CAY_TESTS_PORT_HARNESS_PRIVATE_H
#define CAY_TESTS_PORT_HARNESS_PRIVATE_H

/* Kills the children that a failed test has left. */
void children_end(void);

#endif
