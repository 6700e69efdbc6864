/* SPDX-License-Identifier: BSD-2-Clause */
/* See owner.h. */
#include "owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define OWNER_NAP_NS CLOCK_NS_PER_MS

static unsigned place_rights(enum place place)
{
	unsigned all = CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC;
	if (place == PLACE_TOLD)
		return all | CAY_RIGHT_NOTIFY_ACCESS;
	return place == PLACE_REFUSED ? all | CAY_RIGHT_NOTIFY_REFUSAL : all;
}

static struct content *content_new(struct owner *o, enum place place)
{
	return place == PLACE_OWN
		       ? calloc(1, sizeof(struct content))
		       : cay_alloc(o->port, sizeof(struct content), 0);
}

static bool place_open(struct owner *o, enum place place)
{
	struct cay_key key;
	int r = cay_window_open(o->port, o->contents[place],
		sizeof(struct content), place_rights(place),
		&o->windows[place]);
	if (r)
		return page_fail(
			o->page, "opening a window: %s", cay_strerror(r));
	cay_window_key(o->windows[place], &key);
	atomic_store(&o->page->keys[place], key_pack(key));
	return true;
}

static void place_move(struct owner *o, enum place place)
{
	o->former = o->contents[place];
	o->contents[place] = content_new(o, place);
	if (!o->contents[place]) {
		page_fail(o->page, "no memory for another window");
		return;
	}
	content_copy(o->contents[place], o->former);
	content_scribble(o->former, sizeof(struct content));
	place_open(o, place);
}

static void place_close(struct owner *o, enum place place)
{
	atomic_store(&o->page->keys[place], 0);
	int r = cay_window_close(o->windows[place]);
	if (r == 0)
		place_move(o, place);
	atomic_store(&o->page->close_result, r);
	atomic_store(&o->page->closed, 1);
}

static void *closer_main(void *p)
{
	struct owner *o = p;
	uint32_t asked;
	while (!(asked = atomic_load(&o->page->close_asked)))
		if (atomic_load(&o->stop))
			return NULL;
		else
			clock_nap_ns(OWNER_NAP_NS);
	place_close(o, (enum place)(asked - 1));
	return NULL;
}

static bool place_begin(struct owner *o, enum place place)
{
	if (o->contents[place])
		return true;
	o->contents[place] = content_new(o, place);
	if (!o->contents[place])
		return page_fail(o->page, "no memory for a window");
	content_begin(o->contents[place]);
	return place_open(o, place);
}

bool owner_begin(struct owner *o, struct page *page, struct cay_port *port,
	enum place first)
{
	*o = (struct owner){ .page = page, .port = port };
	if (!place_begin(o, first))
		return false;
	for (int i = 0; i < PLACE_COUNT; i++)
		if (!place_begin(o, (enum place)i))
			return false;
	return pthread_create(&o->closer, NULL, closer_main, o) == 0 ||
	       page_fail(page, "no thread");
}

bool owner_end(struct owner *o)
{
	atomic_store(&o->stop, true);
	pthread_join(o->closer, NULL);
	for (int i = 0; i < PLACE_COUNT; i++) {
		int r = cay_window_close(o->windows[i]);
		if (r)
			return page_fail(o->page, "closing window %d: %s", i,
				cay_strerror(r));
		if (!content_check(o->page, o->contents[i], (enum place)i))
			return false;
	}
	if (o->former && !content_scribbled(o->former, sizeof(struct content)))
		return page_fail(o->page, "written after its window's close");
	return true;
}
