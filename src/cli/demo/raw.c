/* SPDX-License-Identifier: BSD-2-Clause */
/* Scene: the raw level, word by word. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/decode.h"
#include "cli/demo/demo.h"

#define RAW_TAG	    0x91
#define RAW_API_TAG 0xa

#define FIELD_TEXT_MAX 160

static const char raw_text[] = "raw words";

static struct cay_vci vci_fast_send(const struct cay_peer *to)
{
	size_t bytes = sizeof(raw_text) - 1;
	struct cay_vci v = { { 0 } };

	v.word[CAY_VCI_WORD_COMMAND] =
		CAY_FAST_SEND | (bytes + 7) / 8 |
		(uint64_t)CAY_VCI_NOTIFY << CAY_VCI_FLAGS_SHIFT |
		(uint64_t)cay_peer_route(to) << CAY_VCI_ROUTING_OFFSET_SHIFT;
	v.word[CAY_VCI_WORD_TARGET] = cay_peer_addr(to).vpid |
				      (uint64_t)bytes << CAY_VCI_BYTES_SHIFT |
				      (uint64_t)RAW_API_TAG
					      << CAY_VCI_API_TAG_SHIFT;
	v.word[CAY_VCI_WORD_TAG] = RAW_TAG;
	memcpy(&v.word[CAY_VCI_WORD_DATA], raw_text, bytes);
	return v;
}

static void field_text(const struct decode_field *f, char *text)
{
	char value[32];

	snprintf(value, sizeof(value), "0x%" PRIx64 "%s", f->value,
		*f->meaning ? " " : "");
	snprintf(text, FIELD_TEXT_MAX, "%u %2u:%-2u  %s %s%s", f->word, f->high,
		f->low, f->name, strcmp(f->name, "data") == 0 ? "" : value,
		f->meaning);
}

static void raw_show(
	struct demo *d, const struct cay_vci *v, const struct cay_nqe *n)
{
	struct decode_field fields[DECODE_FIELDS_MAX];
	char text[FIELD_TEXT_MAX];

	size_t count = decode_vci(v, fields);
	for (size_t i = 0; i < count; i++) {
		field_text(&fields[i], text);
		show_left(d, "%s", text);
	}
	count = decode_nqe(n, fields);
	for (size_t i = 0; i < count; i++) {
		field_text(&fields[i], text);
		show_right(d, "%s", text);
	}
	show_rows(d, "VCI: word, bits, field", "NQE: word, bits, field");
}

static bool raw_same(const struct demo *d, const struct cay_nqe *n)
{
	uint64_t valid = n->word[CAY_NQE_WORD_VALID];
	return n->word[CAY_NQE_WORD_TAG] == RAW_TAG &&
	       n->word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT ==
		       RAW_API_TAG &&
	       (valid & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV &&
	       (valid >> CAY_NQE_BYTES_SHIFT & 0xffff) ==
		       sizeof(raw_text) - 1 &&
	       (uint16_t)(valid >> CAY_NQE_VPID_SHIFT) ==
		       cay_port_addr(d->port).vpid &&
	       memcmp(&n->word[CAY_NQE_WORD_DATA], raw_text,
		       sizeof(raw_text) - 1) == 0;
}

static int raw_issue(struct demo *d, const struct cay_vci *v)
{
	int r = cay_vci_post(d->port, v);
	if (r)
		return show_failed(d, "cay_vci_post", r);
	struct cay_answer a = cay_trigger(d->port, CAY_ISSUE_VCI, 1);
	show_check(d, a.accepted == 1,
		"cay_trigger(): %u accepted, %u entries of the work queue free",
		a.accepted, a.free);
	return a.accepted == 1 ? 0 : -EPROTO;
}

static int raw_send(struct demo *d, const struct cay_vci *v)
{
	struct seen seen;
	int r = raw_issue(d, v);
	if (r)
		return r;
	r = target_order(d, ORDER_RAW, 1);
	if (r == 0)
		r = target_seen(d, &seen);
	if (r)
		return show_failed(d, "the target", r);
	raw_show(d, v, &seen.nqe);
	show_check(d, raw_same(d, &seen.nqe),
		"command, tags, bytes and origin are what the VCI says");
	return demo_completion(d, RAW_TAG, CAY_ERROR_NONE);
}

/* Whatever is wrong with a request is answered, never lost. */
static int raw_wrong(struct demo *d, struct cay_vci v)
{
	v.word[CAY_VCI_WORD_COMMAND] &= ~(uint64_t)CAY_COMMAND_MASK;
	v.word[CAY_VCI_WORD_COMMAND] |= CAY_NOTIFY_STATUS; /* no instruction */
	int r = raw_issue(d, &v);
	return r ? r : demo_completion(d, RAW_TAG, CAY_ERROR_COMMAND);
}

int demo_raw(struct demo *d)
{
	struct cay_peer *to = NULL;

	show_scene(d, "The raw level: VCI, trigger, NQE",
		"    A request is one 64-byte line, a notification another. "
		"The "
		"trigger is the\n"
		"    one operation that issues, and it answers. A wrong "
		"request "
		"is answered too.\n");
	int r = cay_peer_lookup(d->port, TARGET_RAW_NAME,
		clock_after_ns(DEMO_PATIENCE_NS), &to);
	if (r)
		return show_failed(d, "cay_peer_lookup", r);
	struct cay_vci v = vci_fast_send(to);
	r = raw_send(d, &v);
	if (r == 0)
		r = raw_wrong(d, v);
	cay_peer_release(to);
	return r;
}
