/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the command line: each is a main() of its own. */
#ifndef CAY_CLI_CLI_H
#define CAY_CLI_CLI_H

/* Exit statuses: 0 done, 1 failed, 2 wrong usage, 3 a disturbed benchmark. */
enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_DISTURBED = 3,
};

int cli_bench(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_node(int argc, char **argv);
int cli_recv(int argc, char **argv);
int cli_send(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_trace(int argc, char **argv);

#endif
