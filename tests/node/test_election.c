/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding the name is the election: of many nodes that start at once exactly
 * one stays, the others go without a word; of many clients that start at once
 * all find the same node.
 */
#include "node/node.h"
#include "outside.h"

#define CROWD  20
#define ROUNDS 5

/* All start when the gate falls: reading it ends in the same moment. */
struct gate {
	int ends[2];
	int words[2]; /* what the children have to say */
};

static void gate_open(struct gate *g)
{
	assert_int_equal(pipe2(g->ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(g->words, O_CLOEXEC), 0);
}

static void gate_wait(struct gate *g)
{
	char byte;
	close(g->ends[1]);
	while (read(g->ends[0], &byte, 1) < 0 && errno == EINTR)
		continue;
}

static void gate_fall(struct gate *g)
{
	clock_nap_ns(20 * CLOCK_NS_PER_MS); /* until all stand there */
	close(g->ends[0]);
	close(g->ends[1]);
}

static void gate_close(struct gate *g)
{
	close(g->words[0]);
	close(g->words[1]);
}

/* ---- nodes ---- */

static int node_body(void *argument)
{
	struct gate *g = argument;
	struct node_options o = { .name = harness_name };
	gate_wait(g);
	return -node_serve(&o);
}

static pid_t winner_find(void)
{
	pid_t winner = 0;
	for (unsigned i = 0; winner == 0 && i < 2000; i++) {
		winner = node_pid();
		if (!winner)
			clock_nap_ns(CLOCK_NS_PER_MS);
	}
	return winner;
}

/* The losers have exited with 0, and the winner is one of them all. */
static unsigned losers_count(const pid_t *nodes, pid_t winner)
{
	unsigned losers = 0;
	for (unsigned i = 0; i < CROWD; i++)
		if (nodes[i] != winner) {
			assert_int_equal(child_join(nodes[i]), 0);
			losers++;
		}
	return losers;
}

static void one_of_many_nodes_stays(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct gate g;
		pid_t nodes[CROWD];
		harness_rename();
		gate_open(&g);
		for (unsigned i = 0; i < CROWD; i++)
			nodes[i] = child_start(node_body, &g);
		gate_fall(&g);
		pid_t winner = winner_find();
		assert_true(winner > 0);
		/* Somebody is there, so it will not go before we look. */
		int s = raw_member("default");
		assert_true(s >= 0);
		assert_int_equal(losers_count(nodes, winner), CROWD - 1);
		assert_int_equal(node_pid(), winner);
		raw_leave(s);
		assert_int_equal(child_join(winner), 0);
		gate_close(&g);
	}
}

/* The program, as the library starts it: what it says goes to the gate. */
static int program_body(void *argument)
{
	struct gate *g = argument;
	const char *program = getenv("CAY_NODE_PROGRAM");
	gate_wait(g);
	dup2(g->words[1], 1);
	dup2(g->words[1], 2);
	execl(program, program, "node", "serve", "--background", harness_name,
		NULL);
	return 126;
}

static void losers_say_nothing(void **state)
{
	struct gate g;
	pid_t programs[CROWD];
	char words[256];
	(void)state;
	harness_rename();
	gate_open(&g);
	for (unsigned i = 0; i < CROWD; i++)
		programs[i] = child_start(program_body, &g);
	gate_fall(&g);
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(child_join(programs[i]), 0);
	/* Nobody came, so the winner has gone by itself soon. */
	assert_node_ends();
	close(g.words[1]);
	ssize_t n = read(g.words[0], words, sizeof(words) - 1);
	if (n != 0) {
		words[n > 0 ? n : 0] = 0;
		fail_msg("somebody said: %s", words);
	}
	close(g.words[0]);
}

/* ---- clients ---- */

static int client_body(void *argument)
{
	struct gate *g = argument;
	gate_wait(g);
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	struct cay_addr addr = cay_port_addr(port);
	NEED(write(g->words[1], &addr, sizeof(addr)) == sizeof(addr));
	/* All stay until all have been counted. */
	pause();
	return 1;
}

static void addresses_check(const struct cay_addr *addr)
{
	for (unsigned i = 1; i < CROWD; i++) {
		assert_int_equal(addr[i].node, addr[0].node);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(addr[i].vpid, addr[j].vpid);
	}
}

static void many_clients_find_one_node(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct gate g;
		pid_t clients[CROWD];
		struct cay_addr addr[CROWD];
		struct node_status status;
		harness_rename();
		gate_open(&g);
		for (unsigned i = 0; i < CROWD; i++)
			clients[i] = child_start(client_body, &g);
		gate_fall(&g);
		for (unsigned i = 0; i < CROWD; i++)
			assert_int_equal(
				read(g.words[0], &addr[i], sizeof(addr[i])),
				sizeof(addr[i]));
		addresses_check(addr);
		assert_int_equal(status_get(&status), 0);
		assert_int_equal(status.node, addr[0].node);
		assert_int_equal(status.processes, CROWD);
		assert_int_equal(status.ports, CROWD);
		assert_int_equal(node_processes(), 1);
		for (unsigned i = 0; i < CROWD; i++)
			child_kill(clients[i]);
		gate_close(&g);
	}
}

/* ---- the moment in which a node goes ---- */

#define VISITORS 8
#define VISITS	 6

/*
 * It lingers for a third of a second after the last port. Clients that come
 * around that moment, to the old node or to the next one, all get in.
 */
static int visitor_body(void *argument)
{
	uint64_t seed = *(uint64_t *)argument;
	for (unsigned i = 0; i < VISITS; i++) {
		uint64_t since = clock_now_ns();
		struct cay_port *port = cay_port_open(NULL);
		NEED(port);
		NEED(elapsed_ms(since) < 2000);
		NEED(cay_port_close(port) == 0);
		clock_nap_ns((295 + chance_below(&seed, 70)) * CLOCK_NS_PER_MS);
	}
	return 0;
}

static void clients_come_when_the_node_goes(void **state)
{
	uint64_t seed = chance_seed(), seeds[VISITORS];
	pid_t visitors[VISITORS];
	(void)state;
	for (unsigned i = 0; i < VISITORS; i++) {
		/* Two to each node, in step. */
		if (i % 2 == 0)
			harness_rename();
		seeds[i] = seed + i / 2;
		visitors[i] = child_start(visitor_body, &seeds[i]);
	}
	for (unsigned i = 0; i < VISITORS; i++)
		assert_int_equal(child_join(visitors[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_many_nodes_stays),
		cmocka_unit_test(losers_say_nothing),
		cmocka_unit_test(many_clients_find_one_node),
		cmocka_unit_test(clients_come_when_the_node_goes),
	};
	harness_begin("election");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
