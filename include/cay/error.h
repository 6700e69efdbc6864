/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and descriptions of error numbers, error codes and commands. */
#ifndef CAY_ERROR_H
#define CAY_ERROR_H

#include "cay/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Describes an error number returned by a Cay call (-errno, or errno after a
 * call returned NULL), whichever call it was. Returns a constant string, never
 * NULL. Thread-safe; does not block.
 */
CAY_API const char *cay_strerror(int error);

/*
 * Describes an error number of a certain call, such as "cay_send": what it
 * means there, and how to proceed. Returns cay_strerror() if the call is
 * unknown or does not return this error. Thread-safe; does not block.
 */
CAY_API const char *cay_call_strerror(const char *call, int error);

/*
 * Returns the name of an error code, such as "peer_gone" for CAY_ERROR_GONE, or
 * "unknown". Thread-safe; does not block.
 */
CAY_API const char *cay_error_name(unsigned code);

/*
 * Describes an error code (enum cay_error). Returns a constant string, never
 * NULL. Thread-safe; does not block.
 */
CAY_API const char *cay_error_text(unsigned code);

/*
 * Returns the name of a command, such as "FAST_SEND" for a FAST_SEND with any
 * number of words, or "unknown". Thread-safe; does not block.
 */
CAY_API const char *cay_command_name(unsigned command);

#ifdef __cplusplus
}
#endif

#endif
