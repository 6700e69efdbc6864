/* SPDX-License-Identifier: BSD-2-Clause */
/* A node's report on standard output. */
#ifndef CAY_CLI_NODE_STATUS_H
#define CAY_CLI_NODE_STATUS_H

#include "cli/node_client.h"

void node_status_print(const struct node_report *);
void node_status_json(const struct node_report *);

#endif
