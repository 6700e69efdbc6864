/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Soak: eight senders, one receiver, a million messages, additions, puts and
 * locks; senders are killed at random and replaced, windows closed and opened
 * again. Nothing that was accepted is lost, doubled, damaged or out of order;
 * GONE comes after the last message; all room comes back, and all that was
 * posted.
 *
 * usage: soak [messages [seed]]
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
static pid_t senders[SENDERS];
static uint32_t lives;
static uint32_t seed;

/* ---- receiver ---- */

struct receiver {
	struct cay_port *port;
	uint64_t next[LIVES];
	uint16_t vpid[LIVES]; /* of a resolved sender */
	struct cay_peer *peer[LIVES];
	bool gone[LIVES];
	bool killed[LIVES];
	uint32_t last[SENDERS]; /* sender in each slot */
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
	uint32_t life = lives++;
	pid_t parent = getpid();
	receiver.last[slot] = life;
	senders[slot] = fork();
	if (senders[slot] != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	sender_main(life, slot, seed + life * 2654435761u + 1);
}

static void die(const char *what, uint64_t a, uint64_t b)
{
	fprintf(stderr, "soak: %s (%lu, %lu); seed %u\n", what, a, b, seed);
	exit(1);
}

/* A message or a notified access. */
static void message_take(const struct cay_event *e)
{
	uint64_t life = e->tag >> 40;
	uint64_t number = e->tag & ((1ull << 40) - 1);
	const unsigned char *data = e->data;
	if (life >= LIVES || e->error)
		die("error in a message", life, (uint64_t)e->error);
	if (number != receiver.next[life])
		die("lost, doubled or out of order", number,
			receiver.next[life]);
	if (receiver.gone[life])
		die("message after GONE", life, number);
	for (size_t i = 0; data && i < e->length; i++)
		if (data[i] != message_byte(e->tag, i))
			die("damaged", e->tag, i);
	if (number == 0 && cay_peer_resolve(receiver.port, e->peer,
				   &receiver.peer[life]) == 0)
		receiver.vpid[life] = e->peer.vpid;
	receiver.next[life]++;
	receiver.total++;
}

/* ---- windows and posted buffers ---- */

static void window_open(enum window window)
{
	unsigned rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	struct cay_key key;
	if (window == WINDOW_TOLD)
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

/* With a new key; a lock on the old window is gone. */
static void window_reopen(uint32_t *state)
{
	enum window window = (enum window)(random_next(state) % WINDOW_COUNT);
	window_close(window);
	window_open(window);
	receiver.reopened++;
}

static void buffer_post(uint64_t i)
{
	int r = cay_receive_post(receiver.port,
		receiver.posted + i * POSTED_BYTES, POSTED_BYTES, i);
	if (r)
		die("posting a buffer", (uint64_t)-r, i);
}

static void posted_take(const struct cay_event *e)
{
	if (e->result >= POSTED_BUFFERS)
		die("no such buffer", e->result, 0);
	message_take(e);
	buffer_post(e->result);
}

static void memory_begin(void)
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

static void gone_take(const struct cay_event *e)
{
	for (uint32_t life = 0; life < LIVES; life++)
		if (receiver.peer[life] &&
			receiver.vpid[life] == e->peer.vpid &&
			!receiver.gone[life]) {
			receiver.gone[life] = true;
			cay_peer_release(receiver.peer[life]);
			receiver.peer[life] = NULL;
			return;
		}
}

/* Releases the events of a batch in random order. */
static int receive(uint32_t *state)
{
	struct cay_event events[16];
	int n = cay_poll(receiver.port, events, 16);
	for (int i = 0; i < n; i++) {
		if (events[i].kind == CAY_EVENT_MESSAGE ||
			events[i].kind == CAY_EVENT_ACCESS)
			message_take(&events[i]);
		else if (events[i].kind == CAY_EVENT_POSTED)
			posted_take(&events[i]);
		else if (events[i].kind == CAY_EVENT_GONE)
			gone_take(&events[i]);
	}
	for (int left = n; left > 0; left--) {
		int i = (int)(random_next(state) % (uint32_t)left);
		cay_release(receiver.port, &events[i]);
		events[i] = events[left - 1];
	}
	return n;
}

static void sender_kill(uint32_t *state)
{
	unsigned slot = random_next(state) % SENDERS;
	if (lives >= LIVES - SENDERS)
		return;
	kill(senders[slot], SIGKILL);
	waitpid(senders[slot], NULL, 0);
	receiver.killed[receiver.last[slot]] = true;
	sender_start(slot);
}

static void soak(uint64_t messages)
{
	uint32_t state = seed;
	uint64_t next_kill = clock_after_ns(CLOCK_NS_PER_MS);
	uint64_t next_open = clock_after_ns(REOPEN_NS);
	uint64_t progress = clock_after_ns(TIMEOUT);
	uint64_t tell = clock_after_ns(CLOCK_NS_PER_S);
	while (receiver.total < messages) {
		int n = receive(&state);
		if (n > 0)
			progress = clock_after_ns(TIMEOUT);
		else
			cay_wait(
				receiver.port, clock_after_ns(CLOCK_NS_PER_MS));
		if (clock_passed(progress))
			die("stalled", receiver.total, lives);
		if (clock_passed(next_kill)) {
			sender_kill(&state);
			next_kill = clock_after_ns(
				random_next(&state) % 4000 * CLOCK_NS_PER_US);
		}
		if (clock_passed(next_open)) {
			window_reopen(&state);
			next_open = clock_after_ns(REOPEN_NS);
		}
		if (isatty(2) && clock_passed(tell)) {
			fprintf(stderr, "\r%lu messages, %u senders",
				receiver.total, lives);
			tell = clock_after_ns(CLOCK_NS_PER_S);
		}
	}
}

/* Running senders finish; the remaining events are polled. */
static void soak_end(void)
{
	uint32_t state = seed;
	int left = SENDERS, status;
	uint64_t deadline = clock_after_ns(TIMEOUT);
	atomic_store(&shared->finish, 1);
	while (left > 0) {
		receive(&state);
		pid_t pid = waitpid(-1, &status, WNOHANG);
		left -= pid > 0;
		if (pid > 0 && status)
			die("a sender failed", (uint64_t)status, 0);
		if (clock_passed(deadline))
			die("senders do not end", (uint64_t)left, 0);
	}
	while (cay_wait(receiver.port, clock_after_ns(CLOCK_NS_PER_S)) == 0)
		receive(&state);
}

/* Completed accesses took effect; one in progress may have, once. */
static void life_check(uint32_t which)
{
	struct life *life = &shared->lives[which];
	uint64_t accepted = atomic_load(&life->accepted);
	uint64_t added = atomic_load(&life->added);
	uint64_t most = receiver.killed[which];
	if (receiver.next[which] < accepted ||
		receiver.next[which] > accepted + most)
		die("accepted and received differ", accepted,
			receiver.next[which]);
	if (receiver.field->added[which] < added ||
		receiver.field->added[which] > added + most)
		die("added once too often, or too little", added,
			receiver.field->added[which]);
	if (receiver.peer[which])
		die("no GONE", which, 0);
}

/* The last sender of each slot has written all its words. */
static void region_check(unsigned slot)
{
	uint32_t which = receiver.last[slot];
	uint64_t n = atomic_load(&shared->lives[which].put);
	for (unsigned i = 0; n && i < REGION_WORDS; i++)
		if (receiver.field->region[slot][i] != region_word(which, n, i))
			die("what was put is damaged", which, i);
}

static void counted_check(void)
{
	uint64_t done = 0, begun = 0;
	for (uint32_t i = 0; i < lives; i++) {
		done += atomic_load(&shared->lives[i].counted);
		begun += atomic_load(&shared->lives[i].counting);
	}
	if (receiver.field->counted < done || receiver.field->counted > begun)
		die("two had the lock", receiver.field->counted, done);
}

static void posted_check(void)
{
	int count = 0;
	for (uint64_t i = 0; i < POSTED_BUFFERS; i++)
		count += cay_receive_cancel(receiver.port, i);
	if (count != POSTED_BUFFERS)
		die("posted buffers are lost", (uint64_t)count, POSTED_BUFFERS);
}

static void soak_check(void)
{
	struct cay_stats stats;
	for (uint32_t which = 0; which < lives; which++)
		life_check(which);
	for (unsigned slot = 0; slot < SENDERS; slot++)
		region_check(slot);
	counted_check();
	posted_check();
	for (int i = 0; i < WINDOW_COUNT; i++)
		window_close((enum window)i);
	cay_port_stats(receiver.port, &stats);
	if (stats.nq_used || stats.rdr_used)
		die("room not returned", stats.nq_used, stats.rdr_used);
	printf("%lu messages from %u senders, %lu posted, %lu counted, "
	       "%u windows opened again, %lu entries voided, seed %u\n",
		receiver.total, lives, stats.posted, receiver.field->counted,
		receiver.reopened, stats.voids, seed);
}

int main(int argc, char **argv)
{
	char name[64];
	uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10)
			: (uint32_t)time(NULL) * 2654435761u | 1;
	printf("seed %u\n", seed);
	fflush(stdout);
	snprintf(name, sizeof(name), "soak-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct cay_port_options options = { .name = "receiver",
		.peers = LIVES };
	receiver.port = cay_port_open(&options);
	if (!receiver.port)
		die("open", (uint64_t)errno, 0);
	memory_begin();
	for (unsigned i = 0; i < SENDERS; i++)
		sender_start(i);
	soak(messages);
	soak_end();
	soak_check();
	cay_port_close(receiver.port);
	return 0;
}
