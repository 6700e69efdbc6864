/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes VCIs, NQEs and packets by tables of their fields; see cay_contract(7)
 * and cay_packet(7).
 */
#include "cli/decode.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cay/error.h"
#include "contract/command.h"
#include "contract/packet.h"

enum meaning {
	NUMBER,
	COMMAND,
	COMMAND_OR_0,
	FLAGS,
	DATA,
};

struct layout {
	unsigned word, high, low;
	const char *name;
	enum meaning meaning;
};

static const struct layout vci_head[] = {
	{ 0, 15, 0, "command", COMMAND },
	{ 0, 23, 16, "routing length", NUMBER },
	{ 0, 31, 24, "flags", FLAGS },
	{ 0, 55, 32, "routing offset", NUMBER },
	{ 0, 63, 56, "generation", NUMBER },
	{ 1, 15, 0, "target VPID", NUMBER },
	{ 1, 31, 16, "payload bytes", NUMBER },
	{ 1, 63, 32, "API tag", NUMBER },
	{ 2, 63, 0, "user tag", NUMBER },
};

static const struct layout vci_data[] = {
	{ 3, 63, 0, "data", DATA },
	{ 4, 63, 0, "data", DATA },
	{ 5, 63, 0, "data", DATA },
	{ 6, 63, 0, "data", DATA },
	{ 7, 63, 0, "data", DATA },
};

static const struct layout vci_send[] = {
	{ 3, 63, 0, "SDR offset", NUMBER },
	{ 4, 63, 0, "length", NUMBER },
};

static const struct layout vci_window[] = {
	{ 3, 15, 0, "target window", NUMBER },
	{ 3, 63, 16, "capability", NUMBER },
	{ 4, 63, 0, "target offset", NUMBER },
};

static const struct layout vci_put_data[] = {
	{ 5, 63, 0, "data", DATA },
	{ 6, 63, 0, "data", DATA },
	{ 7, 63, 0, "data", DATA },
};

static const struct layout vci_masked[] = {
	{ 5, 63, 0, "data", DATA },
	{ 6, 7, 0, "byte enables", NUMBER },
};

static const struct layout vci_origin[] = {
	{ 5, 15, 0, "origin window", NUMBER },
	{ 6, 63, 0, "origin offset", NUMBER },
	{ 7, 63, 0, "length", NUMBER },
};

static const struct layout vci_faa[] = {
	{ 5, 63, 0, "addend", NUMBER },
};

static const struct layout vci_cas[] = {
	{ 5, 63, 0, "compare", NUMBER },
	{ 6, 63, 0, "swap", NUMBER },
};

static const struct layout nqe_head[] = {
	{ 0, 63, 0, "user tag", NUMBER },
	{ 1, 31, 0, "peer node", NUMBER },
	{ 1, 63, 32, "API tag", NUMBER },
};

static const struct layout nqe_data[] = {
	{ 2, 63, 0, "data", DATA },
	{ 3, 63, 0, "data", DATA },
	{ 4, 63, 0, "data", DATA },
	{ 5, 63, 0, "data", DATA },
	{ 6, 63, 0, "data", DATA },
};

static const struct layout nqe_status_head[] = {
	{ 0, 31, 0, "posted write", NUMBER },
	{ 0, 63, 32, "posted read", NUMBER },
	{ 1, 31, 0, "peer node", NUMBER },
	{ 1, 63, 32, "API tag", NUMBER },
};

/* Words 3 and 4 are named by nqe_rename(). */
static const struct layout nqe_other[] = {
	{ 2, 63, 0, "length", NUMBER },
	{ 3, 63, 0, "", NUMBER },
	{ 4, 63, 0, "", NUMBER },
};

static const struct layout nqe_pointers[] = {
	{ 5, 31, 0, "WQ read", NUMBER },
	{ 5, 63, 32, "RDR write", NUMBER },
	{ 6, 15, 0, "completed command", COMMAND_OR_0 },
};

static const struct layout nqe_tail[] = {
	{ 7, 15, 0, "command", COMMAND },
	{ 7, 31, 16, "immediate bytes", NUMBER },
	{ 7, 47, 32, "peer VPID", NUMBER },
	{ 7, 63, 48, "generation", NUMBER },
};

