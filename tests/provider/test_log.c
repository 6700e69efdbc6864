/* SPDX-License-Identifier: BSD-2-Clause */
/* Every error is logged once, at level warn, with what to do. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "region.h"

static FILE *logged;  /* standard error of this process */
static long log_read; /* bytes of it that were examined */

static void log_begin(void)
{
	assert_int_equal(setenv("FI_LOG_LEVEL", "warn", 1), 0);
	assert_int_equal(setenv("FI_LOG_PROV", "cay", 1), 0);
	assert_int_equal(setenv("FI_CAY_CONNECT_MS", "20", 1), 0);
	logged = tmpfile();
	assert_true(logged != NULL);
	assert_true(dup2(fileno(logged), STDERR_FILENO) >= 0);
}

/* Skips what libfabric logs while it looks for providers. */
static void log_skip(void)
{
	fflush(stderr);
	assert_int_equal(fseek(logged, 0, SEEK_END), 0);
	log_read = ftell(logged);
}

/* What was logged since the last call is one line with this text, or nothing.
 */
static void expect_logged(const char *text)
{
	static char lines[4096];
	fflush(stderr);
	assert_int_equal(fseek(logged, log_read, SEEK_SET), 0);
	size_t n = fread(lines, 1, sizeof(lines) - 1, logged);
	lines[n] = 0;
	log_read += (long)n;
	const char *end = strchr(lines, '\n');
	bool fits = text ? strstr(lines, text) && end && end[1] == 0 : n == 0;
	if (!fits)
		printf("logged: '%s', expected: '%s'\n", lines,
			text ? text : "");
	assert_true(fits);
}

static ssize_t until_known(struct stack *s, fi_addr_t to)
{
	uint64_t deadline = soon();
	ssize_t r;
	while ((r = fi_tinject(s->ep, "", 1, to, 1)) == -FI_EAGAIN) {
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
	return r;
}

static void own_errors(struct stack *s)
{
	static char memory[64];
	struct fid_mr *mr, *other;
	struct fi_cq_err_entry e;
	fi_addr_t self = s->peers[0];
	assert_int_equal(until_known(s, self), 0);
	expect_logged(NULL);
	assert_int_equal(
		fi_send(s->ep, memory, 8, NULL, 1000, NULL), -FI_EINVAL);
	expect_logged("fi_send");
	assert_int_equal(fi_inject(s->ep, memory, 1 << 20, self), -FI_EMSGSIZE);
	expect_logged("exceeds a limit");
	MUST(s, fi_write(s->ep, memory, 8, NULL, self, 0, 77, NULL));
	assert_int_equal(cq_next_error(s->txcq, &e), FI_EKEYREJECTED);
	expect_logged("no memory region has this key");
	assert_int_equal(fi_mr_reg(s->domain, memory, 64, FI_REMOTE_READ, 0, 3,
				 0, &mr, NULL),
		0);
	assert_int_equal(fi_mr_reg(s->domain, memory, 64, FI_REMOTE_READ, 0, 3,
				 0, &other, NULL),
		-FI_ENOKEY);
	expect_logged("fi_mr_reg");
	MUST(s, fi_write(s->ep, memory, 8, NULL, self, 0, 3, NULL));
	assert_int_equal(cq_next_error(s->txcq, &e), FI_EACCES);
	expect_logged("does not grant");
	assert_int_equal(fi_close(&mr->fid), 0);
	/* One byte is there with tag 1. */
	MUST(s, fi_tsend(s->ep, memory, 64, NULL, self, 2, NULL));
	cq_expect(s->txcq, NULL);
	MUST(s, fi_trecv(s->ep, memory, 8, NULL, FI_ADDR_UNSPEC, 2, 0, NULL));
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ETRUNC);
	expect_logged("longer than the receive buffer");
	/* Neither of these is an error. */
	struct fi_msg_tagged peek = { .addr = FI_ADDR_UNSPEC, .tag = 9 };
	MUST(s, fi_trecvmsg(s->ep, &peek, FI_PEEK));
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ENOMSG);
	MUST(s, fi_trecv(s->ep, memory, 8, NULL, FI_ADDR_UNSPEC, 3, 0, &peek));
	assert_int_equal(fi_cancel(&s->ep->fid, &peek), 0);
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ECANCELED);
	expect_logged(NULL);
}

static void log_body(struct process *me, void *argument)
{
	struct stack s;
	struct fi_cq_err_entry e;
	char word[8];
	(void)argument;
	log_begin();
	stack_open(&s, &(struct options){ .caps = CAPS_USUAL | CAPS_ACCESS });
	stack_join(&s, me);
	log_skip();
	if (me->rank == 0) {
		own_errors(&s);
		/* A receive from the other process, which then ends. */
		assert_int_equal(until_known(&s, s.peers[1]), 0);
		MUST(&s, fi_trecv(s.ep, word, 8, NULL, s.peers[1], 4, 0, NULL));
	}
	process_barrier(me, &s);
	if (me->rank == 1) {
		stack_close(&s);
		return;
	}
	assert_int_equal(cq_next_error(s.rxcq, &e), FI_EHOSTUNREACH);
	expect_logged("is gone");
	assert_int_equal(until_known(&s, s.peers[1]), -FI_EHOSTUNREACH);
	expect_logged("has exited or closed it");
	/* An address that never was. */
	fi_addr_t nobody;
	assert_int_equal(
		fi_av_insert(s.av, "fi_cay://nobodynobodynobo-000000000000", 1,
			&nobody, 0, NULL),
		1);
	assert_int_equal(until_known(&s, nobody), -FI_EHOSTUNREACH);
	expect_logged("FI_CAY_CONNECT_MS");
	stack_close(&s);
}

static void errors_are_logged_once(void **state)
{
	(void)state;
	group_run(2, log_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(errors_are_logged_once),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
