/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of nodes and realms. */
#include "node/address.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"

CAY_STATIC_ASSERT(sizeof(NODE_DIRECTORY "/" NODE_SOCKET) + 10 + NODE_NAME_MAX <
			  sizeof(((struct sockaddr_un *)0)->sun_path),
	"the longest path fits");

bool node_name_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._:@+-";
	size_t length = strnlen(name, NODE_NAME_MAX);
	return length > 0 && length < NODE_NAME_MAX &&
	       strspn(name, allowed) == length;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	if (a && *a)
		return a;
	return b && *b ? b : c;
}

bool node_directory_valid(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IRWXG | S_IRWXO));
}

int node_address(const char *name, struct node_address *a)
{
	static const char *const job_ids[] = { "SLURM_JOB_ID", "PBS_JOBID",
		"LSB_JOBID", "JOB_ID", "FLUX_JOB_ID" };
	const char *job = "default";
	/* The processes of a batch job share a node; the first ID counts. */
	for (unsigned i = ARRAY_COUNT(job_ids); i-- > 0;) {
		const char *value = secure_getenv(job_ids[i]);
		if (value && node_name_valid(value))
			job = value;
	}
	const char *chosen = first_of(name, secure_getenv("CAY_NODE"), job);
	if (!node_name_valid(chosen))
		return -EINVAL;

	memset(a, 0, sizeof(*a));
	snprintf(a->name, sizeof(a->name), "%s", chosen);
	a->address.sun_family = AF_UNIX;
	/* A leading 0 makes the address abstract. */
	int n = snprintf(a->address.sun_path + 1,
		sizeof(a->address.sun_path) - 1, "cay/%u/%s",
		(unsigned)geteuid(), chosen);
	a->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)n);

	char directory[sizeof(NODE_DIRECTORY) + 10];
	struct stat st;
	snprintf(directory, sizeof(directory), NODE_DIRECTORY,
		(unsigned)geteuid());
	if (lstat(directory, &st) != 0 || !node_directory_valid(&st))
		return 0;
	a->path.sun_family = AF_UNIX;
	n = snprintf(a->path.sun_path, sizeof(a->path.sun_path),
		"%s/" NODE_SOCKET "%s", directory, chosen);
	a->path_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				     1 + (size_t)n);
	return 0;
}

int node_realm(const char *name, char realm[NODE_NAME_MAX])
{
	const char *chosen =
		first_of(name, secure_getenv("CAY_REALM"), "default");
	if (!node_name_valid(chosen))
		return -EINVAL;
	/* The whole array is sent. */
	memset(realm, 0, NODE_NAME_MAX);
	snprintf(realm, NODE_NAME_MAX, "%s", chosen);
	return 0;
}
