/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening ports for cay send and cay recv, and what to do when that fails. */
#ifndef CAY_CLI_PORT_H
#define CAY_CLI_PORT_H

#include "cay/cay.h"

/*
 * Opens a port; `name` may be NULL. Returns -1 and the port, or the exit status
 * after an error message.
 */
int cli_port_open(const char *command, const char *node, const char *realm,
	const char *name, struct cay_port **);

/* Reports that no port has a name, and which names there are. Returns
 * CLI_FAILED. */
int cli_port_unknown(const char *command, const char *node, const char *realm,
	const char *name);

#endif
