/* SPDX-License-Identifier: BSD-2-Clause */
/* Code common to the parties of a scenario. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "message.h"
#include "parties.h"

_Bool page_fail(struct page *page, const char *format, ...)
{
	va_list arguments;
	uint32_t none = 0;
	if (atomic_compare_exchange_strong(&page->failed, &none, 1)) {
		va_start(arguments, format);
		vsnprintf(page->what, sizeof(page->what), format, arguments);
		va_end(arguments);
	}
	return false;
}

const char *party_name(enum party party)
{
	static const char *const names[] = { "survivor", "victim", "second" };
	return names[party];
}

bool party_is_set(const _Atomic uint32_t *bits, enum party party)
{
	return atomic_load(bits) >> party & 1;
}

uint64_t key_pack(struct cay_key key)
{
	return key.capability << 16 | key.window;
}

struct cay_key key_unpack(uint64_t word)
{
	return (struct cay_key){ .capability = word >> 16,
		.window = (uint16_t)word };
}

struct cay_port *party_open(
	struct page *page, const char *name, uint32_t nq_entries)
{
	struct cay_port_options options = {
		.name = name, .nq_entries = nq_entries, .rdr_bytes = 64 << 10
	};
	struct cay_port *port = cay_port_open(&options);
	if (!port) {
		page_fail(page, "%s: open: %s", name, cay_strerror(errno));
		exit(1);
	}
	return port;
}

struct cay_peer *party_find(
	struct page *page, struct cay_port *port, const char *name)
{
	struct cay_peer *peer;
	int r = cay_peer_lookup(
		port, name, clock_after_ns(PARTY_TIMEOUT_NS), &peer);
	if (r) {
		page_fail(page, "lookup of %s: %s", name, cay_strerror(r));
		exit(1);
	}
	return peer;
}

struct party_events party_events;

static void completion_count(const struct cay_event *e)
{
	struct party_completion *a = &party_events.completion;
	if (e->tag >= TARGET_TAG) {
		party_events.complete++;
		if (e->error || e->command != CAY_FAA)
			return;
		/* Only one party adds, so each addition returns the last sum.
		 */
		if (e->previous != party_events.executed)
			party_events.executed = UINT64_MAX / 2;
		party_events.executed++;
	} else if (e->tag == party_events.awaited) {
		a->arrived = true;
		a->error = e->error;
		a->previous = e->previous;
		if (e->data && e->length <= sizeof(a->data))
			memcpy(a->data, e->data, e->length);
	}
}

void party_drain(struct cay_port *port)
{
	struct cay_event e;
	while (cay_poll(port, &e, 1) == 1) {
		if (e.kind == CAY_EVENT_COMPLETE)
			completion_count(&e);
		party_events.gone += e.kind == CAY_EVENT_GONE;
		cay_release(port, &e);
	}
}

static size_t message_bytes(enum message message, uint64_t number)
{
	switch (message) {
	case MESSAGE_FAST:
	case MESSAGE_ACK:
	case MESSAGE_BURST:
		return number % 41;
	case MESSAGE_SEND:
		return 41 + number * 97 % 3000;
	case MESSAGE_SHORT:
		return 100;
	case MESSAGE_BULK:
		return MESSAGE_BYTES_MAX;
	default:
		return 20000 + number % 1000;
	}
}

int party_send(struct page *page, struct cay_port *port, struct cay_peer *peer,
	enum party party, enum message message, uint64_t number, void *memory)
{
	uint64_t tag = message_tag(party, number);
	size_t bytes = message_bytes(message, number);
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	unsigned flags = message == MESSAGE_ACK ? CAY_ACK : 0;

	if (message == MESSAGE_LONG || message == MESSAGE_STAGED)
		flags = CAY_BORROW;
	message_fill(memory, bytes, tag);
	atomic_store(&page->tried[party], number + 1);
	for (;;) {
		int r = cay_send(port, peer, tag, memory, bytes, flags);
		if (r != -EAGAIN) {
			/* The memory of a copied message is ours again. */
			if (message == MESSAGE_COPIED)
				memset(memory, 0, bytes);
			return r;
		}
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		party_drain(port);
		clock_nap_ns(50 * CLOCK_NS_PER_US);
	}
}

int party_burst(struct page *page, struct cay_port *port, struct cay_peer *peer,
	enum party party, uint64_t *number)
{
	static unsigned char data[PARTY_BURST][CAY_FAST_SEND_BYTES];
	struct cay_message messages[PARTY_BURST];
	uint64_t deadline = clock_after_ns(PARTY_TIMEOUT_NS);
	for (unsigned i = 0; i < PARTY_BURST; i++) {
		uint64_t tag = message_tag(party, *number + i);
		size_t bytes = message_bytes(MESSAGE_BURST, *number + i);
		message_fill(data[i], bytes, tag);
		messages[i] = (struct cay_message){
			.tag = tag, .data = data[i], .length = bytes
		};
	}
	atomic_store(&page->tried[party], *number + PARTY_BURST);
	for (int sent = 0; sent < PARTY_BURST;) {
		int r = cay_send_burst(
			port, peer, messages + sent, PARTY_BURST - sent);
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r > 0) {
			/* The memory is ours again. */
			memset(data[sent], 0, (size_t)r * sizeof(data[0]));
			sent += r;
			*number += (uint64_t)r;
			atomic_store(&page->accepted[party], *number);
			continue;
		}
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		party_drain(port);
		clock_nap_ns(50 * CLOCK_NS_PER_US);
	}
	return 0;
}
