/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sweeps and the search for saturation, with a stub of study_run() that is
 * steady up to a given load.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "network/study/sweep.h"

#define LOADS_MAX 100

/* Behaviour of the stub, and what it has recorded. */
struct world {
	double border, deadlock; /* not steady above; deadlocked above */
	unsigned stop;		 /* the point that is stopped, from 1 */
	int error;		 /* of a study */
	int open_error;
	unsigned opened, closed, measured;
	double load[LOADS_MAX];
	enum study_verdict verdict[LOADS_MAX];
};

static struct world world;

int study_run(struct network *n, const struct study_options *o,
	struct study_result *r)
{
	assert_ptr_equal(n, &world);
	assert_true(world.opened == world.closed + 1);
	memset(r, 0, sizeof(*r));
	r->offered = o->load;
	if (o->load > world.border)
		r->verdict = STUDY_SATURATED;
	if (o->load > world.deadlock)
		r->verdict = STUDY_DEADLOCKED;
	if (world.opened == world.stop)
		r->verdict = STUDY_STOPPED;
	return world.error;
}

static int fake_open(void *context, struct network **n)
{
	struct world *w = context;
	if (w->open_error)
		return w->open_error;
	w->opened++;
	*n = (struct network *)w;
	return 0;
}

static void fake_close(void *context, struct network *n)
{
	assert_ptr_equal(context, n);
	world.closed++;
}

static void fake_measured(void *context, struct network *n, double load,
	const struct study_result *r)
{
	struct world *w = context;
	assert_ptr_equal(context, n);
	assert_true(w->measured < LOADS_MAX);
	assert_true(load == r->offered);
	w->load[w->measured] = load;
	w->verdict[w->measured++] = r->verdict;
}

static struct sweep sweep_begin(double border)
{
	world = (struct world){ .border = border, .deadlock = INFINITY };
	return (struct sweep){ .open = fake_open,
		.close = fake_close,
		.measured = fake_measured,
		.context = &world };
}

static const double tenths[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6 };

static void a_sweep_ends_after_saturation(void **state)
{
	struct sweep s = sweep_begin(0.35);
	struct sweep_outcome o;
	(void)state;
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), 0);
	assert_int_equal(o.points, 5);
	assert_int_equal(world.measured, 5);
	assert_int_equal(world.closed, 5);
	assert_int_equal(o.verdict, STUDY_SATURATED);
	assert_true(o.steady == 0.3 && o.unsteady == 0.4);
}

static void a_sweep_may_never_saturate(void **state)
{
	struct sweep s = sweep_begin(1);
	struct sweep_outcome o;
	(void)state;
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), 0);
	assert_int_equal(o.points, 6);
	assert_true(o.steady == 0.6 && o.unsteady == 0);
	s = sweep_begin(0.05);
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), 0);
	assert_int_equal(o.points, 2);
	assert_true(o.steady == 0 && o.unsteady == 0.1);
	assert_int_equal(sweep_loads(&s, tenths, 0, &o), 0);
	assert_int_equal(o.points, 0);
}

static void a_deadlock_or_a_stop_ends_a_sweep(void **state)
{
	struct sweep s = sweep_begin(1);
	struct sweep_outcome o;
	(void)state;
	world.deadlock = 0.25;
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), 0);
	assert_int_equal(o.points, 3);
	assert_int_equal(o.verdict, STUDY_DEADLOCKED);
	assert_true(o.unsteady == 0.3);
	s = sweep_begin(1);
	world.stop = 2;
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), 0);
	assert_int_equal(o.points, 2);
	assert_int_equal(o.verdict, STUDY_STOPPED);
	assert_true(o.steady == 0.1 && o.unsteady == 0);
	s = sweep_begin(0.3);
	world.stop = 3;
	assert_int_equal(sweep_saturation(&s, 1, 0.01, &o), 0);
	assert_int_equal(o.points, 3);
	assert_int_equal(o.verdict, STUDY_STOPPED);
}

static void errors_end_a_sweep_and_close_the_network(void **state)
{
	struct sweep s = sweep_begin(1);
	struct sweep_outcome o;
	(void)state;
	world.error = -EINVAL;
	assert_int_equal(sweep_loads(&s, tenths, 6, &o), -EINVAL);
	assert_int_equal(world.opened, 1);
	assert_int_equal(world.closed, 1);
	assert_int_equal(world.measured, 0);
	s = sweep_begin(1);
	world.open_error = -ENOMEM;
	assert_int_equal(sweep_saturation(&s, 1, 0.01, &o), -ENOMEM);
	assert_int_equal(world.closed, 0);
	assert_int_equal(sweep_saturation(&s, 0, 0.01, &o), -EINVAL);
	assert_int_equal(sweep_saturation(&s, 1, 0, &o), -EINVAL);
	assert_int_equal(sweep_saturation(&s, 1, NAN, &o), -EINVAL);
}

static void the_search_finds_the_saturation_load(void **state)
{
	static const double borders[] = { 0.011, 0.0624, 0.0625, 0.1, 0.31, 0.5,
		0.77, 0.999 };
	struct sweep_outcome o;
	(void)state;
	for (unsigned i = 0; i < sizeof(borders) / sizeof(*borders); i++) {
		struct sweep s = sweep_begin(borders[i]);
		assert_int_equal(sweep_saturation(&s, 1, 0.01, &o), 0);
		assert_true(o.steady <= borders[i]);
		assert_true(o.unsteady > borders[i]);
		assert_true(o.unsteady - o.steady <= 0.01 * o.unsteady);
		/* Five to get there, seven halvings of a doubling. */
		assert_true(o.points <= 16);
		assert_int_equal(world.closed, o.points);
	}
}

static void the_search_is_bounded(void **state)
{
	struct sweep s = sweep_begin(1);
	struct sweep_outcome o;
	(void)state;
	assert_int_equal(sweep_saturation(&s, 1, 0.01, &o), 0);
	assert_true(o.steady == 1 && o.unsteady == 0);
	/* It reaches a highest load that doubling does not hit. */
	assert_int_equal(sweep_saturation(&s, 0.7, 0.01, &o), 0);
	assert_true(o.steady == 0.7 && o.unsteady == 0);
	s = sweep_begin(0);
	assert_int_equal(sweep_saturation(&s, 1, 0.01, &o), 0);
	assert_true(o.steady == 0 && o.unsteady > 0);
	assert_true(o.points < 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sweep_ends_after_saturation),
		cmocka_unit_test(a_sweep_may_never_saturate),
		cmocka_unit_test(a_deadlock_or_a_stop_ends_a_sweep),
		cmocka_unit_test(errors_end_a_sweep_and_close_the_network),
		cmocka_unit_test(the_search_finds_the_saturation_load),
		cmocka_unit_test(the_search_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
