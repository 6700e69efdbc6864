/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine checks what the direct path checks, in the same order: at the
 * origin and at a target on the same machine, there also as bits, and on
 * another machine. Word mode is a property of the origin; its packets tell the
 * target.
 */
#include "broken_request.h"
#include "machine.h"

/* Where the target is. */
enum place {
	SAME_MACHINE,
	SAME_MACHINE_ENCODED,
	ANOTHER_MACHINE,
	PLACES,
};

static void place_open(struct machines *ms, struct testbench *tb,
	enum place place, enum word_mode mode)
{
	struct machine_config c = *machine_preset("multi-wait");
	c.encode_local = place == SAME_MACHINE_ENCODED;
	c.mtu = 128;
	machines_open(ms, tb, &c, place == ANOTHER_MACHINE ? 2 : 1);
	machine_origin(ms->m[0], fixture_vpid(0))->word_mode = (uint8_t)mode;
}

/* The VCI of the direct path, with the route of this place. */
static struct cay_vci place_vci(enum place place, struct cay_vci v)
{
	if (place == ANOTHER_MACHINE)
		v.word[0] += 1ull << CAY_VCI_ROUTING_LENGTH_SHIFT;
	return v;
}

/* Executes a VCI that fails, and returns its error. */
static unsigned error_of(struct machines *ms, const struct cay_vci *v)
{
	struct cay_nqe n;
	assert_true(machines_issue(ms, 0, v));
	machines_run(ms);
	assert_true(machines_consume(ms, 0, &n));
	assert_int_equal(nqe_command(&n) & CAY_COMMAND_MASK, CAY_NOTIFY_CC);
	return nqe_command(&n) >> CAY_COMMAND_ERROR_SHIFT;
}

static void first_failing_check_determines_the_error(void **state)
{
	for (enum place place = 0; place < PLACES; place++) {
		struct broken_request w = { .tb = *state };
		struct machines ms;
		struct cay_nqe n;
		break_everything(&w);
		place_open(&ms, w.tb, place, WORD_MODE_VCI);
		for (size_t i = 0; i < ARRAY_COUNT(checks); i++) {
			struct cay_vci v = place_vci(place, w.v);
			unsigned expected = checks[i].error;
			unsigned error = error_of(&ms, &v);
			if (error != expected)
				fail_msg("place %d, check %zu: error %u, not "
					 "%u",
					place, i, error, expected);
			checks[i].fix(&w);
			if (checks[i].error == CAY_ERROR_TARGET_LOCKED &&
				place == ANOTHER_MACHINE)
				descriptor(w.tb, 1)->lock = 0;
		}
		struct cay_vci v = place_vci(place, w.v);
		assert_true(machines_issue(&ms, 0, &v));
		machines_run(&ms);
		assert_false(machines_consume(&ms, 0, &n));
		machines_close(&ms);
		tb_teardown(state);
		assert_int_equal(tb_setup(state), 0);
	}
}

/* ---- random requests, on the direct path and on machines ---- */

#define BYTES 2048u

