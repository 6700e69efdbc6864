/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on standard output: as lines, which are escaped on a terminal, raw,
 * or as JSON. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/recv.h"

/* ---- the stream ---- */

/* Waits until standard output is writable. Returns false if a signal arrives
 * first. */
static bool output_ready(const struct receiver *r)
{
	struct pollfd fds[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = r->stop_fd, .events = POLLIN } };
	while (poll(fds, ARRAY_COUNT(fds), -1) < 0)
		if (errno != EINTR)
			return true; /* write() reports the error */
	return fds[0].revents != 0;
}

/* PIPE_BUF bytes never block in a pipe that poll() calls writable. */
static ssize_t output_write(void *cookie, const char *data, size_t length)
{
	size_t at = 0;
	while (at < length) {
		if (!output_ready(cookie)) {
			errno = EINTR;
			break;
		}
		ssize_t n = write(STDOUT_FILENO, data + at,
			bits_min(length - at, PIPE_BUF));
		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)at;
}

int output_open(struct receiver *r)
{
	cookie_io_functions_t functions = { .write = output_write };
	r->out = fopencookie(r, "w", functions);
	return r->out ? 0 : -ENOMEM;
}

void output_close(struct receiver *r)
{
	if (!r->out)
		return;
	__fpurge(r->out); /* data that could not be flushed */
	fclose(r->out);
}

static void output_failed(struct receiver *r, int error)
{
	if (r->end != RECV_RUNNING && r->end != RECV_DONE)
		return;
	if (error == EINTR)
		r->end = RECV_INTERRUPTED;
	else if (error == EPIPE)
		r->end = RECV_READER_LEFT;
	else
		r->end = RECV_FAILED;
	if (r->end == RECV_FAILED)
		cli_error("recv", "standard output: %s", strerror(error));
}

void output_flush(struct receiver *r)
{
	if (fflush(r->out) != 0)
		output_failed(r, errno);
}

static void output_bytes(struct receiver *r, const void *data, size_t length)
{
	bool written = r->escape ? cli_print_escaped(r->out, data, length)
				 : fwrite(data, 1, length, r->out) == length;
	if (!written)
		output_failed(r, errno);
}

/* ---- JSON ---- */

static void text_base64(const unsigned char *data, size_t length, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = out;
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		unsigned group = (unsigned)data[i] << 16;
		if (left > 1)
			group |= (unsigned)data[i + 1] << 8;
		if (left > 2)
			group |= data[i + 2];
		*at++ = digits[group >> 18];
		*at++ = digits[group >> 12 & 63];
		*at++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[group & 63] : '=';
	}
	*at = 0;
}

/* Returns true if the text is `length` bytes of UTF-8, without a NUL. */
static bool text_is_utf8(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t bytes = 1;
	uint32_t code;
	for (; *at && bytes; at += bytes)
		bytes = utf8_next(at, &code);
	return bytes && (const char *)at == text + length;
}

static void json_from(struct json *j, struct cay_addr from)
{
	json_key(j, "from");
	json_object_begin(j);
	json_put_number(j, "node", from.node);
	json_put_number(j, "vpid", from.vpid);
	json_object_end(j);
}

static int json_data(struct json *j, const struct cay_event *e)
{
	char *text = malloc(e->length / 3 * 4 + 5);
	if (!text)
		return -ENOMEM;
	memcpy(text, e->data, e->length);
	text[e->length] = 0;
	bool utf8 = text_is_utf8(text, e->length);
	if (!utf8)
		text_base64(e->data, e->length, text);
	json_put_string(j, "encoding", utf8 ? "utf-8" : "base64");
	json_put_string(j, "data", text);
	free(text);
	return 0;
}

static void output_json(struct receiver *r, const struct cay_event *e)
{
	struct json j;
	int failed = 0;

	json_open(&j, r->out);
	json_object_begin(&j);
	json_put_string(&j, "kind", "message");
	json_put_number(&j, "tag", e->tag);
	json_put_number(&j, "api_tag", e->api_tag);
	json_from(&j, e->peer);
	json_put_number(&j, "length", e->length);
	if (e->error)
		json_put_string(
			&j, "error", cay_error_name((unsigned)e->error));
	else
		failed = json_data(&j, e);
	json_object_end(&j);
	int written = json_close(&j);
	if (failed || written)
		output_failed(r, failed ? -failed : -written);
}

void output_gone(struct receiver *r, struct cay_addr sender)
{
	struct json j;

	json_open(&j, r->out);
	json_object_begin(&j);
	json_put_string(&j, "kind", "gone");
	json_from(&j, sender);
	json_object_end(&j);
	int written = json_close(&j);
	if (written)
		output_failed(r, -written);
}

void output_message(struct receiver *r, const struct cay_event *e)
{
	const char *data = e->data;
	if (r->options->json) {
		output_json(r, e);
	} else if (!e->error) {
		output_bytes(r, data, e->length);
		if (!r->options->raw &&
			(e->length == 0 || data[e->length - 1] != '\n'))
			output_bytes(r, "\n", 1);
	}
	if (r->flush)
		output_flush(r);
}
