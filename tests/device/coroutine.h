/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Coroutines for tests: parties that hand over to each other at points of
 * their own choosing, in an order that a seed decides and repeats.
 *
 *	struct stage s;
 *	stage_open(&s, seed);
 *	stage_add(&s, &party, run, argument);
 *	stage_play(&s, steps_max);
 *	stage_close(&s);
 *
 * A party calls stage_yield() where another may go on, stage_block() to sleep
 * until a counter moves, stage_fail() instead of an assertion: cmocka's jump
 * belongs to the stack of the test.
 */
#ifndef CAY_TESTS_DEVICE_COROUTINE_H
#define CAY_TESTS_DEVICE_COROUTINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#define STAGE_PARTIES_MAX 8
#define STAGE_STACK_BYTES (256u << 10)

struct stage;

struct party {
	ucontext_t context;
	struct stage *stage;
	void (*run)(void *argument);
	void *argument;
	void *stack;
	bool done; /* has returned, or will never run again */
	const uint32_t *blocked_on;
	uint32_t blocked_value;
};

struct stage {
	ucontext_t home;
	struct party *party[STAGE_PARTIES_MAX];
	uint32_t parties;
	struct party *now;
	uint64_t random;
	uint32_t stay; /* one yield in so many hands over */
	const char *failure;
};

/* splitmix64 */
static inline uint64_t stage_random(struct stage *s)
{
	uint64_t z = s->random += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline bool stage_chance(struct stage *s, uint32_t one_in)
{
	return stage_random(s) % one_in == 0;
}

/* Some schedules change at every point, others let everybody run on. */
static inline void stage_open(struct stage *s, uint64_t seed)
{
	*s = (struct stage){ .random = seed };
	s->stay = 1u << stage_random(s) % 6;
}

static inline void party_main(unsigned high, unsigned low)
{
	struct party *p = (void *)((uintptr_t)high << 32 | low);
	p->run(p->argument);
	p->done = true;
	swapcontext(&p->context, &p->stage->home);
}

static inline void stage_add(
	struct stage *s, struct party *p, void (*run)(void *), void *argument)
{
	uintptr_t self = (uintptr_t)p;
	*p = (struct party){ .stage = s, .run = run, .argument = argument };
	p->stack = malloc(STAGE_STACK_BYTES);
	if (!p->stack || s->parties == STAGE_PARTIES_MAX)
		abort();
	getcontext(&p->context);
	p->context.uc_stack.ss_sp = p->stack;
	p->context.uc_stack.ss_size = STAGE_STACK_BYTES;
	makecontext(&p->context, (void (*)(void))party_main, 2,
		(unsigned)((uint64_t)self >> 32), (unsigned)self);
	s->party[s->parties++] = p;
}

/* To the stage, which decides who is next. */
static inline void stage_switch(struct stage *s)
{
	swapcontext(&s->now->context, &s->home);
}

static inline void stage_yield(struct stage *s)
{
	if (s->now && stage_chance(s, s->stay))
		stage_switch(s);
}

/* Sleeps until the counter is not what it is now. */
static inline void stage_block(struct stage *s, const uint32_t *counter)
{
	s->now->blocked_on = counter;
	s->now->blocked_value = *counter;
	stage_switch(s);
}

static inline void stage_fail(struct stage *s, const char *why)
{
	if (!s->failure)
		s->failure = why;
	stage_switch(s);
}

static inline bool party_runnable(const struct party *p)
{
	return !p->done &&
	       (!p->blocked_on || *p->blocked_on != p->blocked_value);
}

static inline struct party *stage_pick(struct stage *s)
{
	struct party *able[STAGE_PARTIES_MAX];
	uint32_t count = 0;
	for (uint32_t i = 0; i < s->parties; i++)
		if (party_runnable(s->party[i]))
			able[count++] = s->party[i];
	return count ? able[stage_random(s) % count] : NULL;
}

/* Until nobody can go on, somebody has failed, or it takes too long. */
static inline void stage_play(struct stage *s, uint32_t switches_max)
{
	while (!s->failure && (s->now = stage_pick(s))) {
		if (switches_max-- == 0) {
			s->failure = "it does not come to an end";
			break;
		}
		s->now->blocked_on = NULL;
		swapcontext(&s->home, &s->now->context);
	}
	s->now = NULL;
}

static inline void stage_close(struct stage *s)
{
	for (uint32_t i = 0; i < s->parties; i++)
		free(s->party[i]->stack);
}

#endif
