/* SPDX-License-Identifier: BSD-2-Clause */
/* cay demo: see demo.h. */
#include "cli/demo/demo.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/node/client.h"
#include "cli/options.h"

static const char demo_help[] =
	"usage: cay demo\n"
	"\n"
	"Shows what the interface does, between processes that it starts: "
	"every\n"
	"kind of message with its request and its notification, remote "
	"memory,\n"
	"what the others see when a process is killed, and how long messages\n"
	"take. It checks what it shows, has a node of its own and leaves "
	"nothing\n"
	"behind.\n"
	"\n"
	"Exit status: 0 everything was as shown, 1 not.\n";

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
		return option_failed("demo",
			"%u of %u checks went wrong; 'cay doctor' may know why",
			d->wrong, d->checks);
	printf("\nAll %u checks were right. Next: 'cay recv NAME' here and "
	       "'cay send NAME' there.\n",
		d->checks);
	return option_output_end("demo");
}

static int demo_run(void)
{
	struct demo d = { .target_socket = -1 };
	int r = demo_name_node(&d);
	if (r)
		return option_failed("demo", "%s", cay_strerror(r));
	show_begin(&d);
	r = demo_open(&d);
	for (unsigned i = 0; r == 0 && i < ARRAY_COUNT(scenes); i++)
		r = scenes[i](&d);
	demo_close(&d);
	demo_leave(&d);
	return demo_end(&d);
}

static const struct option demo_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

int cli_demo(int argc, char **argv)
{
	optind = 1;
	int option = getopt_long(argc, argv, "", demo_options, NULL);
	if (option == 'h')
		return option_help("demo", demo_help);
	if (option != -1 || optind < argc)
		return option_misused("demo", "there is nothing to choose");
	return demo_run();
}
