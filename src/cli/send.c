/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay send: sends to a named port what it is given or reads. Everything that
 * it must wait for has a deadline that moves on only with progress.
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
#include "node/address.h"

#define WAIT_NS_DEFAULT	    (5 * CLOCK_NS_PER_S)
#define COMPLETE_NS_MIN	    (5 * CLOCK_NS_PER_S)
#define NAP_NS_MIN	    (20 * CLOCK_NS_PER_US)
#define NAP_NS_MAX	    (1 * CLOCK_NS_PER_MS)
#define INPUT_BYTES_AT_ONCE (1u << 20)
#define EVENTS_AT_ONCE	    32

struct send_options {
	const char *node, *realm, *name, *message;
	uint64_t tag;
	uint32_t api_tag;
	uint64_t wait_ns;
	bool ack, lines;
};

struct sender {
	const struct send_options *options;
	struct cay_port *port;
	struct cay_peer *peer;
	uint64_t accepted, completed;
	uint64_t pending; /* completions that must come */
	int error;	  /* of the first completion that has one */
};

/* ---- complaints ---- */

static int send_failed(const struct sender *s, const char *why)
{
	const char *name = s->options->name;
	unsigned long long accepted = s->accepted;

	if (accepted == 0)
		return cli_error("send", "%s: %s", name, why);
	return cli_error("send", "%s: %s; %llu message%s been accepted", name,
		why, accepted, accepted == 1 ? " had" : "s had");
}

static int send_refused(const struct sender *s, int error)
{
	if (error == -EPIPE)
		return send_failed(s, "its owner is gone");
	if (error == -ETIMEDOUT)
		return send_failed(s, "it has no room: its owner does not "
				      "receive; a longer --wait may help");
	return send_failed(s, cay_strerror(error));
}

/* ---- completions ---- */

static void event_take(struct sender *s, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_COMPLETE && s->pending) {
		s->pending--;
		s->completed += e->error == 0;
		if (e->error && !s->error)
			s->error = e->error;
	}
	cay_release(s->port, e);
}

/* What has come; true if there was something. */
static bool completions_take(struct sender *s)
{
	struct cay_event events[EVENTS_AT_ONCE];
	int n = cay_poll(s->port, events, EVENTS_AT_ONCE);
	for (int i = 0; i < n; i++)
		event_take(s, &events[i]);
	return n > 0;
}

/* Until all have come. */
static int completions_await(struct sender *s)
{
	uint64_t patience = s->options->wait_ns > COMPLETE_NS_MIN
				    ? s->options->wait_ns
				    : COMPLETE_NS_MIN;
	uint64_t deadline = clock_after_ns(patience);

	while (s->pending) {
		if (completions_take(s)) {
			deadline = clock_after_ns(patience);
			continue;
		}
		int r = cay_wait(s->port, deadline);
		if (r == -ETIMEDOUT)
			return send_failed(s, "it has not taken what was "
					      "sent: its owner is stuck");
		if (r && r != -EINTR)
			return send_failed(s, cay_strerror(r));
	}
	if (s->error)
		return send_failed(s, cay_error_text((unsigned)s->error));
	return CLI_OK;
}

/* ---- one message ---- */

/*
 * No room: at the target, or here for one completion more. A completion wakes
 * us at once, room at the target is looked for ever less often.
 */
static int room_await(struct sender *s, uint64_t *nap, uint64_t deadline)
{
	if (completions_take(s))
		return 0;
	if (clock_passed(deadline))
		return -ETIMEDOUT;
	int r = cay_wait(s->port, bits_min(clock_after_ns(*nap), deadline));
	*nap = bits_min(2 * *nap, NAP_NS_MAX);
	return r == -ETIMEDOUT || r == -EINTR ? 0 : r;
}

static int message_issue(struct sender *s, const void *data, size_t length)
{
	const struct send_options *o = s->options;
	uint64_t deadline = clock_after_ns(o->wait_ns);
	uint64_t nap = NAP_NS_MIN;
	int r;

	while ((r = cay_send_tagged(s->port, s->peer, o->tag, o->api_tag, data,
			length, o->ack ? CAY_ACK : 0)) == -EAGAIN) {
		r = room_await(s, &nap, deadline);
		if (r)
			break;
	}
	return r;
}

/* A long message's memory is ours again when this returns. */
static int message_send(struct sender *s, const void *data, size_t length)
{
	int r = message_issue(s, data, length);
	if (r)
		return send_refused(s, r);
	s->accepted++;
	s->pending += s->options->ack || length > CAY_EAGER_MAX;
	return length > CAY_EAGER_MAX ? completions_await(s) : CLI_OK;
}

