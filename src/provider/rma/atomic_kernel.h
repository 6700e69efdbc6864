/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What atomic operations do to one element: every operation of libfabric on
 * every type for which it means something. Any thread.
 */
#ifndef CAY_PROVIDER_ATOMIC_KERNEL_H
#define CAY_PROVIDER_ATOMIC_KERNEL_H

#include "provider/provider.h"

#define ATOMIC_ELEMENT_MAX 32 /* bytes */

/* By which calls an operation is asked for. */
enum atomic_kind {
	ATOMIC_WRITES,	 /* fi_atomic() */
	ATOMIC_FETCHES,	 /* fi_fetch_atomic() */
	ATOMIC_COMPARES, /* fi_compare_atomic() */
};

/* Bytes of an element; 0: no such type. */
size_t atomic_bytes(enum fi_datatype);
/* Is there such a call for this operation, and does it know the type? */
bool atomic_known(enum atomic_kind, enum fi_datatype, enum fi_op);
/* Does it use compare values? */
bool atomic_compares(enum fi_op);

/*
 * Executes one element. Other processors see it at once if the element has at
 * most 8 bytes and is aligned; else it is up to the caller that nobody else
 * executes one there. previous gets what was there before. None of the
 * arguments need be aligned. The type and operation are known.
 */
void atomic_execute(enum fi_datatype, enum fi_op, void *memory,
	const void *operand, const void *compare, void *previous);

#endif
