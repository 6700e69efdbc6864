/* SPDX-License-Identifier: BSD-2-Clause */
/* The program bench-ucx: sessions of UCT and UCP. */
#include <stdio.h>
#include <ucp/api/ucp.h>

#include "bench/ucx/ucx.h"

#define SHARED_BYTES 16384u

int main(int argc, char **argv)
{
	char version[64];
	unsigned major, minor, patch;

	ucp_get_version(&major, &minor, &patch);
	snprintf(version, sizeof(version), "UCX %u.%u.%u", major, minor, patch);
	const struct session_peer peers[] = {
		{ "uct", version, SHARED_BYTES, NULL, uct_workload },
		{ "ucp", version, SHARED_BYTES, NULL, ucp_workload },
	};
	return session_main(argc, argv, peers, ARRAY_COUNT(peers));
}
