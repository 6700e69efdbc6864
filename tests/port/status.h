/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the program's node says about itself, asked over its socket as `cay
 * node` does. For what no public call shows: is everything given back?
 */
#ifndef CAY_TESTS_PORT_STATUS_H
#define CAY_TESTS_PORT_STATUS_H

#include <sys/types.h>

#include "node/protocol.h"

struct node_status status_read(void);
/* Of one process; all zeros if the node does not know it. */
struct node_status_process status_process(pid_t);
/* Waits until ports and processes that ended are reclaimed. */
struct node_status status_settled(void);

#endif
