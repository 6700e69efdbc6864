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
#include "cli/options.h"

#define DELAY_DEFAULT_NS CLOCK_NS_PER_S
#define DELAY_MIN_NS	 (50 * CLOCK_NS_PER_MS)

/* A screen has its first rates soon. */
#define DELAY_FIRST_NS (300 * CLOCK_NS_PER_MS)

/* So that a node that nobody uses can end: looking counts as using it. */
#define DELAY_ALONE_NS CLOCK_NS_PER_S

static const char top_help[] =
	"usage: cay top [-b] [-n COUNT] [-d SECONDS] [--json] [--node NAME]\n"
	"\n"
	"Shows the ports of a node live: how many entries come and are given\n"
	"back per second, how full the queues are, and what each thread is in\n"
	"the middle of. On a terminal it fills the screen until 'q'; else it\n"
	"prints one table after the other. Starts no node.\n"
	"\n"
	"  -n, --count COUNT      look so often, then end\n"
	"  -d, --delay SECONDS    between two looks; default 1, at least "
	"0.05\n"
	"  -b, --batch            print tables on a terminal too\n"
	"      --json             one JSON object in a line per look\n"
	"      --node NAME        instead of $CAY_NODE\n"
	"\n"
	"Keys: q quit, s sort by something else, p ports, t threads, space "
	"look\n"
	"now.\n"
	"\n"
	"  RECV/S, BACK/S   entries of the queue that were claimed by "
	"senders,\n"
	"                   and given back by the receiver\n"
	"  FILL             of queue or data, whichever is fuller\n"
	"  WIN, LOCKED      windows that are open; locked, and by which VPIDs\n"
	"  POSTED           receives, and where messages without one go\n"
	"  REFS             long messages and accesses under way\n"
	"  S, FOR           the thread's state in the kernel; how long it is "
	"in\n"
	"                   the middle of the very same thing\n"
	"\n"
	"Exit status: 0 done, 1 no such node runs or it has ended.\n";

/* What it was asked for, and where it is. */
struct top_call {
	const char *node;
	struct node_address address;
	uint64_t delay_ns, count;
	bool batch, json;
	struct top_view view;
	struct top_frame frame; /* the last one */
};

/* ---- options ---- */

enum top_option {
	OPTION_JSON = OPTION_HELP + 1,
	OPTION_NODE,
};

static const struct option top_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "batch", no_argument, NULL, 'b' },
	{ "count", required_argument, NULL, 'n' },
	{ "delay", required_argument, NULL, 'd' },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "node", required_argument, NULL, OPTION_NODE },
	{ 0 },
};

/* -1: go on; else the exit status. */
static int take_option(struct top_call *c, int option, const char *value)
{
	switch (option) {
	case OPTION_HELP:
		return option_help("top", top_help);
	case 'b':
		c->batch = true;
		return -1;
	case 'n':
		if (option_number(value, UINT32_MAX, &c->count) && c->count)
			return -1;
		return option_misused("top", "--count %s: not possible", value);
	case 'd':
		if (option_seconds(value, &c->delay_ns) &&
			c->delay_ns >= DELAY_MIN_NS)
			return -1;
		return option_misused(
			"top", "--delay %s: must be at least 0.05", value);
	case OPTION_JSON:
		c->json = true;
		return -1;
	case OPTION_NODE:
		c->node = value;
		return -1;
	default:
		fprintf(stderr, "try: cay top --help\n");
		return CLI_USAGE;
	}
}

static int take_options(struct top_call *c, int argc, char **argv)
{
	int option, status;

	optind = 1;
	while ((option = getopt_long(argc, argv, "bn:d:", top_options, NULL)) !=
		-1) {
		status = take_option(c, option, optarg);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return option_misused("top",
			"'%s': takes no arguments; a node is named with --node",
			argv[optind]);
	if ((!c->node || *c->node) && node_address(c->node, &c->address) == 0)
		return -1;
	return option_misused("top",
		"'%s' cannot be a node's name: letters, digits and ._:@+- , "
		"at most %d",
		c->node ? c->node : getenv("CAY_NODE"), NODE_NAME_MAX - 1);
}

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
	return option_failed("top", "standard output: %s", strerror(-error));
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
		return option_failed("top", "node '%s' has ended", name);
	if (error == -ECONNREFUSED)
		return option_failed("top",
			"no node named '%s' runs: one starts with the first "
			"port; 'cay node list' shows those that run",
			name);
	return option_failed("top", "node '%s': %s", name, look_error(error));
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
	option_pipe_ignore();
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
	c->view.complaint = NULL;
	if (e == 0)
		return;
	snprintf(text, sizeof(text), "node '%s': %s; waiting", c->address.name,
		look_error(e));
	c->view.complaint = text;
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

int cli_top(int argc, char **argv)
{
	struct top_call c = { .delay_ns = DELAY_DEFAULT_NS,
		.view.tables = TOP_PORTS | TOP_THREADS };
	int status = take_options(&c, argc, argv);
	if (status >= 0)
		return status;
	status = c.batch || c.json || !top_screen_possible() ? run_batch(&c)
							     : run_screen(&c);
	top_frame_free(&c.frame);
	return status;
}
