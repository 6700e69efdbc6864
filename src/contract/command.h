/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a command is, for whoever must tell one kind from another. The codes are
 * those of cay/contract.h; flags and lengths in them do not matter here.
 */
#ifndef CAY_CONTRACT_COMMAND_H
#define CAY_CONTRACT_COMMAND_H

#include <stdbool.h>

#include "cay/contract.h"

/* Bits 7:4 of those whose codes have others set. */
enum command_operation {
	OPERATION_FAA = CAY_FAA & CAY_COMMAND_OPERATION,
	OPERATION_CAS = CAY_CAS & CAY_COMMAND_OPERATION,
};

static inline unsigned command_operation(unsigned command)
{
	return command & CAY_COMMAND_OPERATION;
}

static inline bool command_sends(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_SEND || operation == CAY_SEND;
}

static inline bool command_puts(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_PUT || operation == CAY_PUT;
}

static inline bool command_gets(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_FAST_GET || operation == CAY_GET;
}

static inline bool command_atomic(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == OPERATION_FAA || operation == OPERATION_CAS;
}

/* On one word, at once: its address must be aligned. */
static inline bool command_on_word(unsigned command)
{
	return command_atomic(command) ||
	       command_operation(command) == CAY_MISALIGNED_PUT;
}

/* Remote memory. */
static inline bool command_accesses(unsigned command)
{
	return command_puts(command) || command_gets(command) ||
	       command_on_word(command);
}

#endif
