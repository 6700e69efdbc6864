/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of ports share: waits with a deadline, ports and peers opened
 * by one call, contents that can be verified, and children that talk with their
 * parent. cmocka's assertions may be used in children and in threads too: one
 * that fails prints its message and aborts the process.
 *
 *	int main(void)
 *	{
 *		static const struct CMUnitTest tests[] = { TEST(name) };
 *		return cmocka_run_group_tests(tests, harness_begin,
 *			harness_end);
 *	}
 *
 * Each program has a node of its own, named after its process, so that
 * programs may run side by side. harness_end() fails if anything of it is left.
 */
#ifndef CAY_TESTS_PORT_HARNESS_H
#define CAY_TESTS_PORT_HARNESS_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cay/cay.h>
#include <cmocka.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

/* Longer than any correct operation takes, even on a busy machine. */
#define TIMEOUT_NS (15 * NS_PER_S)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define HARNESS_THREAD 1
#else
#define HARNESS_THREAD 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define HARNESS_ADDRESS 1
#else
#define HARNESS_ADDRESS 0
#endif
#define HARNESS_SLOWER (HARNESS_THREAD ? 5 : HARNESS_ADDRESS ? 2 : 1)

/* Reduces a number of repetitions for slow sanitizer builds. */
static inline uint64_t scaled(uint64_t count)
{
	return count / HARNESS_SLOWER;
}

/* ---- set-up and teardown ---- */

int harness_begin(void **state);
int harness_end(void **state);
int harness_test_end(void **state);

#define TEST(name) cmocka_unit_test_teardown(name, harness_test_end)

/* ---- time ---- */

uint64_t now_ns(void);
void nap_ns(uint64_t ns);
/* Returns a deadline that a correct operation does not miss. */
uint64_t soon(void);

/* ---- random numbers; a seed repeats a run ---- */

struct random {
	uint64_t state;
};
uint64_t random_next(struct random *);
uint64_t random_below(struct random *, uint64_t limit);
/* Spins or sleeps for a random time up to ns_max, often not at all. */
void random_pause(struct random *, uint64_t ns_max);

/* ---- test data ---- */

void content_fill(void *to, size_t bytes, uint64_t seed);
bool content_fits(const void *from, size_t bytes, uint64_t seed);

/* ---- ports ---- */

/* Wrappers of cay_port_open() and cay_peer_*() that assert success. */
struct cay_port *open_port(const struct cay_port_options *);
struct cay_port *open_named(const char *name);
struct cay_port *open_small(const char *name, uint32_t nq_entries);
struct cay_peer *open_peer(struct cay_port *from, const struct cay_port *to);
struct cay_peer *open_peer_named(struct cay_port *from, const char *name);
/* Closes a port and asserts success. */
void close_port(struct cay_port *);

struct cay_stats port_stats(struct cay_port *);

/* Returns CAY_BORROW for a long message: it completes with an event. */
static inline unsigned borrow_long(size_t length)
{
	return length > CAY_EAGER_MAX ? CAY_BORROW : 0;
}

/* ---- events ---- */

/* Waits for the next event. */
void next_event(struct cay_port *, struct cay_event *);
/* Polls once, without waiting. Returns true if there is an event. */
bool poll_event(struct cay_port *, struct cay_event *);
/* Asserts that there is no event. Released entries are returned to senders. */
void check_empty(struct cay_port *);

/* Check and release the next event. */
void expect_message(
	struct cay_port *, uint64_t tag, size_t length, uint64_t seed);
void expect_complete(struct cay_port *, uint64_t tag, int error);
void expect_gone(struct cay_port *, uint16_t vpid);

/* ---- child processes ---- */

/* One end of a connection between parent and child. */
struct child {
	pid_t pid; /* 0 in the child */
	int fd;
	pthread_t thread; /* if the child is a thread of this process */
};

/* Starts a child process. It exits with success when `body` returns. */
void child_start(
	struct child *, void (*body)(struct child *, void *), void *argument);
/*
 * As child_start(), but starts a thread under ThreadSanitizer, which reports
 * false races if only another process orders two accesses.
 */
void child_start_local(
	struct child *, void (*body)(struct child *, void *), void *argument);
/* Send and receive words, in order, in both directions. */
void child_send(struct child *, uint64_t word);
uint64_t child_receive(struct child *);
/* Waits for the child to exit with success. */
void child_join(struct child *);
void child_kill(struct child *);

/* Allocates zeroed memory that is shared with children. */
void *shared_memory(size_t bytes);

/* ---- node ---- */

const char *node_name(void);
/* Returns the process of the node, or 0. */
pid_t node_process(const char *name);
bool node_socket(const char *name);
/*
 * Waits until process and socket of the node are gone. Returns false at the
 * deadline.
 */
bool node_gone_soon(const char *name);

#endif
