/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See atomic_kernel.h. The new value is computed from the previous one and
 * stored by compare-and-swap, until no other store has come between.
 *
 * Integers of all sizes are computed in 128 bits and truncated, which is exact
 * for all that wraps around; reals are compared as long doubles, which is
 * exact, too. Only sums and products are computed in the type itself.
 */
#include "provider/rma/atomic_kernel.h"

#include <complex.h>
#include <stdatomic.h>
#include <string.h>

/* An element of any type. */
union element {
	unsigned char bytes[ATOMIC_ELEMENT_MAX];
	int8_t i8;
	uint8_t u8;
	int16_t i16;
	uint16_t u16;
	int32_t i32;
	uint32_t u32;
	int64_t i64;
	uint64_t u64;
	__int128 i128;
	float f;
	double d;
	long double l;
	float complex fc;
	double complex dc;
	long double complex lc;
};

enum family {
	NO_FAMILY,
	INTEGER,
	REAL,
	COMPLEX,
};

static const struct type {
	enum family family;
	size_t bytes;
} types[] = {
	[FI_INT8] = { INTEGER, 1 },
	[FI_UINT8] = { INTEGER, 1 },
	[FI_INT16] = { INTEGER, 2 },
	[FI_UINT16] = { INTEGER, 2 },
	[FI_INT32] = { INTEGER, 4 },
	[FI_UINT32] = { INTEGER, 4 },
	[FI_INT64] = { INTEGER, 8 },
	[FI_UINT64] = { INTEGER, 8 },
	[FI_FLOAT] = { REAL, sizeof(float) },
	[FI_DOUBLE] = { REAL, sizeof(double) },
	[FI_FLOAT_COMPLEX] = { COMPLEX, sizeof(float complex) },
	[FI_DOUBLE_COMPLEX] = { COMPLEX, sizeof(double complex) },
	[FI_LONG_DOUBLE] = { REAL, sizeof(long double) },
	[FI_LONG_DOUBLE_COMPLEX] = { COMPLEX, sizeof(long double complex) },
	[FI_INT128] = { INTEGER, 16 },
	[FI_UINT128] = { INTEGER, 16 },
};

static const struct type *type_of(enum fi_datatype t)
{
	static const struct type none;
	return (unsigned)t < ARRAY_COUNT(types) ? &types[t] : &none;
}

size_t atomic_bytes(enum fi_datatype t)
{
	return type_of(t)->bytes;
}

/* Complex numbers have no order; bit operations are for integers. */
static bool family_knows(enum family family, enum fi_op op)
{
	switch (op) {
	case FI_MIN:
	case FI_MAX:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return family == INTEGER || family == REAL;
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
	case FI_MSWAP:
		return family == INTEGER;
	default:
		return family != NO_FAMILY;
	}
}

bool atomic_known(enum atomic_kind kind, enum fi_datatype t, enum fi_op op)
{
	if ((unsigned)op >= FI_ATOMIC_OP_LAST ||
		(kind == ATOMIC_COMPARES) !=
			(op >= FI_CSWAP && op <= FI_MSWAP) ||
		(kind == ATOMIC_WRITES && op == FI_ATOMIC_READ))
		return false;
	return family_knows(type_of(t)->family, op);
}

/* ---- values ---- */

static __int128 integer(enum fi_datatype t, const union element *e)
{
	switch (t) {
	case FI_INT8:
		return e->i8;
	case FI_UINT8:
		return e->u8;
	case FI_INT16:
		return e->i16;
	case FI_UINT16:
		return e->u16;
	case FI_INT32:
		return e->i32;
	case FI_UINT32:
		return e->u32;
	case FI_INT64:
		return e->i64;
	case FI_UINT64:
		return e->u64;
	default:
		return e->i128;
	}
}

static unsigned __int128 wide(enum fi_datatype t, const union element *e)
{
	return (unsigned __int128)integer(t, e);
}

/* Little-endian: the lowest bytes are the first ones. */
static void integer_set(union element *e, unsigned __int128 value)
{
	memcpy(e->bytes, &value, sizeof(value));
}

static long double real(enum fi_datatype t, const union element *e)
{
	return t == FI_FLOAT ? e->f : t == FI_DOUBLE ? e->d : e->l;
}

static long double complex number(enum fi_datatype t, const union element *e)
{
	return t == FI_FLOAT_COMPLEX	? e->fc
	       : t == FI_DOUBLE_COMPLEX ? e->dc
					: e->lc;
}

static bool less(
	enum fi_datatype t, const union element *a, const union element *b)
{
	if (type_of(t)->family == REAL)
		return real(t, a) < real(t, b);
	if (t == FI_UINT128)
		return (unsigned __int128)a->i128 < (unsigned __int128)b->i128;
	return integer(t, a) < integer(t, b);
}

static bool equal(
	enum fi_datatype t, const union element *a, const union element *b)
{
	switch (type_of(t)->family) {
	case REAL:
		return real(t, a) == real(t, b);
	case COMPLEX:
		return number(t, a) == number(t, b);
	default:
		return integer(t, a) == integer(t, b);
	}
}

static bool truth(enum fi_datatype t, const union element *e)
{
	static const union element zero;
	return !equal(t, e, &zero);
}

static void truth_set(enum fi_datatype t, bool value, union element *e)
{
	memset(e, 0, sizeof(*e));
	switch (t) {
	case FI_FLOAT:
	case FI_FLOAT_COMPLEX: /* the real part comes first */
		e->f = value;
		break;
	case FI_DOUBLE:
	case FI_DOUBLE_COMPLEX:
		e->d = value;
		break;
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
		e->l = value;
		break;
	default:
		integer_set(e, value);
		break;
	}
}

