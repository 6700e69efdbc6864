/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Election: of many nodes that start at once, exactly one binds the name and
 * the others exit silently. Many clients that start at once join the same node.
 */
#include "node/node.h"
#include "outside.h"

#define PROCESSES 20
#define ROUNDS	  5

/* Children block in gate_wait() until the parent calls gate_open(). */
struct gate {
	int ends[2];
	int output[2]; /* output of the children */
};

static void gate_init(struct gate *g)
{
	assert_int_equal(pipe2(g->ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(g->output, O_CLOEXEC), 0);
}

static void gate_wait(struct gate *g)
{
	char byte;
	close(g->ends[1]);
	while (read(g->ends[0], &byte, 1) < 0 && errno == EINTR)
		continue;
}

static void gate_open(struct gate *g)
{
	clock_nap_ns(20 * CLOCK_NS_PER_MS); /* until all children wait */
	close(g->ends[0]);
	close(g->ends[1]);
}

static void gate_close(struct gate *g)
{
	close(g->output[0]);
	close(g->output[1]);
}

/* ---- nodes ---- */

static int node_body(void *argument)
{
	struct gate *g = argument;
	struct node_options o = { .name = harness_name };
	gate_wait(g);
	return -node_serve(&o);
}

static pid_t winner_wait(void)
{
	pid_t winner = 0;
	for (unsigned i = 0; winner == 0 && i < 2000; i++) {
		winner = node_pid();
		if (!winner)
			clock_nap_ns(CLOCK_NS_PER_MS);
	}
	return winner;
}

/* Losers exit with status 0. Returns their number. */
static unsigned losers_join(const pid_t *nodes, pid_t winner)
{
	unsigned losers = 0;
	for (unsigned i = 0; i < PROCESSES; i++)
		if (nodes[i] != winner) {
			assert_int_equal(child_join(nodes[i]), 0);
			losers++;
		}
	return losers;
}

static void one_of_many_nodes_wins(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct gate g;
		pid_t nodes[PROCESSES];
		harness_rename();
		gate_init(&g);
		for (unsigned i = 0; i < PROCESSES; i++)
			nodes[i] = child_start(node_body, &g);
		gate_open(&g);
		pid_t winner = winner_wait();
		assert_true(winner > 0);
		/* A member keeps the winner running. */
		int s = raw_member("default");
		assert_true(s >= 0);
		assert_int_equal(losers_join(nodes, winner), PROCESSES - 1);
		assert_int_equal(node_pid(), winner);
		raw_leave(s);
		assert_int_equal(child_join(winner), 0);
		gate_close(&g);
	}
}

/* Starts the program as the library does, with its output redirected. */
static int program_body(void *argument)
{
	struct gate *g = argument;
	const char *program = getenv("CAY_NODE_PROGRAM");
	gate_wait(g);
	dup2(g->output[1], 1);
	dup2(g->output[1], 2);
	execl(program, program, "node", "serve", "--background", harness_name,
		NULL);
	return 126;
}

static void losers_print_nothing(void **state)
{
	struct gate g;
	pid_t programs[PROCESSES];
	char output[256];
	(void)state;
	harness_rename();
	gate_init(&g);
	for (unsigned i = 0; i < PROCESSES; i++)
		programs[i] = child_start(program_body, &g);
	gate_open(&g);
	for (unsigned i = 0; i < PROCESSES; i++)
		assert_int_equal(child_join(programs[i]), 0);
	/* The winner exits since no client joins. */
	assert_node_exits();
	close(g.output[1]);
	ssize_t n = read(g.output[0], output, sizeof(output) - 1);
	if (n != 0) {
		output[n > 0 ? n : 0] = 0;
		fail_msg("output: %s", output);
	}
	close(g.output[0]);
}

/* ---- clients ---- */

static int client_body(void *argument)
{
	struct gate *g = argument;
	gate_wait(g);
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	struct cay_addr addr = cay_port_addr(port);
	assert_true(write(g->output[1], &addr, sizeof(addr)) == sizeof(addr));
	/* The parent kills all clients after it has counted them. */
	pause();
	return 1;
}

static void addresses_check(const struct cay_addr *addr)
{
	for (unsigned i = 1; i < PROCESSES; i++) {
		assert_int_equal(addr[i].node, addr[0].node);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(addr[i].vpid, addr[j].vpid);
	}
}

static void many_clients_join_one_node(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct gate g;
		pid_t clients[PROCESSES];
		struct cay_addr addr[PROCESSES];
		struct node_status status;
		harness_rename();
		gate_init(&g);
		for (unsigned i = 0; i < PROCESSES; i++)
			clients[i] = child_start(client_body, &g);
		gate_open(&g);
		for (unsigned i = 0; i < PROCESSES; i++)
			assert_int_equal(
				read(g.output[0], &addr[i], sizeof(addr[i])),
				sizeof(addr[i]));
		addresses_check(addr);
		assert_int_equal(status_get(&status), 0);
		assert_int_equal(status.node, addr[0].node);
		assert_int_equal(status.processes, PROCESSES);
		assert_int_equal(status.ports, PROCESSES);
		assert_int_equal(node_processes(), 1);
		for (unsigned i = 0; i < PROCESSES; i++)
			child_kill(clients[i]);
		gate_close(&g);
	}
}

/* ---- clients of a node that exits ---- */

#define LATE_CLIENTS 8
#define LATE_ROUNDS  6

/*
 * A node exits a third of a second after its last port is closed. Clients that
 * connect at that moment reach the old node or start a new one.
 */
static int late_client_body(void *argument)
{
	uint64_t seed = *(uint64_t *)argument;
	for (unsigned i = 0; i < LATE_ROUNDS; i++) {
		uint64_t since = clock_now_ns();
		struct cay_port *port = cay_port_open(NULL);
		assert_true(port);
		assert_true(elapsed_ms(since) < 2000);
		assert_true(cay_port_close(port) == 0);
		clock_nap_ns((295 + random_below(&seed, 70)) * CLOCK_NS_PER_MS);
	}
	return 0;
}

static void clients_arrive_while_node_exits(void **state)
{
	uint64_t seed = random_seed(), seeds[LATE_CLIENTS];
	pid_t clients[LATE_CLIENTS];
	(void)state;
	for (unsigned i = 0; i < LATE_CLIENTS; i++) {
		/* Each node has two clients with the same seed. */
		if (i % 2 == 0)
			harness_rename();
		seeds[i] = seed + i / 2;
		clients[i] = child_start(late_client_body, &seeds[i]);
	}
	for (unsigned i = 0; i < LATE_CLIENTS; i++)
		assert_int_equal(child_join(clients[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_many_nodes_wins),
		cmocka_unit_test(losers_print_nothing),
		cmocka_unit_test(many_clients_join_one_node),
		cmocka_unit_test(clients_arrive_while_node_exits),
	};
	harness_begin("election");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
