/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of a node: a Unix socket in the user's directory /run/user/<uid>,
 * if there is one, and an abstract one, named after the user and the node. Any
 * user can bind the abstract name, but only this one can bind the other.
 * listen.c elects the process that binds them.
 */
#ifndef CAY_NODE_ADDRESS_H
#define CAY_NODE_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "node/protocol.h"

struct node_address {
	struct sockaddr_un address; /* abstract */
	socklen_t length;
	struct sockaddr_un path; /* in the user's directory */
	socklen_t path_length;	 /* 0: there is no such directory */
	char name[NODE_NAME_MAX];
};

#define NODE_DIRECTORY "/run/user/%u" /* the effective user ID */
#define NODE_SOCKET    "cay."	      /* before the name, in the directory */

struct stat;

/*
 * Returns true if this is a directory of the effective user to which no other
 * user has access. The environment is not asked.
 */
bool node_directory_valid(const struct stat *);

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
