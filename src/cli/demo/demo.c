/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay demo: measures latencies and runs programs of examples/, each of which
 * checks what it shows, in a node of its own.
 */
#include "cli/demo/demo.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/directories.h"
#include "cay/error.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/node/client.h"
#include "node/installed.h"

#define NODE_EXIT_TIMEOUT_NS (10 * CLOCK_NS_PER_S)

struct demo {
	bool all;
	bool colour;
	unsigned scenes, failed;
	char examples[PATH_MAX]; /* directory of the programs */
};

static const struct scene {
	const char *title;
	bool brief;	     /* shown without --all, too */
	const char *argv[9]; /* a program of examples/, or this one */
} scenes[] = {
	{ "Death: a process is killed while it sends", true, { "death" } },
	{ "Messages: inline and through the RDR, completions", false,
		{ "message" } },
	{ "Request and reply: a server in epoll, three clients", false,
		{ "request" } },
	{ "Publish: one sender, many receivers", false, { "publish" } },
	{ "Work queue: a worker is killed, its task is done", false,
		{ "queue" } },
	{ "Stream: messages of 1 MiB, read in place", false, { "stream" } },
	{ "ULTRA: prepared paths for the smallest messages", false,
		{ "ultra" } },
	{ "Order: backpressure, priority, fence", false, { "order" } },
	{ "Remote memory: put, get, refused accesses", false, { "remote" } },
	{ "Counter: several processes update one word", false, { "counter" } },
	{ "Barrier: built from a window and messages", false, { "barrier" } },
	{ "Locks: the holder of a window lock is killed", false, { "lock" } },
	{ "Posted receives: directly into the receiver's buffer", false,
		{ "posted" } },
	{ "Raw interface: VCI, trigger, NQE", false, { "raw" } },
	{ "Ping-pong: the latency that a simple program sees", false,
		{ "pingpong" } },
	{ "Interconnect: a simulated torus in which a link fails", false,
		{ "cay", "sim", "torus", "--dims", "4x4x4", "--fail",
			"link:0:0@2600", "--precision=0.05" } },
};

static void scene_begin(struct demo *d, const char *title)
{
	printf("%s%s%2u  %s%s\n", d->scenes ? "\n" : "",
		d->colour ? "\033[1m" : "", d->scenes + 1, title,
		d->colour ? "\033[0m" : "");
	fflush(stdout);
	d->scenes++;
}

static void scene_end(struct demo *d, bool passed, const char *problem)
{
	if (passed)
		return;
	printf("    %sFAILED%s %s\n", d->colour ? "\033[1;31m" : "",
		d->colour ? "\033[0m" : "", problem);
	d->failed++;
}

/* Executes the program of a scene; its output goes to the pipe. */
__attribute__((noreturn)) static void scene_execute(
	const struct demo *d, const struct scene *s, int output)
{
	char path[PATH_MAX + 32] = "/proc/self/exe";
	char *argv[ARRAY_COUNT(s->argv) + 1] = { NULL };
	for (unsigned i = 0; i < ARRAY_COUNT(s->argv) && s->argv[i]; i++)
		argv[i] = (char *)(uintptr_t)s->argv[i];
	if (strcmp(argv[0], "cay") != 0)
		snprintf(path, sizeof(path), "%s/%s", d->examples, argv[0]);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execv(path, argv);
	dprintf(output, "%s: %s\n", path, strerror(errno));
	_exit(127);
}

static void scene_run(struct demo *d, const struct scene *s)
{
	char *line = NULL, problem[64] = "";
	size_t size = 0;
	int ends[2], status = 0;

	scene_begin(d, s->title);
	if (pipe(ends) != 0) {
		scene_end(d, false, strerror(errno));
		return;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		scene_execute(d, s, ends[1]);
	}
	close(ends[1]);
	FILE *output = fdopen(ends[0], "r");
	while (output && getline(&line, &size, output) > 0) {
		printf("    %s", line);
		fflush(stdout);
	}
	free(line);
	if (output)
		fclose(output);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		snprintf(problem, sizeof(problem), "%s", strerror(errno));
	else if (WIFSIGNALED(status))
		snprintf(problem, sizeof(problem), "signal %d",
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(problem, sizeof(problem), "exit status %d",
			WEXITSTATUS(status));
	scene_end(d, !problem[0], problem);
}

/* The node exits after its last port was closed. */
static void scene_node_exit(struct demo *d, const struct node_address *node)
{
	uint64_t start = clock_now_ns();
	bool listens;
	scene_begin(d, "Clean-up: the node exits after its last port");
	while ((listens = node_client_listens(node)) &&
		clock_now_ns() - start < NODE_EXIT_TIMEOUT_NS)
		clock_nap_ns(10 * CLOCK_NS_PER_MS);
	if (!listens)
		printf("    the node exited %.1f s after the last process\n",
			(double)(clock_now_ns() - start) / CLOCK_NS_PER_S);
	scene_end(d, !listens, "the node is still running");
}

static int demo_run(const struct command *c, int argc, char **argv)
{
	static const char *const near[] = { "/examples",
		"/../libexec/cay/examples", NULL };
	struct demo d = { 0 };
	struct node_address node;
	char name[32];
	int status = command_parse(c, &argc, &argv, &d);
	if (status >= 0)
		return status;
	if (!installed_find(
		    near, CAY_EXAMPLES_DIR, INSTALLED_DIRECTORY, d.examples))
		return cli_error(c->name,
			"the example programs are neither beside cay nor in %s",
			CAY_EXAMPLES_DIR);
	d.colour = cli_colour_wanted();

	/* A node of its own, which the programs inherit. */
	snprintf(name, sizeof(name), "demo-%d", (int)getpid());
	if (setenv("CAY_NODE", name, 1) != 0)
		return cli_error(c->name, "%s", strerror(errno));
	int r = node_address(NULL, &node);
	if (r)
		return cli_error(c->name, "%s", cay_strerror(r));

	scene_begin(&d, "Latency: one way between two processes, in ns");
	scene_end(&d, demo_latency(), "the measurement failed");
	for (unsigned i = 0; i < ARRAY_COUNT(scenes); i++)
		if (scenes[i].brief || d.all)
			scene_run(&d, &scenes[i]);
	scene_node_exit(&d, &node);
	if (d.failed)
		return cli_error(c->name,
			"%u of %u scenes failed; run 'cay doctor'", d.failed,
			d.scenes);
	printf("\nAll %u scenes passed.%s\n", d.scenes,
		d.all ? "" : " 'cay demo --all' shows every feature.");
	return cli_output_flush(c->name);
}

#define OPTIONS_STRUCT struct demo
static const struct option_row options[] = {
	OPTION_SWITCH("all", all,
		"show every feature: run all programs of the examples and a "
		"simulation"),
};

const struct command command_demo = {
	.name = "demo",
	.summary = "a short tour of the interface",
	.help = "Measures the latency of messages on this machine and shows "
		"the death of a process as its peers see it. The scenes are "
		"small programs whose sources are installed as examples. Each "
		"checks what it shows; the demo runs a node of its own and "
		"leaves nothing behind.",
	COMMAND_OPTIONS(options),
	.notes = "Exit status: 0 all scenes passed, 1 at least one failed.",
	.run = demo_run,
};
