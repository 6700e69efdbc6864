/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching, compared with a model that searches linearly, with allocations that
 * fail; and a test that the work per message does not grow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../node/failing.h"
#include "../port/harness.h"
#include "provider/message/match.h"

extern unsigned long match_steps;

enum {
	LIVE_MAX = 400,
	PEERS = 6,
	TAGS = 9,
};

/* Never dereferenced: only their addresses count. */
static char peer_memory[PEERS];

static struct peer *peer_at(uint64_t i)
{
	return (struct peer *)(void *)&peer_memory[i];
}

/* ---- the model: two arrays, oldest first ---- */

struct model {
	struct matcher matcher;
	struct random random;
	struct receive *receives[LIVE_MAX];
	struct unexpected *messages[LIVE_MAX];
	unsigned receive_count, message_count;
	fi_addr_t sources[PEERS];
	unsigned masks; /* number of different masks */
	unsigned long refused;
};

static bool model_fits(const struct receive *r, fi_addr_t from, uint64_t tag)
{
	bool known = from != FI_ADDR_NOTAVAIL;
	return (r->tag & ~r->ignore) == (tag & ~r->ignore) &&
	       (r->source == FI_ADDR_UNSPEC || (known && r->source == from));
}

static struct receive *model_receive(
	struct model *m, fi_addr_t from, uint64_t tag)
{
	for (unsigned i = 0; i < m->receive_count; i++)
		if (model_fits(m->receives[i], from, tag))
			return m->receives[i];
	return NULL;
}

static struct unexpected *model_message(
	struct model *m, const struct receive *r)
{
	for (unsigned i = 0; i < m->message_count; i++)
		if (model_fits(r, m->messages[i]->source, m->messages[i]->tag))
			return m->messages[i];
	return NULL;
}

static void model_drop_receive(struct model *m, struct receive *r)
{
	unsigned i = 0;
	while (m->receives[i] != r)
		i++;
	memmove(&m->receives[i], &m->receives[i + 1],
		(--m->receive_count - i) * sizeof(r));
	matcher_unpost(&m->matcher, r);
	free(r);
}

static void model_drop_message(struct model *m, struct unexpected *u)
{
	unsigned i = 0;
	while (m->messages[i] != u)
		i++;
	memmove(&m->messages[i], &m->messages[i + 1],
		(--m->message_count - i) * sizeof(u));
	matcher_release(&m->matcher, u);
	free(u);
}

/* ---- random operations ---- */

static uint64_t random_tag(struct model *m)
{
	uint64_t tag = random_below(&m->random, TAGS);
	return tag | random_below(&m->random, 3) << 60;
}

static uint64_t random_mask(struct model *m)
{
	static const uint64_t masks[] = { 0, 0, ~0ull, 1, 3ull << 60, 6 };
	uint64_t i = random_below(&m->random, m->masks);
	return i < COUNT(masks) ? masks[i] : i << 8 | (i & 7);
}

static fi_addr_t random_source(struct model *m)
{
	uint64_t i = random_below(&m->random, 2 * PEERS);
	return i < PEERS ? i : FI_ADDR_UNSPEC;
}

static struct receive *random_receive(struct model *m)
{
	struct receive *r = __real_calloc(1, sizeof(*r));
	failing_count(r);
	r->source = random_source(m);
	r->tag = random_tag(m);
	r->ignore = random_mask(m);
	return r;
}

/* In every fourth call an allocation fails, if it makes one. */
static void random_failure(struct model *m)
{
	if (random_below(&m->random, 4) == 0)
		failing_begin(1 + (long)random_below(&m->random, 3),
			random_below(&m->random, 2));
}

/* Returns whether a call failed without memory, as it must after a failure. */
static bool refused(struct model *m, int error)
{
	long failed = failing_end();
	if (error == 0)
		return false;
	assert_int_equal(error, -FI_ENOMEM);
	assert_true(failed > 0);
	m->refused++;
	return true;
}

static void model_post(struct model *m, struct receive *r)
{
	matcher_post(&m->matcher, r);
	if (m->receive_count == LIVE_MAX) {
		matcher_unpost(&m->matcher, r);
		free(r);
		return;
	}
	m->receives[m->receive_count++] = r;
}

/* A receive matches a message, only peeks, or is posted. */
static void step_receive(struct model *m)
{
	struct receive *r = random_receive(m);
	struct unexpected *found = NULL;
	random_failure(m);
	int error = matcher_find_message(
		&m->matcher, r->source, r->tag, r->ignore, &found);
	if (refused(m, error)) {
		free(r);
		return;
	}
	assert_true(found == model_message(m, r));
	if (!found) {
		model_post(m, r);
		return;
	}
	if (random_below(&m->random, 4))
		model_drop_message(m, found);
	free(r);
}

