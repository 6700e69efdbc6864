/* SPDX-License-Identifier: BSD-2-Clause */
/* The program bench-fabric: sessions of providers of libfabric. */
#include <stdio.h>

#include "bench/fabric/link.h"
#include "bench/fabric/workloads.h"
#include "bench/harness/session.h"

static const struct workload *const cay[SESSION_KINDS] = {
	[SESSION_LATENCY] = &cay_ping_workload,
	[SESSION_RATE] = &cay_stream_workload,
	[SESSION_PUT_SEEN] = &cay_seen_workload,
	[SESSION_PUT_FLUSH] = &cay_put_workload,
	[SESSION_GET] = &cay_get_workload,
	[SESSION_FETCH_ADD] = &cay_add_workload,
};
static const struct workload *const shm[SESSION_KINDS] = {
	[SESSION_LATENCY] = &shm_ping_workload,
	[SESSION_RATE] = &shm_stream_workload,
	[SESSION_PUT_SEEN] = &shm_seen_workload,
	[SESSION_PUT_FLUSH] = &shm_put_workload,
	[SESSION_GET] = &shm_get_workload,
	[SESSION_FETCH_ADD] = &shm_add_workload,
};

static const struct workload *cay_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return cay[kind];
}

static const struct workload *shm_of(enum session_kind kind, size_t bytes)
{
	(void)bytes;
	return shm[kind];
}

int main(int argc, char **argv)
{
	char version[32];

	snprintf(version, sizeof(version), "libfabric %u.%u",
		FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	const struct session_peer peers[] = {
		{ "cay", version, LINK_SHARED_BYTES, NULL, cay_of },
		{ "shm", version, LINK_SHARED_BYTES, NULL, shm_of },
	};
	return session_main(argc, argv, peers, ARRAY_COUNT(peers));
}
