/* SPDX-License-Identifier: BSD-2-Clause */
/* A journey through machines, and their configuration, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "cay/error.h"
#include "cli/decode.h"
#include "cli/explain/journey.h"
#include "cli/machine.h"

/* ---- events ---- */

/* An event as a row of the table. */
struct row {
	uint64_t cycle;
	uint32_t node, request;
	const char *event;
	char unit[24];
	char text[160];
};

static bool row_has_request(const void *row)
{
	return ((const struct row *)row)->request;
}

static const struct field row_fields[] = {
	FIELD(struct row, cycle, "cycle", .title = "cycle", .width = 6),
	FIELD(struct row, node, "node", .title = "node", .width = 4),
	FIELD(struct row, request, "request", .title = "request", .width = 7,
		.known = row_has_request),
	FIELD(struct row, event, "event", .kind = FIELD_STRING),
	FIELD(struct row, unit, "unit", .title = "unit", .kind = FIELD_CHARS,
		.width = -17),
	FIELD(struct row, text, "text", .title = "event", .kind = FIELD_CHARS,
		.width = -40),
	FIELDS_END,
};

/* Packets and notes of messages are in the group ULTRA. */
static const char *name_of(uint16_t command)
{
	return packet_is_ultra(command)
		       ? "ULTRA"
		       : cay_command_name(command & CAY_COMMAND_MASK);
}

static const char *unit_of(const struct machine_note *n, char text[24])
{
	static const char *const units[MACHINE_EVENTS] = {
		[MACHINE_ACCEPTED] = "CSB",
		[MACHINE_REFUSED] = "CSB",
		[MACHINE_FETCHED] = "fetch",
		[MACHINE_HELD] = "scheduler",
		[MACHINE_ISSUED] = "scheduler",
		[MACHINE_TRANSMITTED] = "transmit",
		[MACHINE_ARRIVED] = "receive",
		[MACHINE_DISPATCHED] = "dispatch",
		[MACHINE_PARKED] = "dispatch",
		[MACHINE_NOTIFIED] = "notify",
		[MACHINE_ANSWERED] = "complete",
		[MACHINE_RETIRED] = "complete",
		[MACHINE_DISCARDED] = "ULTRA completer",
		[MACHINE_INTERRUPTED] = "ULTRA completer",
		[MACHINE_RETURNED] = "ULTRA completer",
	};
	bool queue = n->event == MACHINE_ACCEPTED ||
		     n->event == MACHINE_REFUSED;
	if (n->event == MACHINE_HELD && n->kind != UNIT_REQUESTER)
		snprintf(text, 24, "dispatch");
	else if (queue && packet_is_ultra(n->command))
		snprintf(text, 24, "ULTRA requester");
	else if (n->event == MACHINE_STAGE)
		snprintf(
			text, 24, "%s %u", machine_unit_name(n->kind), n->unit);
	else
		snprintf(text, 24, "%s", units[n->event]);
	return text;
}

/* "to requester 1, which holds ...": where an item goes, and why. */
static void entered_describe(
	const struct machine_note *n, char *text, size_t size)
{
	snprintf(text, size, "to %s %u%s: %s", machine_unit_name(n->kind),
		n->unit, n->waits ? ", into its wait queue" : "",
		n->ordered ? "it holds an earlier one of this origin and target"
			   : "it has room");
}

static void packet_describe(
	const struct journey_event *e, char *text, size_t size)
{
	const struct packet_header *h = &e->header;
	unsigned error = h->command >> CAY_COMMAND_ERROR_SHIFT;
	bool sent = e->note.event == MACHINE_TRANSMITTED;
	int n = snprintf(text, size, "%s %s port %u", name_of(h->command),
		sent ? "to" : "from", sent ? h->target_vpid : h->origin_vpid);
	if (error)
		n += snprintf(text + n, size - (size_t)n, ", error %s",
			cay_error_name(error));
	if (h->bytes)
		n += snprintf(text + n, size - (size_t)n, ", %" PRIu64 " bytes",
			h->bytes);
	if (packet_is_ultra(h->completed))
		n += snprintf(text + n, size - (size_t)n, ", position %" PRIu64,
			h->segment);
	else if (h->segment || !h->last)
		n += snprintf(text + n, size - (size_t)n,
			" at %" PRIu64 " of %" PRIu64, h->segment, h->length);
	if (sent && e->bytes)
		snprintf(text + n, size - (size_t)n, "; encoded %zu bytes",
			e->note.size);
	else if (sent)
		snprintf(text + n, size - (size_t)n, "; handed over");
}

