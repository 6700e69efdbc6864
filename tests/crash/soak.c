/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Soak test: eight senders, one receiver, a million messages, fetch-and-adds,
 * puts and locks. Senders are killed at random and replaced; windows are closed
 * and reopened. No accepted message is lost, duplicated, damaged or out of
 * order; GONE comes after the last message; all queue entries and posted
 * buffers are returned.
 *
 * usage: soak [-t SECONDS] [-n NODE] [-p PORT] [messages [seed]]
 *
 * With -t the test ends after that time. soak.py runs several of these tests on
 * one node, with ports of different names.
 */
#include "soak.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POSTED_BUFFERS 16
#define POSTED_BYTES   32768
#define REOPEN_NS      (20 * CLOCK_NS_PER_MS)

struct shared *shared;
static pid_t pids[SLOTS];
static uint32_t sender_count; /* including dead senders */
static uint32_t seed;
static const char *port_name = "receiver";

/* ---- receiver ---- */

struct receiver {
	struct cay_port *port;
	uint64_t next[SENDERS_MAX];
	uint16_t vpid[SENDERS_MAX]; /* 0: nothing received, or gone */
	struct cay_peer *peer[SENDERS_MAX];
	bool gone[SENDERS_MAX];
	bool killed[SENDERS_MAX];
	uint32_t last[SLOTS]; /* sender in each slot */
	uint64_t total;
	struct field *field;
	struct cay_window *windows[WINDOW_COUNT];
	unsigned reopened;
	unsigned char *posted;
};

static struct receiver receiver;

/* ---- senders ---- */

