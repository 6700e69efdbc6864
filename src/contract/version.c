/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of the library at run time. */
#include "cay/version.h"

unsigned cay_version(void)
{
	return CAY_VERSION;
}
