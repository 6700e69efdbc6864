/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All units in one translation unit, callees first. The file of a platform
 * includes its host_*.h and then this header.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "device/ack.h"
#include "device/context.h"
#include "device/packet.h"
#include "device/queue.h"
#include "device/ultra.h"

#include "device/entry_repair.h"

/* The order is that of the units. */
/* clang-format off */
#include "device/record.c"
#include "device/room.c"
#include "device/claim.c"
#include "device/notify.c"
#include "device/reference.c"
#include "device/window.c"
#include "device/translate.c"
#include "device/completer.c"
#include "device/posted.c"
#include "device/responder.c"
#include "device/ack.c"
#include "device/dispatch.c"
#include "device/transmit.c"
#include "device/complete.c"
#include "device/route.c"
#include "device/hazard.c"
#include "device/requester_vci.c"
#include "device/requester.c"
#include "device/fetch.c"
#include "device/status.c"
#include "device/trigger.c"
#include "device/ultra.c"
#include "device/entry_repair.c"
/* clang-format on */
