/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Soak: eight senders, one receiver, a million messages; senders are killed at
 * random and replaced. Nothing that was accepted is lost, doubled, damaged or
 * out of order; GONE comes after the last message; all room comes back.
 *
 * usage: soak [messages [seed]]
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cay/cay.h"

#define SENDERS	 8
#define LIVES	 8192 /* senders, dead ones included */
#define PATIENCE (60 * CLOCK_NS_PER_S)

struct shared {
	_Atomic uint64_t accepted[LIVES];
	_Atomic uint32_t finish;
};

static struct shared *shared;
static pid_t senders[SENDERS];
static uint32_t lives;
static uint32_t seed;

static uint32_t random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static unsigned char byte_of(uint64_t tag, size_t at)
{
	return (unsigned char)(tag * 11 + (tag >> 40) * 5 + at * 3);
}

/* ---- a sender: life after life ---- */

static size_t length_pick(uint32_t *state)
{
	uint32_t pick = random_next(state) % 100;
	if (pick < 70)
		return random_next(state) % 41;
	if (pick < 98)
		return 41 + random_next(state) % 2000;
	return 9000 + random_next(state) % 20000;
}

/* A long message's memory may be written again when it has been taken. */
static void completion_wait(struct cay_port *port)
{
	struct cay_event e;
	for (bool complete = false; !complete;) {
		if (cay_wait(port, clock_after_ns(PATIENCE)) != 0)
			exit(3);
		while (cay_poll(port, &e, 1) == 1) {
			complete |= e.kind == CAY_EVENT_COMPLETE;
			if (e.kind == CAY_EVENT_GONE)
				exit(0);
			cay_release(port, &e);
		}
	}
}

static void sender_main(uint32_t life, uint32_t state)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *peer;
	if (!port || cay_peer_lookup(port, "receiver", clock_after_ns(PATIENCE),
			     &peer) != 0)
		exit(3);
	unsigned char *memory = cay_alloc(port, 32768, 0);
	if (!memory)
		exit(3);
	for (uint64_t number = 0; !atomic_load(&shared->finish); number++) {
		uint64_t tag = (uint64_t)life << 40 | number;
		size_t length = length_pick(&state);
		for (size_t i = 0; i < length; i++)
			memory[i] = byte_of(tag, i);
		int r = cay_send_wait(port, peer, tag, memory, length, 0,
			clock_after_ns(PATIENCE));
		if (r)
			exit(r == -EPIPE ? 0 : 3);
		/* Relaxed would do: the receiver looks when we are dead. */
		atomic_store(&shared->accepted[life], number + 1);
		if (length > CAY_COPIED_MAX)
			completion_wait(port);
	}
	cay_peer_release(peer);
	cay_port_close(port);
	exit(0);
}

static void sender_start(unsigned slot)
{
	uint32_t life = lives++;
	pid_t parent = getpid();
	senders[slot] = fork();
	if (senders[slot] != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	sender_main(life, seed + life * 2654435761u + 1);
}

/* ---- the receiver ---- */

struct receiver {
	struct cay_port *port;
	uint64_t next[LIVES];
	uint16_t vpid[LIVES]; /* of a life that was resolved */
	struct cay_peer *peer[LIVES];
	bool gone[LIVES];
	uint64_t total;
};

static struct receiver receiver;

static void die(const char *what, uint64_t a, uint64_t b)
{
	fprintf(stderr, "soak: %s (%lu, %lu); seed %u\n", what, a, b, seed);
	exit(1);
}

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
	for (size_t i = 0; i < e->length; i++)
		if (data[i] != byte_of(e->tag, i))
			die("damaged", e->tag, i);
	if (number == 0 && cay_peer_resolve(receiver.port, e->peer,
				   &receiver.peer[life]) == 0)
		receiver.vpid[life] = e->peer.vpid;
	receiver.next[life]++;
	receiver.total++;
}

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

/* Released in random order within a batch. */
static int receive(uint32_t *state)
{
	struct cay_event events[16];
	int n = cay_poll(receiver.port, events, 16);
	for (int i = 0; i < n; i++) {
		if (events[i].kind == CAY_EVENT_MESSAGE)
			message_take(&events[i]);
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
	sender_start(slot);
}

static void soak(uint64_t messages)
{
	uint32_t state = seed;
	uint64_t next_kill = clock_after_ns(CLOCK_NS_PER_MS);
	uint64_t progress = clock_after_ns(PATIENCE);
	uint64_t tell = clock_after_ns(CLOCK_NS_PER_S);
	while (receiver.total < messages) {
		int n = receive(&state);
		if (n > 0)
			progress = clock_after_ns(PATIENCE);
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
		if (isatty(2) && clock_passed(tell)) {
			fprintf(stderr, "\r%lu messages, %u senders",
				receiver.total, lives);
			tell = clock_after_ns(CLOCK_NS_PER_S);
		}
	}
}

/* The living end by themselves; what is left is taken. */
static void soak_end(void)
{
	uint32_t state = seed;
	int left = SENDERS, status;
	uint64_t deadline = clock_after_ns(PATIENCE);
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

static void soak_check(void)
{
	struct cay_stats stats;
	for (uint32_t life = 0; life < lives; life++) {
		uint64_t accepted = atomic_load(&shared->accepted[life]);
		if (receiver.next[life] < accepted ||
			receiver.next[life] > accepted + 1)
			die("accepted and received differ", accepted,
				receiver.next[life]);
		if (receiver.peer[life])
			die("no GONE", life, 0);
	}
	cay_port_stats(receiver.port, &stats);
	if (stats.nq_used || stats.rdr_used)
		die("room not returned", stats.nq_used, stats.rdr_used);
	printf("%lu messages from %u senders, %lu entries voided, seed %u\n",
		receiver.total, lives, stats.voids, seed);
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
	for (unsigned i = 0; i < SENDERS; i++)
		sender_start(i);
	soak(messages);
	soak_end();
	soak_check();
	cay_port_close(receiver.port);
	return 0;
}
