/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay send: sends its argument or standard input to a named port. Everything
 * it waits for has a deadline.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cay/cay.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/port.h"
#include "node/address.h"

#define WAIT_NS_DEFAULT (5 * CLOCK_NS_PER_S)
#define COMPLETE_NS_MIN (5 * CLOCK_NS_PER_S)
#define NAP_NS_MIN	(20 * CLOCK_NS_PER_US)
#define NAP_NS_MAX	(1 * CLOCK_NS_PER_MS)
#define INPUT_BYTES	(1u << 20)
#define EVENTS_MAX	32

struct send_options {
	const char *node, *realm, *name, *message;
	uint64_t tag;
	uint32_t api_tag;
	uint64_t wait_ns;
	bool ack, borrow, lines;
};

struct sender {
	const struct send_options *options;
	struct cay_port *port;
	struct cay_peer *peer;
	uint64_t accepted;
	uint64_t pending; /* completions in flight */
	int error;	  /* of the first completion that failed */
};

static int send_failed(const struct sender *s, const char *why)
{
	const char *name = s->options->name;
	unsigned long long accepted = s->accepted;

	if (accepted == 0)
		return cli_error("send", "%s: %s", name, why);
	return cli_error("send", "%s: %s; %llu message%s accepted before", name,
		why, accepted, accepted == 1 ? " was" : "s were");
}

/* Polls completions. Returns true if there were events. */
static bool completions_poll(struct sender *s)
{
	struct cay_event events[EVENTS_MAX];
	int n = cay_poll(s->port, events, EVENTS_MAX);
	for (int i = 0; i < n; i++) {
		const struct cay_event *e = &events[i];
		if (e->kind == CAY_EVENT_COMPLETE && s->pending) {
			s->pending--;
			if (e->error && !s->error)
				s->error = e->error;
		}
		cay_release(s->port, e);
	}
	return n > 0;
}

/* Waits until no completion is in flight. Each event extends the deadline. */
static int completions_wait(struct sender *s)
{
	uint64_t timeout = s->options->wait_ns > COMPLETE_NS_MIN
				   ? s->options->wait_ns
				   : COMPLETE_NS_MIN;
	uint64_t deadline = clock_after_ns(timeout);

	while (s->pending) {
		if (completions_poll(s)) {
			deadline = clock_after_ns(timeout);
			continue;
		}
		int r = cay_wait(s->port, deadline);
		if (r == -ETIMEDOUT)
			return send_failed(s, "the receiver is stuck: it has "
					      "not read its messages");
		if (r && r != -EINTR)
			return send_failed(s, cay_call_strerror("cay_wait", r));
	}
	if (s->error)
		return send_failed(s, cay_error_text((unsigned)s->error));
	return CLI_OK;
}

static int message_send(struct sender *s, const void *data, size_t length)
{
	const struct send_options *o = s->options;
	uint64_t deadline = clock_after_ns(o->wait_ns);
	uint64_t nap = NAP_NS_MIN;
	unsigned flags = (o->ack ? CAY_ACK : 0) | (o->borrow ? CAY_BORROW : 0);
	int r;

	while ((r = cay_send_tagged(s->port, s->peer, o->tag, o->api_tag, data,
			length, flags)) == -EAGAIN) {
		/* A completion wakes the port at once; space in the target's
		 * queue is polled for at growing intervals. */
		if (completions_poll(s))
			continue;
		if (clock_passed(deadline)) {
			r = -ETIMEDOUT;
			break;
		}
		r = cay_wait(s->port, bits_min(clock_after_ns(nap), deadline));
		nap = bits_min(2 * nap, NAP_NS_MAX);
		if (r && r != -ETIMEDOUT && r != -EINTR)
			break;
	}
	if (r == -EPIPE)
		return send_failed(s, "its owner is gone");
	if (r == -ETIMEDOUT)
		return send_failed(s, "its queue is full: its owner does "
				      "not receive; try a longer --wait");
	if (r)
		return send_failed(s, cay_call_strerror("cay_send", r));
	s->accepted++;
	s->pending += flags != 0;
	/* The caller reuses the memory. */
	return o->borrow ? completions_wait(s) : CLI_OK;
}

