/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenes: memory of the target, which only looks; and posted receives. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/demo/demo.h"

#define RIGHTS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

/* Everything before it is done at the target. */
static int flush(struct demo *d)
{
	return cay_flush(d->port, d->peer, clock_after_ns(DEMO_PATIENCE_NS));
}

static int put(struct demo *d, struct cay_key key, uint64_t offset,
	const void *data, size_t length)
{
	return cay_put(d->port, d->peer, key, offset, data, length, 0, 0);
}

/* ---- put and get ---- */

static const char put_text[] = "put here by the origin";

/* A few bytes; the target looks at its memory, and polls nothing. */
static int put_short(struct demo *d, struct cay_key key)
{
	struct seen seen;
	int r = put(d, key, 0, put_text, 16);
	if (r == 0)
		r = put(d, key, 16, put_text + 16, sizeof(put_text) - 16);
	if (r == 0) /* "he" of "here": bytes 4 and 5 */
		r = cay_put_masked(d->port, d->peer, key, 0,
			(uint64_t)'H' << 32 | (uint64_t)'E' << 40, 0x30, 0, 0);
	if (r == 0)
		r = flush(d);
	if (r)
		return show_failed(d, "cay_put", r);
	if ((r = target_asked(d, ORDER_LOOK, 40, &seen)))
		return r;
	show_left(d, "> FAST_PUT, 16 B at 0; 7 B at 16");
	show_left(d, "> MISALIGNED_PUT, bytes 4 and 5");
	show_left(d, "  flush: 0");
	show_right(d, "  does nothing, then looks at it:");
	show_right(d, "  \"%.*s\"", (int)sizeof(seen.data),
		(const char *)seen.data);
	show_rows(d, "origin", "target");
	show_check(d,
		strcmp((const char *)seen.data, "put HEre by the origin") == 0,
		"the bytes are in the target's memory, without its help");
	return 0;
}

static int put_long(struct demo *d, struct cay_key key, unsigned char *data)
{
	struct seen seen;
	unsigned char *back = data + TARGET_MEMORY;
	uint64_t sum = demo_sum(data, TARGET_MEMORY);
	int r = put(d, key, 0, data, TARGET_MEMORY);
	if (r == 0)
		r = flush(d);
	if (r == 0)
		r = cay_get(
			d->port, d->peer, key, 0, back, TARGET_MEMORY, 0, 0);
	if (r == 0)
		r = flush(d);
	if (r)
		return show_failed(d, "cay_put, cay_get", r);
	if ((r = target_asked(d, ORDER_LOOK, TARGET_MEMORY, &seen)))
		return r;
	show_left(d, "> PUT, %u B; flush", TARGET_MEMORY);
	show_left(d, "> GET, %u B; flush", TARGET_MEMORY);
	show_left(d, "  sum %016" PRIx64, demo_sum(back, TARGET_MEMORY));
	show_right(d, "  sum %016" PRIx64, seen.sum);
	show_rows(d, NULL, NULL);
	show_check(d, seen.sum == sum && demo_sum(back, TARGET_MEMORY) == sum,
		"the same bytes there and back again");
	return 0;
}

static int put_get_run(struct demo *d, unsigned char *data)
{
	struct seen seen;
	int r = target_asked(d, ORDER_WINDOW, RIGHTS, &seen);
	if (r)
		return r;
	r = put_short(d, seen.key);
	return r ? r : put_long(d, seen.key, data);
}

int demo_put_get(struct demo *d)
{
	unsigned char *data = malloc(2 * TARGET_MEMORY);

	show_scene(d, "Remote memory: put and get",
		"    The target opened a window on memory of its own, and "
		"told us its key. We\n"
		"    write there and read there; it takes no part.\n");
	if (!data)
		return show_failed(d, "malloc", -ENOMEM);
	pattern_fill(data, TARGET_MEMORY, 55);
	int r = put_get_run(d, data);
	free(data);
	return r;
}

/* ---- what a window refuses ---- */

