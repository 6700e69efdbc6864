/* SPDX-License-Identifier: BSD-2-Clause */
/* Cay: a virtualized user-level network interface. See cay(7). */
#ifndef CAY_CAY_H
#define CAY_CAY_H

#include "cay/contract.h"
#include "cay/error.h"
#include "cay/memory.h"
#include "cay/message.h"
#include "cay/peer.h"
#include "cay/port.h"
#include "cay/posted.h"
#include "cay/raw.h"
#include "cay/remote.h"
#include "cay/ultra.h"
#include "cay/version.h"
#include "cay/window.h"

#endif
