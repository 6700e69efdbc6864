/* SPDX-License-Identifier: BSD-2-Clause */
/* See owner.h. */
#include "owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define OWNER_NAP_NS CLOCK_NS_PER_MS

static struct content *content_new(struct owner *o, enum window window)
{
	return window == WINDOW_ORDINARY
		       ? calloc(1, sizeof(struct content))
		       : cay_alloc(o->port, sizeof(struct content), 0);
}

static bool window_open(struct owner *o, enum window window)
{
	unsigned rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	struct cay_key key;
	if (window == WINDOW_NOTIFIED)
		rights |= CAY_RIGHT_NOTIFY_ACCESS;
	if (window == WINDOW_REFUSED)
		rights |= CAY_RIGHT_NOTIFY_REFUSAL;
	int r = cay_window_open(o->port, o->contents[window],
		sizeof(struct content), rights, &o->windows[window]);
	if (r)
		return page_fail(
			o->page, "opening a window: %s", cay_strerror(r));
	cay_window_key(o->windows[window], &key);
	atomic_store(&o->page->keys[window], key_pack(key));
	return true;
}

static void window_move(struct owner *o, enum window window)
{
	o->former = o->contents[window];
	o->contents[window] = content_new(o, window);
	if (!o->contents[window]) {
		page_fail(o->page, "no memory for another window");
		return;
	}
	content_copy(o->contents[window], o->former);
	content_scribble(o->former, sizeof(struct content));
	window_open(o, window);
}

static void window_close(struct owner *o, enum window window)
{
	atomic_store(&o->page->keys[window], 0);
	int r = cay_window_close(o->windows[window]);
	if (r == 0)
		window_move(o, window);
	atomic_store(&o->page->close_result, r);
	atomic_store(&o->page->closed, 1);
}

static void *closer_main(void *p)
{
	struct owner *o = p;
	uint32_t requested;
	while (!(requested = atomic_load(&o->page->close_requested)))
		if (atomic_load(&o->stop))
			return NULL;
		else
			clock_nap_ns(OWNER_NAP_NS);
	window_close(o, (enum window)(requested - 1));
	return NULL;
}

static bool window_begin(struct owner *o, enum window window)
{
	if (o->contents[window])
		return true;
	o->contents[window] = content_new(o, window);
	if (!o->contents[window])
		return page_fail(o->page, "no memory for a window");
	content_begin(o->contents[window]);
	return window_open(o, window);
}

bool owner_begin(struct owner *o, struct page *page, struct cay_port *port,
	enum window first)
{
	*o = (struct owner){ .page = page, .port = port };
	if (!window_begin(o, first))
		return false;
	for (int i = 0; i < WINDOW_COUNT; i++)
		if (!window_begin(o, (enum window)i))
			return false;
	return pthread_create(&o->closer, NULL, closer_main, o) == 0 ||
	       page_fail(page, "no thread");
}

bool owner_end(struct owner *o)
{
	atomic_store(&o->stop, true);
	pthread_join(o->closer, NULL);
	for (int i = 0; i < WINDOW_COUNT; i++) {
		int r = cay_window_close(o->windows[i]);
		if (r)
			return page_fail(o->page, "closing window %d: %s", i,
				cay_strerror(r));
		if (!content_check(o->page, o->contents[i], (enum window)i))
			return false;
	}
	if (o->former && !content_scribbled(o->former, sizeof(struct content)))
		return page_fail(o->page, "written after its window's close");
	return true;
}