static void model_hold(struct model *m, unsigned peer, uint64_t tag)
{
	if (m->message_count == LIVE_MAX)
		return;
	struct unexpected *u = __real_calloc(1, sizeof(*u));
	failing_count(u);
	u->from = peer_at(peer);
	u->source = m->sources[peer];
	u->tag = tag;
	u->length = 3;
	matcher_hold(&m->matcher, u);
	m->messages[m->message_count++] = u;
}

static void step_message(struct model *m)
{
	unsigned peer = (unsigned)random_below(&m->random, PEERS);
	uint64_t tag = random_tag(m);
	struct receive *expected = model_receive(m, m->sources[peer], tag);
	/* Without memory for a table it is found all the same. */
	random_failure(m);
	struct receive *found =
		matcher_find_receive(&m->matcher, m->sources[peer], tag);
	failing_end();
	assert_true(found == expected);
	if (!found)
		model_hold(m, peer, tag);
	else if (random_below(&m->random, 4))
		model_drop_receive(m, found);
}

static void step_peer(struct model *m)
{
	unsigned peer = (unsigned)random_below(&m->random, PEERS);
	fi_addr_t source = random_source(m);
	m->sources[peer] = source;
	matcher_set_source(&m->matcher, peer_at(peer), source);
	for (unsigned i = 0; i < m->message_count; i++)
		if (m->messages[i]->from == peer_at(peer))
			assert_true(m->messages[i]->source == source);
}

static void step_remove(struct model *m)
{
	if (m->receive_count)
		model_drop_receive(m, m->receives[random_below(
					      &m->random, m->receive_count)]);
	if (m->message_count && random_below(&m->random, 3) == 0)
		model_drop_message(m, m->messages[random_below(
					      &m->random, m->message_count)]);
}

static void model_step(struct model *m)
{
	uint64_t dice = random_below(&m->random, 100);
	if (dice < 44)
		step_receive(m);
	else if (dice < 88)
		step_message(m);
	else if (dice < 98)
		step_remove(m);
	else
		step_peer(m);
	assert_int_equal(m->matcher.held_count, m->message_count);
	assert_int_equal(m->matcher.held_bytes, 3 * m->message_count);
}

static void model_end(struct model *m)
{
	while (m->receive_count)
		model_drop_receive(m, m->receives[0]);
	while (m->message_count)
		model_drop_message(m, m->messages[m->message_count - 1]);
	matcher_free(&m->matcher);
}

static void model_run(uint64_t seed, unsigned masks, uint64_t steps)
{
	static struct model m;
	long blocks = atomic_load(&failing.blocks);
	m = (struct model){ .random = { seed }, .masks = masks };
	matcher_init(&m.matcher);
	for (unsigned i = 0; i < PEERS; i++)
		m.sources[i] = i % 2 ? i : FI_ADDR_NOTAVAIL;
	for (uint64_t i = 0; i < steps; i++)
		model_step(&m);
	assert_true(m.refused > 0);
	model_end(&m);
	assert_int_equal(atomic_load(&failing.blocks), blocks);
}

