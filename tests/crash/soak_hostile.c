/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile member of another realm, for soak.py: it joins the realm by hand,
 * opens ports, stores random words over what the node shares with it (header,
 * directory, queue controls, op records, queues), and sends random requests and
 * bytes, until it is killed. The node must go on, and no port of another realm
 * may notice.
 *
 * usage: soak_hostile REALM SEED COUNTERS
 *
 * COUNTERS is a file with two 64-bit counters: words stored, requests sent.
 */
#include "../node/garbage.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define PORTS		 4
#define WORDS		 4096 /* stored between two requests */
#define CONNECTION_CALLS 64
/* Pages that are touched stay allocated until the realm ends. */
#define SCRIBBLE_BYTES (4ull << 20)

struct counters {
	_Atomic uint64_t words, requests;
};

static struct counters *counters;
static uint64_t seed;
static unsigned char *base; /* of the arena */
static uint64_t arena_bytes;

/* Joins the realm and maps its arena. Returns the socket, or -errno. */
static int hostile_join(const char *realm)
{
	struct node_request q = hello_request(realm);
	struct node_reply reply;
	int fd = -1, s = raw_connect();
	if (s < 0)
		return s;
	int r = raw_call(s, &q, -1, &reply, &fd);
	if (r == 0 && fd >= 0 && !base) {
		arena_bytes = reply.hello.arena_bytes;
		base = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_NORESERVE, fd, 0);
		if (base == MAP_FAILED)
			r = -errno;
	}
	if (fd >= 0)
		close(fd);
	if (r == 0)
		return s;
	close(s);
	return r;
}

/* An offset in a part of the arena that the node reads. */
static uint64_t hostile_offset(void)
{
	static const uint64_t parts[] = { 0, ARENA_DIRECTORY_OFFSET,
		ARENA_CONTROL_OFFSET(0ull), ARENA_CONTROL_OFFSET(1ull),
		ARENA_HEAP_OFFSET };
	uint64_t from =
		parts[random_below(&seed, sizeof(parts) / sizeof(parts[0]))];
	/* Often the first pages: those of the ports in use. */
	uint64_t span = random_below(&seed, 4) ? 65536 : SCRIBBLE_BYTES;
	return (from + random_below(&seed, span)) & ~7ull;
}

static void hostile_scribble(void)
{
	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t at = hostile_offset();
		uint64_t value = random_field(&seed);
		if (at + 8 <= arena_bytes)
			atomic_store_explicit((_Atomic uint64_t *)(base + at),
				value, memory_order_relaxed);
	}
	atomic_fetch_add(&counters->words, WORDS);
}

/* Returns false if the node has ended the connection. */
static bool hostile_request(int s, const char *realm)
{
	unsigned char bytes[300];
	struct node_request q;
	struct node_reply reply;
	atomic_fetch_add(&counters->requests, 1);
	if (random_below(&seed, 32) == 0) {
		random_fill(&seed, bytes, sizeof(bytes));
		int fd = -1;
		send(s, bytes, 1 + random_below(&seed, sizeof(bytes) - 1),
			MSG_NOSIGNAL);
		raw_reply(s, &reply, &fd);
		if (fd >= 0)
			close(fd);
		return false;
	}
	random_request(&seed, realm, &q);
	int r = raw_call(s, &q, -1, &reply, NULL);
	/* The driver fails if the node hangs. */
	return r != -ENOTCONN && r != -EPROTO && r != -ETIMEDOUT;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	snprintf(harness_name, sizeof(harness_name), "%s", getenv("CAY_NODE"));
	seed = strtoull(argv[2], NULL, 0);
	int file = open(argv[3], O_RDWR | O_CLOEXEC);
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE,
		MAP_SHARED, file, 0);
	if (file < 0 || counters == MAP_FAILED)
		return 2;
	for (;;) {
		int s = hostile_join(argv[1]);
		if (s < 0 || !base) {
			clock_nap_ns(10 * CLOCK_NS_PER_MS);
			continue;
		}
		for (unsigned i = 0; i < PORTS; i++) {
			struct node_request q = { .kind = NODE_OPEN };
			struct node_reply reply;
			raw_call(s, &q, -1, &reply, NULL);
		}
		for (unsigned i = 0; i < CONNECTION_CALLS; i++) {
			hostile_scribble();
			if (!hostile_request(s, argv[1]))
				break;
		}
		close(s);
	}
}
