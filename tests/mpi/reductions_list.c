/* SPDX-License-Identifier: BSD-2-Clause */
/* See reductions.h. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "reductions.h"

#define LIST_MAX 128

struct pair {
	double value;
	int place;
};

/* Matrix products, which depend on the order; words wrap around. */
struct matrix {
	unsigned cell[4];
};

static struct reduction list[LIST_MAX];
static int length;
static MPI_Datatype matrix_type;
static MPI_Op matrix_op;

static void matrix_multiply(
	void *left, void *right, int *count, MPI_Datatype *type)
{
	const struct matrix *a = left;
	struct matrix *b = right;

	(void)type;
	for (int i = 0; i < *count; i++) {
		const unsigned *x = a[i].cell, *y = b[i].cell;
		b[i] = (struct matrix){ { x[0] * y[0] + x[1] * y[2],
			x[0] * y[1] + x[1] * y[3], x[2] * y[0] + x[3] * y[2],
			x[2] * y[1] + x[3] * y[3] } };
	}
}

static void add(const char *name, MPI_Datatype type, MPI_Op op, size_t bytes)
{
	CHECK(length < LIST_MAX, "too many reductions");
	list[length++] =
		(struct reduction){ name, type, op, bytes, op != matrix_op };
}

static void add_number(const char *name, MPI_Datatype type, size_t bytes)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN };

	for (int i = 0; i < 4; i++)
		add(name, type, ops[i], bytes);
}

static void add_bits(const char *name, MPI_Datatype type, size_t bytes)
{
	static const MPI_Op ops[] = { MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND,
		MPI_LOR, MPI_LXOR };

	for (int i = 0; i < 6; i++)
		add(name, type, ops[i], bytes);
}

/* With Open MPI's op/avx, sums of short types wrap around or saturate. */
static void add_short(const char *name, MPI_Datatype type, size_t bytes)
{
	add(name, type, MPI_MAX, bytes);
	add(name, type, MPI_MIN, bytes);
	add_bits(name, type, bytes);
}

static void add_integer(const char *name, MPI_Datatype type, size_t bytes)
{
	add_number(name, type, bytes);
	add_bits(name, type, bytes);
}

int reductions_open(const struct reduction **first)
{
	MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix_type);
	MPI_Type_commit(&matrix_type);
	MPI_Op_create(matrix_multiply, 0, &matrix_op);
	length = 0;
	add_short("uint8", MPI_UINT8_T, 1);
	add_short("int16", MPI_INT16_T, 2);
	add_integer("int", MPI_INT, 4);
	add_integer("uint64", MPI_UINT64_T, 8);
	add_number("float", MPI_FLOAT, sizeof(float));
	add_number("double", MPI_DOUBLE, sizeof(double));
	add("pair", MPI_DOUBLE_INT, MPI_MAXLOC, sizeof(struct pair));
	add("pair", MPI_DOUBLE_INT, MPI_MINLOC, sizeof(struct pair));
	add("matrix", matrix_type, matrix_op, sizeof(struct matrix));
	*first = list;
	return length;
}

void reductions_close(void)
{
	MPI_Type_free(&matrix_type);
	MPI_Op_free(&matrix_op);
}

static unsigned number(int rank, int i)
{
	unsigned x = (unsigned)rank * 2246822519u + (unsigned)i * 3266489917u;

	return x ^ x >> 15;
}

/* Powers of two: sums and products of a few dozen are exact. */
static int power(int rank, int i)
{
	return 1 << number(rank, i) % 3;
}

static void item_fill(
	const struct reduction *reduction, void *to, int rank, int i)
{
	if (reduction->type == MPI_FLOAT)
		*(float *)to = (float)power(rank, i);
	else if (reduction->type == MPI_DOUBLE)
		*(double *)to = power(rank, i);
	else if (reduction->type == MPI_DOUBLE_INT)
		*(struct pair *)to = (struct pair){ power(rank, i), rank };
	else
		bytes_fill(to, reduction->bytes, number(rank, i));
}

void contribution_fill(
	const struct reduction *reduction, void *items, int count, int rank)
{
	memset(items, 0, count * reduction->bytes);
	for (int i = 0; i < count; i++)
		item_fill(reduction, (char *)items + i * reduction->bytes, rank,
			i);
}

static void fold(const struct reduction *reduction, void *result, int count,
	int first, int last)
{
	void *left = allocate(count * reduction->bytes);

	contribution_fill(reduction, result, count, last);
	for (int rank = last - 1; rank >= first; rank--) {
		contribution_fill(reduction, left, count, rank);
		MPI_Reduce_local(
			left, result, count, reduction->type, reduction->op);
	}
	free(left);
}

static bool same(
	const struct reduction *reduction, const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (reduction->type == MPI_DOUBLE_INT)
		return x->value == y->value && x->place == y->place;
	return memcmp(a, b, reduction->bytes) == 0;
}

void result_check(const struct reduction *reduction, const void *items, int at,
	int count, int first, int last, const char *what)
{
	char *wanted = allocate((at + count) * reduction->bytes);

	fold(reduction, wanted, at + count, first, last);
	for (int i = 0; i < count; i++)
		CHECK(same(reduction,
			      (const char *)items + i * reduction->bytes,
			      wanted + (at + i) * reduction->bytes),
			"%s of %s, operation %d of the list: item %d of %d is "
			"wrong",
			what, reduction->name, (int)(reduction - list), i,
			count);
	free(wanted);
}
