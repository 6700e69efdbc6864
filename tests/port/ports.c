/* SPDX-License-Identifier: BSD-2-Clause */
/* See harness.h: ports, peers and events. */
#include <errno.h>

#include "harness.h"

/* Large enough for all tests that do not choose a size. */
#define NQ_ENTRIES 512

/* After this many empty polls all released entries have been returned. */
#define EMPTY_POLLS 64

struct cay_port *open_port(const struct cay_port_options *options)
{
	struct cay_port_options o = { 0 };
	if (options)
		o = *options;
	if (!o.nq_entries)
		o.nq_entries = NQ_ENTRIES;
	struct cay_port *port = cay_port_open(&o);
	assert_int_equal(port ? 0 : errno, 0);
	return port;
}

struct cay_port *open_named(const char *name)
{
	return open_port(&(struct cay_port_options){ .name = name });
}

struct cay_port *open_small(const char *name, uint32_t nq_entries)
{
	return open_port(&(struct cay_port_options){
		.name = name, .nq_entries = nq_entries, .rdr_bytes = 1 });
}

struct cay_peer *open_peer(struct cay_port *from, const struct cay_port *to)
{
	struct cay_peer *peer = NULL;
	assert_int_equal(cay_peer_resolve(from, cay_port_addr(to), &peer), 0);
	return peer;
}

struct cay_peer *open_peer_named(struct cay_port *from, const char *name)
{
	struct cay_peer *peer = NULL;
	assert_int_equal(cay_peer_lookup(from, name, soon(), &peer), 0);
	return peer;
}

void close_port(struct cay_port *port)
{
	assert_int_equal(cay_port_close(port), 0);
}

struct cay_stats port_stats(struct cay_port *port)
{
	struct cay_stats s;
	assert_int_equal(cay_port_stats(port, &s), 0);
	return s;
}

bool poll_event(struct cay_port *port, struct cay_event *e)
{
	int n = cay_poll(port, e, 1);
	assert_true(n == 0 || n == 1);
	return n == 1;
}

/* A wait may end for an entry without an event: poll again. */
void next_event(struct cay_port *port, struct cay_event *e)
{
	uint64_t deadline = soon();
	while (!poll_event(port, e)) {
		int r = cay_wait(port, deadline);
		if (r != -EINTR)
			assert_int_equal(r, 0);
	}
}

void check_empty(struct cay_port *port)
{
	struct cay_event e;
	for (unsigned i = 0; i < EMPTY_POLLS; i++)
		assert_true(!poll_event(port, &e));
}

void expect_message(
	struct cay_port *port, uint64_t tag, size_t length, uint64_t seed)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.length, length);
	assert_true(content_fits(e.data, length, seed));
	cay_release(port, &e);
}

void expect_complete(struct cay_port *port, uint64_t tag, int error)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.error, error);
	cay_release(port, &e);
}

void expect_gone(struct cay_port *port, uint16_t vpid)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	assert_int_equal(e.error, CAY_ERROR_GONE);
	assert_int_equal(e.peer.vpid, vpid);
	cay_release(port, &e);
}