static uint32_t roll(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

/* Multiples of 8, and some that are not. */
static uint64_t roll_words(uint64_t *seed, uint32_t bytes)
{
	uint64_t n = 8 * roll(seed, bytes / 8);
	return roll(seed, 3) ? n : n + roll(seed, 8);
}

static struct cay_vci random_vci(const struct target windows[2], uint64_t *seed)
{
	static const unsigned commands[] = { CAY_SEND, CAY_PUT, CAY_GET,
		CAY_FAST_PUT, CAY_FAST_GET, CAY_FAA, CAY_CAS,
		CAY_MISALIGNED_PUT };
	unsigned command = commands[roll(seed, ARRAY_COUNT(commands))];
	const struct target *t = &windows[roll(seed, 2)];
	uint64_t bytes = 0;
	struct cay_vci v = { .word = { CAY_VCI_ROUTE_LOCAL | 1ull << 32 |
					       (uint64_t)CAY_VCI_NOTIFY
						       << CAY_VCI_FLAGS_SHIFT,
				     fixture_vpid(1), 7 } };
	if (command == CAY_FAST_PUT || command == CAY_FAST_GET) {
		bytes = roll(seed, 2) ? 8 * (1 + roll(seed, 3))
				      : 1 + roll(seed, CAY_FAST_PUT_BYTES);
		command |= (unsigned)(bytes + 7) / 8;
	}
	v.word[CAY_VCI_WORD_COMMAND] |= command;
	v.word[CAY_VCI_WORD_TARGET] |= bytes << CAY_VCI_BYTES_SHIFT;
	if (command == CAY_SEND) {
		v.word[CAY_VCI_WORD_SDR_OFFSET] = roll_words(seed, BYTES);
		v.word[CAY_VCI_WORD_LENGTH] = roll_words(seed, BYTES);
		return v;
	}
	v.word[CAY_VCI_WORD_WINDOW] = t->window |
				      (t->capability ^ !roll(seed, 16))
					      << CAY_VCI_CAPABILITY_SHIFT;
	v.word[CAY_VCI_WORD_OFFSET] = roll_words(seed, BYTES);
	v.word[CAY_VCI_WORD_ORIGIN] = roll(seed, 1000);
	if (command == CAY_PUT || command == CAY_GET) {
		v.word[CAY_VCI_WORD_ORIGIN] = 2;
		v.word[CAY_VCI_WORD_ORIGIN_OFFSET] = roll_words(seed, BYTES);
		v.word[CAY_VCI_WORD_BYTES] = roll_words(seed, BYTES / 2);
	}
	if (command == CAY_MISALIGNED_PUT)
		v.word[CAY_VCI_WORD_OPERAND + 1] = roll(seed, 256);
	else if (command == CAY_CAS)
		v.word[CAY_VCI_WORD_OPERAND + 1] = roll(seed, 3);
	return v;
}

static void windows_open(struct testbench *tb, struct target windows[2])
{
	windows[0] = tb_window(tb, 1, 1, BYTES, TB_RIGHTS);
	windows[1] = tb_window(tb, 1, 3, BYTES,
		CAY_RIGHT_READ | CAY_RIGHT_ATOMIC | CAY_RIGHT_NOTIFY_REFUSAL);
	struct target own = tb_window(tb, 0, 2, BYTES, TB_RIGHTS);
	memcpy(fixture_at(
		       &tb->fixture, tb->port[0].origin.wdt[own.window].start),
		tb->data, BYTES);
}

/* Memory, and how often the owner was told of a refusal. */
static void assert_same(struct testbench *a, struct testbench *b)
{
	static const struct {
		uint32_t port, window;
	} all[] = { { 1, 1 }, { 1, 3 }, { 0, 2 } };
	for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
		const struct cay_window_descriptor *x =
			&a->port[all[i].port].origin.wdt[all[i].window];
		const struct cay_window_descriptor *y =
			&b->port[all[i].port].origin.wdt[all[i].window];
		assert_memory_equal(fixture_at(&a->fixture, x->start),
			fixture_at(&b->fixture, y->start), BYTES);
		assert_int_equal(x->refusals, y->refusals);
	}
}

static void errors_are_those_of_the_direct_path(void **state)
{
	uint64_t seed = 1;
	for (enum place place = 0; place < PLACES; place++)
		for (unsigned mode = WORD_MODE_OFF; mode <= WORD_MODE_VCI;
			mode++) {
			struct testbench *direct = *state;
			void *second = NULL;
			struct machines ms;
			struct target windows[2], same[2];
			struct cay_nqe n, m;
			unsigned seen[CAY_ERROR_COUNT] = { 0 };
			assert_int_equal(tb_setup(&second), 0);
			windows_open(direct, windows);
			windows_open(second, same);
			direct->port[0].origin.word_mode = (uint8_t)mode;
			place_open(&ms, second, place, (enum word_mode)mode);
			for (uint32_t i = 0; i < 3000; i++) {
				struct cay_vci v = random_vci(windows, &seed);
				tb_issue_vci(direct, &v);
				assert_true(tb_receive(direct, 0, &n));
				counting_completions_returned(
					&direct->port[0].origin, 1);
				v = place_vci(place, v);
				assert_true(machines_issue(&ms, 0, &v));
				machines_run(&ms);
				assert_true(machines_consume(&ms, 0, &m));
				assert_int_equal(
					nqe_command(&n), nqe_command(&m));
				seen[nqe_command(&n) >>
					CAY_COMMAND_ERROR_SHIFT]++;
				assert_memory_equal(&n.word[2], &m.word[2], 24);
				while (tb_receive(direct, 1, &n)) {
					assert_true(
						machines_consume(&ms, 1, &m));
					assert_int_equal(nqe_command(&n),
						nqe_command(&m));
				}
				assert_false(machines_consume(&ms, 1, &m));
			}
			assert_same(direct, second);
			for (unsigned e = CAY_ERROR_ORIGIN_OFFSET_ALIGN;
				e <= CAY_ERROR_ORIGIN_LENGTH_ALIGN; e++)
				assert_int_equal(
					seen[e] > 50, mode == WORD_MODE_VCI);
			assert_true(seen[CAY_ERROR_TARGET_OFFSET_ALIGN] > 50);
			assert_int_equal(
				seen[CAY_ERROR_TARGET_LENGTH_ALIGN] > 50,
				mode != WORD_MODE_OFF);
			assert_true(seen[CAY_ERROR_NONE] > 500);
			machines_close(&ms);
			tb_teardown(&second);
			tb_teardown(state);
			assert_int_equal(tb_setup(state), 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TB_TEST(first_failing_check_determines_the_error),
		TB_TEST(errors_are_those_of_the_direct_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
