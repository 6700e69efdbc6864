/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of networks of all kinds, as a hash over counters, latencies and
 * the flits of each link. A seed gives the same result in every version, so
 * that studies can be repeated: a change of these values is a change of the
 * simulated router, its traffic or its routes, and has to be intended.
 */
#include "network/routing/routing.h"
#include "network/stats/histogram.h"

#include "networks.h"

struct golden {
	const char *name;
	const char *router;
	uint32_t size[3];
	unsigned dimensions;
	double load;
	const char *length;
	uint64_t cycles;
	void (*prepare)(struct network *);
	bool ordered;
	uint64_t hash;
};

static struct histogram latency;

static void mix(uint64_t *hash, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++, value >>= 8)
		*hash = (*hash ^ (value & 0xff)) * 0x100000001b3ull;
}

static uint64_t result_hash(const struct network *n)
{
	static struct network_link link[4096];
	uint64_t hash = 0xcbf29ce484222325ull;
	struct network_counters c;
	network_count(n, &c);
	load_latency(n, &latency);
	const uint64_t values[] = { c.packets_sent, c.packets_delivered,
		c.packets_reported, c.flit_hops, c.flits_delivered,
		c.flits_repeated, c.interrupts, c.drained, c.forwarded,
		c.deadlock_removed, latency.count, latency.sum, latency.least,
		latency.most };
	for (unsigned i = 0; i < COUNT(values); i++)
		mix(&hash, values[i]);
	uint64_t links = network_links(n, link, COUNT(link));
	assert_true(links <= COUNT(link));
	for (uint64_t i = 0; i < links; i++) {
		mix(&hash, (uint64_t)link[i].from << 32 | link[i].to);
		mix(&hash, link[i].flits);
		mix(&hash, link[i].blocked);
	}
	return hash;
}

static void link_fails(struct network *n)
{
	assert_int_equal(network_fail(n, 400, NETWORK_LINK_FAILS, 5, 0), 0);
	assert_int_equal(network_fail(n, 600, NETWORK_NODE_FAILS, 9, 0), 0);
}

static void golden_open(const struct golden *g, struct topology *t)
{
	static const struct topology_link links[] = { { { 0, 1 } },
		{ { 1, 2 } }, { { 2, 3 } }, { { 3, 4 } }, { { 4, 5 } },
		{ { 5, 6 } }, { { 6, 7 } }, { { 7, 0 } }, { { 0, 4 } },
		{ { 1, 5 } }, { { 2, 6 } }, { { 3, 8 } }, { { 8, 9 } },
		{ { 9, 7 } } };
	int r;
	if (strncmp(g->name, "mesh", 4) == 0)
		r = topology_mesh(t, g->size, g->dimensions);
	else if (strncmp(g->name, "torus", 5) == 0)
		r = topology_torus(t, g->size, g->dimensions);
	else if (strncmp(g->name, "hypercube", 9) == 0)
		r = topology_hypercube(t, g->dimensions);
	else if (strncmp(g->name, "full", 4) == 0)
		r = topology_full(t, g->size[0]);
	else
		r = topology_graph(t, 10, links, COUNT(links));
	assert_int_equal(r, 0);
}

static uint64_t golden_run(const struct golden *g, unsigned threads)
{
	struct network_options o = { .router = router_of(g->router),
		.seed = 7,
		.threads = threads,
		.host_delay = 50 };
	struct topology t;
	golden_open(g, &t);
	if (strstr(g->name, "up-down") || strncmp(g->name, "graph", 5) == 0)
		o.routing = &routing_up_down;
	o.router.ordered = g->ordered;
	if (strstr(g->name, "errors"))
		o.error_rate = 0.02;
	struct network *n = network_of(&t, &o);
	load_measure(n, true);
	load_uniform(n, &t, g->length, g->load);
	if (g->prepare)
		g->prepare(n);
	assert_int_equal(network_run(n, g->cycles), 0);
	assert_null(network_check(n));
	uint64_t hash = result_hash(n);
	network_close(n);
	topology_free(&t);
	return hash;
}

