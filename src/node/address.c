/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of nodes and realms; pure but for the environment. */
#include "node/address.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"

bool node_name_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._:@+-";
	size_t length = strnlen(name, NODE_NAME_MAX);
	return length > 0 && length < NODE_NAME_MAX &&
	       strspn(name, allowed) == length;
}

/* Processes of one batch job belong together, those of two do not. */
static const char *job_id(void)
{
	static const char *const variables[] = { "SLURM_JOB_ID", "PBS_JOBID",
		"LSB_JOBID", "JOB_ID", "FLUX_JOB_ID" };
	for (unsigned i = 0; i < ARRAY_COUNT(variables); i++) {
		const char *value = getenv(variables[i]);
		if (value && node_name_valid(value))
			return value;
	}
	return NULL;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	if (a && *a)
		return a;
	return b && *b ? b : c;
}

int node_address(const char *name, struct node_address *a)
{
	const char *job = job_id();
	const char *chosen =
		first_of(name, getenv("CAY_NODE"), job ? job : "default");
	if (!node_name_valid(chosen))
		return -EINVAL;

	memset(a, 0, sizeof(*a));
	snprintf(a->name, sizeof(a->name), "%s", chosen);
	a->address.sun_family = AF_UNIX;
	/* A leading 0 makes the name abstract. */
	int n = snprintf(a->address.sun_path + 1,
		sizeof(a->address.sun_path) - 1, "cay/%u/%s",
		(unsigned)geteuid(), chosen);
	a->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)n);
	return 0;
}

int node_realm(const char *name, char realm[NODE_NAME_MAX])
{
	const char *chosen = first_of(name, getenv("CAY_REALM"), "default");
	if (!node_name_valid(chosen))
		return -EINVAL;
	/* All of it is sent. */
	memset(realm, 0, NODE_NAME_MAX);
	snprintf(realm, NODE_NAME_MAX, "%s", chosen);
	return 0;
}