static void sender_start(unsigned slot)
{
	uint32_t id = sender_count++;
	pid_t parent = getpid();
	receiver.last[slot] = id;
	pids[slot] = fork();
	if (pids[slot] != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	sender_main(id, slot, seed + id * 2654435761u + 1, port_name);
}

static void die(const char *what, uint64_t a, uint64_t b)
{
	fprintf(stderr, "soak: %s (%lu, %lu); seed %u\n", what, a, b, seed);
	exit(1);
}

/* A message or a notified access. */
static void message_check(const struct cay_event *e)
{
	uint64_t id = e->tag >> 40;
	uint64_t number = e->tag & ((1ull << 40) - 1);
	const unsigned char *data = e->data;
	if (id >= SENDERS_MAX || e->error)
		die("error in a message", id, (uint64_t)e->error);
	if (number != receiver.next[id])
		die("lost, duplicated or out of order", number,
			receiver.next[id]);
	if (receiver.gone[id])
		die("message after GONE", id, number);
	for (size_t i = 0; data && i < e->length; i++)
		if (data[i] != message_byte(e->tag, i))
			die("damaged", e->tag, i);
	/* GONE comes for resolved senders, and for others that have sent. */
	if (number == 0 && id % 2)
		cay_peer_resolve(receiver.port, e->peer, &receiver.peer[id]);
	if (e->kind != CAY_EVENT_ACCESS || receiver.peer[id])
		receiver.vpid[id] = e->peer.vpid;
	receiver.next[id]++;
	receiver.total++;
}

/* ---- windows and posted buffers ---- */

static void window_open(enum window window)
{
	unsigned rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	struct cay_key key;
	if (window == WINDOW_NOTIFIED)
		rights |= CAY_RIGHT_NOTIFY_ACCESS;
	int r = cay_window_open(receiver.port, receiver.field,
		sizeof(*receiver.field), rights, &receiver.windows[window]);
	if (r)
		die("opening a window", (uint64_t)-r, 0);
	cay_window_key(receiver.windows[window], &key);
	atomic_store(&shared->keys[window], key.capability << 16 | key.window);
}

static void window_close(enum window window)
{
	int r = cay_window_close(receiver.windows[window]);
	if (r)
		die("closing a window", (uint64_t)-r, 0);
}

static void buffer_post(uint64_t i)
{
	int r = cay_receive_post(receiver.port,
		receiver.posted + i * POSTED_BYTES, POSTED_BYTES, i);
	if (r)
		die("posting a buffer", (uint64_t)-r, i);
}

static void posted_message_check(const struct cay_event *e)
{
	if (e->result >= POSTED_BUFFERS)
		die("no such buffer", e->result, 0);
	message_check(e);
	buffer_post(e->result);
}

static void memory_open(void)
{
	receiver.field = cay_alloc(receiver.port, sizeof(struct field), 0);
	receiver.posted = cay_alloc(
		receiver.port, (size_t)POSTED_BUFFERS * POSTED_BYTES, 0);
	if (!receiver.field || !receiver.posted)
		die("no memory", 0, 0);
	for (int i = 0; i < WINDOW_COUNT; i++)
		window_open((enum window)i);
	for (uint64_t i = 0; i < POSTED_BUFFERS; i++)
		buffer_post(i);
}

/* ---- events ---- */

static void gone_check(const struct cay_event *e)
{
	for (uint32_t id = 0; id < SENDERS_MAX; id++)
		if (receiver.vpid[id] == e->peer.vpid) {
			receiver.gone[id] = true;
			receiver.vpid[id] = 0;
			cay_peer_release(receiver.peer[id]);
			receiver.peer[id] = NULL;
			return;
		}
	die("GONE of no sender, or a second one", e->peer.vpid, 0);
}

/* Releases the events of a batch in random order. */
static int receive(uint32_t *state)
{
	struct cay_event events[16];
	int n = cay_poll(receiver.port, events, 16);
	for (int i = 0; i < n; i++) {
		if (events[i].kind == CAY_EVENT_MESSAGE ||
			events[i].kind == CAY_EVENT_ACCESS)
			message_check(&events[i]);
		else if (events[i].kind == CAY_EVENT_POSTED)
			posted_message_check(&events[i]);
		else if (events[i].kind == CAY_EVENT_GONE)
			gone_check(&events[i]);
	}
	for (int remaining = n; remaining > 0; remaining--) {
		int i = (int)(random_next(state) % (uint32_t)remaining);
		cay_release(receiver.port, &events[i]);
		events[i] = events[remaining - 1];
	}
	return n;
}

static void sender_kill(uint32_t *state)
{
	unsigned slot = random_next(state) % SLOTS;
	if (sender_count >= SENDERS_MAX - SLOTS)
		return;
	kill(pids[slot], SIGKILL);
	waitpid(pids[slot], NULL, 0);
	receiver.killed[receiver.last[slot]] = true;
	sender_start(slot);
}

static void soak(uint64_t messages, uint64_t end)
{
	uint32_t state = seed;
	uint64_t next_kill = clock_after_ns(CLOCK_NS_PER_MS);
	uint64_t next_reopen = clock_after_ns(REOPEN_NS);
	uint64_t progress = clock_after_ns(TIMEOUT);
	uint64_t next_report = clock_after_ns(CLOCK_NS_PER_S);
	while (receiver.total < messages && !clock_passed(end)) {
		int n = receive(&state);
		if (n > 0)
			progress = clock_after_ns(TIMEOUT);
		else
			cay_wait(
				receiver.port, clock_after_ns(CLOCK_NS_PER_MS));
		if (clock_passed(progress))
			die("stalled", receiver.total, sender_count);
		if (clock_passed(next_kill)) {
			sender_kill(&state);
			next_kill = clock_after_ns(
				random_next(&state) % 4000 * CLOCK_NS_PER_US);
		}
		if (clock_passed(next_reopen)) {
			/* The new window has a new key and no lock. */
			enum window window = (enum window)(
				random_next(&state) % WINDOW_COUNT);
			window_close(window);
			window_open(window);
			receiver.reopened++;
			next_reopen = clock_after_ns(REOPEN_NS);
		}
		if (isatty(2) && clock_passed(next_report)) {
			fprintf(stderr, "\r%lu messages, %u senders",
				receiver.total, sender_count);
			next_report = clock_after_ns(CLOCK_NS_PER_S);
		}
	}
}

/* Running senders finish; the remaining events are polled. */
static void soak_end(void)
{
	uint32_t state = seed;
	int remaining = SLOTS, status;
	uint64_t deadline = clock_after_ns(TIMEOUT);
	atomic_store(&shared->finish, 1);
	while (remaining > 0) {
		receive(&state);
		pid_t pid = waitpid(-1, &status, WNOHANG);
		remaining -= pid > 0;
		if (pid > 0 && status)
			die("a sender failed", (uint64_t)status, 0);
		if (clock_passed(deadline))
			die("senders do not exit", (uint64_t)remaining, 0);
	}
	while (cay_wait(receiver.port, clock_after_ns(CLOCK_NS_PER_S)) == 0)
		receive(&state);
}

/* Completed accesses took effect; one in progress may have, once. */
static void sender_check(uint32_t id)
{
	struct sender *sender = &shared->senders[id];
	uint64_t accepted = atomic_load(&sender->accepted);
	uint64_t added = atomic_load(&sender->added);
	uint64_t in_flight = receiver.killed[id];
	if (receiver.next[id] < accepted ||
		receiver.next[id] > accepted + in_flight)
		die("accepted and received differ", accepted,
			receiver.next[id]);
	if (receiver.field->added[id] < added ||
		receiver.field->added[id] > added + in_flight)
		die("additions and sum differ", added,
			receiver.field->added[id]);
	if (receiver.vpid[id])
		die("no GONE", id, 0);
}

static void soak_check(void)
{
	struct cay_stats stats;
	uint64_t done = 0, started = 0;
	int posted = 0;
	for (uint32_t id = 0; id < sender_count; id++)
		sender_check(id);
	/* The last sender of each slot has written all its words. */
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		uint32_t id = receiver.last[slot];
		uint64_t n = atomic_load(&shared->senders[id].put);
		for (unsigned i = 0; n && i < REGION_WORDS; i++)
			if (receiver.field->region[slot][i] !=
				region_word(id, n, i))
				die("put is damaged", id, i);
	}
	/* Increments under the lock. */
	for (uint32_t id = 0; id < sender_count; id++) {
		done += atomic_load(&shared->senders[id].counted);
		started += atomic_load(&shared->senders[id].counting);
	}
	if (receiver.field->counted < done || receiver.field->counted > started)
		die("two senders held the lock", receiver.field->counted, done);
	for (uint64_t i = 0; i < POSTED_BUFFERS; i++)
		posted += cay_receive_cancel(receiver.port, i);
	if (posted != POSTED_BUFFERS)
		die("posted buffers are lost", (uint64_t)posted,
			POSTED_BUFFERS);
	for (int i = 0; i < WINDOW_COUNT; i++)
		window_close((enum window)i);
	cay_port_stats(receiver.port, &stats);
	if (stats.nq_used || stats.rdr_used)
		die("queue entries not returned", stats.nq_used,
			stats.rdr_used);
	printf("%lu messages from %u senders, %lu posted, %lu counted, "
	       "%u windows reopened, %lu entries voided, seed %u\n",
		receiver.total, sender_count, stats.posted,
		receiver.field->counted, receiver.reopened, stats.voids, seed);
}

