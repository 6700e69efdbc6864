/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay recv: opens a named port and prints the messages it receives. One thread
 * polls the port and writes; when the queue is empty it sleeps on the port's
 * descriptor, on standard output (its reader may exit) and on the eventfd of
 * the signal handler.
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
#include "cli/port.h"
#include "cli/recv.h"
#include "node/address.h"

#define EVENTS_MAX    32
#define NODE_CHECK_NS CLOCK_NS_PER_S /* between checks that the node lives */

/* ---- signals: the first one ends the loop, the second the process ---- */

static int stop_fd = -1;

static void stop_signal(int signal)
{
	uint64_t one = 1;
	int e = errno;
	(void)signal;
	if (write(stop_fd, &one, sizeof(one)) < 0)
		_exit(CLI_FAILED);
	errno = e;
}

static bool stop_requested(void)
{
	struct pollfd p = { .fd = stop_fd, .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

static void receiver_failed(struct receiver *r, int error)
{
	cli_error("recv", "%s", cay_strerror(error));
	r->end = RECV_FAILED;
}

/* ---- receiving ---- */

/*
 * A port is notified (GONE) of the peers that it has resolved, so each sender
 * is resolved at its first message. A sender that is gone by then is reported
 * when the queue is empty: all its messages are in the queue now.
 */
static void sender_watch(struct receiver *r, struct cay_addr sender)
{
	struct cay_peer **slot = &r->senders[sender.vpid];
	if (*slot)
		return;
	for (size_t i = 0; i < r->left_count; i++)
		if (r->left[i].vpid == sender.vpid)
			return;
	if (cay_peer_resolve(r->port, sender, slot) != -ENXIO)
		return;
	struct cay_addr *left =
		realloc(r->left, (r->left_count + 1) * sizeof(*left));
	if (!left)
		return;
	r->left = left;
	left[r->left_count++] = sender;
}

static void event_handle(struct receiver *r, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_GONE && r->options->json) {
		cay_peer_release(r->senders[e->peer.vpid]);
		r->senders[e->peer.vpid] = NULL;
		output_gone(r, e->peer);
	}
	if (e->kind != CAY_EVENT_MESSAGE)
		return;
	if (e->error) {
		r->lost++;
		cli_error("recv",
			"a message of %zu byte%s from port %u is lost: %s",
			e->length, e->length == 1 ? "" : "s", e->peer.vpid,
			cay_error_text((unsigned)e->error));
	}
	if (r->options->json)
		sender_watch(r, e->peer);
	output_message(r, e);
	if (!r->end && ++r->received == r->options->count)
		r->end = RECV_DONE;
}

static uint64_t deadline_next(const struct receiver *r)
{
	uint64_t timeout = r->options->timeout_ns;
	return timeout == UINT64_MAX ? UINT64_MAX : clock_after_ns(timeout);
}

/*
 * Returns true if there were events. Polls no more messages than --count asks
 * for, so that the senders of others see that they were not received. An event
 * that could not be written is not released: the sender of a long message is
 * notified when the port closes.
 */
static bool events_poll(struct receiver *r)
{
	struct cay_event events[EVENTS_MAX];
	uint64_t count = r->options->count;
	int most = count ? (int)bits_min(count - r->received, EVENTS_MAX)
			 : EVENTS_MAX;
	int n = cay_poll(r->port, events, most);
	if (n < 0)
		receiver_failed(r, n);
	for (int i = 0; i < n && !r->end; i++) {
		event_handle(r, &events[i]);
		if (!r->end || r->end == RECV_DONE)
			cay_release(r->port, &events[i]);
	}
	if (n > 0)
		r->deadline = deadline_next(r);
	return n > 0;
}

/* Sleeps until the port, the signal handler or standard output wakes it. */
static void wait_asleep(struct receiver *r)
{
	struct pollfd fds[] = { { .fd = r->fd, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
		{ .fd = STDOUT_FILENO } }; /* errors only */
	uint64_t now = clock_now_ns();
	uint64_t left = r->deadline > now ? r->deadline - now : 0;
	struct timespec t = clock_timespec(bits_min(left, NODE_CHECK_NS));
	struct cay_stats stats;
	int n = ppoll(fds, ARRAY_COUNT(fds), &t, NULL);

	if (n > 0 && fds[1].revents)
		r->end = RECV_INTERRUPTED;
	else if (n > 0 && fds[2].revents & (POLLERR | POLLHUP))
		r->end = RECV_READER_LEFT;
	else if (n == 0 && cay_port_stats(r->port, &stats) == 0 &&
		 !stats.node_alive)
		receiver_failed(r, -ENOTCONN);
}

static void wait_events(struct receiver *r)
{
	for (size_t i = 0; i < r->left_count; i++)
		output_gone(r, r->left[i]);
	r->left_count = 0;
	output_flush(r);
	if (!r->end && stop_requested())
		r->end = RECV_INTERRUPTED;
	if (!r->end && clock_passed(r->deadline))
		r->end = RECV_TIMED_OUT;
	if (r->end)
		return;
	if (cay_port_arm(r->port) == 0) {
		wait_asleep(r);
	} else {
		/* A claimed entry is about to be published. */
		int e = cay_wait(r->port, clock_after_ns(CLOCK_NS_PER_MS));
		if (e == -ENOTCONN)
			receiver_failed(r, e);
	}
}

/* ---- command ---- */

static int receiver_open(struct receiver *r)
{
	const struct recv_options *o = r->options;
	struct sigaction action = { .sa_handler = stop_signal,
		.sa_flags = (int)SA_RESETHAND };

	r->stop_fd = stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (stop_fd < 0)
		return cli_error("recv", "%s", strerror(errno));
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	bool terminal = isatty(STDOUT_FILENO);
	r->flush = o->json || terminal;
	r->escape = terminal && !o->raw;
	if (o->json)
		r->senders = calloc(CAY_VPIDS, sizeof(*r->senders));
	if (output_open(r) || (o->json && !r->senders))
		return cli_error("recv", "%s", strerror(ENOMEM));

	int status =
		cli_port_open("recv", o->node, o->realm, o->name, &r->port);
	if (status >= 0)
		return status;
	r->fd = cay_port_fd(r->port);
	if (r->fd < 0)
		return cli_error(
			"recv", "%s", cay_call_strerror("cay_port_fd", r->fd));
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

static int receiver_run(struct receiver *r)
{
	unsigned long long received = 0, count = r->options->count;
	bool timed_out, interrupted;

	r->deadline = deadline_next(r);
	while (!r->end) {
		if (!events_poll(r))
			wait_events(r);
		else if (stop_requested())
			r->end = RECV_INTERRUPTED;
	}
	output_flush(r);
	received = r->received;
	timed_out = r->end == RECV_TIMED_OUT;
	interrupted = r->end == RECV_INTERRUPTED;
	if (count && (timed_out || interrupted))
		return cli_error("recv", "%s after %llu of %llu message%s",
			timed_out ? "timed out" : "interrupted", received,
			count, count == 1 ? "" : "s");
	if (timed_out)
		return cli_error("recv", "timed out after %llu message%s",
			received, received == 1 ? "" : "s");
	return r->end == RECV_FAILED || r->lost ? CLI_FAILED : CLI_OK;
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
	struct receiver r = { .options = &o };
	status = receiver_open(&r);
	if (status == CLI_OK)
		status = receiver_run(&r);
	receiver_close(&r);
	return status;
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
	OPTION_SWITCH("raw", raw,
		"print the payloads unchanged, with nothing between them"),
	OPTION_NODE_AND_REALM,
};

const struct command command_recv = {
	.name = "recv",
	.summary = "open a named port and print the messages it receives",
	.arguments = "NAME",
	.help = "Opens a port with this name and prints each message it "
		"receives on a line, until it is interrupted. On a terminal, "
		"control characters and bytes that are not UTF-8 are printed "
		"as \\xHH.",
	.notes = "Exit status: 0 done; 1 failed, timed out, interrupted before "
		 "N messages, or a message was lost with its sender.",
	COMMAND_OPTIONS(recv_rows),
	.run = recv_command,
};
