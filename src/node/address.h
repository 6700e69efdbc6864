/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address of a node: an abstract Unix socket named after the user and the node.
 * The process that binds it is the node; the kernel removes it when that
 * process exits.
 */
#ifndef CAY_NODE_ADDRESS_H
#define CAY_NODE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "node/protocol.h"

struct node_address {
	struct sockaddr_un address;
	socklen_t length;
	char name[NODE_NAME_MAX];
};

/* Letters, digits and "._:@+-"; shorter than NODE_NAME_MAX; not empty. */
bool node_name_valid(const char *name);

/*
 * name NULL: $CAY_NODE, else the ID of the batch job, else "default". Returns 0
 * or -EINVAL.
 */
int node_address(const char *name, struct node_address *);

/* name NULL: $CAY_REALM, else "default". Returns 0 or -EINVAL. */
int node_realm(const char *name, char realm[NODE_NAME_MAX]);

#endif
