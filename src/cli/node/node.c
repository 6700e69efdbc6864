/* SPDX-License-Identifier: BSD-2-Clause */
/* cay node: shows, runs and controls nodes. See cay(1). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/json.h"
#include "cay/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/node/client.h"
#include "cli/node/status.h"
#include "contract/arena.h"
#include "node/node.h"

#define ARENA_BYTES_MIN (128ull << 20)
#define ARENA_BYTES_MAX (1ull << 46)

CAY_STATIC_ASSERT(
	ARENA_HEAP_OFFSET < ARENA_BYTES_MIN, "the smallest arena has a heap");

struct node_command {
	const char *command; /* "node status" */
	struct node_address address;
	const char *node; /* of --node */
	bool json, background;
	uint64_t arena_bytes;
	struct quota quota;
	uint64_t pid;
};

#define OPTIONS_STRUCT struct node_command

/* Parses the options, and the node's name as the last argument or option. */
static int call_parse(struct node_command *c, const struct command *command,
	int *argc, char ***argv, int name_at)
{
	c->command = command->name;
	int status = command_parse(command, argc, argv, c);
	if (status >= 0)
		return status;
	const char *name = name_at < *argc ? (*argv)[name_at] : c->node;
	if (c->node && name != c->node)
		return cli_usage_error(command->name,
			"--node %s: not with the name '%s'", c->node, name);
	return option_node_address(command->name, name, &c->address);
}

/* Another user has bound the abstract name. */
static int holder_print(const struct node_command *c)
{
	struct ucred holder;
	if (client_holder(&c->address, &holder) == 0)
		return cli_error(c->command,
			"node '%s': process %d of user %u listens on its "
			"socket name; choose another name",
			c->address.name, (int)holder.pid, (unsigned)holder.uid);
	return cli_error(c->command,
		"node '%s': a process that does not listen has bound its "
		"socket name, and the kernel does not tell whose it is; choose "
		"another name",
		c->address.name);
}

static int node_failed(const struct node_command *c, int error)
{
	char names[NODE_NAMES_BYTES];
	if (error == -ECONNREFUSED)
		return cli_error(c->command,
			"no node named '%s' is running; 'cay node list' shows "
			"the nodes of this user: %s",
			c->address.name, node_client_names(names));
	if (error == -EPERM)
		return holder_print(c);
	return cli_error(c->command, "node '%s': %s", c->address.name,
		node_client_error(error));
}

/* ---- cay node serve ---- */

static bool arena_parse(void *to, const char *text)
{
	uint64_t *bytes = &((struct node_command *)to)->arena_bytes;
	if (!option_bytes(text, bytes) || *bytes < ARENA_BYTES_MIN ||
		*bytes > ARENA_BYTES_MAX)
		return false;
	*bytes = bits_round_up(*bytes, ARENA_PAGE);
	return true;
}

/* Parses "process-ports=1000". */
static bool quota_parse(void *to, const char *text)
{
	struct quota *quota = &((struct node_command *)to)->quota;
	const char *value = strchr(text, '=');
	char name[32];
	uint64_t number;
	if (!value || (size_t)(value - text) >= sizeof(name) ||
		!option_bytes(value + 1, &number) || number == 0)
		return false;
	memcpy(name, text, (size_t)(value - text));
	name[value - text] = 0;
	return quota_set(quota, name, number);
}

static int serve_announce(struct node_command *c)
{
	int s = client_connect(&c->address);
	if (s >= 0) {
		close(s);
		return cli_error(c->command,
			"a node named '%s' is running already; see 'cay node "
			"status %s', or choose another name",
			c->address.name, c->address.name);
	}
	if (s != -ECONNREFUSED)
		return node_failed(c, s);
	struct ucred holder;
	if (client_holder(&c->address, &holder) == 0)
		fprintf(stderr,
			"cay %s: process %d of user %u listens on the abstract "
			"socket name of the node; only processes that see %s "
			"reach it\n",
			c->command, (int)holder.pid, (unsigned)holder.uid,
			c->address.path.sun_path);
	printf("node '%s' is running, pid %d; processes with CAY_NODE=%s use "
	       "it.\nInterrupt to stop it.\n",
		c->address.name, (int)getpid(), c->address.name);
	return cli_output_flush(c->command);
}

