/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node: the process behind ports, for people. See cay(1). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/json.h"
#include "cay/error.h"
#include "cli/cli.h"
#include "cli/node/client.h"
#include "cli/node/status.h"
#include "cli/options.h"
#include "contract/arena.h"
#include "node/node.h"

#define ARENA_BYTES_MIN (128ull << 20)
#define ARENA_BYTES_MAX (1ull << 46)

CAY_STATIC_ASSERT(
	ARENA_HEAP_OFFSET < ARENA_BYTES_MIN, "the smallest arena has a heap");

static const char node_help[] =
	"usage: cay node COMMAND [OPTIONS]\n"
	"\n"
	"The node is the process that gives out ports and memory and cleans "
	"up\n"
	"after the dead. It starts by itself with the first port and ends\n"
	"within a second after the last.\n"
	"\n"
	"  status [NAME]      what it knows: processes, ports, threads\n"
	"  list               the nodes of this user\n"
	"  fence PID [NAME]   go on without a process that is stuck\n"
	"  serve [NAME]       be a node\n"
	"\n"
	"NAME defaults to $CAY_NODE, else to the batch job's id, else to\n"
	"\"default\". 'cay node COMMAND --help' tells more.\n";

/* What a subcommand was given. */
struct node_call {
	const char *command; /* "node status" */
	struct node_address address;
	bool json, background;
	uint64_t arena_bytes;
	uint64_t pid;
};

/* ---- options ---- */

enum node_option {
	OPTION_JSON = OPTION_HELP + 1,
	OPTION_BACKGROUND,
	OPTION_ARENA,
};

static bool arena_option(const char *text, uint64_t *bytes)
{
	if (!option_bytes(text, bytes) || *bytes < ARENA_BYTES_MIN ||
		*bytes > ARENA_BYTES_MAX)
		return false;
	*bytes = bits_round_up(*bytes, ARENA_PAGE);
	return true;
}

static int take_option(struct node_call *c, int option, const char *value)
{
	switch (option) {
	case OPTION_JSON:
		c->json = true;
		return 0;
	case OPTION_BACKGROUND:
		c->background = true;
		return 0;
	case OPTION_ARENA:
		if (arena_option(value, &c->arena_bytes))
			return 0;
		return option_misused(c->command,
			"--arena %s: must be from 128M to 64T", value);
	default:
		fprintf(stderr, "try: cay %s --help\n", c->command);
		return CLI_USAGE;
	}
}

/* -1: go on; else the exit status. */
static int take_options(struct node_call *c, int argc, char **argv,
	const struct option *known, const char *help)
{
	int option, status = 0;

	optind = 1;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == OPTION_HELP)
			return option_help(c->command, help);
		status = take_option(c, option, optarg);
		if (status)
			return status;
	}
	return -1;
}

/* The node's name comes last and may be left out. */
static int take_name(struct node_call *c, int argc, char **argv)
{
	const char *name = optind < argc ? argv[optind] : NULL;

	if (argc - optind > 1)
		return option_misused(c->command, "'%s': one name is enough",
			argv[optind + 1]);
	if (node_address(name, &c->address) == 0)
		return -1;
	return option_misused(c->command,
		"'%s' cannot be a node's name: letters, digits and ._:@+- , "
		"at most %d",
		name ? name : getenv("CAY_NODE"), NODE_NAME_MAX - 1);
}

static int node_failed(const struct node_call *c, int error)
{
	if (error == -ECONNREFUSED)
		return option_failed(c->command,
			"no node named '%s' runs; 'cay node list' shows those "
			"that do",
			c->address.name);
	return option_failed(c->command, "node '%s': %s", c->address.name,
		node_client_error(error));
}

/* ---- serve ---- */

static const char serve_help[] =
	"usage: cay node serve [--background] [--arena BYTES] [NAME]\n"
	"\n"
	"Serves in the foreground until it is interrupted. The library starts\n"
	"'cay node serve --background NAME' by itself when it needs one.\n"
	"\n"
	"  --background    return as soon as ports can be opened; the node "
	"ends\n"
	"                  when nobody has used it for a moment; nothing to "
	"do\n"
	"                  if there is one already\n"
	"  --arena BYTES   address space of a realm, with K, M, G or T;\n"
	"                  default 64G. Memory is taken only as it is used.\n";

