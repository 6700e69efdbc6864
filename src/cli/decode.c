/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of the contract's records as tables; see cay_contract(7). */
#include "cli/decode.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cay/error.h"
#include "contract/command.h"

enum meaning {
	MEANS_ITSELF,
	MEANS_COMMAND,
	MEANS_COMMAND_IF_ANY,
	MEANS_FLAGS,
	MEANS_DATA,
};

struct layout {
	unsigned word, high, low;
	const char *name;
	enum meaning meaning;
};

static const struct layout vci_head[] = {
	{ 0, 15, 0, "command", MEANS_COMMAND },
	{ 0, 23, 16, "routing length", MEANS_ITSELF },
	{ 0, 31, 24, "flags", MEANS_FLAGS },
	{ 0, 55, 32, "routing offset", MEANS_ITSELF },
	{ 0, 63, 56, "generation", MEANS_ITSELF },
	{ 1, 15, 0, "target VPID", MEANS_ITSELF },
	{ 1, 31, 16, "payload bytes", MEANS_ITSELF },
	{ 1, 63, 32, "API tag", MEANS_ITSELF },
	{ 2, 63, 0, "user tag", MEANS_ITSELF },
};

static const struct layout vci_data[] = {
	{ 3, 63, 0, "data", MEANS_DATA },
	{ 4, 63, 0, "data", MEANS_DATA },
	{ 5, 63, 0, "data", MEANS_DATA },
	{ 6, 63, 0, "data", MEANS_DATA },
	{ 7, 63, 0, "data", MEANS_DATA },
};

static const struct layout vci_send[] = {
	{ 3, 63, 0, "SDR offset", MEANS_ITSELF },
	{ 4, 63, 0, "length", MEANS_ITSELF },
};

static const struct layout vci_window[] = {
	{ 3, 15, 0, "target window", MEANS_ITSELF },
	{ 3, 63, 16, "capability", MEANS_ITSELF },
	{ 4, 63, 0, "target offset", MEANS_ITSELF },
};

static const struct layout vci_put_data[] = {
	{ 5, 63, 0, "data", MEANS_DATA },
	{ 6, 63, 0, "data", MEANS_DATA },
	{ 7, 63, 0, "data", MEANS_DATA },
};

static const struct layout vci_masked[] = {
	{ 5, 63, 0, "data", MEANS_DATA },
	{ 6, 7, 0, "byte enables", MEANS_ITSELF },
};

static const struct layout vci_origin[] = {
	{ 5, 15, 0, "origin window", MEANS_ITSELF },
	{ 6, 63, 0, "origin offset", MEANS_ITSELF },
	{ 7, 63, 0, "length", MEANS_ITSELF },
};

static const struct layout vci_faa[] = {
	{ 5, 63, 0, "addend", MEANS_ITSELF },
};

static const struct layout vci_cas[] = {
	{ 5, 63, 0, "compare", MEANS_ITSELF },
	{ 6, 63, 0, "swap", MEANS_ITSELF },
};

static const struct layout nqe_head[] = {
	{ 0, 63, 0, "user tag", MEANS_ITSELF },
	{ 1, 31, 0, "peer node", MEANS_ITSELF },
	{ 1, 63, 32, "API tag", MEANS_ITSELF },
};

static const struct layout nqe_data[] = {
	{ 2, 63, 0, "data", MEANS_DATA },
	{ 3, 63, 0, "data", MEANS_DATA },
	{ 4, 63, 0, "data", MEANS_DATA },
	{ 5, 63, 0, "data", MEANS_DATA },
	{ 6, 63, 0, "data", MEANS_DATA },
};

static const struct layout nqe_other[] = {
	{ 2, 63, 0, "length", MEANS_ITSELF },
	{ 3, 63, 0, "result", MEANS_ITSELF },
	{ 4, 63, 0, "previous", MEANS_ITSELF },
	{ 5, 31, 0, "WQ read", MEANS_ITSELF },
	{ 5, 63, 32, "RDR write", MEANS_ITSELF },
	{ 6, 15, 0, "completed command", MEANS_COMMAND_IF_ANY },
};

