/* SPDX-License-Identifier: BSD-2-Clause */
/* The device in the node; see device_node.c. */
#ifndef CAY_DEVICE_DEVICE_NODE_H
#define CAY_DEVICE_DEVICE_NODE_H

#include "device/ack.h"
#include "device/context.h"
#include "device/queue.h"

#define DEVICE(name) node_device_##name
#include "device/entry_repair.h"
#undef DEVICE

#endif
