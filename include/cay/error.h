/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and sentences for what calls return and what events carry. */
#ifndef CAY_ERROR_H
#define CAY_ERROR_H

#include "cay/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A sentence for what a Cay call returned (-errno, or errno after a
 * constructor gave NULL): what happened in Cay's terms and what to do about
 * it. Never NULL. The string is constant. Any thread; does not block.
 */
CAY_API const char *cay_strerror(int error);

/* "peer_gone" for CAY_ERROR_GONE, "unknown" for no code. Any thread. */
CAY_API const char *cay_error_name(unsigned code);

/* The sentence of an error code of the contract. Any thread. */
CAY_API const char *cay_error_text(unsigned code);

/* "FAST_SEND" for any FAST_SEND, "unknown" for none. Any thread. */
CAY_API const char *cay_command_name(unsigned command);

#ifdef __cplusplus
}
#endif

#endif
