/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay recv: opens a named port and prints what comes. One thread: poll the
 * port, write, and with nothing there sleep on the port's descriptor, standard
 * output (its reader may leave) and the eventfd of the signal handler.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/recv.h"
#include "node/address.h"

#define EVENTS_AT_ONCE 32
#define LOOK_NS	       CLOCK_NS_PER_S /* between two looks at the node */

/* ---- signals: the first ends it in order, the second at once ---- */

static int stop_fd = -1;

static void stop_note(int signal)
{
	uint64_t one = 1;
	int e = errno;
	(void)signal;
	if (write(stop_fd, &one, sizeof(one)) < 0)
		_exit(CLI_FAILED);
	errno = e;
}

static int stop_watch(void)
{
	struct sigaction action = { .sa_handler = stop_note,
		.sa_flags = (int)SA_RESETHAND };
	stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return -errno;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return 0;
}

static bool stop_asked(void)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

/* ---- senders, for "gone" ---- */

/*
 * A port is told of the death of those that it has resolved, so each sender is
 * resolved with its first message. One that is gone by then has no more
 * messages than those that are in the queue now.
 */
static void sender_meet(struct receiver *r, struct cay_addr who)
{
	struct cay_peer **slot = &r->senders[who.vpid];
	if (*slot)
		return;
	for (size_t i = 0; i < r->left_count; i++)
		if (r->left[i].vpid == who.vpid)
			return;
	if (cay_peer_resolve(r->port, who, slot) != -ENXIO)
		return;
	struct cay_addr *left =
		realloc(r->left, (r->left_count + 1) * sizeof(*left));
	if (!left)
		return;
	r->left = left;
	left[r->left_count++] = who;
}

static void sender_gone(struct receiver *r, struct cay_addr who)
{
	cay_peer_release(r->senders[who.vpid]);
	r->senders[who.vpid] = NULL;
	output_gone(r, who);
}

static void senders_left(struct receiver *r)
{
	for (size_t i = 0; i < r->left_count; i++)
		output_gone(r, r->left[i]);
	r->left_count = 0;
}

/* ---- receiving ---- */

static void message_lost(struct receiver *r, const struct cay_event *e)
{
	r->lost++;
	cli_error("recv", "a message of %zu bytes from port %u is lost: %s",
		e->length, e->peer.vpid, cay_error_text((unsigned)e->error));
}

static void message_take(struct receiver *r, const struct cay_event *e)
{
	if (e->error)
		message_lost(r, e);
	if (r->options->json)
		sender_meet(r, e->peer);
	output_message(r, e);
	if (!r->end && ++r->received == r->options->count)
		r->end = RECV_DONE;
}

static void event_handle(struct receiver *r, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_MESSAGE)
		message_take(r, e);
	else if (e->kind == CAY_EVENT_GONE && r->options->json)
		sender_gone(r, e->peer);
}

static uint64_t deadline_next(const struct receiver *r)
{
	uint64_t timeout = r->options->timeout_ns;
	return timeout == UINT64_MAX ? UINT64_MAX : clock_after_ns(timeout);
}

/* No more than are wanted: who sent the others must not think us served. */
static int receive_room(const struct receiver *r)
{
	uint64_t wanted = r->options->count;
	return wanted ? (int)bits_min(wanted - r->received, EVENTS_AT_ONCE)
		      : EVENTS_AT_ONCE;
}

/*
 * True if something was there. What could not be written is not released:
 * when the port closes, the sender of a long message is told.
 */
static bool receive_some(struct receiver *r)
{
	struct cay_event events[EVENTS_AT_ONCE];
	int n = cay_poll(r->port, events, receive_room(r));
	if (n < 0) {
		cli_error("recv", "%s", cay_strerror(n));
		r->end = RECV_FAILED;
	}
	for (int i = 0; i < n && !r->end; i++) {
		event_handle(r, &events[i]);
		if (!r->end || r->end == RECV_DONE)
			cay_release(r->port, &events[i]);
	}
	if (n > 0)
		r->deadline = deadline_next(r);
	return n > 0;
}

static void node_check(struct receiver *r)
{
	struct cay_stats stats;
	if (cay_port_stats(r->port, &stats) == 0 && !stats.node_alive) {
		cli_error("recv", "%s", cay_strerror(-ENOTCONN));
		r->end = RECV_FAILED;
	}
}

/* An entry is claimed but not published: the library knows how to wait. */
static void wait_claimed(struct receiver *r)
{
	int e = cay_wait(r->port, clock_after_ns(CLOCK_NS_PER_MS));
	if (e == -ENOTCONN) {
		cli_error("recv", "%s", cay_strerror(e));
		r->end = RECV_FAILED;
	}
}