static void event_describe(
	const struct journey_event *e, char *text, size_t size)
{
	const struct machine_note *n = &e->note;
	const char *command = name_of(n->command);
	unsigned error = n->command >> CAY_COMMAND_ERROR_SHIFT;
	bool ultra = packet_is_ultra(n->command);
	switch (n->event) {
	case MACHINE_ACCEPTED:
		if (ultra) {
			snprintf(text, size,
				"message of port %u on UPID %u, into the "
				"packet "
				"queue; %u entries left",
				n->vpid, n->upid, n->left);
			break;
		}
		snprintf(text, size,
			"trigger of port %u accepted, %u VCI%s; %u entries "
			"left",
			n->vpid, n->items, plural(n->items), n->left);
		break;
	case MACHINE_REFUSED:
		snprintf(text, size, "trigger of port %u refused, wait %u ns",
			n->vpid, n->left);
		break;
	case MACHINE_FETCHED:
		snprintf(text, size,
			"%s of port %u, from the work queue to the issue queue",
			command, n->vpid);
		break;
	case MACHINE_HELD:
		snprintf(text, size, "held for %u cycle%s: %s", e->cycles,
			plural(e->cycles),
			n->ordered ? "an earlier one of this origin and target "
				     "is in another unit, or in a full one"
				   : "no unit has room");
		break;
	case MACHINE_ISSUED:
	case MACHINE_DISPATCHED:
		entered_describe(n, text, size);
		break;
	case MACHINE_STAGE:
		snprintf(text, size, "%s",
			machine_stage_name(n->kind, n->stage));
		break;
	case MACHINE_TRANSMITTED:
	case MACHINE_ARRIVED:
		packet_describe(e, text, size);
		break;
	case MACHINE_PARKED:
		snprintf(text, size, "parked: port %u has no room", n->vpid);
		break;
	case MACHINE_NOTIFIED:
		snprintf(text, size, "%s published for port %u", command,
			n->vpid);
		break;
	case MACHINE_DISCARDED:
		snprintf(text, size, "discarded");
		break;
	case MACHINE_INTERRUPTED:
		snprintf(text, size, "port %u is interrupted", n->vpid);
		break;
	case MACHINE_RETURNED:
		snprintf(text, size,
			"port %u returns the slices before position %" PRIu64
			" of UPID %u",
			n->vpid, n->position, n->upid);
		break;
	case MACHINE_ANSWERED:
		if (ultra) {
			snprintf(text, size,
				"the slices before position %" PRIu64
				" are free again for UPID %u",
				n->position, n->upid);
			break;
		}
		snprintf(text, size, "the response has found its %s", command);
		break;
	default:
		snprintf(text, size, "retired%s%s", error ? ", error " : "",
			error ? cay_error_name(error) : "");
	}
}

static struct row row_of(const struct journey_event *e)
{
	struct row row = { .cycle = e->note.cycle,
		.node = e->note.node,
		.request = e->request,
		.event = machine_event_name(e->note.event) };
	unit_of(&e->note, row.unit);
	event_describe(e, row.text, sizeof(row.text));
	return row;
}

static void request_describe(
	const struct journey *j, uint32_t i, char *text, size_t size)
{
	const struct journey_request *r = &j->request[i];
	snprintf(text, size, "%s of %" PRIu64 " byte%s, port %u to port %u",
		name_of((uint16_t)r->vci.word[0]), r->bytes, plural(r->bytes),
		fixture_vpid(r->from), fixture_vpid(r->to));
}

void journey_print(const struct journey *j)
{
	struct decode_field fields[DECODE_PACKET_MAX];
	int widths[FIELDS_MAX];
	char line[320];
	printf("%s on %s\n\n", j->name,
		j->options->local ? "a machine" : "two machines");
	for (uint32_t i = 0; i < j->requests; i++) {
		request_describe(j, i, line, sizeof(line));
		printf("  request %u: %s\n", i + 1, line);
	}
	printf("\n");
	fields_widths(row_fields, widths);
	fields_line(row_fields, NULL, widths, line, sizeof(line));
	puts(line);
	for (uint32_t i = 0; i < j->events; i++) {
		const struct journey_event *e = &j->event[i];
		struct row row = row_of(e);
		fields_line(row_fields, &row, widths, line, sizeof(line));
		puts(line);
		if (j->options->packets && e->bytes)
			print_fields("packet", fields,
				decode_packet(e->bytes, e->note.size,
					j->options->config.mtu, fields));
	}
	printf("\ntotal\n  %" PRIu64 " cycles, %" PRIu64 " packets", j->cycles,
		j->packets);
	if (j->bytes)
		printf(", %" PRIu64 " bytes encoded", j->bytes);
	printf("\n\n");
	counted_print(&j->counted);
}

