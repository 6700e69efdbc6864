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

/* The second sample of a screen comes early, for the first rates. */
#define DELAY_FIRST_NS (300 * CLOCK_NS_PER_MS)

/* A node exits when it is unused for a while, and a sample counts as use. */
#define DELAY_UNUSED_NS CLOCK_NS_PER_S

enum color_when {
	COLOR_AUTO, /* the default */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

struct top_state {
	const char *node;
	struct node_address address;
	uint64_t delay_ns, count;
	bool batch, json;
	unsigned color; /* enum color_when */
	char *help;	/* the keys and columns, for the screen */
	struct top_view view;
	struct top_frame frame; /* the most recent sample */
};

/* Prints the frame with one write, so that a screen does not flicker. Returns 0
 * or -errno. */
static int frame_print(struct top_state *c)
{
	char *text = NULL;
	size_t bytes = 0, at = 0;
	FILE *f = open_memstream(&text, &bytes);
	if (!f)
		return -errno;
	if (c->view.screen)
		top_screen_size(&c->view.columns, &c->view.rows);
	if (c->json)
		top_json_print(&c->frame, f);
	else
		top_view_print(&c->frame, &c->view, f);
	int e = fclose(f) == 0 ? 0 : -ENOMEM;
	while (e == 0 && at < bytes) {
		ssize_t n = write(STDOUT_FILENO, text + at, bytes - at);
		if (n < 0 && errno != EINTR)
			e = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	free(text);
	return e;
}

static int output_failed(int error)
{
	if (error == -EPIPE)
		return CLI_OK; /* the reader has exited */
	return cli_error("top", "standard output: %s", strerror(-error));
}

/* ---- samples ---- */

static int frame_next(struct top_state *c)
{
	struct top_frame next;
	int e = top_frame_take(&c->address, &c->frame, &next);
	if (e)
		return e;
	top_frame_free(&c->frame);
	c->frame = next;
	return 0;
}

static const char *sample_error_text(int error)
{
	return error == -ENOMEM ? strerror(ENOMEM) : node_client_error(error);
}

static int sample_failed(const struct top_state *c, int error)
{
	const char *name = c->address.name;
	char names[NODE_NAMES_BYTES];
	if (error == -ECONNREFUSED && c->frame.report.head)
		return cli_error("top", "node '%s' has exited", name);
	if (error == -ECONNREFUSED)
		return cli_error("top",
			"no node named '%s' is running: a node starts with the "
			"first port; 'cay node list' shows the nodes of this "
			"user: %s",
			name, node_client_names(names));
	return cli_error(
		"top", "node '%s': %s", name, sample_error_text(error));
}

static uint64_t sample_time(const struct top_state *c, uint64_t delay_ns)
{
	if (c->frame.report.head->processes == 0 && delay_ns < DELAY_UNUSED_NS)
		delay_ns = DELAY_UNUSED_NS;
	return clock_after_ns(delay_ns);
}

/* The longest wait until the next frame or top_frame_follow(). */
static uint64_t follow_ns(const struct top_state *c)
{
	return c->frame.fast ? TOP_FOLLOW_NS : UINT64_MAX;
}

/* ---- output to a pipe or file ---- */

static int run_batch(struct top_state *c)
{
	int e = frame_next(c);
	cli_ignore_sigpipe();
	for (uint64_t i = 0; e == 0 && (i < c->count || !c->count); i++) {
		uint64_t now, next = sample_time(c, c->delay_ns);
		while ((now = clock_now_ns()) < next) {
			clock_nap_ns(bits_min(next - now, follow_ns(c)));
			top_frame_follow(&c->address, &c->frame);
		}
		e = frame_next(c);
		if (e)
			break;
		int failed = frame_print(c);
		if (failed)
			return output_failed(failed);
	}
	return e ? sample_failed(c, e) : CLI_OK;
}

/* ---- output to a screen ---- */

/* Returns false to quit; sets *sample to take a sample now. */
static bool key_handle(struct top_state *c, int key, bool *sample)
{
	if (c->view.help && key > 0 && key != 'q' && key != 'Q') {
		c->view.help = NULL;
		return true;
	}
	switch (key) {
	case '?':
	case 'h':
		c->view.help = c->help;
		break;
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
		*sample = true;
		break;
	}
	return true;
}

/* Returns 0 at the end, or an error of the terminal. */
static int screen_loop(struct top_state *c)
{
	uint64_t next = sample_time(c, bits_min(DELAY_FIRST_NS, c->delay_ns));
	char error[256];
	for (uint64_t samples = 0;;) {
		bool sample = false;
		int e = frame_print(c);
		if (e || (c->count && samples == c->count))
			return e;
		int key;
		for (;;) {
			uint64_t step = clock_after_ns(follow_ns(c));
			key = top_screen_key(bits_min(step, next));
			if (key != TOP_KEY_TIMEOUT || clock_passed(next))
				break;
			top_frame_follow(&c->address, &c->frame);
		}
		if (!key_handle(c, key, &sample))
			return 0;
		if (!sample)
			continue;
		/* An error leaves the previous frame on the screen. */
		e = frame_next(c);
		snprintf(error, sizeof(error), "node '%s': %s; waiting",
			c->address.name, e ? sample_error_text(e) : "");
		c->view.error = e ? error : NULL;
		samples++;
		next = sample_time(c, c->delay_ns);
	}
}

static int run_screen(struct top_state *c)
{
	int e = frame_next(c);
	if (e)
		return sample_failed(c, e);
	FILE *help = open_memstream(&c->help, &(size_t){ 0 });
	if (help) {
		fprintf(help, "cay top: q quits, any other key returns; see "
			      "cay-top(1)\n");
		command_terms(&command_top, NULL, help);
		fclose(help);
	}
	c->view.screen = true;
	c->view.tables = TOP_PORTS;
	top_screen_begin();
	e = screen_loop(c);
	top_screen_end();
	return e ? output_failed(e) : CLI_OK;
}

static int top_command(const struct command *command, int argc, char **argv)
{
	struct top_state c = { .delay_ns = DELAY_DEFAULT_NS,
		.view.tables = TOP_PORTS | TOP_THREADS };
	int status = command_parse(command, &argc, &argv, &c);
	if (status < 0)
		status = option_node_address("top", c.node, &c.address);
	if (status >= 0)
		return status;
	c.view.colour = c.color == COLOR_ALWAYS ||
			(c.color == COLOR_AUTO && cli_colour_wanted());
	status = c.batch || c.json || !top_screen_possible() ? run_batch(&c)
							     : run_screen(&c);
	top_frame_free(&c.frame);
	free(c.help);
	return status;
}

#define OPTIONS_STRUCT struct top_state

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
	OPTION_VALUE("color", "WHEN", OPTION_CHOICE, color,
		"colour full ports and stuck threads",
		.choices = WORDS("auto", "always", "never")),
	OPTION_TERM("q", "quit", .group = "Keys"),
	OPTION_TERM("?", "show this explanation"),
	OPTION_TERM("s", "sort by the next column"),
	OPTION_TERM("p, t", "show ports, show threads"),
	OPTION_TERM("space", "take a sample now"),
	OPTION_TERM("RECV/S, RETURN/S",
		"queue entries per second that senders claimed, and that the "
		"receiver returned",
		.group = "Columns"),
	OPTION_TERM("DATA/S",
		"bytes per second through the data region, in units of 64: "
		"messages of 41 to 8192 bytes. ~: estimated"),
	OPTION_TERM("FILL", "fill level of the queue or the data region, "
			    "whichever is higher"),
	OPTION_TERM("ENTRIES, DATA",
		"entries and bytes that the receiver has not returned: not "
		"polled yet, or polled and not released"),
	OPTION_TERM("WIN, LOCKED", "open windows; locked windows and the VPIDs "
				   "that hold the locks"),
	OPTION_TERM(
		"POSTED", "posted receives, and where messages without one go"),
	OPTION_TERM("REFS", "messages by reference and accesses in flight"),
	OPTION_TERM("S, FOR", "the thread's state in the kernel; how long the "
			      "same operation has been in progress"),
	OPTION_TERM("yellow", "no message fits into the port's queue",
		.group = "Colours"),
	OPTION_TERM("red", "the thread has been in one operation for a second; "
			   "the port is disabled"),
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