static void wait_asleep(struct receiver *r)
{
	struct pollfd fds[] = { { .fd = r->fd, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
		{ .fd = STDOUT_FILENO } }; /* errors only */
	uint64_t now = clock_now_ns();
	uint64_t left = r->deadline > now ? r->deadline - now : 0;
	struct timespec t = clock_timespec(bits_min(left, LOOK_NS));
	int n = ppoll(fds, ARRAY_COUNT(fds), &t, NULL);

	if (n > 0 && fds[1].revents)
		r->end = RECV_INTERRUPTED;
	else if (n > 0 && fds[2].revents & (POLLERR | POLLHUP))
		r->end = RECV_READER_LEFT;
	else if (n == 0)
		node_check(r);
}

static void wait_more(struct receiver *r)
{
	if (r->options->json)
		senders_left(r);
	output_flush(r);
	if (!r->end && stop_asked())
		r->end = RECV_INTERRUPTED;
	if (!r->end && clock_passed(r->deadline))
		r->end = RECV_TIMED_OUT;
	if (r->end)
		return;
	if (cay_port_arm(r->port) == 0)
		wait_asleep(r);
	else
		wait_claimed(r);
}

static void receive_all(struct receiver *r)
{
	r->deadline = deadline_next(r);
	while (!r->end) {
		if (!receive_some(r))
			wait_more(r);
		else if (stop_asked())
			r->end = RECV_INTERRUPTED;
	}
}

/* ---- from options to exit status ---- */

static int receiver_prepare(struct receiver *r)
{
	int e = stop_watch();
	if (e == 0)
		e = output_open(r);
	if (e == 0 && r->options->json) {
		r->senders = calloc(CAY_VPIDS, sizeof(*r->senders));
		e = r->senders ? 0 : -ENOMEM;
	}
	r->stop_fd = stop_fd;
	r->flush = r->options->json || isatty(STDOUT_FILENO);
	return e ? cli_error("recv", "%s", strerror(-e)) : CLI_OK;
}

static int receiver_open(struct receiver *r)
{
	const struct recv_options *o = r->options;
	struct cay_port_options options = {
		.node = o->node, .realm = o->realm, .name = o->name
	};

	r->port = cay_port_open(&options);
	if (!r->port && errno == EEXIST)
		return cli_error("recv",
			"another port has the name '%s'; choose another one, "
			"or see 'cay node status'",
			o->name);
	if (!r->port)
		return cli_error("recv", "no port could be opened: %s",
			cay_strerror(errno));
	r->fd = cay_port_fd(r->port);
	if (r->fd < 0)
		return cli_error("recv", "%s", cay_strerror(r->fd));
	return CLI_OK;
}

static void receiver_close(struct receiver *r)
{
	for (uint32_t i = 0; r->senders && i < CAY_VPIDS; i++)
		cay_peer_release(r->senders[i]);
	free(r->senders);
	free(r->left);
	output_close(r);
	if (r->port)
		cay_port_close(r->port);
}

static int receiver_status(const struct receiver *r)
{
	const struct recv_options *o = r->options;
	unsigned long long received = r->received, wanted = o->count;

	if (r->end == RECV_TIMED_OUT && wanted)
		return cli_error("recv",
			"timed out after %llu of %llu messages", received,
			wanted);
	if (r->end == RECV_TIMED_OUT)
		return cli_error("recv", "timed out after %llu message%s",
			received, received == 1 ? "" : "s");
	if (r->end == RECV_INTERRUPTED && wanted)
		return cli_error("recv",
			"interrupted after %llu of %llu messages", received,
			wanted);
	return r->end == RECV_FAILED || r->lost ? CLI_FAILED : CLI_OK;
}

static int recv_run(const struct recv_options *o)
{
	struct receiver r = { .options = o };
	int status = receiver_prepare(&r);

	if (status == CLI_OK)
		status = receiver_open(&r);
	if (status == CLI_OK) {
		receive_all(&r);
		output_flush(&r);
		status = receiver_status(&r);
	}
	receiver_close(&r);
	return status;
}

static int recv_command(const struct command *c, int argc, char **argv)
{
	struct recv_options o = { .timeout_ns = UINT64_MAX };
	int status = command_parse(c, &argc, &argv, &o);

	if (status >= 0)
		return status;
	o.name = argv[0];
	if ((status = option_port_name("recv", o.name)) >= 0)
		return status;
	cli_ignore_sigpipe();
	return recv_run(&o);
}

#define OPTIONS_STRUCT struct recv_options

static const struct option_row recv_rows[] = {
	OPTION_VALUE("count", "N", OPTION_NUMBER, count,
		"exit after N messages", .min = 1),
	OPTION_VALUE("timeout", "SECONDS", OPTION_SECONDS, timeout_ns,
		"fail if no message arrives for this long",
		.expected = "a number of seconds"),
	OPTION_SWITCH("json", json,
		"print one JSON object per message: kind, tag, api_tag, from, "
		"length, data, encoding (utf-8, or base64 for other data). "
		"Kind \"gone\": a sender has exited",
		.excludes = WORDS("raw")),
	OPTION_SWITCH(
		"raw", raw, "print the payloads with nothing between them"),
	OPTION_VALUE("node", "NODE", OPTION_NODE, node,
		"name of the node (default $CAY_NODE)"),
	OPTION_VALUE("realm", "REALM", OPTION_NODE, realm,
		"name of the realm (default $CAY_REALM)"),
};

const struct command command_recv = {
	.name = "recv",
	.summary = "open a named port and print the messages it receives",
	.arguments = "NAME",
	.help = "Opens a port with this name and prints each message it "
		"receives on a line, until it is interrupted.",
	.notes = "Exit status: 0 done; 1 failed, timed out, interrupted before "
		 "N messages, or a message was lost with its sender.",
	COMMAND_OPTIONS(recv_rows),
	.run = recv_command,
};