static const char *serve_advice(int error)
{
	switch (error) {
	case -EMFILE:
	case -ENFILE:
		return "raise the limit of open files (ulimit -n)";
	case -ENOMEM:
		return "not enough memory";
	case -EACCES:
		return "this environment forbids abstract Unix sockets";
	default:
		return "see 'cay doctor'";
	}
}

static int serve_run(const struct command *command, int argc, char **argv)
{
	struct node_command call = { 0 }, *c = &call;
	int status = call_parse(c, command, &argc, &argv, 0);
	if (status >= 0)
		return status;
	if (!c->background && (status = serve_announce(c)) != 0)
		return status;
	struct node_options options = { .name = c->address.name,
		.arena_bytes = c->arena_bytes,
		.quota = c->quota,
		.background = c->background,
		.stay = !c->background };
	int r = node_serve(&options);
	if (r == 0 && c->background)
		return CLI_OK;
	if (r == 0)
		return cli_error(c->command,
			"another node named '%s' has started meanwhile",
			c->address.name);
	status = r == -EPERM ? holder_print(c)
			     : cli_error(c->command, "node '%s': %s: %s",
				       c->address.name, strerror(-r),
				       serve_advice(r));
	/* The library reads it. */
	int reported = NODE_EXIT_ERRNO - r;
	return c->background && reported <= NODE_EXIT_ERRNO_MAX ? reported
								: status;
}

static const struct option_row serve_rows[] = {
	OPTION_SWITCH("background", background,
		"return as soon as ports can be opened. The node exits about a "
		"second after its last user; if one is running already, do "
		"nothing"),
	OPTION_CUSTOM("arena", "BYTES", arena_parse,
		"address space of a realm, with K, M, G or T (default 32G). "
		"Memory is allocated only when it is used",
		.expected = "from 128M to 64T"),
	OPTION_CUSTOM("quota", "NAME=N", quota_parse,
		"what a process or a realm may take, with K, M or G: "
		"process-ports, realm-ports, and the same of blocks, heap "
		"(bytes), threads, peers, connections, mappings, paths and "
		"offers; realms; waiting-connections. cay(7) lists the "
		"defaults. May be given several times",
		.expected = "a name and a number, such as process-ports=1000"),
};

static const struct command command_serve = {
	.name = "node serve",
	.summary = "run a node",
	.arguments = "[NAME]",
	.help = "Runs a node in the foreground until it is interrupted. The "
		"library starts 'cay node serve --background NAME' by itself "
		"when it needs one.",
	COMMAND_OPTIONS(serve_rows),
	.run = serve_run,
};

/* ---- cay node status ---- */

static int status_run(const struct command *command, int argc, char **argv)
{
	struct node_command call = { 0 }, *c = &call;
	struct node_report report;
	int status = call_parse(c, command, &argc, &argv, 0);
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
	return cli_output_flush(c->command);
}

static const struct option_row status_rows[] = {
	OPTION_VALUE("node", "NODE", OPTION_NODE, node, "the same as NAME"),
	OPTION_SWITCH("json", json, "print a JSON object instead of tables"),
	OPTION_TERM("repaired, voided, notified",
		"processes that died; entries they had claimed; peers that "
		"were notified (GONE)",
		.group = "Columns"),
	OPTION_TERM("threads, busy", "threads that have issued operations; "
				     "those with one in progress"),
	OPTION_TERM("heap, alloc",
		"memory of the arena: all of it, and by cay_alloc()"),
	OPTION_TERM("queue/size, data",
		"entries and bytes that the receiver has not returned: not "
		"polled yet, or polled and not released"),
	OPTION_TERM("state", "open, asleep (in cay_wait), armed (in epoll), "
			     "full (no space for a message), closed, disabled"),
	OPTION_TERM("peers, watchers",
		"ports that this port resolved; ports that resolved this port"),
	OPTION_TERM("locked, posted",
		"locked windows and the VPIDs that hold the locks; posted "
		"receives, and where messages without one go"),
	OPTION_TERM("operation in progress",
		"the thread's operation in progress. Threads continue while "
		"they are sampled: 'cay top' shows which of them are stuck"),
};

