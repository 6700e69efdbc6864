/* SPDX-License-Identifier: BSD-2-Clause */
/* cay top: ports, rates, queues and threads, live. See cay-top(1). */
#include "cli/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"

#define DELAY_DEFAULT_NS CLOCK_NS_PER_S
#define DELAY_MIN	 0.05 /* seconds */

/* A screen has its first rates soon. */
#define DELAY_FIRST_NS (300 * CLOCK_NS_PER_MS)

/* So that a node that nobody uses can end: looking counts as using it. */
#define DELAY_ALONE_NS CLOCK_NS_PER_S

/* What it was asked for, and where it is. */
struct top_call {
	const char *node;
	struct node_address address;
	uint64_t delay_ns, count;
	bool batch, json;
	struct top_view view;
	struct top_frame frame; /* the last one */
};

/* ---- output ---- */

/* 0 or -errno. In one piece, so that a screen does not flicker. */
static int write_all(const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(STDOUT_FILENO, text, bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int frame_print(struct top_call *c)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	if (!f)
		return -errno;
	if (c->view.screen)
		top_screen_size(&c->view.columns, &c->view.rows);
	if (c->json)
		top_json_print(&c->frame, f);
	else
		top_view_print(&c->frame, &c->view, f);
	int e = fclose(f) == 0 ? write_all(text, bytes) : -ENOMEM;
	free(text);
	return e;
}

static int output_failed(int error)
{
	if (error == -EPIPE)
		return CLI_OK; /* the reader has had enough */
	return cli_error("top", "standard output: %s", strerror(-error));
}

/* ---- looking ---- */

static int frame_next(struct top_call *c)
{
	struct top_frame next;
	int e = top_frame_take(&c->address, &c->frame, &next);
	if (e)
		return e;
	top_frame_free(&c->frame);
	c->frame = next;
	return 0;
}

static const char *look_error(int error)
{
	return error == -ENOMEM ? strerror(ENOMEM) : node_client_error(error);
}

static int look_failed(const struct top_call *c, int error)
{
	const char *name = c->address.name;
	if (error == -ECONNREFUSED && c->frame.report.head)
		return cli_error("top", "node '%s' has ended", name);
	if (error == -ECONNREFUSED)
		return cli_error("top",
			"no node named '%s' runs: one starts with the first "
			"port; 'cay node list' shows those that run",
			name);
	return cli_error("top", "node '%s': %s", name, look_error(error));
}

static uint64_t look_next(const struct top_call *c, uint64_t delay_ns)
{
	if (c->frame.report.head->processes == 0 && delay_ns < DELAY_ALONE_NS)
		delay_ns = DELAY_ALONE_NS;
	return clock_after_ns(delay_ns);
}

/* ---- in a pipe ---- */

static void sleep_until(uint64_t deadline)
{
	for (uint64_t now; (now = clock_now_ns()) < deadline;)
		clock_nap_ns(deadline - now);
}

static int run_batch(struct top_call *c)
{
	int e = frame_next(c);
	cli_ignore_sigpipe();
	for (uint64_t i = 0; e == 0 && (i < c->count || !c->count); i++) {
		sleep_until(look_next(c, c->delay_ns));
		e = frame_next(c);
		if (e)
			break;
		int failed = frame_print(c);
		if (failed)
			return output_failed(failed);
	}
	return e ? look_failed(c, e) : CLI_OK;
}

/* ---- on a screen ---- */

/* Looks, and keeps the last frame where that fails. */
static void screen_look(struct top_call *c)
{
	static char text[256];
	int e = frame_next(c);
	c->view.error = NULL;
	if (e == 0)
		return;
	snprintf(text, sizeof(text), "node '%s': %s; waiting", c->address.name,
		look_error(e));
	c->view.error = text;
}

/* What a key wants; false: to end. *look: to look now. */
static bool key_take(struct top_call *c, int key, bool *look)
{
	switch (key) {
	case 'q':
	case 'Q':
	case TOP_KEY_GONE:
		return false;
	case 's':
		c->view.sort++;
		break;
	case 'p':
	case 't':
		c->view.tables = key == 'p' ? TOP_PORTS : TOP_THREADS;
		c->view.sort = 0;
		break;
	case ' ':
	case TOP_KEY_TIMEOUT:
		*look = true;
		break;
	}
	return true;
}

/* Until it is left or the count is reached. 0 or an error of the terminal. */
static int screen_loop(struct top_call *c)
{
	uint64_t next = look_next(c, bits_min(DELAY_FIRST_NS, c->delay_ns));
	for (uint64_t looks = 0;;) {
		bool look = false;
		int e = frame_print(c);
		if (e || (c->count && looks == c->count))
			return e;
		if (!key_take(c, top_screen_key(next), &look))
			return 0;
		if (!look)
			continue;
		screen_look(c);
		looks++;
		next = look_next(c, c->delay_ns);
	}
}

static int run_screen(struct top_call *c)
{
	int e = frame_next(c);
	if (e)
		return look_failed(c, e);
	c->view.screen = true;
	c->view.tables = TOP_PORTS;
	top_screen_begin();
	e = screen_loop(c);
	top_screen_end();
	return e ? output_failed(e) : CLI_OK;
}

static int top_command(const struct command *command, int argc, char **argv)
{
	struct top_call c = { .delay_ns = DELAY_DEFAULT_NS,
		.view.tables = TOP_PORTS | TOP_THREADS };
	int status = command_parse(command, &argc, &argv, &c);
	if (status < 0)
		status = option_node_address("top", c.node, &c.address);
	if (status >= 0)
		return status;
	status = c.batch || c.json || !top_screen_possible() ? run_batch(&c)
							     : run_screen(&c);
	top_frame_free(&c.frame);
	return status;
}

#define OPTIONS_STRUCT struct top_call

static const struct option_row top_rows[] = {
	OPTION_VALUE("count", "N", OPTION_NUMBER, count, "exit after N samples",
		.min = 1, .max = UINT32_MAX, .letter = 'n'),
	OPTION_VALUE("delay", "SECONDS", OPTION_SECONDS, delay_ns,
		"time between two samples (default 1, at least 0.05)",
		.min = DELAY_MIN, .expected = "at least 0.05", .letter = 'd'),
	OPTION_SWITCH("batch", batch,
		"print tables even if standard output is a terminal",
		.letter = 'b'),
	OPTION_SWITCH(
		"json", json, "print each sample as a JSON object on a line"),
	OPTION_VALUE("node", "NODE", OPTION_NODE, node,
		"name of the node (default $CAY_NODE)"),
	OPTION_TERM("q", "quit", .group = "Keys"),
	OPTION_TERM("s", "sort by the next column"),
	OPTION_TERM("p, t", "show ports, show threads"),
	OPTION_TERM("space", "take a sample now"),
	OPTION_TERM("RECV/S, RETURN/S",
		"queue entries per second that senders claimed, and that the "
		"receiver returned",
		.group = "Columns"),
	OPTION_TERM("FILL", "fill level of the queue or the data region, "
			    "whichever is higher"),
	OPTION_TERM("WIN, LOCKED", "open windows; locked windows and the VPIDs "
				   "that hold the locks"),
	OPTION_TERM(
		"POSTED", "posted receives, and where messages without one go"),
	OPTION_TERM("REFS", "messages by reference and accesses in flight"),
	OPTION_TERM("S, FOR", "the thread's state in the kernel; how long the "
			      "same operation has been in progress"),
};

const struct command command_top = {
	.name = "top",
	.summary = "show ports, queues and threads live",
	.help = "Shows the ports of a node live: queue entries received and "
		"returned per second, fill levels, and the operation that each "
		"thread has in progress. On a terminal it fills the screen "
		"until 'q' is pressed; otherwise it prints one table per "
		"sample. It never starts a node.",
	.notes = "Exit status: 0 done, 1 no such node is running or it has "
		 "exited.",
	COMMAND_OPTIONS(top_rows),
	.run = top_command,
};