static void fits_the_model(void **state)
{
	(void)state;
	uint64_t seed = now_ns();
	printf("seed %llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < 10; i++)
		model_run(seed + i, 6, scaled(40000));
}

/* More masks than classes: some receives are in the overflow list. */
static void fits_with_many_masks(void **state)
{
	(void)state;
	uint64_t seed = now_ns();
	printf("seed %llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < 5; i++)
		model_run(seed + i, 3 * MATCH_CLASSES_MAX, scaled(40000));
}

/* ---- the work does not grow ---- */

/* Average number of comparisons per call. */
#define STEPS_MAX 5

static struct receive *many_receives(struct matcher *m, size_t count,
	uint64_t (*tag)(uint64_t), fi_addr_t source, uint64_t ignore)
{
	struct receive *all = calloc(count, sizeof(*all));
	assert_true(all != NULL);
	for (uint64_t i = 0; i < count; i++) {
		all[i].tag = tag(i);
		all[i].source = source;
		all[i].ignore = ignore;
		matcher_post(m, &all[i]);
	}
	return all;
}

static struct unexpected *many_messages(
	struct matcher *m, size_t count, uint64_t (*tag)(uint64_t))
{
	struct unexpected *all = calloc(count, sizeof(*all));
	assert_true(all != NULL);
	for (uint64_t i = 0; i < count; i++) {
		all[i].tag = tag(i);
		all[i].source = 1;
		matcher_hold(m, &all[i]);
	}
	return all;
}

static uint64_t tag_own(uint64_t i)
{
	return i;
}

static uint64_t tag_high(uint64_t i)
{
	return i << 44;
}

static uint64_t tag_one(uint64_t i)
{
	(void)i;
	return 77;
}

/* Nearly all have one of a few tags. */
static uint64_t tag_few(uint64_t i)
{
	return i % 16 ? i % 4 : i;
}

static uint64_t (*const tags[])(
	uint64_t) = { tag_own, tag_high, tag_one, tag_few };

/* In the order of posting, and backwards where the tags differ. */
static void receives_take_messages(size_t count, unsigned kind, bool backwards)
{
	struct matcher m;
	matcher_init(&m);
	struct unexpected *all = many_messages(&m, count, tags[kind]);
	match_steps = 0;
	for (size_t i = 0; i < count; i++) {
		struct unexpected *u;
		uint64_t tag = tags[kind](backwards ? count - 1 - i : i);
		assert_int_equal(matcher_find_message(&m, 1, tag, 0, &u), 0);
		assert_true(u != NULL && u->tag == tag);
		matcher_release(&m, u);
	}
	assert_true(match_steps <= count * (STEPS_MAX + 4));
	assert_int_equal(m.held_count, 0);
	free(all);
	matcher_free(&m);
}

static void messages_take_receives(size_t count, unsigned kind, bool backwards)
{
	struct matcher m;
	matcher_init(&m);
	match_steps = 0;
	struct receive *all = many_receives(
		&m, count, tags[kind], FI_ADDR_UNSPEC, 0xfull << 40);
	for (size_t i = 0; i < count; i++) {
		uint64_t tag = tags[kind](backwards ? count - 1 - i : i);
		struct receive *r = matcher_find_receive(&m, 1, tag);
		assert_true(r != NULL && r->tag == tag);
		assert_true(matcher_find_receive(&m, 1, ~tag) == NULL);
		matcher_unpost(&m, r);
	}
	assert_true(match_steps <= count * 2 * STEPS_MAX);
	free(all);
	matcher_free(&m);
}

static void work_does_not_grow(void **state)
{
	(void)state;
	for (size_t count = 1000; count <= 100000; count *= 10)
		for (unsigned kind = 0; kind < COUNT(tags); kind++)
			for (unsigned back = 0; back < 2; back++) {
				receives_take_messages(count, kind, back);
				messages_take_receives(count, kind, back);
			}
}

/*
 * Both kinds of class have indexed the messages before their source is known.
 */
static void sources_become_known(size_t count, unsigned kind)
{
	struct matcher m;
	struct unexpected *u;
	matcher_init(&m);
	struct unexpected *all = many_messages(&m, count, tags[kind]);
	matcher_set_source(&m, NULL, FI_ADDR_NOTAVAIL);
	assert_int_equal(matcher_find_message(&m, 5, ~0ull, 0, &u), 0);
	assert_int_equal(
		matcher_find_message(&m, FI_ADDR_UNSPEC, ~0ull, 0, &u), 0);
	match_steps = 0;
	matcher_set_source(&m, NULL, 5);
	assert_true(match_steps <= count * STEPS_MAX);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(
			matcher_find_message(&m, 5, tags[kind](i), 0, &u), 0);
		assert_true(u == &all[i]);
		matcher_release(&m, u);
	}
	free(all);
	matcher_free(&m);
}

static void knowing_sources_does_not_grow(void **state)
{
	(void)state;
	for (size_t count = 1000; count <= 100000; count *= 10)
		for (unsigned kind = 0; kind < COUNT(tags); kind++)
			sources_become_known(count, kind);
}

/* A window of receives with one tag, and messages in their order. */
static void receives_in_order_are_one_step(void **state)
{
	struct matcher m;
	const size_t count = 1000;
	(void)state;
	matcher_init(&m);
	match_steps = 0;
	struct receive *all = many_receives(&m, count, tag_one, 1, 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(matcher_find_receive(&m, 1, 77) == &all[i]);
		matcher_unpost(&m, &all[i]);
	}
	assert_int_equal(match_steps, count);
	assert_int_equal(m.class_count, 0);
	free(all);
	matcher_free(&m);
}

/* One class and one receive, as in a ping-pong. */
static void one_receive_is_one_step(void **state)
{
	struct matcher m;
	(void)state;
	matcher_init(&m);
	struct receive *r = many_receives(&m, 1, tag_one, 1, 0);
	match_steps = 0;
	assert_true(matcher_find_receive(&m, 1, 77) == r);
	assert_int_equal(match_steps, 1);
	assert_true(matcher_find_receive(&m, 2, 77) == NULL);
	assert_true(matcher_find_receive(&m, FI_ADDR_NOTAVAIL, 77) == NULL);
	matcher_unpost(&m, r);
	assert_true(matcher_find_receive(&m, 1, 77) == NULL);
	free(r);
	matcher_free(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_the_model),
		cmocka_unit_test(fits_with_many_masks),
		cmocka_unit_test(work_does_not_grow),
		cmocka_unit_test(knowing_sources_does_not_grow),
		cmocka_unit_test(receives_in_order_are_one_step),
		cmocka_unit_test(one_receive_is_one_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
