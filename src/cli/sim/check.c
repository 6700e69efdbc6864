/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --check`: finds out whether routes can deadlock. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

struct check {
	struct sim_options *options;
	struct topology topology;
	struct dependency dependency;
	struct routing *routing;
	uint64_t unreachable; /* pairs of nodes */
};

static bool check_progress(void *context, uint32_t done, uint32_t all)
{
	(void)context;
	sim_progress("node %u of %u", done, all);
	return sim_interrupted();
}

/* ---- output ---- */

static int check_print(const struct check *k)
{
	uint64_t nodes = 0; /* with hosts */
	for (uint32_t i = 0; i < k->topology.nodes; i++)
		nodes += topology_host_count(&k->topology, i) > 0;
	struct sim_cycle c;
	int r = dependency_cycle(&k->dependency, &c.channel, &c.count);
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	if (k->options->json) {
		struct json j;
		json_open(&j, stdout);
		json_object_begin(&j);
		sim_json_setup(&j, k->options, &k->topology);
		json_put_bool(&j, "deadlock_free", c.count == 0);
		json_put_number(&j, "unreachable_pairs", k->unreachable);
		json_key(&j, "cycle");
		sim_json_cycle(&j, &k->topology, &c);
		json_object_end(&j);
		sim_output_record(json_close(&j));
	} else {
		if (k->unreachable)
			printf("%" PRIu64 " pair%s of nodes %s not connected\n",
				k->unreachable, plural(k->unreachable),
				k->unreachable == 1 ? "is" : "are");
		if (c.count) {
			printf("not free of deadlock. ");
			sim_print_cycle(&k->topology, &c);
		} else {
			printf("free of deadlock: the routes of all %" PRIu64
			       " pairs of nodes form no cycle\n",
				nodes * (nodes - 1) - k->unreachable);
		}
	}
	free(c.channel);
	int status = sim_output_flush();
	return status == CLI_OK && c.count ? CLI_FAILED : status;
}

int sim_check(struct sim_options *c)
{
	struct check k = { .options = c };
	int status = sim_topology_open(c, &k.topology);
	if (status)
		return status;
	sim_progress_begin();
	status = sim_routing_open(c, &k.topology, &k.routing);
	if (status) {
		topology_free(&k.topology);
		return status;
	}
	int r = dependency_open(
		&k.dependency, &k.topology, routing_classes(k.routing));
	if (r == 0)
		r = routing_depend(k.routing, &k.dependency, check_progress,
			NULL, &k.unreachable);
	sim_progress_end();
	if (r == -EINTR)
		status = SIM_INTERRUPTED;
	else if (r)
		status = cli_error("sim", "routes: %s", strerror(-r));
	else
		status = check_print(&k);
	if (k.dependency.follows)
		dependency_free(&k.dependency);
	routing_close(k.routing);
	topology_free(&k.topology);
	return status;
}
