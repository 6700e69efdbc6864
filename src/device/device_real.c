/* SPDX-License-Identifier: BSD-2-Clause */
/* The device on the real platform, as one translation unit. */
#include "device/host_real.h"

#ifdef CAY_HOST_STEPS
void (*host_step_hook)(enum device_step);
#endif

#include "device/units.h"
