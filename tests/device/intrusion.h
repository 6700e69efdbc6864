/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One instruction, and somebody else who runs between two of its accesses:
 * everything is repeated with the intrusion before every single access.
 */
#ifndef CAY_TESTS_DEVICE_INTRUSION_H
#define CAY_TESTS_DEVICE_INTRUSION_H

#include "bench.h"

#define ACCESSES_MAX 256 /* more than any instruction makes */

struct intrusion {
	struct bench *bench;
	void (*run)(struct bench *);
	unsigned at; /* before which access */
	unsigned accesses;
	bool running;
};

static inline void intrude(void *argument)
{
	struct intrusion *i = argument;
	if (i->running || i->accesses++ != i->at)
		return;
	i->running = true;
	i->run(i->bench);
	i->running = false;
}

/*
 * Prepares three ports, then runs `instruction` with `run` before each of its
 * accesses in turn, and `check` after each.
 */
static inline void intrude_everywhere(void (*prepare)(struct bench *),
	void (*run)(struct bench *), int (*instruction)(struct bench *),
	void (*check)(struct bench *))
{
	unsigned accesses = 1;
	for (unsigned at = 0; at < accesses; at++) {
		void *state = NULL;
		assert_int_equal(bench_setup_ports(&state, 3), 0);
		struct bench *b = state;
		struct intrusion i = { .bench = b, .run = run, .at = at };
		prepare(b);
		b->c.yield = intrude;
		b->c.yield_argument = &i;
		counting_begin(&b->c);
		int r = instruction(b);
		counting_end();
		if (r)
			fail_msg("before access %u: %s", at, strerror(-r));
		check(b);
		accesses = i.accesses;
		assert_in_range(accesses, 5, ACCESSES_MAX);
		bench_teardown(&state);
	}
}

#endif