static const struct layout nqe_pointers[] = {
	{ 5, 31, 0, "WQ read", MEANS_ITSELF },
	{ 5, 63, 32, "RDR write", MEANS_ITSELF },
	{ 6, 15, 0, "completed command", MEANS_COMMAND_IF_ANY },
};

static const struct layout nqe_tail[] = {
	{ 7, 15, 0, "command", MEANS_COMMAND },
	{ 7, 31, 16, "immediate bytes", MEANS_ITSELF },
	{ 7, 47, 32, "peer VPID", MEANS_ITSELF },
	{ 7, 63, 48, "generation", MEANS_ITSELF },
};

static void command_describe(uint64_t value, char *text, size_t room)
{
	unsigned error = (unsigned)(value >> CAY_COMMAND_ERROR_SHIFT);
	snprintf(text, room, "%s%s%s", cay_command_name((unsigned)value),
		error ? ", " : "", error ? cay_error_name(error) : "");
}

static void flags_describe(uint64_t value, char *text, size_t room)
{
	static const char *const names[] = { "notify", "free order", "fence",
		"interrupt", "priority" };
	text[0] = 0;
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		size_t used = strlen(text);
		if (value & 1u << i)
			snprintf(text + used, room - used, "%s%s",
				used ? ", " : "", names[i]);
	}
}

static void data_describe(uint64_t value, char *text, size_t room)
{
	size_t used = 0;
	for (int i = 0; i < 8 && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%02x",
			i ? " " : "", (unsigned)(value >> 8 * i) & 0xff);
}

static void field_describe(struct decode_field *f, enum meaning meaning)
{
	size_t room = sizeof(f->meaning);
	f->meaning[0] = 0;
	if (meaning == MEANS_COMMAND ||
		(meaning == MEANS_COMMAND_IF_ANY && f->value))
		command_describe(f->value, f->meaning, room);
	else if (meaning == MEANS_FLAGS)
		flags_describe(f->value, f->meaning, room);
	else if (meaning == MEANS_DATA)
		data_describe(f->value, f->meaning, room);
}

static size_t fields_take(const uint64_t *words, const struct layout *layout,
	size_t count, struct decode_field *fields)
{
	for (size_t i = 0; i < count; i++) {
		const struct layout *l = &layout[i];
		uint64_t mask = UINT64_MAX >> (63 - (l->high - l->low));
		fields[i] = (struct decode_field){ .word = l->word,
			.high = l->high,
			.low = l->low,
			.name = l->name,
			.value = words[l->word] >> l->low & mask };
		field_describe(&fields[i], l->meaning);
	}
	return count;
}

/* Data words that carry nothing are left out. */
static size_t words_used(uint64_t bytes)
{
	return bits_min((bytes + 7) / 8, CAY_FAST_SEND_WORDS);
}

/* What follows the window, by operation. */
static size_t operands_take(const struct cay_vci *v, unsigned operation,
	uint64_t bytes, struct decode_field *fields)
{
	switch (operation) {
	case CAY_FAST_PUT:
		return fields_take(v->word, vci_put_data,
			bits_min((bytes + 7) / 8, CAY_FAST_PUT_WORDS), fields);
	case CAY_MISALIGNED_PUT:
		return fields_take(
			v->word, vci_masked, ARRAY_COUNT(vci_masked), fields);
	case CAY_PUT:
	case CAY_GET:
		return fields_take(
			v->word, vci_origin, ARRAY_COUNT(vci_origin), fields);
	case OPERATION_FAA:
		return fields_take(
			v->word, vci_faa, ARRAY_COUNT(vci_faa), fields);
	case OPERATION_CAS:
		return fields_take(
			v->word, vci_cas, ARRAY_COUNT(vci_cas), fields);
	default:
		return 0;
	}
}

