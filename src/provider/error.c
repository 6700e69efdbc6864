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

const char *provider_strerror(int error, char *buffer, size_t length)
{
	const char *text = fi_strerror(abs(error));
	if (!buffer || !length)
		return text;
	strncpy(buffer, text, length - 1);
	buffer[length - 1] = 0;
	return buffer;
}
