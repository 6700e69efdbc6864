/* SPDX-License-Identifier: BSD-2-Clause */
/* The device on the counting platform, as one translation unit. */
#include "device/host_counting.h"

#include "device/units.h"

#include "device/entry.c"