/* Writes the meaning of a command, flags or data beside the number. */
static void field_describe(struct decode_field *f, enum meaning meaning)
{
	static const char *const flags[] = { "notify", "free order", "fence",
		"interrupt", "priority" };
	unsigned error = (unsigned)(f->value >> CAY_COMMAND_ERROR_SHIFT);
	size_t size = sizeof(f->meaning), used = 0;

	f->meaning[0] = 0;
	switch (meaning) {
	case NUMBER:
		break;
	case COMMAND:
	case COMMAND_OR_0:
		if (meaning == COMMAND || f->value)
			snprintf(f->meaning, size, "%s%s%s",
				packet_is_ultra((uint16_t)f->value)
					? "ULTRA"
					: cay_command_name((unsigned)f->value),
				error ? ", " : "",
				error ? cay_error_name(error) : "");
		break;
	case FLAGS:
		for (size_t i = 0; i < ARRAY_COUNT(flags); i++)
			if (f->value & 1u << i)
				used += (size_t)snprintf(f->meaning + used,
					size - used, "%s%s", used ? ", " : "",
					flags[i]);
		break;
	case DATA:
		for (unsigned i = 0; i < 8; i++)
			used += (size_t)snprintf(f->meaning + used, size - used,
				"%s%02x", i ? " " : "",
				(unsigned)(f->value >> 8 * i) & 0xff);
		break;
	}
}

/* The fields of a record that were decoded so far. */
struct decoder {
	const uint64_t *words;
	struct decode_field *fields;
	size_t count;
};

static void fields_add(
	struct decoder *d, const struct layout *layout, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct layout *l = &layout[i];
		uint64_t mask = UINT64_MAX >> (63 - (l->high - l->low));
		struct decode_field *f = &d->fields[d->count++];
		*f = (struct decode_field){ .word = l->word,
			.high = l->high,
			.low = l->low,
			.name = l->name,
			.value = d->words[l->word] >> l->low & mask };
		field_describe(f, l->meaning);
	}
}

#define FIELDS_ADD(decoder, layout) \
	fields_add(decoder, layout, ARRAY_COUNT(layout))

/* Words that hold `bytes` bytes of data; the others are left out. */
static size_t data_words(uint64_t bytes, size_t most)
{
	return bits_min((bytes + 7) / 8, most);
}

size_t decode_vci(const struct cay_vci *v, struct decode_field *fields)
{
	struct decoder d = { v->word, fields, 0 };
	unsigned operation = command_operation((unsigned)v->word[0]);
	uint64_t bytes = v->word[1] >> CAY_VCI_BYTES_SHIFT & 0xffff;

	FIELDS_ADD(&d, vci_head);
	if (operation == CAY_FAST_SEND)
		fields_add(
			&d, vci_data, data_words(bytes, CAY_FAST_SEND_WORDS));
	else if (operation == CAY_SEND)
		FIELDS_ADD(&d, vci_send);
	if (!command_is_access(operation))
		return d.count;
	FIELDS_ADD(&d, vci_window);
	switch (operation) {
	case CAY_FAST_PUT:
		fields_add(&d, vci_put_data,
			data_words(bytes, CAY_FAST_PUT_WORDS));
		break;
	case CAY_MISALIGNED_PUT:
		FIELDS_ADD(&d, vci_masked);
		break;
	case CAY_PUT:
	case CAY_GET:
		FIELDS_ADD(&d, vci_origin);
		break;
	case OPERATION_FAA:
		FIELDS_ADD(&d, vci_faa);
		break;
	case OPERATION_CAS:
		FIELDS_ADD(&d, vci_cas);
		break;
	}
	return d.count;
}

/* Names words 3 and 4 of an NQE by its command. */
static void nqe_rename(const struct cay_nqe *e, struct decode_field *word3,
	struct decode_field *word4)
{
	unsigned completed = (unsigned)e->word[CAY_NQE_WORD_COMPLETED];
	word3->name = e->word[CAY_NQE_WORD_REFERENCE] ? "sequence"
						      : "RDR start";
	word4->name = "reference";
	switch (e->word[CAY_NQE_WORD_VALID] & CAY_COMMAND_MASK) {
	case CAY_NOTIFY_CC:
		if (!command_is_access(completed) ||
			command_is_atomic(completed)) {
			word3->name = "result";
			word4->name = "previous";
			break;
		}
		/* fall through */
	case CAY_NOTIFY_RMA:
		word3->name = "offset";
		word4->name = "window";
		break;
	case CAY_NOTIFY_POSTED_RECV:
		word3->name = "cookie";
		word4->name = "posted receive";
		break;
	case CAY_NOTIFY_STATUS:
		word3->name = "W";
		word4->name = "R";
		break;
	}
}