static const struct option serve_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "background", no_argument, NULL, OPTION_BACKGROUND },
	{ "arena", required_argument, NULL, OPTION_ARENA },
	{ 0 },
};

static int serve_announce(struct node_call *c)
{
	int s = client_connect(&c->address);
	if (s >= 0) {
		close(s);
		return option_failed(c->command,
			"a node named '%s' runs already; see 'cay node status "
			"%s', or give another name",
			c->address.name, c->address.name);
	}
	if (s != -ECONNREFUSED)
		return node_failed(c, s);
	printf("node '%s' serves, pid %d; processes with CAY_NODE=%s use it.\n"
	       "Interrupt to end it.\n",
		c->address.name, (int)getpid(), c->address.name);
	return option_output_end(c->command);
}

static const char *serve_advice(int error)
{
	switch (error) {
	case -EMFILE:
	case -ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case -ENOMEM:
		return "give it more memory";
	case -EACCES:
	case -EPERM:
		return "this environment forbids abstract Unix sockets";
	default:
		return "see 'cay doctor'";
	}
}

static int node_command_serve(struct node_call *c, int argc, char **argv)
{
	int status = take_options(c, argc, argv, serve_options, serve_help);
	if (status < 0)
		status = take_name(c, argc, argv);
	if (status >= 0)
		return status;
	if (!c->background && (status = serve_announce(c)) != 0)
		return status;
	struct node_options options = { .name = c->address.name,
		.arena_bytes = c->arena_bytes,
		.background = c->background,
		.stay = !c->background };
	int r = node_serve(&options);
	if (r == 0 && c->background)
		return CLI_OK;
	if (r == 0)
		return option_failed(c->command,
			"another node named '%s' was faster", c->address.name);
	return option_failed(c->command, "node '%s': %s: %s", c->address.name,
		strerror(-r), serve_advice(r));
}

/* ---- status ---- */

static const char status_help[] =
	"usage: cay node status [--json] [NAME]\n"
	"\n"
	"Shows what a node knows. Starts none.\n"
	"\n"
	"  repaired, voided, told   processes that died, entries that they "
	"had\n"
	"                           claimed, peers that got NOTIFY_GONE\n"
	"  threads, busy            that have issued; in the middle of it now\n"
	"  heap, alloc              of the arena, all and by cay_alloc()\n"
	"  queue/size, data         entries and bytes that wait to be taken\n"
	"  state                    open, asleep (in cay_wait), armed (in\n"
	"                           epoll), full (senders wait), closed, "
	"disabled\n"
	"  peers, watchers          resolved by it; that have resolved it\n"
	"  locked, posted           windows, and by which VPIDs; receives, "
	"and\n"
	"                           where messages without one go\n"
	"  in the middle of         a hint: threads go on while they are "
	"looked\n"
	"                           at; 'cay top' shows who stays there\n"
	"\n"
	"Exit status: 0 shown, 1 no such node runs.\n";

static const struct option show_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ 0 },
};

static int node_command_status(struct node_call *c, int argc, char **argv)
{
	struct node_report report;
	int status = take_options(c, argc, argv, show_options, status_help);
	if (status < 0)
		status = take_name(c, argc, argv);
	if (status >= 0)
		return status;
	int r = node_client_status(&c->address, &report);
	if (r)
		return node_failed(c, r);
	if (c->json)
		node_status_json(&report);
	else
		node_status_print(&report);
	node_report_free(&report);
	return option_output_end(c->command);
}

/* ---- fence ---- */

static const char fence_help[] =
	"usage: cay node fence [--json] PID [NAME]\n"
	"\n"
	"A process that is stopped in the middle of a send holds up whoever "
	"it\n"
	"sends to. This replaces the queues of those receivers, so that they\n"
	"go on at once; nothing that was sent is lost, and the stopped "
	"process\n"
	"may go on later: it sends again.\n"
	"\n"
	"Exit status: 0 done (or nothing to do), 1 it could not be done.\n";