/* A put that must come back with this error. */
static int refused_put(
	struct demo *d, struct cay_key key, uint64_t tag, enum cay_error error)
{
	int r = cay_put(d->port, d->peer, key, 0, &tag, 8, tag, 0);
	return r ? show_failed(d, "cay_put", r)
		 : demo_completion(d, tag, (int)error);
}

/* One byte more than there is. */
static int refused_get(struct demo *d, struct cay_key key)
{
	uint64_t word;
	int r = cay_get(
		d->port, d->peer, key, TARGET_MEMORY - 7, &word, 8, 0xa3, 0);
	return r ? show_failed(d, "cay_get", r)
		 : demo_completion(d, 0xa3, CAY_ERROR_TARGET_BOUNDS);
}

/* The owner wanted to know, and is told. */
static int refused_told(struct demo *d, uint32_t window)
{
	struct seen seen;
	int r = target_asked(d, ORDER_TAKE, 1, &seen);
	if (r)
		return r;
	show_check(d,
		seen.event.kind == CAY_EVENT_ACCESS &&
			seen.event.window == window &&
			seen.event.error == CAY_ERROR_CAPABILITY,
		"< NOTIFY_RMA at the target, which asked for it: %s",
		cay_error_name((unsigned)seen.event.error));
	return 0;
}

int demo_refused(struct demo *d)
{
	struct seen read_only, watched;

	show_scene(d, "A window refuses, and says why",
		"    Whoever does not have the key, or asks for more than it "
		"allows, changes\n"
		"    nothing and is told; the owner too, if it wants to.\n");
	int r = target_asked(d, ORDER_WINDOW, CAY_RIGHT_READ, &read_only);
	if (r == 0)
		r = target_asked(d, ORDER_WINDOW,
			CAY_RIGHT_WRITE | CAY_RIGHT_NOTIFY_REFUSAL, &watched);
	if (r)
		return r;
	struct cay_key wrong = watched.key;
	wrong.capability ^= 1;
	r = refused_put(d, wrong, 0xa1, CAY_ERROR_CAPABILITY);
	if (r == 0)
		r = refused_told(d, wrong.window);
	if (r == 0)
		r = refused_put(d, read_only.key, 0xa2, CAY_ERROR_RIGHTS);
	return r ? r : refused_get(d, read_only.key);
}

/* ---- posted receives ---- */

static int posted_run(struct demo *d, const unsigned char *data)
{
	struct seen seen;
	int r = target_asked(d, ORDER_POST, TARGET_MEMORY, &seen);
	if (r)
		return r;
	r = cay_send(d->port, d->peer, 0xd1, data, TARGET_MEMORY, 0);
	if (r)
		return show_failed(d, "cay_send", r);
	if ((r = target_asked(d, ORDER_TAKE, 1, &seen)))
		return r;
	const struct cay_event *e = &seen.event;
	show_left(d, "> SEND, %u B, tag 0xd1", TARGET_MEMORY);
	show_left(d, "  sum %016" PRIx64, demo_sum(data, TARGET_MEMORY));
	show_right(d, "< NOTIFY_POSTED_RECV, %zu B", e->length);
	show_right(d, "  sum %016" PRIx64, seen.sum);
	show_right(d, "  cookie 0x%" PRIx64, e->result);
	show_rows(d, "origin", "target, which has posted a buffer");
	show_check(d,
		e->kind == CAY_EVENT_POSTED && e->error == 0 &&
			e->tag == 0xd1 && e->result == TARGET_COOKIE &&
			e->length == TARGET_MEMORY &&
			seen.sum == demo_sum(data, TARGET_MEMORY),
		"copied once, by us, straight into the posted buffer");
	return demo_completion(d, 0xd1, CAY_ERROR_NONE);
}

int demo_posted(struct demo *d)
{
	unsigned char *data = malloc(TARGET_MEMORY);

	show_scene(d, "Posted receive",
		"    A message of more than 40 bytes goes straight into a "
		"buffer that its\n"
		"    receiver has posted, whatever memory it comes from.\n");
	if (!data)
		return show_failed(d, "malloc", -ENOMEM);
	pattern_fill(data, TARGET_MEMORY, 66);
	int r = posted_run(d, data);
	free(data);
	return r;
}