/* ---- standard input ---- */

static int input_failed(void)
{
	return cli_error("send", "standard input: %s", strerror(errno));
}

static int send_lines(struct sender *s)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;
	int status = CLI_OK;

	while (status == CLI_OK &&
		(n = getline(&line, &capacity, stdin)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			n--;
		status = message_send(s, line, (size_t)n);
	}
	if (status == CLI_OK && !feof(stdin))
		status = input_failed();
	free(line);
	return status;
}

static int send_input(struct sender *s)
{
	char *data = NULL;
	size_t capacity = 0, length = 0, n = 1;

	for (; n > 0; length += n) {
		if (capacity - length < INPUT_BYTES) {
			capacity += capacity / 2 + INPUT_BYTES;
			char *larger = realloc(data, capacity);
			if (!larger) {
				free(data);
				return input_failed();
			}
			data = larger;
		}
		n = fread(data + length, 1, capacity - length, stdin);
	}
	int status = ferror(stdin) ? input_failed()
				   : message_send(s, data, length);
	free(data);
	return status;
}

/* ---- command ---- */

static int send_all(struct sender *s)
{
	const struct send_options *o = s->options;
	uint64_t deadline = o->wait_ns ? clock_after_ns(o->wait_ns) : 0;
	int status, r = cay_peer_lookup(s->port, o->name, deadline, &s->peer);

	if (r == -ENXIO || r == -ETIMEDOUT)
		return cli_port_unknown("send", o->node, o->realm, o->name);
	if (r)
		return cli_error("send", "%s: %s", o->name,
			cay_call_strerror("cay_peer_lookup", r));
	if (o->message)
		status = message_send(s, o->message, strlen(o->message));
	else
		status = o->lines ? send_lines(s) : send_input(s);
	return status == CLI_OK ? completions_wait(s) : status;
}

static int send_command(const struct command *c, int argc, char **argv)
{
	struct send_options o = { .wait_ns = WAIT_NS_DEFAULT };
	int status = command_parse(c, &argc, &argv, &o);

	if (status >= 0)
		return status;
	o.name = argv[0];
	o.message = argv[1]; /* NULL at the end */
	if ((status = option_port_name("send", o.name)) >= 0)
		return status;
	if (o.lines && o.message)
		return cli_usage_error("send",
			"--lines reads standard input: not with MESSAGE");
	struct sender s = { .options = &o };
	status = cli_port_open("send", o.node, o.realm, NULL, &s.port);
	if (status >= 0)
		return status;
	status = send_all(&s);
	cay_peer_release(s.peer);
	cay_port_close(s.port);
	return status;
}

#define OPTIONS_STRUCT struct send_options

static const struct option_row send_rows[] = {
	OPTION_SWITCH("lines", lines,
		"send each line of standard input as a message"),
	OPTION_SWITCH(
		"ack", ack, "wait until each message is stored at the target"),
	OPTION_SWITCH("borrow", borrow,
		"lend the memory to the target: wait until each message of "
		"more than 8 KiB is read"),
	OPTION_VALUE("wait", "SECONDS", OPTION_SECONDS, wait_ns,
		"how long to wait for the name to appear, and for space in the "
		"target's queue (default 5)",
		.expected = "a number of seconds"),
	OPTION_VALUE("tag", "N", OPTION_NUMBER, tag,
		"64-bit user tag, decimal or 0x... (default 0)"),
	OPTION_VALUE("api-tag", "N", OPTION_COUNT, api_tag,
		"32-bit API tag (default 0)"),
	OPTION_NODE_AND_REALM,
};

const struct command command_send = {
	.name = "send",
	.summary = "send messages to a named port",
	.arguments = "NAME [MESSAGE]",
	.help = "Sends MESSAGE, or standard input as one message, to the port "
		"with this name.",
	.notes = "Exit status: 0 all messages were accepted (with --ack: "
		 "stored), 1 failed.",
	COMMAND_OPTIONS(send_rows),
	.run = send_command,
};
