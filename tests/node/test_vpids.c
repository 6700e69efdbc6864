/* SPDX-License-Identifier: BSD-2-Clause */
/* One process opens all VPIDs of a node. */
#include "node/node.h"
#include "outside.h"

/*
 * All but VPID 0 of the node. Exceeds the limits of descriptors and mappings,
 * so that ports can need neither.
 */
#define PORTS (CAY_VPIDS - 1)

static struct cay_port *ports[PORTS];

static void ports_open(void)
{
	uint64_t since = clock_now_ns();
	for (unsigned i = 0; i < PORTS; i++) {
		ports[i] = port_open_small();
		if (!ports[i])
			fail_msg("port %u: %s", i, strerror(errno));
	}
	print_message("%u ports opened in %llu ms\n", PORTS,
		(unsigned long long)elapsed_ms(since));
}

static void ports_close(void)
{
	uint64_t since = clock_now_ns();
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(cay_port_close(ports[i]), 0);
	print_message(
		"closed in %llu ms\n", (unsigned long long)elapsed_ms(since));
}

static void assert_vpids_differ(void)
{
	static bool seen[CAY_VPIDS];
	for (unsigned i = 0; i < PORTS; i++) {
		uint16_t vpid = cay_port_addr(ports[i]).vpid;
		assert_int_not_equal(vpid, CAY_VPID_NODE);
		assert_false(seen[vpid]);
		seen[vpid] = true;
	}
}

static void send_from_last_to_first(void)
{
	struct cay_peer *peer;
	struct cay_event e;
	assert_int_equal(cay_peer_resolve(ports[PORTS - 1],
				 cay_port_addr(ports[0]), &peer),
		0);
	assert_int_equal(cay_send(ports[PORTS - 1], peer, 7, "x", 1, 0), 0);
	assert_int_equal(cay_poll(ports[0], &e, 1), 1);
	assert_int_equal(e.tag, 7);
	cay_release(ports[0], &e);
	cay_peer_release(peer);
}

static int serve_body(void *unused)
{
	struct node_options o = { .name = harness_name };
	(void)unused;
	o.quota.process[QUOTA_PORTS] = o.quota.realm[QUOTA_PORTS] = PORTS + 1;
	return -node_serve(&o);
}

static void all_vpids_can_be_used(void **state)
{
	int before = fd_count(getpid());
	(void)state;
	server_start(serve_body, NULL);
	ports_open();
	assert_true(fd_count(getpid()) <= before + 1);
	assert_vpids_differ();
	send_from_last_to_first();
	assert_no_port_left();
	assert_no_port_left();
	for (unsigned i = 100; i < 110; i++) {
		assert_int_equal(cay_port_close(ports[i]), 0);
		ports[i] = NULL;
	}
	for (unsigned i = 100; i < 110; i++) {
		ports[i] = port_open_small();
		assert_non_null(ports[i]);
	}
	assert_no_port_left();
	ports_close();
	server_join();
}

static int many_ports_body(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < 20000; i++)
		assert_true(port_open_small());
	child_ready();
	pause();
	return 1;
}

static void ports_of_killed_process_are_reclaimed(void **state)
{
	(void)state;
	harness_rename();
	struct cay_port *anchor = cay_port_open(NULL);
	assert_non_null(anchor);
	struct usage usage = usage_now();
	pid_t child = child_start_ready(many_ports_body, NULL);
	uint64_t since = clock_now_ns();
	child_kill(child);
	assert_usage(&usage);
	print_message(
		"20000 ports of a killed process: reclaimed after %llu ms\n",
		(unsigned long long)elapsed_ms(since));
	assert_int_equal(cay_port_close(anchor), 0);
}

/* A peer that still holds the VPID of a closed port meets no other port. */
static void vpids_are_reused_late(void **state)
{
	static bool seen[CAY_VPIDS];
	(void)state;
	harness_rename();
	struct cay_port *anchor = port_open_small();
	assert_non_null(anchor);
	for (unsigned i = 0; i < 1000; i++) {
		struct cay_port *port = port_open_small();
		assert_non_null(port);
		uint16_t vpid = cay_port_addr(port).vpid;
		assert_false(seen[vpid]);
		seen[vpid] = true;
		assert_int_equal(cay_port_close(port), 0);
	}
	assert_int_equal(cay_port_close(anchor), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vpids_are_reused_late),
		cmocka_unit_test(all_vpids_can_be_used),
		cmocka_unit_test(ports_of_killed_process_are_reclaimed),
	};
	harness_begin("vpids");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