/* clang-format off */
static const struct golden all[] = {
	{ "torus", "iq4", { 4, 4 }, 2, 0.4, "1", 3000,
		NULL, false, 0xf86d19ccc222656a },
	{ "torus long", "iq4", { 8, 8 }, 2, 0.4, "1-8", 2000,
		NULL, false, 0x7fc02fa467408a86 },
	{ "torus cube", "iq4", { 8, 8, 8 }, 3, 0.3, "1", 400,
		NULL, false, 0xa0fc56639caf3c90 },
	{ "torus extoll", "extoll", { 4, 4, 4 }, 3, 0.5, "4", 1500,
		NULL, false, 0x69764992049bc2b5 },
	{ "torus ordered", "extoll", { 4, 4 }, 2, 0.5, "1:3,8:1", 1500,
		NULL, true, 0x442dec4847ff95b8 },
	{ "torus faults", "extoll", { 4, 4 }, 2, 0.2, "4", 2000,
		link_fails, false, 0xadbb8cf1a853f920 },
	{ "torus errors", "iq4", { 4, 4 }, 2, 0.2, "2", 1500,
		NULL, false, 0x817fc7c58a834443 },
	{ "torus ring", "atoll", { 16 }, 1, 0.1, "8", 3000,
		NULL, false, 0xed35b951e10fab5f },
	{ "torus up-down", "iq4", { 4, 4 }, 2, 0.1, "2", 2000,
		NULL, false, 0x68f23c863590ee88 },
	{ "torus wide", "iq4", { 100, 3 }, 2, 0.05, "2", 800,
		NULL, false, 0x73fc30aeecaacbfe },
	{ "mesh", "iq4", { 5, 7 }, 2, 0.2, "3", 2000,
		NULL, false, 0x892c5bfbce8b847b },
	{ "mesh extoll", "extoll", { 3, 4, 5 }, 3, 0.3, "2", 1000,
		NULL, false, 0xc7e6f943907bb512 },
	{ "mesh atoll", "atoll", { 6, 4 }, 2, 0.1, "16", 2000,
		NULL, false, 0x5030b93e2638a4e6 },
	{ "mesh faults", "iq4", { 4, 4 }, 2, 0.1, "2", 2000,
		link_fails, false, 0x8522c8b70fb95073 },
	{ "hypercube", "iq4", { 0 }, 5, 0.4, "2", 2000,
		NULL, false, 0x1ea48ce9014c7fee },
	{ "hypercube eight", "iq4", { 0 }, 8, 0.3, "1", 500,
		NULL, false, 0x45a5d70cca524387 },
	{ "full", "iq4", { 9 }, 0, 0.5, "2", 2000,
		NULL, false, 0x635662873f9aa186 },
	{ "full faults", "iq4", { 12 }, 0, 0.3, "2", 2000,
		link_fails, false, 0x2b6895672dc2e6e4 },
	{ "graph", "iq4", { 0 }, 0, 0.2, "2", 2000,
		NULL, false, 0x37edc9a3bbd0688c },
	{ "graph extoll", "extoll", { 0 }, 0, 0.2, "4", 2000,
		NULL, false, 0xa9e605518fec52bf },
	{ "graph faults", "iq4", { 0 }, 0, 0.1, "2", 2000,
		link_fails, false, 0x9b84450cb32ff1cc },
};
/* clang-format on */

static void results_are_those_of_every_version(void **state)
{
	unsigned wrong = 0;
	(void)state;
	for (unsigned i = 0; i < COUNT(all); i++) {
		uint64_t hash = golden_run(&all[i], 1);
		if (hash != all[i].hash)
			print_message("%s: 0x%016llx\n", all[i].name,
				(unsigned long long)hash);
		wrong += hash != all[i].hash;
	}
	assert_int_equal(wrong, 0);
}

static void threads_do_not_change_them(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(all); i += 3)
		assert_true(golden_run(&all[i], 3) == all[i].hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_those_of_every_version),
		cmocka_unit_test(threads_do_not_change_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
