/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libfabric provider "cay": parameters, logging and errors, for all its
 * objects. Each object has a header and a file of its name.
 *
 * Threads: everything that belongs to a domain is accessed under the domain
 * lock (domain.h). The calls of libfabric take it; functions without `fid` in
 * their signature are called with it held, unless their comment says otherwise.
 */
#ifndef CAY_PROVIDER_PROVIDER_H
#define CAY_PROVIDER_PROVIDER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "base/bits.h"
#include "base/list.h"
#include "cay/cay.h"

/* Its calls are filled in by the entry point (provider.c). */
extern struct fi_provider provider;

/* Segments of a request: in local memory, and in that of the target. */
#define PROVIDER_IOV_MAX     8
#define PROVIDER_RMA_IOV_MAX 4

#define PROVIDER_INJECT_BYTES 4096
#define PROVIDER_MESSAGE_MAX  (1ull << 40)

/* Parameters FI_CAY_<NAME> of the environment, read once. See fi_cay(7). */
struct settings {
	char *node;	     /* name of the node; NULL: the default */
	size_t nq_entries;   /* notification queue of a port */
	size_t rdr_bytes;    /* receive data region of a port */
	size_t eager_bytes;  /* longest eager message */
	size_t piece_bytes;  /* longest single get of a rendezvous message */
	size_t cocopy_bytes; /* shortest message with co-copy; 0: none */
	size_t unexpected_bytes; /* unexpected data held before XOFF */
	size_t mr_count;	 /* remotely accessible memory regions */
	size_t ultra_paths;	 /* incoming ULTRA paths of an endpoint */
	size_t ultra_messages;	 /* small messages after which one is made */
	size_t ultra_idle_ms;	 /* after which one is closed */
	size_t ultra_always;	 /* 1: also where they do not pay */
	size_t connect_ms;	 /* time a peer may take to come up */
	size_t spin_us;		 /* spinning before a wait sleeps */
};
extern struct settings settings;

/* Reads the parameters. Called once, by the entry point. */
void settings_read(void);

#define LOG_WARN(area, ...) FI_WARN(&provider, FI_LOG_##area, __VA_ARGS__)
#define LOG_INFO(area, ...) FI_INFO(&provider, FI_LOG_##area, __VA_ARGS__)

/* ---- error.c ---- */

/* Translates a negative errno of libcay into a negative fi_errno. */
int provider_error(int error);
/* Translates an enum cay_error into a positive fi_errno. */
int provider_device_error(int code);
/*
 * Log the error of a call, or of a completion with these flags, with what to
 * do. A call returns the result. -FI_EAGAIN is no error, nor is a peek that
 * finds nothing or a receive that the application cancels; the end of a peer is
 * logged once, where it is noticed.
 */
ssize_t provider_call_failed(const char *call, ssize_t result);
void provider_completion_failed(uint64_t flags, int error);
/*
 * Returns the text for a prov_errno of this provider, copied into the buffer if
 * there is one.
 */
const char *provider_strerror(int error, char *buffer, size_t length);

#endif
