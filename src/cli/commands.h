/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the command line, each in a file or folder of its name. */
#ifndef CAY_CLI_COMMANDS_H
#define CAY_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct command command_bench, command_demo, command_doctor,
	command_explain, command_node, command_recv, command_send, command_sim,
	command_top, command_trace;

#endif
