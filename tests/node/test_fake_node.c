/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients of a faulty node: one of another version, one that sends corrupt
 * replies or arenas, one that hangs. The client returns an errno; it does not
 * crash, hang, get SIGBUS or leak a descriptor.
 */
#include "base/bits.h"
#include "device/queue_set.h"
#include "fake.h"

#define RANDOM_REPLIES 300
#define RANDOM_CONFIGS 600

/* Opens a port at a fake node. Returns 0, or the errno. */
static int open_fake(struct fake *f)
{
	int before = fd_count(getpid());
	fake_start(f);
	struct cay_port *port = cay_port_open(NULL);
	int r = port ? 0 : errno;
	if (port)
		cay_port_close(port);
	fake_stop(f);
	int after = fd_count(getpid());
	if (after != before)
		fail_msg("%d descriptors before, %d after", before, after);
	return r;
}

/* ---- corrupt replies to HELLO ---- */

struct corruption {
	const char *name;
	void (*apply)(struct offer *);
	int expected;
};

static void refuses_version(struct offer *o)
{
	o->reply.error = -EPROTONOSUPPORT;
	o->no_arena = true;
}

static void refuses_client(struct offer *o)
{
	o->reply.error = -EPERM;
	o->no_arena = true;
}

/* A refusal with a descriptor. */
static void refuses_with_arena(struct offer *o)
{
	o->reply.error = -ENOSPC;
}

static void positive_error(struct offer *o)
{
	o->reply.error = 12345;
}

static void unknown_error(struct offer *o)
{
	o->reply.error = INT32_MIN;
}

static void no_descriptor(struct offer *o)
{
	o->no_arena = true;
}

static void short_reply(struct offer *o)
{
	o->reply_bytes = sizeof(struct node_reply) - 1;
}

static void one_byte(struct offer *o)
{
	o->reply_bytes = 1;
}

static void long_reply(struct offer *o)
{
	o->reply_bytes = sizeof(struct node_reply) + 1;
}

static void very_long_reply(struct offer *o)
{
	o->reply_bytes = 8192;
}

static void other_arena_version(struct offer *o)
{
	o->header.major++;
}

static void unknown_features(struct offer *o)
{
	o->header.features = 1;
}

static void not_an_arena(struct offer *o)
{
	o->header.magic ^= 1;
}

static void header_size_beyond(struct offer *o)
{
	o->header.size = UINT64_MAX;
}

static void header_size_small(struct offer *o)
{
	o->header.size = ARENA_HEAP_OFFSET;
}

static void directory_elsewhere(struct offer *o)
{
	o->header.directory_offset += 4096;
}

static void controls_elsewhere(struct offer *o)
{
	o->header.control_offset[1] = UINT64_MAX - 4095;
}

static void controls_closer(struct offer *o)
{
	o->header.control_stride = 256;
}

/* The controls of such an arena are not where the header says. */
static void controls_on_pages(struct offer *o)
{
	o->header.control_stride = ARENA_STRIDE_PAGE;
}

static void heap_beyond(struct offer *o)
{
	o->header.heap_end += ARENA_PAGE;
}

static void heap_elsewhere(struct offer *o)
{
	o->header.heap_offset = 0;
}

static void truncated(struct offer *o)
{
	o->arena_bytes /= 2;
}

static void longer_than_announced(struct offer *o)
{
	o->arena_bytes += 4096;
}

static void too_small(struct offer *o)
{
	o->arena_bytes = o->reply.hello.arena_bytes = 4096;
	o->header.size = 4096;
}

static void empty(struct offer *o)
{
	o->arena_bytes = o->reply.hello.arena_bytes = 0;
}

static void huge_size(struct offer *o)
{
	o->reply.hello.arena_bytes = UINT64_MAX;
}

static void unsealed(struct offer *o)
{
	o->seals = 0;
}

static void may_shrink(struct offer *o)
{
	o->seals = F_SEAL_GROW;
}

static void not_writable(struct offer *o)
{
	o->seals |= F_SEAL_WRITE;
}

static void records_missing(struct offer *o)
{
	o->reply.hello.records = 0;
}

static void records_in_tables(struct offer *o)
{
	o->reply.hello.records = ARENA_DIRECTORY_OFFSET;
}

static void records_unaligned(struct offer *o)
{
	o->reply.hello.records = ARENA_HEAP_OFFSET + 64;
}

static void records_outside(struct offer *o)
{
	o->reply.hello.records = FAKE_ARENA_BYTES;
}

static void records_overflow(struct offer *o)
{
	o->reply.hello.records = UINT64_MAX - 4095;
}

#define ANY_ERRNO -1 /* any errno */

