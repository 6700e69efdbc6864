/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a node listens: an abstract Unix socket named after the user and the
 * node. Binding it is the election, and nothing is left when its owner dies.
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
 * name NULL: $CAY_NODE, else the id of the batch job, else "default". 0 or
 * -EINVAL.
 */
int node_address(const char *name, struct node_address *);

/* name NULL: $CAY_REALM, else "default". 0 or -EINVAL. */
int node_realm(const char *name, char realm[NODE_NAME_MAX]);

#endif
