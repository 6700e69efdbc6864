/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sender of the soak test: random messages, puts, gets, fetch-and-adds and
 * increments under a lock, until it is killed or asked to finish.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

/* Exit status of a failed check. */
#define FAILED 3

static struct cay_port *port;
static struct cay_peer *peer;
static struct sender *record;
static uint32_t self;
static uint64_t number; /* of the next message or notified access */
static uint32_t state;

/* ---- messages ---- */

static size_t length_pick(void)
{
	uint32_t pick = random_next(&state) % 100;
	if (pick < 70)
		return random_next(&state) % 41;
	if (pick < 98)
		return 41 + random_next(&state) % 2000;
	return 9000 + random_next(&state) % 20000;
}

/* The source of a borrowed message is reusable after its completion. */
static void completion_wait(void)
{
	struct cay_event e;
	for (bool complete = false; !complete;) {
		if (cay_wait(port, clock_after_ns(TIMEOUT)) != 0)
			exit(FAILED);
		while (cay_poll(port, &e, 1) == 1) {
			complete |= e.kind == CAY_EVENT_COMPLETE;
			if (e.kind == CAY_EVENT_GONE)
				exit(0);
			cay_release(port, &e);
		}
	}
}

static void do_send(unsigned char *memory)
{
	uint64_t tag = message_tag(self, number);
	size_t length = length_pick();
	bool borrow = length > CAY_EAGER_MAX && number % 2;
	for (size_t i = 0; i < length; i++)
		memory[i] = message_byte(tag, i);
	int r = cay_send_wait(port, peer, tag, memory, length,
		borrow ? CAY_BORROW : 0, clock_after_ns(TIMEOUT));
	if (r)
		exit(r == -EPIPE ? 0 : FAILED);
	/* The receiver reads the record after this process has exited. */
	atomic_store(&record->accepted, ++number);
	if (borrow)
		completion_wait();
}

/* ---- accesses: without flags they are complete when the call returns ---- */

/* Returns 0, or the error code of the last access. */
static int refusal(void)
{
	struct cay_event e;
	int error = 0;
	while (cay_poll(port, &e, 1) == 1) {
		if (e.kind == CAY_EVENT_COMPLETE && e.error)
			error = e.error;
		if (e.kind == CAY_EVENT_GONE)
			exit(0);
		cay_release(port, &e);
	}
	return error;
}

/* Windows are closed and reopened, or locked, at times. */
static bool access_again(int r)
{
	if (r == -EAGAIN) {
		refusal();
		clock_nap_ns(20 * CLOCK_NS_PER_US);
		return true;
	}
	if (r)
		exit(r == -EPIPE ? 0 : FAILED);
	int error = refusal();
	if (error == 0)
		return false;
	if (error != CAY_ERROR_TARGET_WINDOW && error != CAY_ERROR_CAPABILITY &&
		error != CAY_ERROR_TARGET_LOCKED)
		exit(FAILED);
	clock_nap_ns(20 * CLOCK_NS_PER_US);
	return true;
}

static struct cay_key key_of(enum window window)
{
	uint64_t key = atomic_load(&shared->keys[window]);
	return (struct cay_key){ .capability = key >> 16,
		.window = (uint16_t)key };
}

static void do_add(void)
{
	uint64_t at = offsetof(struct field, added) + 8ull * self;
	uint64_t n = atomic_load(&record->added), previous;
	while (access_again(cay_fetch_add_into(
		port, peer, key_of(WINDOW_PLAIN), at, 1, &previous, 0, 0)))
		;
	if (previous != n)
		exit(FAILED);
	atomic_store(&record->added, n + 1);
}

static uint64_t region_at(unsigned slot)
{
	return offsetof(struct field, region) +
	       (uint64_t)slot * REGION_WORDS * 8;
}

static void do_put(unsigned slot)
{
	uint64_t words[REGION_WORDS], n = atomic_load(&record->put) + 1;
	for (unsigned i = 0; i < REGION_WORDS; i++)
		words[i] = region_word(self, n, i);
	while (access_again(cay_put(port, peer, key_of(WINDOW_PLAIN),
		region_at(slot), words, sizeof(words), 0, 0)))
		;
	atomic_store(&record->put, n);
}

/* No other process writes there. */
static void do_get(unsigned slot)
{
	uint64_t words[REGION_WORDS], n = atomic_load(&record->put);
	while (access_again(cay_get(port, peer, key_of(WINDOW_PLAIN),
		region_at(slot), words, sizeof(words), 0, 0)))
		;
	for (unsigned i = 0; n && i < REGION_WORDS; i++)
		if (words[i] != region_word(self, n, i))
			exit(FAILED);
}

static void do_notified_put(void)
{
	uint64_t tag = message_tag(self, number);
	while (access_again(cay_put(port, peer, key_of(WINDOW_NOTIFIED),
		offsetof(struct field, notified), &tag, 8, tag, 0)))
		;
	atomic_store(&record->accepted, ++number);
}

/* Uses one key throughout: nothing is written if the lock was lost. */
static void do_count(void)
{
	struct cay_key key = key_of(WINDOW_PLAIN);
	uint64_t at = offsetof(struct field, counted), word = 0;
	uint64_t n = atomic_load(&record->counted) + 1;
	int r = cay_window_lock(port, peer, key, clock_after_ns(TIMEOUT));
	if (r == -ENXIO || r == -EACCES)
		return;
	if (r)
		exit(r == -EPIPE ? 0 : FAILED);
	r = cay_get(port, peer, key, at, &word, 8, 0, 0);
	if (r == 0 && refusal() == 0) {
		word++;
		atomic_store(&record->counting, n);
		r = cay_put(port, peer, key, at, &word, 8, 0, 0);
		if (r == 0 && refusal() == 0)
			atomic_store(&record->counted, n);
		else
			atomic_store(&record->counting, n - 1);
	}
	cay_window_unlock(port, peer, key);
}

/* ---- random operations ---- */

static void sender_open(const char *to)
{
	struct cay_port_options options = { .nq_entries = 64 };
	port = cay_port_open(&options);
	if (!port ||
		cay_peer_lookup(port, to, clock_after_ns(TIMEOUT), &peer) != 0)
		exit(FAILED);
}

void sender_main(uint32_t id, unsigned slot, uint32_t random, const char *to)
{
	self = id;
	record = &shared->senders[id];
	state = random;
	sender_open(to);
	unsigned char *memory = cay_alloc(port, 32768, 0);
	if (!memory)
		exit(FAILED);
	while (!atomic_load(&shared->finish)) {
		uint32_t pick = random_next(&state) % 1000;
		if (pick < 700)
			do_send(memory);
		else if (pick < 850)
			do_add();
		else if (pick < 930)
			do_notified_put();
		else if (pick < 970)
			do_put(slot);
		else if (pick < 999)
			do_get(slot);
		else
			do_count();
	}
	cay_peer_release(peer);
	cay_port_close(port);
	exit(0);
}
