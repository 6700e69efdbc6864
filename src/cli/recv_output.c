/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on standard output: as lines, as they are, or as JSON. */
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
#include "cli/cli.h"
#include "cli/recv.h"

/* ---- the stream ---- */

/* False: nobody reads, and we have been asked to end. */
static bool output_ready(const struct receiver *r)
{
	struct pollfd fds[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
		{ .fd = r->stop_fd, .events = POLLIN } };
	while (poll(fds, ARRAY_COUNT(fds), -1) < 0)
		if (errno != EINTR)
			return true; /* write() will tell */
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
	__fpurge(r->out); /* what could not be flushed */
	fclose(r->out);
}

static void output_failed(struct receiver *r, int error)
{
	if (r->end != RECV_GOES_ON && r->end != RECV_DONE)
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
	if (length && fwrite(data, 1, length, r->out) != length)
		output_failed(r, errno);
}

/* A message that ends in a newline already is a line as it is. */
static void output_line(struct receiver *r, const struct cay_event *e)
{
	const char *data = e->data;
	output_bytes(r, data, e->length);
	if (e->length == 0 || data[e->length - 1] != '\n')
		output_bytes(r, "\n", 1);
}

/* ---- JSON ---- */

static const char *text_base64(
	const unsigned char *data, size_t length, char *out)
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
	return out;
}

/* Bytes of the well-formed UTF-8 character at `s`; 0: none, or a NUL. */
static size_t utf8_bytes(const unsigned char *s, size_t left)
{
	size_t bytes = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	uint32_t code = bytes == 1 ? *s : *s & (0x7fu >> bytes);
	static const uint32_t smallest[] = { 0, 1, 0x80, 0x800, 0x10000 };

	if (bytes > left || (*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	bool fits = code >= smallest[bytes] && code <= 0x10ffff &&
		    (code < 0xd800 || code > 0xdfff);
	return fits ? bytes : 0;
}

static bool text_is_utf8(const unsigned char *data, size_t length)
{
	size_t at = 0, bytes = 1;
	for (; at < length && bytes; at += bytes)
		bytes = utf8_bytes(data + at, length - at);
	return bytes != 0;
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
	bool utf8 = text_is_utf8(e->data, e->length);
	if (utf8) {
		memcpy(text, e->data, e->length);
		text[e->length] = 0;
	} else {
		text_base64(e->data, e->length, text);
	}
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

void output_gone(struct receiver *r, struct cay_addr who)
{
	struct json j;

	json_open(&j, r->out);
	json_object_begin(&j);
	json_put_string(&j, "kind", "gone");
	json_from(&j, who);
	json_object_end(&j);
	int written = json_close(&j);
	if (written)
		output_failed(r, -written);
}

void output_message(struct receiver *r, const struct cay_event *e)
{
	if (r->options->json)
		output_json(r, e);
	else if (!e->error && r->options->raw)
		output_bytes(r, e->data, e->length);
	else if (!e->error)
		output_line(r, e);
	if (r->flush)
		output_flush(r);
}
