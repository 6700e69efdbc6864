/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Coroutines for tests: they switch to each other only at points that the test
 * determines, in an order that depends on nothing but a seed.
 *
 *	struct scheduler s;
 *	scheduler_open(&s, seed);
 *	scheduler_add(&s, &coroutine, run, argument);
 *	scheduler_run(&s, switches_max);
 *	scheduler_close(&s);
 *
 * A coroutine calls scheduler_yield() where a switch is allowed,
 * scheduler_switch() where it waits for others, scheduler_block() to sleep
 * until a counter changes, and scheduler_fail() instead of an assertion:
 * cmocka would longjmp() to the stack of the test. One thread.
 */
#ifndef CAY_TESTS_DEVICE_COROUTINE_H
#define CAY_TESTS_DEVICE_COROUTINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define COROUTINES_MAX	      8
#define COROUTINE_STACK_BYTES (256u << 10)

struct scheduler;

struct coroutine {
	ucontext_t context;
	struct scheduler *scheduler;
	void (*run)(void *argument);
	void *argument;
	void *stack;
	bool done; /* has returned, or was killed */
	const uint32_t *blocked_on;
	uint32_t blocked_value;
};

struct scheduler {
	ucontext_t home;
	struct coroutine *coroutine[COROUTINES_MAX];
	uint32_t count;
	struct coroutine *current; /* NULL outside of scheduler_run() */
	uint64_t random;
	uint32_t yields_per_switch; /* on average */
	uint32_t switches;
	const char *failure;
};

/* splitmix64 */
static inline uint64_t scheduler_random(struct scheduler *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline bool scheduler_chance(struct scheduler *s, uint32_t one_in)
{
	return scheduler_random(s) % one_in == 0;
}

/* The seed also determines how often scheduler_yield() switches. */
static inline void scheduler_open(struct scheduler *s, uint64_t seed)
{
	*s = (struct scheduler){ .random = seed };
	s->yields_per_switch = 1u << scheduler_random(s) % 6;
}

static inline void coroutine_main(unsigned high, unsigned low)
{
	struct coroutine *c = (void *)((uintptr_t)high << 32 | low);
	c->run(c->argument);
	c->done = true;
	swapcontext(&c->context, &c->scheduler->home);
}

static inline void scheduler_add(struct scheduler *s, struct coroutine *c,
	void (*run)(void *), void *argument)
{
	uintptr_t self = (uintptr_t)c;
	*c = (struct coroutine){
		.scheduler = s, .run = run, .argument = argument
	};
	c->stack = malloc(COROUTINE_STACK_BYTES);
	if (!c->stack || s->count == COROUTINES_MAX)
		abort();
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = COROUTINE_STACK_BYTES;
	makecontext(&c->context, (void (*)(void))coroutine_main, 2,
		(unsigned)((uint64_t)self >> 32), (unsigned)self);
	s->coroutine[s->count++] = c;
}

/* Returns to the scheduler, which selects the next coroutine. */
static inline void scheduler_switch(struct scheduler *s)
{
	swapcontext(&s->current->context, &s->home);
}

static inline void scheduler_yield(struct scheduler *s)
{
	if (s->current && scheduler_chance(s, s->yields_per_switch))
		scheduler_switch(s);
}

/* Sleeps until the counter has another value than now. */
static inline void scheduler_block(struct scheduler *s, const uint32_t *counter)
{
	s->current->blocked_on = counter;
	s->current->blocked_value = *counter;
	scheduler_switch(s);
}

/* Records the first failure. In a coroutine it does not return. */
static inline void scheduler_fail(struct scheduler *s, const char *message)
{
	if (!s->failure)
		s->failure = message;
	if (s->current)
		scheduler_switch(s);
}

static inline struct coroutine *scheduler_pick(struct scheduler *s)
{
	struct coroutine *runnable[COROUTINES_MAX];
	uint32_t count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		struct coroutine *c = s->coroutine[i];
		if (!c->done &&
			(!c->blocked_on || *c->blocked_on != c->blocked_value))
			runnable[count++] = c;
	}
	return count ? runnable[scheduler_random(s) % count] : NULL;
}

/*
 * Runs until `finished` returns true, no coroutine is runnable, or one has
 * failed. More than switches_max switches are a failure. Without `finished`
 * all coroutines must end or block.
 */
static inline void scheduler_run_until(struct scheduler *s,
	uint32_t switches_max, bool (*finished)(const void *argument),
	const void *argument)
{
	for (s->switches = 0; !s->failure; s->switches++) {
		if (finished && finished(argument))
			break;
		if (!(s->current = scheduler_pick(s)))
			break;
		if (s->switches == switches_max) {
			s->failure = "the schedule does not terminate";
			break;
		}
		s->current->blocked_on = NULL;
		swapcontext(&s->home, &s->current->context);
	}
	s->current = NULL;
}

static inline void scheduler_run(struct scheduler *s, uint32_t switches_max)
{
	scheduler_run_until(s, switches_max, NULL, NULL);
}

static inline void scheduler_close(struct scheduler *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->coroutine[i]->stack);
}

/* Reads CAY_SEED, CAY_SCHEDULES and the like. */
static inline uint64_t environment_number(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 0) : fallback;
}

#endif