size_t decode_nqe(const struct cay_nqe *e, struct decode_field *fields)
{
	struct decoder d = { e->word, fields, 0 };
	uint64_t valid = e->word[CAY_NQE_WORD_VALID];
	uint64_t bytes = valid >> CAY_NQE_BYTES_SHIFT & 0xffff;
	unsigned command = valid & CAY_COMMAND_MASK;

	if (command == CAY_NOTIFY_STATUS)
		FIELDS_ADD(&d, nqe_status_head);
	else
		FIELDS_ADD(&d, nqe_head);
	if (command == CAY_NOTIFY_FAST_RECV) {
		fields_add(
			&d, nqe_data, data_words(bytes, CAY_FAST_SEND_WORDS));
	} else {
		/* The completion of a FAST_GET has its data in words 2 to 4. */
		if (command == CAY_NOTIFY_CC && bytes) {
			fields_add(&d, nqe_data,
				data_words(bytes, CAY_FAST_PUT_WORDS));
		} else {
			FIELDS_ADD(&d, nqe_other);
			nqe_rename(
				e, &fields[d.count - 2], &fields[d.count - 1]);
		}
		FIELDS_ADD(&d, nqe_pointers);
	}
	FIELDS_ADD(&d, nqe_tail);
	return d.count;
}

/* ---- packets ---- */

static const struct layout frame_head[] = {
	{ 0, 15, 0, "command", COMMAND },
	{ 0, 31, 16, "origin VPID", NUMBER },
	{ 0, 63, 32, "origin node", NUMBER },
	{ 1, 15, 0, "target VPID", NUMBER },
	{ 1, 31, 16, "bytes", NUMBER },
	{ 1, 63, 32, "API tag", NUMBER },
	{ 2, 63, 0, "user tag", NUMBER },
};

static const struct layout frame_send[] = {
	{ 3, 62, 0, "segment", NUMBER },
	{ 3, 63, 63, "last", NUMBER },
	{ 4, 63, 0, "length", NUMBER },
};

static const struct layout frame_segment[] = {
	{ 5, 62, 0, "segment", NUMBER },
	{ 5, 63, 63, "last", NUMBER },
	{ 6, 63, 0, "length", NUMBER },
};

static const struct layout frame_get[] = {
	{ 6, 63, 0, "length", NUMBER },
};

static const struct layout frame_results[] = {
	{ 5, 63, 0, "result", NUMBER },
	{ 6, 63, 0, "previous", NUMBER },
};

static const struct layout frame_completed[] = {
	{ 5, 15, 0, "completed command", COMMAND },
	{ 6, 63, 0, "resume offset", NUMBER },
};

static const struct layout frame_position[] = {
	{ 5, 15, 0, "completed command", COMMAND },
	{ 6, 63, 0, "position", NUMBER },
};

static const struct layout trailer[] = {
	{ 0, 31, 0, "target epoch", NUMBER },
	{ 0, 63, 32, "origin epoch", NUMBER },
	{ 1, 31, 0, "request", NUMBER },
	{ 1, 63, 32, "CRC", NUMBER },
};

static const struct layout trailer_ultra[] = {
	{ 0, 31, 0, "target epoch", NUMBER },
	{ 0, 63, 32, "origin epoch", NUMBER },
	{ 1, 15, 0, "origin UPID", NUMBER },
	{ 1, 31, 16, "target UPID", NUMBER },
	{ 1, 63, 32, "CRC", NUMBER },
};