static void json_packet(struct json *out, const struct journey *j,
	const struct journey_event *e)
{
	struct decode_field fields[DECODE_PACKET_MAX];
	json_key(out, "packet");
	json_object_begin(out);
	json_put_string(out, "command", name_of(e->header.command));
	json_put_number(out, "bytes", e->header.bytes);
	json_put_number(out, "segment", e->header.segment);
	json_put_bool(out, "last", e->header.last);
	if (e->bytes)
		json_put_number(out, "encoded_bytes", e->note.size);
	if (e->bytes && j->options->packets) {
		json_key(out, "fields");
		json_fields(out, fields,
			decode_packet(e->bytes, e->note.size,
				j->options->config.mtu, fields));
	}
	json_object_end(out);
}

void journey_json(struct json *out, const struct journey *j)
{
	char text[160];
	json_object_begin(out);
	json_put_string(out, "instruction", j->name);
	json_key(out, "requests");
	json_array_begin(out);
	for (uint32_t i = 0; i < j->requests; i++) {
		request_describe(j, i, text, sizeof(text));
		json_string(out, text);
	}
	json_array_end(out);
	json_key(out, "events");
	json_array_begin(out);
	for (uint32_t i = 0; i < j->events; i++) {
		const struct journey_event *e = &j->event[i];
		struct row row = row_of(e);
		json_object_begin(out);
		fields_json(out, row_fields, &row);
		json_put_number(out, "port", e->note.vpid);
		if (e->note.event == MACHINE_STAGE)
			json_put_string(out, "stage",
				machine_stage_name(
					e->note.kind, e->note.stage));
		if (e->note.event == MACHINE_ISSUED ||
			e->note.event == MACHINE_DISPATCHED) {
			json_put_string(
				out, "to", machine_unit_name(e->note.kind));
			json_put_number(out, "to_number", e->note.unit);
			json_put_bool(out, "for_order", e->note.ordered);
			json_put_bool(out, "waits", e->note.waits);
		}
		if (e->note.event == MACHINE_TRANSMITTED ||
			e->note.event == MACHINE_ARRIVED)
			json_packet(out, j, e);
		json_object_end(out);
	}
	json_array_end(out);
	json_put_number(out, "cycles", j->cycles);
	json_put_number(out, "packets", j->packets);
	json_put_number(out, "encoded_bytes", j->bytes);
	counted_json(out, "accesses", &j->counted);
	json_object_end(out);
}

/* ---- configuration ---- */

struct parameter_row {
	const char *name, *what, *source;
	uint32_t value, min, max;
	bool assumed;
};

static const struct field parameter_fields[] = {
	FIELD(struct parameter_row, name, "name", .title = "parameter",
		.kind = FIELD_STRING, .width = -17),
	FIELD(struct parameter_row, value, "value", .title = "value",
		.width = 10),
	FIELD(struct parameter_row, assumed, "assumed", .kind = FIELD_BOOL),
	FIELD(struct parameter_row, source, "source", .title = "source",
		.kind = FIELD_STRING, .width = -9),
	FIELD(struct parameter_row, min, "min"),
	FIELD(struct parameter_row, max, "max"),
	FIELD(struct parameter_row, what, "what", .title = "what",
		.kind = FIELD_STRING, .width = -40),
	FIELDS_END,
};

static struct parameter_row parameter_row(
	const struct journey_options *o, unsigned i)
{
	const struct machine_parameter *p = &machine_parameters[i];
	struct parameter_row row = { .name = p->name,
		.what = p->what,
		.value = machine_parameter_value(&o->config, p),
		.min = p->min,
		.max = p->max };
	bool set = row.value !=
		   machine_parameter_value(machine_preset(o->preset), p);
	row.assumed = p->assumed && !set;
	row.source = set ? "set" : p->assumed ? "assumed" : "design";
	return row;
}

void journey_config_print(const struct journey_options *o)
{
	int widths[FIELDS_MAX];
	char line[320];
	printf("preset %s\n\n", o->preset);
	fields_widths(parameter_fields, widths);
	fields_line(parameter_fields, NULL, widths, line, sizeof(line));
	puts(line);
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		struct parameter_row row = parameter_row(o, i);
		fields_line(parameter_fields, &row, widths, line, sizeof(line));
		puts(line);
	}
	printf("\nassumed: no published design gives the value\n");
}

void journey_config_json(struct json *out, const struct journey_options *o)
{
	json_put_string(out, "preset", o->preset);
	json_key(out, "parameters");
	json_array_begin(out);
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		struct parameter_row row = parameter_row(o, i);
		json_object_begin(out);
		fields_json(out, parameter_fields, &row);
		json_object_end(out);
	}
	json_array_end(out);
}
