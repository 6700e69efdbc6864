/* SPDX-License-Identifier: BSD-2-Clause */
/* See harness.h: time, random numbers, test data, set-up and teardown. */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness_private.h"

/* An alarm ends a program that hangs in spite of all deadlines. */
#define PROGRAM_SECONDS_MAX 120

static char name[64];

/* ---- set-up and teardown ---- */

int harness_begin(void **state)
{
	(void)state;
	/* cmocka cannot longjmp to its runner from a child or a thread. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	if (!getenv("CAY_NODE_PROGRAM")) {
		fprintf(stderr, "CAY_NODE_PROGRAM names no node: skipped\n");
		exit(77);
	}
	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	unsetenv("CAY_REALM");
	signal(SIGPIPE, SIG_IGN);
	alarm(PROGRAM_SECONDS_MAX);
	return 0;
}

int harness_test_end(void **state)
{
	(void)state;
	children_end();
	return 0;
}

int harness_end(void **state)
{
	(void)state;
	children_end();
	if (node_gone_soon(name))
		return 0;
	fprintf(stderr, "left behind: node %s, process %d, socket %d\n", name,
		(int)node_process(name), node_socket(name));
	/* cmocka reports a failed teardown, but does not count it. */
	exit(1);
}

const char *node_name(void)
{
	return name;
}

/* ---- time ---- */

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void nap_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

uint64_t soon(void)
{
	return now_ns() + TIMEOUT_NS;
}

/* ---- random numbers and test data ---- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t random_next(struct random *r)
{
	return mix(r->state++);
}

uint64_t random_below(struct random *r, uint64_t limit)
{
	return random_next(r) % limit;
}

void random_pause(struct random *r, uint64_t ns_max)
{
	uint64_t ns = random_below(r, ns_max + 1);
	switch (random_below(r, 4)) {
	case 0:
		return;
	case 1:
		nap_ns(ns);
		return;
	default:
		for (uint64_t until = now_ns() + ns; now_ns() < until;)
			;
	}
}

void content_fill(void *to, size_t bytes, uint64_t seed)
{
	unsigned char *at = to;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word = mix(seed++);
		memcpy(at, &word, 8);
	}
	uint64_t word = mix(seed);
	if (bytes)
		memcpy(at, &word, bytes);
}

bool content_fits(const void *from, size_t bytes, uint64_t seed)
{
	const unsigned char *at = from;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word = mix(seed++);
		if (memcmp(at, &word, 8) != 0)
			return false;
	}
	uint64_t word = mix(seed);
	return bytes == 0 || memcmp(at, &word, bytes) == 0;
}
