/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device as a machine: random work on several ports, machines and presets,
 * with delays by seed.
 */
#include "machine_model.h"

static int setup(void **state)
{
	return tb_setup_ports(state, PORTS);
}

/* A machine holds accepted work until it is stepped. */
static void accepting_is_not_executing(void **state)
{
	struct testbench *tb = *state;
	struct machines ms;
	struct cay_nqe n;
	machines_open(&ms, tb, machine_preset("single"), 1);
	struct cay_vci v = vci_begin(&ms, 0, 1, CAY_FAST_SEND | 1, 0, 7, 5);
	memcpy(&v.word[CAY_VCI_WORD_DATA], "hello", 5);
	assert_true(machine_post(ms.m[0], 1, &v));
	struct cay_answer a = machine_trigger(ms.m[0], 1, CAY_ISSUE_VCI, 1);
	assert_int_equal(a.accepted, 1);
	assert_int_equal(a.free, ms.config.csb_port_entries - 1);
	assert_false(machine_idle(ms.m[0]));
	assert_false(machines_receive(&ms, 1, &n));
	machines_run(&ms);
	assert_true(machine_idle(ms.m[0]));
	assert_true(machines_receive(&ms, 1, &n));
	assert_int_equal(n.word[CAY_NQE_WORD_TAG], 7);
	assert_memory_equal(&n.word[CAY_NQE_WORD_DATA], "hello", 5);
	machines_close(&ms);
}

static void random_work(void **state)
{
	const char *seed = getenv("CAY_SEED");
	struct model *d = model_new(*state, seed ? strtoull(seed, NULL, 0) : 1);
	for (unsigned i = 0; i < machine_preset_count; i++)
		for (uint32_t machines = 1; machines <= 3; machines++)
			for (uint32_t delay = 0; delay <= 5; delay += 5) {
				struct machine_config c =
					machine_presets[i].config;
				c.mtu = machines == 2 ? 1024 : 4096;
				c.encode_local = machines == 1 && delay;
				machines_open(&d->ms, d->tb, &c, machines);
				machines_delay(&d->ms, delay, d->seed);
				model_run(d, 2000);
				machines_close(&d->ms);
			}
	model_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			accepting_is_not_executing, setup, tb_teardown),
		cmocka_unit_test_setup_teardown(
			random_work, setup, tb_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
