/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of fi_getinfo() and checks of its result. Each test starts with empty
 * hints that name the provider, fills them in, and calls.
 */
#ifndef CAY_TESTS_PROVIDER_GETINFO_H
#define CAY_TESTS_PROVIDER_GETINFO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define NOW	 FI_VERSION(1, 17)
#define BEFORE	 FI_VERSION(1, 4) /* no mode bits of registration */
#define MIB	 (1024 * 1024)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define MSG_WAYS (FI_SEND | FI_RECV)
#define RMA_WAYS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define COMM	 (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define ALL_CAPS                                                              \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | MSG_WAYS | RMA_WAYS |      \
		FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE | FI_RMA_EVENT | \
		COMM)

static struct fi_info *hints;
static struct fi_info *info; /* the last result, or NULL */

static inline int set_up(void **state)
{
	(void)state;
	hints = fi_allocinfo();
	hints->fabric_attr->prov_name = strdup("cay");
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	fi_freeinfo(hints);
	if (info)
		fi_freeinfo(info);
	info = NULL;
	return 0;
}

static inline int get(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *h)
{
	if (info)
		fi_freeinfo(info);
	info = NULL;
	return fi_getinfo(version, node, service, flags, h, &info);
}

static inline void grant(void)
{
	assert_int_equal(get(NOW, NULL, NULL, 0, hints), 0);
	assert_non_null(info);
	assert_null(info->next);
	assert_string_equal(info->fabric_attr->prov_name, "cay");
}

#define REFUSE() assert_int_equal(get(NOW, NULL, NULL, 0, hints), -FI_ENODATA)

/* Sets a member of the hints to a supported and to an unsupported value. */
#define LIMIT(member, most)            \
	do {                           \
		(member) = (most);     \
		grant();               \
		(member) = (most) + 1; \
		REFUSE();              \
		(member) = 0;          \
	} while (0)

/* libfabric reads the environment once, at its first call. */
static inline void getinfo_environment(void)
{
	setenv("FI_PROVIDER", "cay", 1);
	setenv("FI_CAY_UNEXPECTED_BYTES", "3145728", 1);
	setenv("FI_CAY_MR_COUNT", "65535", 1); /* one too many: the default */
	setenv("FI_CAY_SPIN_US", "-1", 1);
}

#endif
