/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classification of commands. The codes are those of cay/contract.h; flags and
 * lengths in a command are ignored.
 */
#ifndef CAY_CONTRACT_COMMAND_H
#define CAY_CONTRACT_COMMAND_H

#include <stdbool.h>

#include "cay/contract.h"

/* Bits 7:4 of commands whose codes have other bits set. */
enum command_operation {
	OPERATION_FAA = CAY_FAA & CAY_COMMAND_OPERATION,
	OPERATION_CAS = CAY_CAS & CAY_COMMAND_OPERATION,
};

static inline unsigned command_operation(unsigned command)
{
	return command & CAY_COMMAND_OPERATION;
}

static inline bool command_is_send(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_SEND || operation == CAY_SEND;
}

static inline bool command_is_put(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_PUT || operation == CAY_PUT;
}

static inline bool command_is_get(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_GET || operation == CAY_GET;
}

static inline bool command_is_atomic(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == OPERATION_FAA || operation == OPERATION_CAS;
}

/* Accesses one word indivisibly: the address must be aligned. */
static inline bool command_is_word(unsigned command)
{
	return command_is_atomic(command) ||
	       command_operation(command) == CAY_MISALIGNED_PUT;
}

/* Accesses remote memory. */
static inline bool command_is_access(unsigned command)
{
	return command_is_put(command) || command_is_get(command) ||
	       command_is_word(command);
}

#endif
