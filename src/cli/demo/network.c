/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: the interconnect, simulated. Packets cross a torus of 64 routers, a
 * link dies under them, and a multicast reaches everybody. It takes no time but
 * that of the simulation, and needs no node.
 */
#include <stdio.h>

#include "cli/demo/demo.h"
#include "network/engine/network.h"

#define SIDE	     4
#define NODES	     (SIDE * SIDE * SIDE)
#define EVERY	     6	/* cycles between two packets of a node */
#define PACKETS	     64 /* of each node */
#define DEATH_AT     260
#define MULTICAST_AT 5000

struct tally {
	unsigned delivered, reported, spread;
	uint64_t latest;
};

static void tally_take(struct network *n, struct tally *t)
{
	struct network_delivery d;
	while (network_take(n, &d)) {
		if (d.fate != NETWORK_DELIVERED) {
			t->reported++;
		} else if (d.packet.to == NETWORK_EVERYBODY) {
			t->spread++;
			t->latest = d.arrived - d.sent;
		} else {
			t->delivered++;
		}
	}
}

/* Each node sends to one after the other, a link dies, one sends to all. */
static int network_fill(struct network *n)
{
	struct network_packet all = { .to = NETWORK_EVERYBODY, .length = 8 };
	int r = network_fail(n, DEATH_AT, NETWORK_LINK_DIES, 0, 0);
	for (uint32_t i = 0; r == 0 && i < NODES * PACKETS; i++) {
		struct network_packet p = { .from = i % NODES,
			.to = (i % NODES * 7 + i / NODES * 13 + 1) % NODES,
			.length = 1 + i % 32 };
		r = network_send(n, i / NODES * EVERY, &p);
	}
	return r ? r : network_send(n, MULTICAST_AT, &all);
}

static int network_scene(struct demo *d, struct network *n)
{
	struct tally t = { 0 };
	struct network_counters c;
	int r = network_fill(n);
	if (r == 0)
		r = network_run(n, 2 * MULTICAST_AT);
	if (r)
		return show_failed(d, "the network", r);
	tally_take(n, &t);
	network_count(n, &c);
	printf("    %u packets of 1 to 32 phits; the link from 0 to 1 dies in "
	       "cycle %u.\n    %u arrived, some around it: hosts had to send "
	       "%u "
	       "on; %u were on it.\n",
		NODES * PACKETS, DEATH_AT, t.delivered, (unsigned)c.drained,
		t.reported);
	show_check(d, t.delivered + t.reported == NODES * PACKETS,
		"each has arrived once or is reported");
	show_check(d, t.spread == NODES,
		"a multicast has reached %u of %u nodes, the last after %u "
		"cycles",
		t.spread, NODES, (unsigned)t.latest);
	show_check(d, network_check(n) == NULL,
		"flits, credits and packets add up");
	return 0;
}

int demo_network(struct demo *d)
{
	const uint32_t size[3] = { SIDE, SIDE, SIDE };
	struct network_options options = { .host_delay = 100 };
	struct topology topology;
	struct network *n;
	const char *why;
	show_scene(d, "The interconnect, simulated",
		"    A torus of 64 routers with eight virtual channels each; "
		"'cay sim'\n    studies such networks.\n");
	int r = topology_torus(&topology, size, 3);
	if (r == 0)
		r = router_preset("extoll", &options.router);
	if (r == 0)
		r = network_open(&n, &topology, &options, &why);
	if (r == 0) {
		r = network_scene(d, n);
		network_close(n);
	} else {
		r = show_failed(d, "the network", r);
	}
	topology_free(&topology);
	return r;
}
