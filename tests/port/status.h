/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status of the program's node, requested over its socket as `cay node`
 * does. It shows whether all resources are freed.
 */
#ifndef CAY_TESTS_PORT_STATUS_H
#define CAY_TESTS_PORT_STATUS_H

#include <sys/types.h>

#include "node/protocol.h"

struct node_status status_read(void);
/* Status of one process; zeroed if the node does not know it. */
struct node_status_process status_process(pid_t);
/* The entries that the port of a process has received, if it has one port. */
uint64_t status_received(pid_t);
/* Waits until the node has reaped closed ports and exited processes. */
struct node_status status_settled(void);

#endif