static const struct command command_status = {
	.name = "node status",
	.summary = "show processes, ports and threads",
	.arguments = "[NAME]",
	.help = "Shows the processes, ports and threads of a node. It never "
		"starts one.",
	.notes = "Exit status: 0 shown, 1 no such node is running.",
	COMMAND_OPTIONS(status_rows),
	.run = status_run,
};

/* ---- cay node fence ---- */

static const char *fence_error_text(int error)
{
	switch (error) {
	case -ESRCH:
		return "this process has no port on the node; 'cay node "
		       "status' shows the processes that have";
	case -EBUSY:
		return "a receiver still uses a queue set that was replaced "
		       "before, or another process is stuck too; try again";
	case -ENOSPC:
		return "the arena has no space for new queues";
	case -ECANCELED:
		return "the receivers' queues were replaced, but the process "
		       "still blocks the old ones; continue it or kill it";
	case -EOPNOTSUPP:
		return "the kernel has no membarrier(2), which replacing "
		       "queues requires; kill the process instead";
	default:
		return node_client_error(error);
	}
}

static int fence_run(const struct command *command, int argc, char **argv)
{
	struct node_command call = { 0 }, *c = &call;
	struct node_request request = { .kind = NODE_FENCE };
	struct node_reply reply = { 0 };
	int status = call_parse(c, command, &argc, &argv, 1);
	if (status >= 0)
		return status;
	if (!option_number(argv[0], INT32_MAX, &c->pid) || c->pid == 0)
		return cli_usage_error(c->command,
			"'%s' is not a process number from 1 to %d; 'cay node "
			"status' shows the processes",
			argv[0], INT32_MAX);
	request.fence.pid = (uint32_t)c->pid;
	int r = node_client_call(&c->address, &request, &reply, NULL);
	if (r == -ECONNREFUSED)
		return node_failed(c, r);
	uint32_t migrated = r ? 0 : reply.fence.migrated;
	if (c->json) {
		struct json j;
		json_open(&j, stdout);
		json_object_begin(&j);
		json_put_number(&j, "pid", c->pid);
		json_put_number(&j, "migrated", migrated);
		json_put_string(&j, "error", r ? fence_error_text(r) : NULL);
		json_object_end(&j);
		json_close(&j);
		return r ? CLI_FAILED : cli_output_flush(c->command);
	}
	if (r)
		return cli_error(c->command, "process %u: %s",
			request.fence.pid, fence_error_text(r));
	if (migrated == 0)
		printf("process %u has no operation in progress and blocks no "
		       "receiver\n",
			request.fence.pid);
	else
		printf("process %u is fenced: %u receiver%s with new queues\n",
			request.fence.pid, migrated,
			migrated == 1 ? " continues" : "s continue");
	return cli_output_flush(c->command);
}

static const struct option_row fence_rows[] = {
	OPTION_VALUE("node", "NODE", OPTION_NODE, node, "the same as NAME"),
	OPTION_SWITCH("json", json, "print a JSON object instead of text"),
};

static const struct command command_fence = {
	.name = "node fence",
	.summary = "let receivers continue without a stopped process",
	.arguments = "PID [NAME]",
	.help = "A process that is stopped during a send blocks the "
		"receivers it sends to. This command replaces the queues of "
		"those receivers, so that they continue at once. No message is "
		"lost, and the stopped process may continue later: it sends "
		"its message again.",
	.notes = "Exit status: 0 done, or nothing to do; 1 failed.",
	COMMAND_OPTIONS(fence_rows),
	.run = fence_run,
};

/* ---- cay node list ---- */

/* A node of the list; counts are all ones if it does not answer. */
struct list_row {
	char name[NODE_NAME_MAX];
	uint32_t pid, processes, ports;
	uint64_t uptime_ns;
	const char *error;
};

