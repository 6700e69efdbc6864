/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of a machine: with every parameter at its minimum, and at
 * odd values, random work has the results of the model; what is out of range is
 * refused; opening fails cleanly without memory.
 */
#include "../node/failing.h"
#include "machine_model.h"

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

static void set(struct machine_config *c, const struct machine_parameter *p,
	uint32_t value)
{
	*(uint32_t *)(void *)((char *)c + p->offset) = value;
}

/*
 * The segments of the longest message fit in the packets: others are refused if
 * the target is full, and the model has no refusals.
 */
static void work(
	struct model *d, const struct machine_config *config, uint32_t requests)
{
	struct machine_config copy = *config, *c = &copy;
	if (c->packets < 64)
		c->mtu = 20480;
	else if (c->mtu < 1024)
		c->packets = 4096;
	assert_null(machine_config_invalid(c));
	for (uint32_t machines = 1; machines <= 3; machines++)
		for (uint32_t delay = 0; delay <= 3; delay += 3) {
			machines_open(&d->ms, d->tb, c, machines);
			machines_delay(&d->ms, delay, d->seed);
			model_run(d, requests);
			machines_close(&d->ms);
		}
}

/* Eviction refuses what the model expects to arrive: it comes late. */
static struct machine_config patient(const char *preset)
{
	struct machine_config c = *machine_preset(preset);
	c.park_cycles = 100000000;
	return c;
}

static bool skips(const struct machine_parameter *p)
{
	return strcmp(p->name, "park-cycles") == 0;
}

static void every_parameter_at_its_minimum(void **state)
{
	struct model *d = model_new(*state, 3);
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		const struct machine_parameter *p = &machine_parameters[i];
		struct machine_config c = patient("multi-wait");
		if (skips(p))
			continue;
		set(&c, p, p->min);
		work(d, &c, 200);
	}
	model_free(d);
}

static void all_parameters_at_their_minimum(void **state)
{
	struct model *d = model_new(*state, 4);
	struct machine_config c = patient("single");
	for (unsigned i = 0; i < machine_parameter_count; i++)
		if (!skips(&machine_parameters[i]))
			set(&c, &machine_parameters[i],
				machine_parameters[i].min);
	work(d, &c, 100);
	model_free(d);
}

static void odd_values(void **state)
{
	static const uint32_t values[] = { 2, 3, 5, 7, 13 };
	struct model *d = model_new(*state, 5);
	for (unsigned round = 0; round < 12; round++) {
		struct machine_config c = patient("multi-wait");
		for (unsigned i = 0; i < machine_parameter_count; i++) {
			const struct machine_parameter *p =
				&machine_parameters[i];
			uint32_t value = values[roll(d, ARRAY_COUNT(values))];
			if (skips(p))
				continue;
			if (p->offset == offsetof(struct machine_config, mtu))
				value *= 64;
			set(&c, p,
				value < p->min	 ? p->min
				: value > p->max ? p->max
						 : value);
		}
		c.key_type = 0; /* the model has one order for all commands */
		work(d, &c, 150);
	}
	model_free(d);
}

static void out_of_range(void **state)
{
	(void)state;
	struct machine *m = NULL;
	for (unsigned i = 0; i < machine_parameter_count; i++) {
		const struct machine_parameter *p = &machine_parameters[i];
		struct machine_config c = *machine_preset("multi");
		if (p->min > 0) {
			set(&c, p, p->min - 1);
			assert_string_equal(
				machine_config_invalid(&c), p->name);
			assert_int_equal(machine_open(&m, &c, 1, 4), -EINVAL);
		}
		if (p->max < UINT32_MAX) {
			set(&c, p, p->max + 1);
			assert_string_equal(
				machine_config_invalid(&c), p->name);
		}
	}
	struct machine_config c = *machine_preset("multi");
	c.mtu += 8;
	assert_string_equal(machine_config_invalid(&c), "mtu");
	assert_int_equal(
		machine_open(&m, machine_preset("multi"), 1, 0), -EINVAL);
	assert_null(m);
	assert_null(machine_preset("none"));
}

static void without_memory(void **state)
{
	(void)state;
	struct machine_config c = *machine_preset("multi-wait");
	c.packets = 4;
	bool opened = false;
	for (long n = 1; !opened; n++) {
		struct machine *m = NULL;
		struct wire *w = NULL;
		long blocks = atomic_load(&failing.blocks);
		failing_begin(n, n & 1);
		int r = machine_open(&m, &c, 1, PORTS);
		if (r == 0)
			r = wire_open(&w, &m, 1, 0, 1);
		opened = failing_end() == 0;
		assert_int_equal(r, opened ? 0 : -ENOMEM);
		wire_close(w);
		machine_close(m);
		assert_int_equal(atomic_load(&failing.blocks), blocks);
		assert_true(n < 1000);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_parameter_at_its_minimum),
		TEST(all_parameters_at_their_minimum),
		TEST(odd_values),
		TEST(out_of_range),
		TEST(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
