/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning and the end of ULTRA paths: see path.h. Cold. */
#include <stdlib.h>

#include "base/clock.h"
#include "provider/endpoint/control.h"
#include "provider/message/path.h"

/* Calls of path_retry() between two looks for a reply of the node. */
#define LOOK_CALLS 16
/* Reviews in a row that find the core shared until all paths are closed. */
#define SHARED_REVIEWS 16
/* A path that is idle for this part of ultra_idle_ms may be given up. */
#define YIELD_PART 10
/* A peer that cannot connect is asked again after many more messages. */
#define REFUSED_FACTOR 64

static struct path *path_new(struct peer *p, bool out)
{
	struct path *path = calloc(1, sizeof(*path));
	if (!path)
		return NULL;
	path->peer = p;
	path->out = out;
	path->message.data = &path->line[1];
	path->batch = 1;
	list_init(&path->link);
	list_init(&path->retry_link);
	if (out)
		p->path_out = path;
	else
		p->path_in = path;
	p->ep->path_in_count += !out;
	return path;
}

void path_unlist(struct path *path)
{
	struct endpoint *ep = path->peer->ep;
	if (list_empty(&path->link))
		return;
	list_remove(&path->link);
	ep->path_count--;
	ep->path_full -= path->full;
	path->full = false;
	if (ep->path_last == path)
		ep->path_hot = 0;
}

void path_free(struct path *path)
{
	if (!path)
		return;
	struct peer *p = path->peer;
	path_unlist(path);
	list_remove(&path->retry_link);
	cay_ultra_close(path->ultra);
	if (path->out) {
		p->path_out = NULL;
		if (p->state == PEER_PATH)
			p->state = PEER_READY;
	} else {
		p->path_in = NULL;
		p->ep->path_in_count--;
	}
	free(path);
}

static int step_send(struct peer *p, enum wire_path step)
{
	return control_send(p,
		WIRE_PATH | (uint32_t)step << WIRE_IMMEDIATE_SHIFT, 0, NULL, 0);
}

static struct cay_addr address_of(const struct peer *p)
{
	struct cay_addr at = cay_port_addr(p->ep->port);
	at.vpid = p->vpid;
	return at;
}

/* A set-up has failed: the pair stays with the queue. */
static void path_fail(struct path *path, int error)
{
	struct peer *p = path->peer;
	if (!p->ep->path_refused)
		LOG_INFO(EP_CTRL,
			"no ULTRA path %s %s: %s; messages take the queue\n",
			path->out ? "to" : "from", p->address.name,
			cay_call_strerror("cay_ultra_accept", error));
	p->ep->path_refused = true;
	if (path->out)
		step_send(p, WIRE_PATH_REFUSE);
	else
		p->until_path = (uint32_t)bits_min(
			UINT32_MAX, REFUSED_FACTOR * settings.ultra_messages);
	path_free(path);
}

/* ---- target ---- */

/* Asks the origin to leave the path. */
static void path_close(struct path *path)
{
	if (path->state == PATH_OPEN &&
		step_send(path->peer, WIRE_PATH_CLOSE) == 0)
		path->state = PATH_LEAVE;
}

/*
 * Returns true if the endpoint's thread shares its core. Then each poll delays
 * the processes that it waits for, and paths make polls longer.
 */
static bool core_shared(const struct endpoint *ep, uint64_t now_ns)
{
	return !settings.ultra_always && ep->rx_cq &&
	       pace_shared(&ep->rx_cq->wait.pace, now_ns);
}

/*
 * Returns true if so many messages came in streams. A message that is awaited
 * alone gains nothing from a path, and the next poll looks at the queue, too.
 */
static bool in_streams(uint64_t messages, uint64_t polls)
{
	return settings.ultra_always || messages >= 2 * polls;
}

void path_review(struct endpoint *ep)
{
	uint64_t now = clock_now_ns();
	ep->path_shared = core_shared(ep, now) ? ep->path_shared + 1 : 0;
	list_for_each (at, &ep->paths) {
		struct path *path = list_of(at, struct path, link);
		struct cay_ultra_status s = { .size = sizeof(s) };
		if (cay_ultra_status(path->ultra, &s))
			continue;
		bool streams =
			in_streams(s.position - path->position, path->finds);
		path->finds = 0;
		if (ep->path_shared > SHARED_REVIEWS || !streams) {
			path_close(path);
		} else if (s.position != path->position || !path->used_ns) {
			path->position = s.position;
			path->used_ns = now;
		} else if (now - path->used_ns >
			   settings.ultra_idle_ms * CLOCK_NS_PER_MS) {
			path_close(path);
		}
	}
}