static const struct field list_fields[] = {
	FIELD(struct list_row, name, "name", .kind = FIELD_CHARS),
	FIELD(struct list_row, pid, "pid", .kind = FIELD_COUNT),
	FIELD(struct list_row, uptime_ns, "uptime_ns", .kind = FIELD_COUNT),
	FIELD(struct list_row, processes, "processes", .kind = FIELD_COUNT),
	FIELD(struct list_row, ports, "ports", .kind = FIELD_COUNT),
	FIELD(struct list_row, error, "error", .kind = FIELD_STRING),
	FIELDS_END,
};

struct node_list {
	struct list_row *row;
	size_t count;
};

/* Returns true without memory. */
static bool list_add(const char *name, void *argument)
{
	struct node_list *l = argument;
	struct list_row *row = realloc(l->row, (l->count + 1) * sizeof(*row));
	if (!row)
		return true;
	l->row = row;
	row[l->count] = (struct list_row){ .pid = UINT32_MAX,
		.processes = UINT32_MAX,
		.ports = UINT32_MAX,
		.uptime_ns = UINT64_MAX };
	snprintf(row[l->count++].name, sizeof(row->name), "%s", name);
	return false;
}

static int list_order(const void *a, const void *b)
{
	return strcmp(((const struct list_row *)a)->name,
		((const struct list_row *)b)->name);
}

/* Asks a node for its report. */
static void list_ask(struct list_row *row)
{
	struct node_address address;
	struct node_report report;
	int r = node_address(row->name, &address);
	if (r == 0)
		r = node_client_status(&address, &report);
	if (r) {
		row->error = node_client_error(r);
		return;
	}
	row->pid = report.head->pid;
	row->processes = report.head->processes;
	row->ports = report.head->ports;
	row->uptime_ns = report.head->uptime_ns;
	node_report_free(&report);
}

static int list_run(const struct command *command, int argc, char **argv)
{
	struct node_command c = { 0 };
	struct node_list l = { 0 };
	struct json j;
	int status = command_parse(command, &argc, &argv, &c);
	if (status >= 0)
		return status;
	if (node_client_any(list_add, &l)) {
		free(l.row);
		return cli_error(command->name, "%s", strerror(ENOMEM));
	}
	if (l.count)
		qsort(l.row, l.count, sizeof(*l.row), list_order);
	for (size_t i = 0; i < l.count; i++) {
		if (c.json)
			list_ask(&l.row[i]);
		else
			puts(l.row[i].name);
	}
	if (c.json) {
		json_open(&j, stdout);
		json_object_begin(&j);
		fields_json_array(&j, "nodes", list_fields, l.row, l.count,
			sizeof(*l.row));
		json_object_end(&j);
		json_close(&j);
	} else if (l.count == 0) {
		fprintf(stderr,
			"no node of this user is running; the first port "
			"starts one\n");
	}
	free(l.row);
	return cli_output_flush(command->name);
}

static const struct option_row list_rows[] = {
	OPTION_SWITCH("json", json,
		"print a JSON object: of each node its name, pid, uptime_ns, "
		"processes and ports, or the error if it does not answer"),
};

static const struct command command_list = {
	.name = "node list",
	.summary = "list the nodes of this user",
	.help = "Prints the names of this user's nodes, one per line.",
	.notes = "Exit status: 0, also if no node is running.",
	COMMAND_OPTIONS(list_rows),
	.run = list_run,
};

const struct command command_node = {
	.name = "node",
	.summary = "show, run or control a node, the process behind ports",
	.help = "The node is the process that sets up ports and memory and "
		"repairs queues after a process dies. It starts with the first "
		"port and exits within a second after the last.",
	.notes = "NAME defaults to $CAY_NODE, then to the ID of the batch job, "
		 "then to \"default\".",
	.subcommands =
		(const struct command *const[]){
			&command_status,
			&command_list,
			&command_fence,
			&command_serve,
			NULL,
		},
};
