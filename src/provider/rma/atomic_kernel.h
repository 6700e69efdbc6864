/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executes atomic operations on one element: every operation of libfabric on
 * every type for which it is defined. Any thread.
 */
#ifndef CAY_PROVIDER_ATOMIC_KERNEL_H
#define CAY_PROVIDER_ATOMIC_KERNEL_H

#include "provider/provider.h"

#define ATOMIC_ELEMENT_MAX 32 /* bytes */

/* The calls that post an operation. */
enum atomic_kind {
	ATOMIC_WRITES,	 /* fi_atomic() */
	ATOMIC_FETCHES,	 /* fi_fetch_atomic() */
	ATOMIC_COMPARES, /* fi_compare_atomic() */
};

/* Returns the size of an element, or 0 for an unknown type. */
size_t atomic_bytes(enum fi_datatype);
/* Returns true if this call supports the operation on this type. */
bool atomic_known(enum atomic_kind, enum fi_datatype, enum fi_op);

/*
 * Executes one element, and stores its previous value. It is atomic for other
 * processors if the element has at most 8 bytes and is aligned; otherwise the
 * caller must serialize. No argument need be aligned. The type and the
 * operation must be valid.
 */
void atomic_execute(enum fi_datatype, enum fi_op, void *memory,
	const void *operand, const void *compare, void *previous);

#endif