size_t decode_vci(const struct cay_vci *v, struct decode_field *fields)
{
	unsigned operation = command_operation((unsigned)v->word[0]);
	uint64_t bytes = v->word[1] >> CAY_VCI_BYTES_SHIFT & 0xffff;
	size_t n =
		fields_take(v->word, vci_head, ARRAY_COUNT(vci_head), fields);
	if (operation == CAY_FAST_SEND)
		n += fields_take(
			v->word, vci_data, words_used(bytes), fields + n);
	else if (operation == CAY_SEND)
		n += fields_take(
			v->word, vci_send, ARRAY_COUNT(vci_send), fields + n);
	if (!command_is_access(operation))
		return n;
	n += fields_take(
		v->word, vci_window, ARRAY_COUNT(vci_window), fields + n);
	return n + operands_take(v, operation, bytes, fields + n);
}

/* What words 3 and 4 are called. */
struct naming {
	const char *start, *reference;
};

/* A completion of an atomic has results, one of an access its place. */
static struct naming completion_naming(const struct cay_nqe *e)
{
	unsigned completed = (unsigned)e->word[CAY_NQE_WORD_COMPLETED];
	return command_is_access(completed) && !command_is_atomic(completed)
		       ? (struct naming){ "offset", "window" }
		       : (struct naming){ "result", "previous" };
}

/* An access that comes under its own command is one to carry out. */
static struct naming naming_of(const struct cay_nqe *e)
{
	unsigned command = e->word[CAY_NQE_WORD_VALID] & CAY_COMMAND_MASK;
	switch (command) {
	case CAY_NOTIFY_CC:
		return completion_naming(e);
	case CAY_NOTIFY_RMA:
		return (struct naming){ "offset", "window" };
	case CAY_NOTIFY_POSTED_RECV:
		return (struct naming){ "cookie", "posted receive" };
	case CAY_NOTIFY_STATUS:
		return (struct naming){ "W", "R" };
	default:
		return (struct naming){ e->word[CAY_NQE_WORD_REFERENCE]
						? "sequence"
						: "RDR start",
			"reference" };
	}
}

static size_t others_take(const struct cay_nqe *e, struct decode_field *fields)
{
	struct naming naming = naming_of(e);
	size_t n =
		fields_take(e->word, nqe_other, ARRAY_COUNT(nqe_other), fields);
	for (size_t i = 0; i < n; i++) {
		if (fields[i].word == CAY_NQE_WORD_START)
			fields[i].name = naming.start;
		if (fields[i].word == CAY_NQE_WORD_REFERENCE)
			fields[i].name = naming.reference;
	}
	return n;
}

/* The completion of a FAST_GET has its bytes in words 2 to 4. */
static size_t fetched_take(
	const struct cay_nqe *e, uint64_t bytes, struct decode_field *fields)
{
	size_t words = bits_min((bytes + 7) / 8, CAY_FAST_PUT_WORDS);
	size_t n = fields_take(e->word, nqe_data, words, fields);
	return n + fields_take(e->word, nqe_pointers, ARRAY_COUNT(nqe_pointers),
			   fields + n);
}

size_t decode_nqe(const struct cay_nqe *e, struct decode_field *fields)
{
	uint64_t valid = e->word[CAY_NQE_WORD_VALID];
	uint64_t bytes = valid >> CAY_NQE_BYTES_SHIFT & 0xffff;
	size_t n =
		fields_take(e->word, nqe_head, ARRAY_COUNT(nqe_head), fields);
	if ((valid & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV)
		n += fields_take(
			e->word, nqe_data, words_used(bytes), fields + n);
	else if ((valid & CAY_COMMAND_MASK) == CAY_NOTIFY_CC && bytes)
		n += fetched_take(e, bytes, fields + n);
	else
		n += others_take(e, fields + n);
	return n + fields_take(e->word, nqe_tail, ARRAY_COUNT(nqe_tail),
			   fields + n);
}