/* Sets e to (e sign by), computed in the type itself. */
#define COMBINE(t, e, sign, by)                              \
	switch (t) {                                         \
	case FI_FLOAT:                                       \
		e->f = e->f sign by->f;                      \
		break;                                       \
	case FI_DOUBLE:                                      \
		e->d = e->d sign by->d;                      \
		break;                                       \
	case FI_LONG_DOUBLE:                                 \
		e->l = e->l sign by->l;                      \
		break;                                       \
	case FI_FLOAT_COMPLEX:                               \
		e->fc = e->fc sign by->fc;                   \
		break;                                       \
	case FI_DOUBLE_COMPLEX:                              \
		e->dc = e->dc sign by->dc;                   \
		break;                                       \
	case FI_LONG_DOUBLE_COMPLEX:                         \
		e->lc = e->lc sign by->lc;                   \
		break;                                       \
	default:                                             \
		integer_set(e, wide(t, e) sign wide(t, by)); \
		break;                                       \
	}

/* ---- operations ---- */

static bool swaps(enum fi_datatype t, enum fi_op op, const union element *there,
	const union element *compare)
{
	switch (op) {
	case FI_CSWAP:
		return equal(t, compare, there);
	case FI_CSWAP_NE:
		return !equal(t, compare, there);
	case FI_CSWAP_LE:
		return less(t, compare, there) || equal(t, compare, there);
	case FI_CSWAP_LT:
		return less(t, compare, there);
	case FI_CSWAP_GE:
		return less(t, there, compare) || equal(t, compare, there);
	default: /* FI_CSWAP_GT */
		return less(t, there, compare);
	}
}

/* Replaces the previous value by the new one. */
static void compute(enum fi_datatype t, enum fi_op op, union element *e,
	const union element *by, const union element *compare)
{
	__int128 mask;
	switch (op) {
	case FI_MIN:
		if (less(t, by, e))
			*e = *by;
		break;
	case FI_MAX:
		if (less(t, e, by))
			*e = *by;
		break;
	case FI_SUM:
		COMBINE(t, e, +, by)
		break;
	case FI_PROD:
		COMBINE(t, e, *, by)
		break;
	case FI_LOR:
		truth_set(t, truth(t, e) || truth(t, by), e);
		break;
	case FI_LAND:
		truth_set(t, truth(t, e) && truth(t, by), e);
		break;
	case FI_LXOR:
		truth_set(t, truth(t, e) != truth(t, by), e);
		break;
	case FI_BOR:
		e->i128 |= by->i128;
		break;
	case FI_BAND:
		e->i128 &= by->i128;
		break;
	case FI_BXOR:
		e->i128 ^= by->i128;
		break;
	case FI_ATOMIC_READ:
		break;
	case FI_ATOMIC_WRITE:
		*e = *by;
		break;
	case FI_MSWAP:
		mask = compare->i128;
		e->i128 = (by->i128 & mask) | (e->i128 & ~mask);
		break;
	default:
		if (swaps(t, op, e, compare))
			*e = *by;
		break;
	}
}

/* ---- memory ---- */

/*
 * Sequentially consistent: libfabric does not specify the order of atomics with
 * respect to other memory, and MPI requires it.
 */
static void word_load(void *memory, size_t bytes, union element *e)
{
	switch (bytes) {
	case 1:
		e->u8 = atomic_load((_Atomic uint8_t *)memory);
		break;
	case 2:
		e->u16 = atomic_load((_Atomic uint16_t *)memory);
		break;
	case 4:
		e->u32 = atomic_load((_Atomic uint32_t *)memory);
		break;
	default:
		e->u64 = atomic_load((_Atomic uint64_t *)memory);
		break;
	}
}

/* Returns false with the current value if the memory has changed. */
static bool word_swap(void *memory, size_t bytes, union element *there,
	const union element *new)
{
	switch (bytes) {
	case 1:
		return atomic_compare_exchange_strong(
			(_Atomic uint8_t *)memory, &there->u8, new->u8);
	case 2:
		return atomic_compare_exchange_strong(
			(_Atomic uint16_t *)memory, &there->u16, new->u16);
	case 4:
		return atomic_compare_exchange_strong(
			(_Atomic uint32_t *)memory, &there->u32, new->u32);
	default:
		return atomic_compare_exchange_strong(
			(_Atomic uint64_t *)memory, &there->u64, new->u64);
	}
}

static union element element(const void *from, size_t bytes)
{
	union element e = { { 0 } };
	if (from)
		memcpy(e.bytes, from, bytes);
	return e;
}

void atomic_execute(enum fi_datatype t, enum fi_op op, void *memory,
	const void *operand, const void *compare, void *previous)
{
	size_t bytes = atomic_bytes(t);
	bool word = bytes <= 8 && (uintptr_t)memory % bytes == 0;
	union element by = element(operand, bytes);
	union element with = element(compare, bytes);
	union element there = element(word ? NULL : memory, bytes), new;
	if (word)
		word_load(memory, bytes, &there);
	/* The memory of a read may be read-only. */
	bool done = op == FI_ATOMIC_READ;
	while (!done) {
		new = there;
		compute(t, op, &new, &by, &with);
		done = !word || word_swap(memory, bytes, &there, &new);
	}
	if (!word && op != FI_ATOMIC_READ)
		memcpy(memory, new.bytes, bytes);
	memcpy(previous, there.bytes, bytes);
}
