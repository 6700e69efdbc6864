/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine on the real clock: engine_open(), engine_step(), ... It serves
 * ports whose consumers are other processes.
 */
#ifndef CAY_DEVICE_MACHINE_ENGINE_H
#define CAY_DEVICE_MACHINE_ENGINE_H

#include "device/machine/machine.h"

#define MACHINE(name) engine_##name
/* clang-format off */
#include "device/machine/entry.h"
/* clang-format on */
#undef MACHINE

#endif