/* All paths are in use: closes one that is idle, for a later nomination. */
static void path_yield(struct endpoint *ep)
{
	uint64_t idle = settings.ultra_idle_ms * CLOCK_NS_PER_MS / YIELD_PART;
	uint64_t now = clock_now_ns();
	path_review(ep);
	list_for_each (at, &ep->paths) {
		struct path *path = list_of(at, struct path, link);
		if (now - path->used_ns > idle && path->used_ns < now) {
			path_close(path);
			return;
		}
	}
}

void path_nominate(struct peer *p)
{
	struct endpoint *ep = p->ep;
	bool streams = in_streams(
		settings.ultra_messages, ep->event_batches - p->batches);
	p->until_path = (uint32_t)settings.ultra_messages;
	p->batches = ep->event_batches;
	if (!settings.ultra_paths || p->path_in || !p->port || !streams ||
		core_shared(ep, clock_now_ns()))
		return;
	if (ep->path_in_count >= settings.ultra_paths) {
		path_yield(ep);
		return;
	}
	struct path *path = path_new(p, false);
	if (!path)
		return;
	int r = cay_ultra_accept_start(
		ep->port, address_of(p), 0, &path->ultra);
	if (r)
		path_fail(path, r);
	else
		retry_enqueue(ep, &ep->path_retries, &path->retry_link);
}

void path_refused(struct peer *p)
{
	struct path *path = p->path_in;
	if (path && path->state == PATH_ASKED)
		path_fail(path, -EDQUOT);
}

void path_begun(struct peer *p)
{
	struct path *path = p->path_in;
	if (!path || path->state != PATH_ASKED)
		return;
	path->state = PATH_OPEN;
	list_append(&p->ep->paths, &path->link);
	p->ep->path_count++;
	LOG_INFO(EP_CTRL, "ULTRA path from %s\n", p->address.name);
}

/* ---- origin ---- */

int path_asked(struct endpoint *ep, struct peer *p)
{
	if (p->path_out)
		return 0;
	struct path *path = settings.ultra_paths && p->port ? path_new(p, true)
							    : NULL;
	if (!path)
		return step_send(p, WIRE_PATH_REFUSE);
	int r = cay_ultra_connect_start(ep->port, address_of(p), &path->ultra);
	if (r)
		path_fail(path, r);
	else
		retry_enqueue(ep, &ep->path_retries, &path->retry_link);
	return 0;
}

void path_leave(struct peer *p)
{
	struct path *path = p->path_out;
	if (!path || path->state != PATH_OPEN)
		return;
	path->state = PATH_LEAVE;
	retry_enqueue(p->ep, &p->ep->path_retries, &path->retry_link);
}

/* Sends BEGIN or END, in the order of messages. Returns false if it cannot. */
static bool boundary_send(struct path *path, enum wire_path step)
{
	struct peer *p = path->peer;
	return cay_send_tagged(p->ep->port, p->port, path->next,
		       WIRE_PATH | (uint32_t)step << WIRE_IMMEDIATE_SHIFT, NULL,
		       0, 0) == 0;
}

/* ---- both ---- */

/* Does the next step. Returns true if another one follows. */
static bool path_continue(struct path *path, bool look)
{
	struct peer *p = path->peer;
	int r;
	switch (path->state) {
	case PATH_SETUP:
		r = look ? cay_ultra_continue(path->ultra) : -EAGAIN;
		if (r == -EAGAIN)
			return true;
		if (r) {
			path_fail(path, r);
			return false;
		}
		path->state = path->out ? PATH_BEGIN : PATH_ASKED;
		if (path->out)
			return path_continue(path, false);
		/* Without memory there is no path. */
		list_remove(&path->retry_link);
		if (step_send(p, WIRE_PATH_ASK))
			path_free(path);
		return false;
	case PATH_BEGIN:
		/* The messages before it are those of the hello's sender. */
		if (p->state != PEER_READY ||
			!boundary_send(path, WIRE_PATH_BEGIN))
			return true;
		list_remove(&path->retry_link);
		path->state = PATH_OPEN;
		p->state = PEER_PATH;
		LOG_INFO(EP_CTRL, "ULTRA path to %s\n", p->address.name);
		return false;
	default:
		if (!boundary_send(path, WIRE_PATH_END))
			return true;
		LOG_INFO(EP_CTRL, "no ULTRA path to %s any more\n",
			p->address.name);
		path_free(path);
		return false;
	}
}

void path_retry(struct endpoint *ep)
{
	bool look = ++ep->path_looks % LOOK_CALLS == 0;
	list_for_each_safe (at, after, &ep->path_retries)
		path_continue(list_of(at, struct path, retry_link), look);
}