int main(int argc, char **argv)
{
	char name[64];
	uint64_t end = UINT64_MAX;
	int option;
	snprintf(name, sizeof(name), "soak-%d", (int)getpid());
	while ((option = getopt(argc, argv, "t:n:p:")) != -1) {
		if (option == 't')
			end = clock_after_ns(
				strtoull(optarg, NULL, 10) * CLOCK_NS_PER_S);
		else if (option == 'n')
			snprintf(name, sizeof(name), "%s", optarg);
		else if (option == 'p')
			port_name = optarg;
		else
			return 2;
	}
	argc -= optind;
	argv += optind;
	uint64_t messages = argc > 0		? strtoull(argv[0], NULL, 10)
			    : end == UINT64_MAX ? 1000000
						: UINT64_MAX;
	seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10)
			: (uint32_t)time(NULL) * 2654435761u | 1;
	printf("seed %u\n", seed);
	fflush(stdout);
	setenv("CAY_NODE", name, 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct cay_port_options options = { .name = port_name,
		.peers = SENDERS_MAX,
		.flags = CAY_PORT_TELL_GONE };
	receiver.port = cay_port_open(&options);
	if (!receiver.port)
		die("open", (uint64_t)errno, 0);
	memory_open();
	for (unsigned i = 0; i < SLOTS; i++)
		sender_start(i);
	soak(messages, end);
	soak_end();
	soak_check();
	cay_port_close(receiver.port);
	return 0;
}