static const struct corruption corruptions[] = {
	{ "refuses the version", refuses_version, EPROTONOSUPPORT },
	{ "refuses the client", refuses_client, EPERM },
	{ "refuses, with an arena", refuses_with_arena, ENOSPC },
	{ "positive error", positive_error, EPROTO },
	{ "unknown error", unknown_error, EPROTO },
	{ "no descriptor", no_descriptor, EPROTO },
	{ "short reply", short_reply, EPROTO },
	{ "one byte", one_byte, EPROTO },
	{ "long reply", long_reply, EPROTO },
	{ "very long reply", very_long_reply, EPROTO },
	{ "other arena version", other_arena_version, EPROTONOSUPPORT },
	{ "unknown features", unknown_features, EPROTONOSUPPORT },
	{ "not an arena", not_an_arena, EPROTO },
	{ "size in header too large", header_size_beyond, EBADMSG },
	{ "size in header too small", header_size_small, EBADMSG },
	{ "directory elsewhere", directory_elsewhere, EBADMSG },
	{ "control blocks elsewhere", controls_elsewhere, EBADMSG },
	{ "control blocks closer", controls_closer, EBADMSG },
	{ "control blocks on pages", controls_on_pages, EBADMSG },
	{ "heap beyond its end", heap_beyond, EBADMSG },
	{ "heap elsewhere", heap_elsewhere, EBADMSG },
	{ "truncated", truncated, EBADMSG },
	{ "longer than announced", longer_than_announced, EBADMSG },
	{ "too small", too_small, EBADMSG },
	{ "empty", empty, EBADMSG },
	{ "huge size", huge_size, EBADMSG },
	{ "unsealed", unsealed, EBADMSG },
	{ "may shrink", may_shrink, EBADMSG },
	{ "not writable", not_writable, ANY_ERRNO },
	{ "records missing", records_missing, EPROTO },
	{ "records in tables", records_in_tables, EPROTO },
	{ "records unaligned", records_unaligned, EPROTO },
	{ "records outside", records_outside, EPROTO },
	{ "records overflow", records_overflow, EPROTO },
};

static void corrupt_offers_are_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(corruptions); i++) {
		struct fake f = { .offer = offer_good() };
		corruptions[i].apply(&f.offer);
		int r = open_fake(&f);
		if (r != corruptions[i].expected &&
			!(corruptions[i].expected == ANY_ERRNO && r > 0 &&
				r < 4096))
			fail_msg("%s: errno %d instead of %d",
				corruptions[i].name, r,
				corruptions[i].expected);
	}
}

static void descriptors_of_other_types_are_refused(void **state)
{
	int ends[2];
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	int types[] = { open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/dev/zero", O_RDWR | O_CLOEXEC),
		open("/", O_RDONLY | O_CLOEXEC), eventfd(0, EFD_CLOEXEC),
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[0],
		ends[1] };
	for (unsigned i = 0; i < ARRAY_COUNT(types); i++) {
		struct fake f = { .offer = offer_good() };
		f.offer.fds[0] = types[i];
		int r = open_fake(&f);
		if (r != EBADMSG)
			fail_msg("type %u: errno %d", i, r);
	}
	for (unsigned i = 0; i < ARRAY_COUNT(types); i++)
		close(types[i]);
}

static void surplus_descriptors_are_closed(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	(void)state;
	for (unsigned count = 2; count <= 3; count++) {
		struct fake f = { .offer = offer_good() };
		for (unsigned i = 0; i < count; i++)
			f.offer.fds[i] = null;
		assert_int_not_equal(open_fake(&f), 0);
	}
	close(null);
}

static void random_replies_are_refused(void **state)
{
	uint64_t seed = random_seed();
	(void)state;
	for (unsigned i = 0; i < RANDOM_REPLIES; i++) {
		struct fake f = { .offer = offer_good() };
		f.offer.no_arena = i % 2;
		random_fill(&seed, &f.offer.reply, sizeof(f.offer.reply));
		if (i % 3 == 0)
			f.offer.reply.error = 0;
		int r = open_fake(&f);
		if (r <= 0 || r >= 4096)
			fail_msg("reply %u: errno %d", i, r);
	}
}

/* ---- corrupt replies to other requests ---- */

static struct queue_config open_config; /* stored by the next OPEN */

static void reply_open(
	struct fake *f, const struct node_request *q, struct node_reply *reply)
{
	struct arena a = { .base = f->base };
	arena_set_layout(&a, &f->offer.header);
	if (q->kind != NODE_OPEN)
		return;
	struct queue_control *c = arena_control(&a, 5, 1);
	memset(c, 0, sizeof(*c));
	c->config = open_config;
	atomic_store(&c->epoch, 1);
	reply->open.vpid = 5;
	reply->open.epoch = 1;
}