/* ---- standard input ---- */

static int input_failed(void)
{
	return cli_error("send", "standard input: %s", strerror(errno));
}

static int send_lines(struct sender *s)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int status = CLI_OK;

	while (status == CLI_OK && (n = getline(&line, &room, stdin)) >= 0) {
		if (n > 0 && line[n - 1] == '\n')
			n--;
		status = message_send(s, line, (size_t)n);
	}
	if (status == CLI_OK && !feof(stdin))
		status = input_failed();
	free(line);
	return status;
}

/* All of it, in memory to be freed; NULL and errno. */
static char *input_read(size_t *length)
{
	char *data = NULL;
	size_t room = 0, n = 1;

	for (*length = 0; n > 0; *length += n) {
		if (room - *length < INPUT_BYTES_AT_ONCE) {
			room += room / 2 + INPUT_BYTES_AT_ONCE;
			char *larger = realloc(data, room);
			if (!larger)
				goto err;
			data = larger;
		}
		n = fread(data + *length, 1, room - *length, stdin);
	}
	if (!ferror(stdin))
		return data;
err:
	free(data);
	return NULL;
}

static int send_input(struct sender *s)
{
	size_t length;
	char *data = input_read(&length);
	if (!data)
		return input_failed();
	int status = message_send(s, data, length);
	free(data);
	return status;
}

/* ---- from options to exit status ---- */

static int peer_find(struct sender *s)
{
	const struct send_options *o = s->options;
	uint64_t deadline = o->wait_ns ? clock_after_ns(o->wait_ns) : 0;
	int r = cay_peer_lookup(s->port, o->name, deadline, &s->peer);

	if (r == 0)
		return CLI_OK;
	if (r == -ENXIO || r == -ETIMEDOUT)
		return cli_error("send",
			"nobody has the name '%s'; start a receiver first "
			"('cay recv %s'), or see 'cay node status'",
			o->name, o->name);
	return cli_error("send", "%s: %s", o->name, cay_strerror(r));
}

static int send_all(struct sender *s)
{
	const char *message = s->options->message;
	int status;

	if (message)
		status = message_send(s, message, strlen(message));
	else
		status = s->options->lines ? send_lines(s) : send_input(s);
	return status == CLI_OK ? completions_await(s) : status;
}

static int send_run(const struct send_options *o)
{
	struct cay_port_options options = { .node = o->node,
		.realm = o->realm };
	struct sender s = { .options = o };

	s.port = cay_port_open(&options);
	if (!s.port)
		return cli_error("send", "no port could be opened: %s",
			cay_strerror(errno));
	int status = peer_find(&s);
	if (status == CLI_OK)
		status = send_all(&s);
	cay_peer_release(s.peer);
	cay_port_close(s.port);
	return status;
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
		return cli_usage_error("send", "--lines or MESSAGE, not both");
	return send_run(&o);
}

#define OPTIONS_STRUCT struct send_options

static const struct option_row send_rows[] = {
	OPTION_SWITCH("lines", lines,
		"send each line of standard input as a message"),
	OPTION_SWITCH(
		"ack", ack, "wait until each message is stored at the target"),
	OPTION_VALUE("wait", "SECONDS", OPTION_SECONDS, wait_ns,
		"how long to wait for the name to appear, and for space in the "
		"target's queue (default 5)",
		.expected = "a number of seconds"),
	OPTION_VALUE("tag", "N", OPTION_NUMBER, tag,
		"64-bit user tag, decimal or 0x... (default 0)"),
	OPTION_VALUE("api-tag", "N", OPTION_COUNT, api_tag,
		"32-bit API tag (default 0)", .expected = "0 to 4294967295"),
	OPTION_VALUE("node", "NODE", OPTION_NODE, node,
		"name of the node (default $CAY_NODE)"),
	OPTION_VALUE("realm", "REALM", OPTION_NODE, realm,
		"name of the realm (default $CAY_REALM)"),
};

const struct command command_send = {
	.name = "send",
	.summary = "send messages to a named port",
	.arguments = "NAME [MESSAGE]",
	.help = "Sends MESSAGE, or standard input as one message, to the port "
		"with this name.",
	.notes = "A message of more than 8 KiB is sent by reference: sending "
		 "it waits until the target has read it, as --ack does for "
		 "every message.\n\nExit status: 0 all messages were accepted "
		 "(with --ack: stored), 1 failed.",
	COMMAND_OPTIONS(send_rows),
	.run = send_command,
};