static const char *fence_failure(int error)
{
	switch (error) {
	case -ESRCH:
		return "this process has no port on the node; 'cay node "
		       "status' shows those that have";
	case -EBUSY:
		return "a receiver still reads queues that were replaced "
		       "before, or somebody else is stuck too; try again";
	case -ENOSPC:
		return "the arena has no room for new queues";
	case -EOPNOTSUPP:
		return "the kernel has no membarrier(2), and without it "
		       "nothing could be replaced safely; end the process "
		       "instead";
	default:
		return node_client_error(error);
	}
}

static int fence_json(const struct node_call *c, int error, uint32_t moved)
{
	struct json j;

	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_number(&j, "pid", c->pid);
	json_put_number(&j, "moved", moved);
	json_put_string(&j, "error", error ? fence_failure(error) : NULL);
	json_object_end(&j);
	json_close(&j);
	return error ? CLI_FAILED : option_output_end(c->command);
}

static int fence_print(const struct node_call *c, int error, uint32_t moved)
{
	if (error)
		return option_failed(c->command, "process %u: %s",
			(unsigned)c->pid, fence_failure(error));
	if (moved == 0)
		printf("process %u is in the middle of nothing: it holds "
		       "nobody up\n",
			(unsigned)c->pid);
	else
		printf("process %u is fenced off: %u receiver%s with new "
		       "queues\n",
			(unsigned)c->pid, moved,
			moved == 1 ? " goes on" : "s go on");
	return option_output_end(c->command);
}

static int fence_process_take(struct node_call *c, int argc, char **argv)
{
	if (optind == argc)
		return option_misused(c->command, "which process?");
	if (!option_number(argv[optind], INT32_MAX, &c->pid) || c->pid == 0)
		return option_misused(
			c->command, "'%s' is no process number", argv[optind]);
	optind++;
	return take_name(c, argc, argv);
}

static int node_command_fence(struct node_call *c, int argc, char **argv)
{
	struct node_request request = { .kind = NODE_FENCE };
	struct node_reply reply = { 0 };
	int status = take_options(c, argc, argv, show_options, fence_help);
	if (status < 0)
		status = fence_process_take(c, argc, argv);
	if (status >= 0)
		return status;
	request.fence.pid = (uint32_t)c->pid;
	int r = node_client_call(&c->address, &request, &reply, NULL);
	if (r == -ECONNREFUSED)
		return node_failed(c, r);
	uint32_t moved = r ? 0 : reply.fence.moved;
	return c->json ? fence_json(c, r, moved) : fence_print(c, r, moved);
}

/* ---- list ---- */

static const char list_help[] =
	"usage: cay node list\n"
	"\n"
	"The names of this user's nodes, one in a line.\n";

static const struct option list_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

static bool list_print(const char *name, void *argument)
{
	unsigned *count = argument;
	++*count;
	return puts(name) < 0;
}

static int node_command_list(struct node_call *c, int argc, char **argv)
{
	unsigned count = 0;
	int status = take_options(c, argc, argv, list_options, list_help);
	if (status >= 0)
		return status;
	if (optind < argc)
		return option_misused(
			c->command, "'%s': takes no name", argv[optind]);
	node_client_any(list_print, &count);
	if (count == 0)
		fprintf(stderr, "no node of this user runs\n");
	return option_output_end(c->command);
}

/* ---- which of them ---- */

static const struct {
	const char *name, *command;
	int (*run)(struct node_call *, int argc, char **argv);
} subcommands[] = {
	{ "status", "node status", node_command_status },
	{ "list", "node list", node_command_list },
	{ "fence", "node fence", node_command_fence },
	{ "serve", "node serve", node_command_serve },
};

int cli_node(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name && strcmp(name, "--help") == 0)
		return option_help("node", node_help);
	for (unsigned i = 0; name && i < ARRAY_COUNT(subcommands); i++) {
		struct node_call c = { .command = subcommands[i].command };
		if (strcmp(name, subcommands[i].name) == 0)
			return subcommands[i].run(&c, argc - 1, argv + 1);
	}
	if (!name) {
		fputs(node_help, stderr);
		return CLI_USAGE;
	}
	return option_misused("node", "no command '%s'", name);
}
