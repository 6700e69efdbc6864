/* SPDX-License-Identifier: BSD-2-Clause */
/* cay demo: see demo.h. */
#include "cli/demo/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/node/client.h"

/* ---- before the first scene and after the last ---- */

/* A node of its own, for it and for all its children. */
static int demo_name_node(struct demo *d)
{
	char name[32];
	snprintf(name, sizeof(name), "demo-%d", (int)getpid());
	if (setenv("CAY_NODE", name, 1) != 0)
		return -errno;
	return node_address(NULL, &d->node);
}

static int demo_open(struct demo *d)
{
	struct cay_port_options options = { .name = ORIGIN_NAME };
	int r = target_start(d);
	if (r)
		return show_failed(d, "the target could not be started", r);
	d->port = cay_port_open(&options);
	if (!d->port)
		return show_failed(d, "cay_port_open", -errno);
	r = cay_peer_lookup(d->port, TARGET_NAME,
		clock_after_ns(DEMO_PATIENCE_NS), &d->peer);
	return r ? show_failed(d, "cay_peer_lookup", r) : 0;
}

static int demo_introduce(struct demo *d)
{
	struct node_report report;
	int r = node_client_status(&d->node, &report);
	if (r)
		return show_failed(d, "node status", r);
	printf("Three processes and one device\n\n"
	       "    origin  pid %-8d port %u\n"
	       "    target  pid %-8d port %u, found by its name\n"
	       "    node    pid %-8u started by itself with the first port\n",
		(int)getpid(), cay_port_addr(d->port).vpid, (int)d->target_pid,
		cay_peer_addr(d->peer).vpid, report.head->pid);
	node_report_free(&report);
	return 0;
}

static void demo_close(struct demo *d)
{
	cay_peer_release(d->peer);
	if (d->port)
		cay_port_close(d->port);
	target_end(d);
}

/* The node ends by itself once nobody is left. */
static void demo_leave(struct demo *d)
{
	uint64_t begun = clock_now_ns();
	bool listens;

	show_scene(d, "Nothing left behind", "");
	while ((listens = node_client_listens(&d->node)) &&
		clock_now_ns() - begun < DEMO_PATIENCE_NS)
		clock_nap_ns(10 * CLOCK_NS_PER_MS);
	show_check(d, waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
		"all processes have ended");
	show_check(d, !listens,
		"the node has ended by itself, %.1f s after the last port",
		(double)(clock_now_ns() - begun) / CLOCK_NS_PER_S);
}

/* ---- the scenes ---- */

static int (*const scenes[])(struct demo *) = {
	demo_introduce,
	demo_fast_send,
	demo_send,
	demo_long_alloc,
	demo_long_malloc,
	demo_told,
	demo_priority,
	demo_fence,
	demo_interrupt,
	demo_put_get,
	demo_atomic,
	demo_refused,
	demo_lock,
	demo_posted,
	demo_raw,
	demo_death,
	demo_network,
	demo_speed,
};

static int demo_end(const struct demo *d)
{
	if (d->wrong)
		return cli_error("demo",
			"%u of %u checks went wrong; 'cay doctor' may know why",
			d->wrong, d->checks);
	printf("\nAll %u checks were right. Next: 'cay recv NAME' here and "
	       "'cay send NAME' there.\n",
		d->checks);
	return cli_output_flush("demo");
}

static int demo_run(const struct command *c, int argc, char **argv)
{
	struct demo d = { .target_socket = -1 };
	int status = command_parse(c, &argc, &argv, NULL);
	if (status >= 0)
		return status;
	int r = demo_name_node(&d);
	if (r)
		return cli_error("demo", "%s", cay_strerror(r));
	show_begin(&d);
	r = demo_open(&d);
	for (unsigned i = 0; r == 0 && i < ARRAY_COUNT(scenes); i++)
		r = scenes[i](&d);
	demo_close(&d);
	demo_leave(&d);
	return demo_end(&d);
}

const struct command command_demo = {
	.name = "demo",
	.summary = "a one-minute tour of the interface",
	.help = "Shows the interface between processes that it starts: every "
		"kind of message with its request and its notification, remote "
		"memory, the death of a process as its peers see it, and the "
		"latency of messages. It checks everything it shows, runs a "
		"node of its own and leaves nothing behind.",
	.notes = "Exit status: 0 all checks passed, 1 at least one failed.",
	.run = demo_run,
};
