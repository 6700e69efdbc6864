/* SPDX-License-Identifier: BSD-2-Clause */
/* All VPIDs of a node in one process, and one more. */
#include "outside.h"

#define PORTS (CAY_VPIDS - 1) /* the node keeps one for itself */

/*
 * Far more ports than a process may have descriptors or mappings, so they can
 * need neither. The smallest ones that there are.
 */
static const struct cay_port_options small = { .nq_entries = 16,
	.rdr_bytes = 65536,
	.sdr_bytes = 4096,
	.peers = 4,
	.windows = 4 };

static struct cay_port *ports[PORTS];

static void ports_open(void)
{
	uint64_t since = clock_now_ns();
	for (unsigned i = 0; i < PORTS; i++) {
		ports[i] = cay_port_open(&small);
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
	print_message("and closed in %llu ms\n",
		(unsigned long long)elapsed_ms(since));
}

static void each_has_its_own_vpid(void)
{
	static bool seen[CAY_VPIDS];
	for (unsigned i = 0; i < PORTS; i++) {
		uint16_t vpid = cay_port_addr(ports[i]).vpid;
		assert_int_not_equal(vpid, CAY_VPID_NODE);
		assert_false(seen[vpid]);
		seen[vpid] = true;
	}
}

/* The last one speaks with the first one. */
static void the_last_is_as_good_as_the_first(void)
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

static void there_is_no_further_one(void)
{
	errno = 0;
	assert_null(cay_port_open(&small));
	assert_int_equal(errno, ENOSPC);
}

static void all_vpids_and_one_more(void **state)
{
	int before = fd_count(getpid());
	(void)state;
	ports_open();
	assert_true(fd_count(getpid()) <= before + 1);
	each_has_its_own_vpid();
	the_last_is_as_good_as_the_first();
	there_is_no_further_one();
	there_is_no_further_one();
	for (unsigned i = 100; i < 110; i++) {
		assert_int_equal(cay_port_close(ports[i]), 0);
		ports[i] = NULL;
	}
	for (unsigned i = 100; i < 110; i++) {
		ports[i] = cay_port_open(&small);
		assert_non_null(ports[i]);
	}
	there_is_no_further_one();
	ports_close();
	assert_node_ends();
}

/* The node lets go of all of them just as well if nobody closes them. */
static int many_body(void *argument)
{
	int *ready = argument;
	for (unsigned i = 0; i < 20000; i++)
		NEED(cay_port_open(&small));
	signal_ready(ready[1]);
	pause();
	return 1;
}

static void a_killed_owner_of_many(void **state)
{
	int ready[2];
	(void)state;
	harness_rename();
	struct cay_port *anchor = cay_port_open(NULL);
	assert_non_null(anchor);
	struct rest rest = rest_now();
	assert_int_equal(pipe(ready), 0);
	pid_t child = child_start(many_body, ready);
	assert_true(wait_ready(ready[0]));
	uint64_t since = clock_now_ns();
	child_kill(child);
	assert_rest(&rest);
	print_message("20000 ports of a killed process: gone after %llu ms\n",
		(unsigned long long)elapsed_ms(since));
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(cay_port_close(anchor), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_vpids_and_one_more),
		cmocka_unit_test(a_killed_owner_of_many),
	};
	harness_begin("vpids");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
