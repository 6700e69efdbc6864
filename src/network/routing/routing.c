/* SPDX-License-Identifier: BSD-2-Clause */
/* See routing.h: the table of routing functions, and what all of them share. */
#include "network/routing/routing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/routing/class.h"
#include "network/topology/class.h"

/* ---- routing functions ---- */

#define CLASS_POINTER(name, text) &routing_##name,
static const struct routing_class *const classes[] = { ROUTING_CLASSES(
	CLASS_POINTER) NULL };

#define CLASS_NAME(name, text) text,
const char *const routing_names[] = { ROUTING_CLASSES(CLASS_NAME) NULL };

const struct routing_class *routing_class_find(const char *name)
{
	for (unsigned i = 0; classes[i]; i++)
		if (strcmp(classes[i]->name, name) == 0)
			return classes[i];
	return NULL;
}

const char *routing_class_name(const struct routing_class *class)
{
	return class->name;
}

const char *routing_refuse(const struct routing_class *class,
	const struct topology *t, const struct routing_options *options)
{
	return class->refuse ? class->refuse(t, options) : NULL;
}

/* ---- opening, closing ---- */

int routing_open(struct routing **out, const struct topology *t,
	const struct routing_options *options, const char **why)
{
	const struct routing_class *class =
		options->class ? options->class
			       : routing_class_find(t->class->routing);
	*why = "virtual channels form one or two groups";
	if (options->groups < 1 || options->groups > 2)
		return -EINVAL;
	*why = routing_refuse(class, t, options);
	if (*why)
		return -EINVAL;
	struct routing *s = calloc(1, class->bytes);
	*why = "not enough memory";
	if (!s)
		return -ENOMEM;
	*s = (struct routing){
		.class = class, .topology = t, .options = *options, .classes = 1
	};
	if (options->groups == 1)
		s->options.grouping = ROUTE_GROUPS_PLAIN;
	int r = class->open(s);
	if (r) {
		routing_close(s);
		return r;
	}
	*why = NULL;
	*out = s;
	return 0;
}

void routing_close(struct routing *s)
{
	if (!s)
		return;
	s->class->close(s);
	free(s);
}

/* ---- paths ---- */

int routing_find(struct routing *s, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	assert(from < s->topology->nodes && to < s->topology->nodes);
	path->count = 0;
	path->more = NULL;
	return from == to ? 0 : s->class->find(s, from, to, random, path);
}

int routing_rebuild(struct routing *s)
{
	return s->class->rebuild ? s->class->rebuild(s) : -EOPNOTSUPP;
}

const struct routing_class *routing_class_of(const struct routing *s)
{
	return s->class;
}

unsigned routing_classes(const struct routing *s)
{
	return s->classes;
}

uint32_t routing_class_mask(const struct routing *s, unsigned class)
{
	unsigned channels = s->options.channels;
	uint32_t below = (1u << channels * class / s->classes) - 1;
	uint32_t upto = (1u << channels * (class + 1) / s->classes) - 1;
	if (class == 0 && s->shared)
		return (1u << channels) - 1;
	return upto & ~below;
}

/* ---- deadlocks ---- */

static int path_depend(
	void *context, uint32_t from, const struct routing_path *path)
{
	return dependency_add_path(context, from, path);
}

static int pair_depend(
	struct routing *s, struct dependency *d, uint32_t from, uint32_t to)
{
	struct routing_path path;
	if (s->class->paths)
		return s->class->paths(s, from, to, path_depend, d);
	int r = routing_find(s, from, to, NULL, &path);
	return r ? r : dependency_add_path(d, from, &path);
}

int routing_depend(struct routing *s, struct dependency *d,
	routing_progress *progress, void *context, uint64_t *unreachable)
{
	uint32_t nodes = s->topology->nodes;
	*unreachable = 0;
	int r = s->class->depend ? s->class->depend(s, d, progress, context)
				 : -EAGAIN;
	if (r != -EAGAIN)
		return r;
	dependency_free(d);
	r = dependency_open(d, s->topology, s->classes);
	for (uint32_t from = 0; r == 0 && from < nodes; from++) {
		if (progress && progress(context, from, nodes))
			return -EINTR;
		if (topology_host_count(s->topology, from) == 0)
			continue;
		for (uint32_t to = 0; r == 0 && to < nodes; to++) {
			if (from == to ||
				topology_host_count(s->topology, to) == 0)
				continue;
			r = pair_depend(s, d, from, to);
			*unreachable += r == -EHOSTUNREACH;
			r = r == -EHOSTUNREACH ? 0 : r;
		}
	}
	return r;
}

/* ---- routing strings ---- */

static int path_to_route(const struct routing_path *path, struct route *r)
{
	const uint32_t *leg = routing_path_legs(path);
	if (path->count > ROUTE_LEGS_MAX)
		return -E2BIG;
	/* A phit has the two lowest classes only. */
	for (unsigned i = 0; i < path->count; i++)
		if (routing_leg_class(leg[i]))
			return -EINVAL;
	r->count = path->count;
	for (unsigned i = 0; i < path->count; i++)
		r->leg[i] = (struct route_leg){ (uint8_t)routing_leg_port(
							leg[i]),
			routing_leg_low(leg[i]), routing_leg_high(leg[i]) };
	return 0;
}

int routing_string_of(uint16_t tag, const struct routing_path *there,
	const struct routing_path *back, struct routing_string *string)
{
	struct route to, from;
	int r = path_to_route(there, &to);
	if (r == 0 && back)
		r = path_to_route(back, &from);
	return r ? r
		 : routing_string_build(string, tag, &to, back ? &from : NULL);
}
