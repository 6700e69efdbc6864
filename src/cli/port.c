/* SPDX-License-Identifier: BSD-2-Clause */
/* See port.h. */
#include "cli/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/client.h"
#include "cli/options.h"

#define NAMES_MAX 8

/* The realm of a port's process, or "". */
static const char *realm_of(
	const struct node_report *r, const struct node_status_port *p)
{
	for (uint32_t i = 0; i < r->head->processes; i++)
		if (r->processes[i].pid == p->pid)
			return r->processes[i].realm;
	return "";
}

/* Returns the next port of the realm that has a name, from *at on, or NULL. */
static const struct node_status_port *port_next(
	const struct node_report *r, const char *realm, uint32_t *at)
{
	while (*at < r->head->ports) {
		const struct node_status_port *p = &r->ports[(*at)++];
		if (*p->name && !p->closed &&
			strcmp(realm_of(r, p), realm) == 0)
			return p;
	}
	return NULL;
}

/* Returns the process whose port has the name, or 0 if it is not known. */
static uint32_t port_holder(
	const struct node_address *node, const char *realm, const char *name)
{
	const struct node_status_port *p;
	struct node_report r;
	uint32_t pid = 0, at = 0;
	if (node_client_status(node, &r) != 0)
		return 0;
	while (!pid && (p = port_next(&r, realm, &at)))
		pid = strcmp(p->name, name) == 0 ? p->pid : 0;
	node_report_free(&r);
	return pid;
}

int cli_port_open(const char *command, const char *node, const char *realm,
	const char *name, struct cay_port **port)
{
	const struct cay_port_options options = {
		.node = node, .realm = realm, .name = name
	};
	struct node_address address;
	char in_realm[NODE_NAME_MAX], holder[32] = "";
	int status = option_node_and_realm(command, node, realm);
	if (status >= 0)
		return status;
	*port = cay_port_open(&options);
	if (*port)
		return -1;
	int error = errno;
	node_address(node, &address);
	node_realm(realm, in_realm);
	if (error == EPERM)
		return cli_error(command,
			"node '%s' belongs to another user; choose another "
			"name with --node or CAY_NODE",
			address.name);
	if (error != EEXIST)
		return cli_error(command, "cannot open a port on node '%s': %s",
			address.name,
			cay_call_strerror("cay_port_open", error));
	uint32_t pid = port_holder(&address, in_realm, name);
	if (pid)
		snprintf(holder, sizeof(holder), " (process %u)", pid);
	return cli_error(command,
		"another port has the name '%s'%s in realm '%s' of node '%s'; "
		"choose another name, or see 'cay node status'",
		name, holder, in_realm, address.name);
}

int cli_port_unknown(const char *command, const char *node, const char *realm,
	const char *name)
{
	const struct node_status_port *p;
	struct node_address address;
	struct node_report r;
	char in_realm[NODE_NAME_MAX];
	char names[NAMES_MAX * (NODE_NAME_MAX + 2) + 8] = "";
	size_t used = 0;
	uint32_t at = 0, count = 0;

	node_address(node, &address);
	node_realm(realm, in_realm);
	if (node_client_status(&address, &r) == 0) {
		for (; count < NAMES_MAX && (p = port_next(&r, in_realm, &at));
			count++)
			used += (size_t)snprintf(names + used,
				sizeof(names) - used, "%s%s", count ? ", " : "",
				p->name);
		if (count == NAMES_MAX && port_next(&r, in_realm, &at))
			snprintf(names + used, sizeof(names) - used, ", ...");
		node_report_free(&r);
	}
	return cli_error(command,
		"no port has the name '%s' in realm '%s' of node '%s'; %s%s; "
		"start a receiver first ('cay recv %s'), or wait longer with "
		"--wait",
		name, in_realm, address.name,
		count ? "the names there are " : "no port there has a name",
		names, name);
}
