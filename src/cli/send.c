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
#include "cli/options.h"
#include "node/address.h"

#define WAIT_NS_DEFAULT	    (5 * CLOCK_NS_PER_S)
#define COMPLETE_NS_MIN	    (5 * CLOCK_NS_PER_S)
#define NAP_NS_MIN	    (20 * CLOCK_NS_PER_US)
#define NAP_NS_MAX	    (1 * CLOCK_NS_PER_MS)
#define INPUT_BYTES_AT_ONCE (1u << 20)
#define EVENTS_AT_ONCE	    32

static const char send_help[] =
	"usage: cay send [OPTIONS] NAME [MESSAGE]\n"
	"\n"
	"Sends MESSAGE to the port with this name, or what comes on standard\n"
	"input, as one message.\n"
	"\n"
	"  --lines          each line of standard input is a message\n"
	"  --ack            wait until each is stored at the target\n"
	"  --wait SECONDS   for the name to appear, and for room; default 5\n"
	"  --tag N          64-bit user tag, decimal or 0x...; default 0\n"
	"  --api-tag N      32-bit API tag; default 0\n"
	"  --node NODE      instead of $CAY_NODE\n"
	"  --realm REALM    instead of $CAY_REALM\n"
	"\n"
	"A message of more than 8 KiB stays here until the target has taken\n"
	"it, so sending one waits for that, as --ack does for all.\n"
	"\n"
	"Exit status: 0 everything was accepted (--ack: stored), 1 not.\n";

struct send_options {
	const char *node, *realm, *name, *message;
	uint64_t tag, api_tag;
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
		return option_failed("send", "%s: %s", name, why);
	return option_failed("send", "%s: %s; %llu message%s been accepted",
		name, why, accepted, accepted == 1 ? " had" : "s had");
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

	while ((r = cay_send_tagged(s->port, s->peer, o->tag,
			(uint32_t)o->api_tag, data, length,
			o->ack ? CAY_ACK : 0)) == -EAGAIN) {
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
	return option_failed("send", "standard input: %s", strerror(errno));
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
		return option_failed("send",
			"nobody has the name '%s'; start a receiver first "
			"('cay recv %s'), or see 'cay node status'",
			o->name, o->name);
	return option_failed("send", "%s: %s", o->name, cay_strerror(r));
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
		return option_failed("send", "no port could be opened: %s",
			cay_strerror(errno));
	int status = peer_find(&s);
	if (status == CLI_OK)
		status = send_all(&s);
	cay_peer_release(s.peer);
	cay_port_close(s.port);
	return status;
}

enum send_option {
	OPTION_TAG = OPTION_HELP + 1,
	OPTION_API_TAG,
	OPTION_WAIT,
	OPTION_ACK,
	OPTION_LINES,
	OPTION_NODE,
	OPTION_REALM,
};

static const struct option send_long_options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "tag", required_argument, NULL, OPTION_TAG },
	{ "api-tag", required_argument, NULL, OPTION_API_TAG },
	{ "wait", required_argument, NULL, OPTION_WAIT },
	{ "ack", no_argument, NULL, OPTION_ACK },
	{ "lines", no_argument, NULL, OPTION_LINES },
	{ "node", required_argument, NULL, OPTION_NODE },
	{ "realm", required_argument, NULL, OPTION_REALM },
	{ 0 },
};

/* False: the value is not possible. */
static bool take_value(void *to, int option, const char *value)
{
	struct send_options *o = to;

	switch (option) {
	case OPTION_TAG:
		return option_number(value, UINT64_MAX, &o->tag);
	case OPTION_API_TAG:
		return option_number(value, UINT32_MAX, &o->api_tag);
	case OPTION_WAIT:
		return option_seconds(value, &o->wait_ns);
	case OPTION_NODE:
		o->node = value;
		return node_name_valid(value);
	case OPTION_REALM:
		o->realm = value;
		return node_name_valid(value);
	case OPTION_ACK:
		o->ack = true;
		return true;
	default:
		o->lines = true;
		return true;
	}
}

static const struct option_set send_options = {
	.command = "send",
	.help = send_help,
	.known = send_long_options,
	.take = take_value,
};

int cli_send(int argc, char **argv)
{
	struct send_options o = { .wait_ns = WAIT_NS_DEFAULT };
	int status = option_take_all(&send_options, argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc == optind || argc - optind > 2)
		return option_misused("send",
			argc == optind ? "a NAME is needed"
				       : "one MESSAGE is enough; quote it");
	o.name = argv[optind];
	o.message = argv[optind + 1]; /* NULL at the end */
	if ((status = option_port_name("send", o.name)) >= 0)
		return status;
	if (o.lines && o.message)
		return option_misused("send", "--lines or MESSAGE, not both");
	return send_run(&o);
}
