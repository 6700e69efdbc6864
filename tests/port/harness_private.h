/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files of the harness. */
#ifndef CAY_TESTS_PORT_HARNESS_PRIVATE_H
#define CAY_TESTS_PORT_HARNESS_PRIVATE_H

/* Ends the children that a failed test has left. */
void children_end(void);

#endif
