/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts that wait at barriers of a network: their releases, and when these are
 * expected.
 */
#ifndef CAY_TESTS_NETWORK_HOSTS_H
#define CAY_TESTS_NETWORK_HOSTS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/engine/engine.h"
#include "topologies.h"

struct hosts {
	struct topology net;
	struct network *n;
	uint32_t *depth; /* in the tree, when it was opened */
	uint64_t hop;	 /* cycles of a message over a link */
	struct network_release *releases;
	uint64_t count, capacity;
	bool *in; /* participants of the next barrier that is set */
};

/* The topology must be open. */
static inline void hosts_open(struct hosts *h, const char *router,
	unsigned threads, double error_rate)
{
	struct network_options o = {
		.seed = 1, .threads = threads, .error_rate = error_rate
	};
	const char *why;
	assert_int_equal(router_preset(router, &o.router), 0);
	if (h->net.class == &topology_class_graph)
		o.routing = &routing_up_down;
	assert_int_equal(network_open(&h->n, &h->net, &o, &why), 0);
	h->hop = o.router.link_delay + 1;
	h->count = h->capacity = 0;
	h->releases = NULL;
	h->depth = calloc(h->net.nodes, sizeof(*h->depth));
	h->in = calloc(h->net.nodes, sizeof(*h->in));
	assert_non_null(h->depth);
	assert_non_null(h->in);
	const struct tree *t = &h->n->tree;
	for (uint32_t i = 1; i < t->reached; i++) {
		uint32_t node = t->order[i];
		uint32_t up = topology_next(&h->net, node, t->up[node]);
		h->depth[node] = h->depth[up] + 1;
	}
}

static inline void hosts_torus(struct hosts *h, uint32_t x, uint32_t y,
	uint32_t z, const char *router, unsigned threads)
{
	const uint32_t size[3] = { x, y, z };
	assert_int_equal(topology_torus(&h->net, size, z ? 3 : y ? 2 : 1), 0);
	hosts_open(h, router, threads, 0);
}

static inline void hosts_close(struct hosts *h)
{
	network_close(h->n);
	topology_free(&h->net);
	free(h->depth);
	free(h->releases);
	free(h->in);
}

/* ---- calls ---- */

static inline void hosts_set_all(struct hosts *h, unsigned id)
{
	for (uint32_t i = 0; i < h->net.nodes; i++)
		h->in[i] = true;
	assert_int_equal(network_barrier_set(h->n, id, h->in), 0);
}

static inline void host_arrives(
	struct hosts *h, uint64_t time, uint32_t node, unsigned id)
{
	assert_int_equal(network_barrier_arrive(h->n, time, node, id), 0);
}

static inline void host_resets(
	struct hosts *h, uint64_t time, uint32_t node, unsigned id)
{
	assert_int_equal(network_barrier_reset(h->n, time, node, id), 0);
}

static inline void hosts_arrive(struct hosts *h, uint64_t time, unsigned id)
{
	for (uint32_t i = 0; i < h->net.nodes; i++)
		host_arrives(h, time, i, id);
}

/* ---- releases ---- */

static inline bool release_in_order(
	const struct network_release *a, const struct network_release *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->node != b->node ? a->node < b->node : a->id <= b->id;
}

static inline void hosts_run(struct hosts *h, uint64_t until)
{
	struct network_release r;
	assert_int_equal(network_run(h->n, until), 0);
	while (network_barrier_poll(h->n, &r)) {
		if (h->count == h->capacity) {
			h->capacity = h->capacity ? 2 * h->capacity : 256;
			h->releases =
				realloc(h->releases, h->capacity * sizeof(r));
			assert_non_null(h->releases);
		}
		assert_true(r.time < until);
		if (h->count)
			assert_true(release_in_order(
				&h->releases[h->count - 1], &r));
		h->releases[h->count++] = r;
	}
}

static inline void check_release(const struct network_release *r, uint64_t time,
	uint32_t node, unsigned id, int error)
{
	assert_int_equal(r->time, time);
	assert_int_equal(r->node, node);
	assert_int_equal(r->id, id);
	assert_int_equal(r->error, error);
}

/* The number of releases of a node with this error. */
static inline uint64_t release_count(
	const struct hosts *h, uint32_t node, unsigned id, int error)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < h->count; i++)
		count += h->releases[i].node == node &&
			 h->releases[i].id == id &&
			 h->releases[i].error == error;
	return count;
}

static inline uint32_t hosts_depth(const struct hosts *h)
{
	return tree_depth(&h->n->tree);
}

#endif
