/* SPDX-License-Identifier: BSD-2-Clause */
/* Translation of errors of libcay and of the device into those of libfabric. */
#include <stdlib.h>
#include <string.h>

#include "provider/provider.h"

int provider_error(int error)
{
	switch (-error) {
	case EPIPE:
	case ENXIO:
	case ESRCH:
	case ECONNRESET:
		return -FI_EHOSTUNREACH;
	case ECHILD:
		return -FI_EOPBADSTATE;
	case ENOBUFS:
		return -FI_ENOMEM;
	case ENFILE:
		return -FI_EMFILE;
	case EEXIST:
		return -FI_EADDRINUSE;
	case EPROTO:
	case EBADMSG:
	case EPROTONOSUPPORT:
		return -FI_EOTHER;
	default: /* the numbers are equal */
		return error;
	}
}

static const int device_errors[CAY_ERROR_COUNT] = {
	[CAY_ERROR_ORIGIN_WINDOW] = FI_EKEYREJECTED,
	[CAY_ERROR_TARGET_WINDOW] = FI_EKEYREJECTED,
	[CAY_ERROR_CAPABILITY] = FI_EKEYREJECTED,
	[CAY_ERROR_ORIGIN_BOUNDS] = FI_EINVAL,
	[CAY_ERROR_TARGET_BOUNDS] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_OFFSET_ALIGN] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_LENGTH_ALIGN] = FI_EINVAL,
	[CAY_ERROR_TARGET_OFFSET_ALIGN] = FI_EINVAL,
	[CAY_ERROR_TARGET_LENGTH_ALIGN] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_LOCKED] = FI_EACCES,
	[CAY_ERROR_TARGET_LOCKED] = FI_EACCES,
	[CAY_ERROR_RIGHTS] = FI_EACCES,
	[CAY_ERROR_REALM] = FI_EACCES,
	[CAY_ERROR_TARGET_VPID] = FI_EHOSTUNREACH,
	[CAY_ERROR_UNREACHABLE] = FI_EHOSTUNREACH,
	[CAY_ERROR_GONE] = FI_EHOSTUNREACH,
	[CAY_ERROR_TIMEOUT] = FI_ECANCELED,
	[CAY_ERROR_MEMORY] = FI_EFAULT,
	[CAY_ERROR_POSTED_ADDRESS] = FI_EFAULT,
	[CAY_ERROR_POSTED_TRUNCATED] = FI_ETRUNC,
	[CAY_ERROR_NO_RESOURCES] = FI_ENOMEM,
};

int provider_device_error(int code)
{
	int error = 0;
	if (code >= 0 && code < CAY_ERROR_COUNT)
		error = device_errors[code];
	return error ? error : FI_EIO;
}

/* ---- logging ---- */

static const struct {
	int error;
	const char *advice;
} advices[] = {
	{ FI_EINVAL, "an argument is invalid, or the access is outside the "
		     "memory region: see fi_cay(7), Limits" },
	{ FI_EMSGSIZE, "the message exceeds a limit of fi_cay(7)" },
	{ FI_EOPNOTSUPP, "the endpoint was opened without this capability" },
	{ FI_EOPBADSTATE, "the endpoint is not enabled, or belongs to the "
			  "parent process" },
	{ FI_EKEYREJECTED, "no memory region has this key: it is not "
			   "registered, or closed" },
	{ FI_EACCES, "the memory region does not grant the access" },
	{ FI_EFAULT, "memory of the region or the buffer is not mapped" },
	{ FI_ETRUNC, "the message is longer than the receive buffer" },
	{ FI_ENOMEM, "no memory, or a quota is used up: look at RLIMIT_AS, the "
		     "limit of the cgroup and 'cay node status'" },
	{ FI_ENOSPC, "too many memory regions: raise FI_CAY_MR_COUNT" },
	{ FI_ENOKEY, "a memory region has the requested key" },
	{ FI_EADDRINUSE, "another endpoint has the name or service" },
	{ FI_EMFILE, "raise RLIMIT_NOFILE (ulimit -n)" },
	{ FI_ETIMEDOUT, "the node does not reply: is it stopped, or the "
			"machine overloaded?" },
};

static const char *advice(int error)
{
	for (unsigned i = 0; i < ARRAY_COUNT(advices); i++)
		if (advices[i].error == error)
			return advices[i].advice;
	return "run 'cay doctor'";
}

ssize_t provider_call_failed(const char *call, ssize_t result)
{
	int error = (int)-result;
	if (error != FI_EAGAIN && error != FI_EHOSTUNREACH &&
		error != FI_ENOTCONN)
		LOG_WARN(EP_DATA, "%s: %s: %s\n", call, fi_strerror(error),
			advice(error));
	return result;
}

void provider_completion_failed(uint64_t flags, int error)
{
	char kind[128];
	if (error == FI_ENOMSG || error == FI_ECANCELED ||
		error == FI_EHOSTUNREACH)
		return;
	fi_tostr_r(kind, sizeof(kind), &flags, FI_TYPE_CQ_EVENT_FLAGS);
	LOG_WARN(CQ, "an operation (%s) has failed: %s: %s\n", kind,
		fi_strerror(error), advice(error));
}

const char *provider_strerror(int error, char *buffer, size_t length)
{
	const char *text = fi_strerror(abs(error));
	if (!buffer || !length)
		return text;
	strncpy(buffer, text, length - 1);
	buffer[length - 1] = 0;
	return buffer;
}