/* Words 3 to 7 of a command frame. */
static void frame_add(struct decoder *d, const struct packet_header *h)
{
	unsigned command = h->command & CAY_COMMAND_MASK;
	unsigned operation = command_operation(command);
	if (packet_is_ultra(h->command))
		return;
	if (command == CAY_ACKNOWLEDGE) {
		if (packet_is_ultra(h->completed))
			FIELDS_ADD(d, frame_position);
		else
			FIELDS_ADD(d, frame_completed);
		return;
	}
	bool response =
		(command_is_get(command) || command_is_atomic(command)) &&
		command & CAY_COMMAND_RESPONSE;
	if (command_is_access(operation) && !response)
		FIELDS_ADD(d, vci_window);
	switch (operation) {
	case CAY_FAST_SEND:
		fields_add(
			d, vci_data, data_words(h->bytes, CAY_FAST_SEND_WORDS));
		break;
	case CAY_SEND:
		FIELDS_ADD(d, frame_send);
		break;
	case CAY_FAST_PUT:
	case CAY_FAST_GET:
		fields_add(d, vci_put_data,
			data_words(h->bytes, CAY_FAST_PUT_WORDS));
		break;
	case CAY_MISALIGNED_PUT:
		FIELDS_ADD(d, vci_masked);
		break;
	case CAY_PUT:
		FIELDS_ADD(d, frame_segment);
		break;
	case CAY_GET:
		if (response)
			FIELDS_ADD(d, frame_segment);
		else
			FIELDS_ADD(d, frame_get);
		break;
	case OPERATION_FAA:
		if (response)
			FIELDS_ADD(d, frame_results);
		else
			FIELDS_ADD(d, vci_faa);
		break;
	default:
		if (response)
			FIELDS_ADD(d, frame_results);
		else
			FIELDS_ADD(d, vci_cas);
	}
}

/* Tag and phits, four in a word. */
static void string_add(struct decoder *d, const struct routing_string *s)
{
	unsigned host = routing_string_host(s);
	for (unsigned i = 0; i <= s->count; i++) {
		unsigned low = i % 4 * 16;
		struct layout l = { i / 4, low + 15, low, "tag", NUMBER };
		if (i)
			l.name = i - 1 < host	 ? "phit"
				 : i - 1 == host ? "host phit"
						 : "return phit";
		fields_add(d, &l, 1);
		struct decode_field *f = &d->fields[d->count - 1];
		uint16_t phit = (uint16_t)f->value;
		unsigned flags = (phit & STRING_FLAGS) >> STRING_FLAGS_SHIFT;
		if (i && !phit_is_host(phit))
			snprintf(f->meaning, sizeof(f->meaning),
				"link %u, hops: %u", phit_port(phit),
				phit_low(phit) + phit_high(phit));
		else if (i)
			snprintf(f->meaning, sizeof(f->meaning),
				"port %u, flags 0x%x%s%s", phit_port(phit),
				flags & CAY_VCI_FLAGS,
				flags & PACKET_WORD_MODE ? ", word mode" : "",
				phit & STRING_RETURN ? ", a way back follows"
						     : "");
	}
}

size_t decode_packet(const void *bytes, size_t size, uint32_t mtu,
	struct decode_field *fields)
{
	static const struct layout payload = { 0, 63, 0, "payload", DATA };
	struct packet_header h;
	struct routing_string string;
	uint64_t *words = malloc(bits_round_up(size, 8));
	void *data = malloc(mtu);
	struct decoder d = { words, fields, 0 };
	if (!words || !data ||
		packet_decode(bytes, size, mtu, &h, &string, data) < 0)
		goto out;
	memcpy(words, bytes, size);
	string_add(&d, &string);
	size_t routing = bits_round_up(2 * (1 + string.count), 8) / 8;
	size_t frame = d.count, all = size / 8;
	d.words = words + routing;
	FIELDS_ADD(&d, frame_head);
	frame_add(&d, &h);
	for (; frame < d.count; frame++)
		fields[frame].word += (unsigned)routing;
	size_t at = routing + CAY_WORDS;
	size_t end = all - PACKET_TRAILER_BYTES / 8;
	for (size_t i = at; i < end && i < at + DECODE_PACKET_PAYLOAD; i++) {
		d.words = words + i;
		fields_add(&d, &payload, 1);
		fields[d.count - 1].word = (unsigned)i;
	}
	d.words = words + end;
	size_t tail = d.count;
	if (packet_is_ultra(h.command) || packet_is_ultra(h.completed))
		FIELDS_ADD(&d, trailer_ultra);
	else
		FIELDS_ADD(&d, trailer);
	for (size_t i = tail; i < d.count; i++)
		fields[i].word += (unsigned)end;
out:
	free(words);
	free(data);
	return d.count;
}