static struct queue_config config_good(void)
{
	struct queue_options options = { .nq_log2 = 4, .rdr_log2 = 10 };
	struct queue_config c;
	queue_set_layout(&c, &options);
	c.vpid = 5;
	c.epoch = 1;
	c.queues_offset = ARENA_HEAP_OFFSET + ARENA_PAGE;
	c.tables_offset = c.queues_offset + c.queues_bytes;
	return c;
}

static void corrupt_queue_sets_are_refused(void **state)
{
	uint64_t seed = random_seed();
	unsigned refused = 0;
	(void)state;
	open_config = config_good();
	struct fake good = { .offer = offer_good(), .reply = reply_open };
	assert_int_equal(open_fake(&good), 0);
	for (unsigned i = 0; i < RANDOM_CONFIGS; i++) {
		struct fake f = good;
		open_config = config_good();
		unsigned char *bytes = (void *)&open_config;
		for (unsigned j = 0; j <= i % 3; j++)
			bytes[random_below(&seed, sizeof(open_config))] =
				(unsigned char)random_next(&seed);
		/* Unused bytes may be corrupt; none may crash the client. */
		int r = open_fake(&f);
		refused += r == EBADMSG;
		assert_true(r == 0 || r == EBADMSG);
	}
	assert_true(refused > RANDOM_CONFIGS / 4);
}

static void reply_out_of_range(
	struct fake *f, const struct node_request *q, struct node_reply *reply)
{
	reply_open(f, q, reply);
	if (q->kind == NODE_RESOLVE) {
		reply->resolve.vpid = q->resolve.target;
		reply->resolve.epoch = 1;
		reply->resolve.index = q->resolve.target == 5 ? UINT32_MAX : 0;
	}
	if (q->kind == NODE_ALLOC)
		reply->alloc.offset = UINT64_MAX - 100;
}

static void replies_out_of_range_are_refused(void **state)
{
	struct fake f = { .offer = offer_good(), .reply = reply_out_of_range };
	struct cay_addr self = { FAKE_NODE, 5 }, other = { FAKE_NODE, 6 };
	struct cay_peer *peer;
	(void)state;
	open_config = config_good();
	fake_start(&f);
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	/* An index outside the table; a VPID without a queue set. */
	assert_int_equal(cay_peer_resolve(port, self, &peer), -EPROTO);
	assert_int_equal(cay_peer_resolve(port, other, &peer), -ENXIO);
	assert_null(cay_alloc(port, 4096, 0));
	assert_int_equal(errno, EPROTO);
	assert_int_equal(cay_port_close(port), 0);
	fake_stop(&f);
}

/* ---- nodes that disconnect or hang ---- */

static int reconnect_body(void *argument)
{
	struct fake *f = argument;
	close(f->listener); /* else the name stays bound after fake_stop() */
	struct cay_port *port = cay_port_open(NULL);
	assert_true(port);
	assert_true(cay_port_addr(port).node != FAKE_NODE);
	return 0;
}

static void disconnecting_node_is_replaced(void **state)
{
	struct fake f = { .offer = offer_good(), .disconnects = 1000 };
	(void)state;
	fake_start(&f);
	/* The client retries until a real node can bind the name. */
	pid_t child = child_start(reconnect_body, &f);
	clock_nap_ns(100 * CLOCK_NS_PER_MS);
	fake_stop(&f);
	assert_int_equal(child_join(child), 0);
}

/* The client times out after 10 s. */
static int silent_node_body(void *unused)
{
	struct fake f = { .offer = offer_good(), .silent = true };
	(void)unused;
	fake_start(&f);
	uint64_t since = clock_now_ns();
	assert_true(cay_port_open(NULL) == NULL);
	assert_true(errno == ETIMEDOUT);
	assert_true(elapsed_ms(since) < 14000);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrupt_offers_are_refused),
		cmocka_unit_test(descriptors_of_other_types_are_refused),
		cmocka_unit_test(surplus_descriptors_are_closed),
		cmocka_unit_test(random_replies_are_refused),
		cmocka_unit_test(corrupt_queue_sets_are_refused),
		cmocka_unit_test(replies_out_of_range_are_refused),
		cmocka_unit_test(disconnecting_node_is_replaced),
	};
	harness_begin("fake");
	/* Takes 10 s, in parallel with all other tests. */
	pid_t silent = child_start(silent_node_body, NULL);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (child_join(silent) != 0) {
		print_error("silent node: see above\n");
		failed++;
	}
	return failed;
}
