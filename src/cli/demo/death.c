/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: a process is killed in the middle of what it does. It sends numbered
 * messages as fast as it can; it never takes the long message that we send it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/demo/demo.h"
#include "cli/node/client.h"

#define VICTIM_NAME "victim"
#define ENOUGH	    1000 /* messages before it dies */
#define LONG_TAG    0xb1

/* What we saw of it, in this order. */
struct last {
	uint64_t messages, out_of_order;
	bool gone, after_gone;
	bool completed;
	int completion_error;
};

__attribute__((noreturn)) static void victim_main(void)
{
	struct cay_port_options options = { .name = VICTIM_NAME };
	struct cay_port *port = cay_port_open(&options);
	struct cay_peer *to;
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);

	if (!port || cay_peer_lookup(port, ORIGIN_NAME, deadline, &to) != 0)
		_exit(1);
	for (uint64_t i = 0;; i++)
		if (cay_send_wait(port, to, i, &i, sizeof(i), 0, deadline))
			_exit(1);
}

static void last_note(struct last *l, const struct cay_event *e)
{
	switch (e->kind) {
	case CAY_EVENT_MESSAGE:
		l->out_of_order += e->tag != l->messages;
		l->after_gone |= l->gone;
		l->messages++;
		break;
	case CAY_EVENT_COMPLETE:
		l->completed = e->tag == LONG_TAG;
		l->completion_error = e->error;
		break;
	case CAY_EVENT_GONE:
		l->gone = true;
		break;
	default:
		break;
	}
}

static int last_take(struct demo *d, struct last *l)
{
	struct cay_event e;
	int r = demo_await(d->port, &e);
	if (r)
		return r;
	last_note(l, &e);
	cay_release(d->port, &e);
	return 0;
}

/* From its first message until we have been told all. */
static int death_watch(struct demo *d, pid_t pid, struct last *l)
{
	int r = 0;
	while (r == 0 && l->messages < ENOUGH)
		r = last_take(d, l);
	if (r)
		return show_failed(d, "the victim", r);
	kill(pid, SIGKILL);
	while (r == 0 && !(l->gone && l->completed))
		r = last_take(d, l);
	return r ? show_failed(d, "after its death", r) : 0;
}

static void death_show(struct demo *d, const struct last *l, pid_t pid)
{
	show_left(d, "> SEND, %u B, tag 0x%x", DEMO_LONG, LONG_TAG);
	show_left(d, "< %" PRIu64 " x NOTIFY_FAST_RECV", l->messages);
	show_left(d, "< NOTIFY_CC: %s",
		cay_error_name((unsigned)l->completion_error));
	show_left(d, "< NOTIFY_GONE");
	show_right(d, "  never takes it");
	show_right(d, "> FAST_SEND, FAST_SEND, ... kill -9");
	show_rows(d, "origin", "victim");
	show_check(d, l->messages >= ENOUGH && l->out_of_order == 0,
		"process %d was killed while it sent: %" PRIu64
		" messages, none missing",
		(int)pid, l->messages);
	show_check(d, l->gone && !l->after_gone,
		"NOTIFY_GONE came after its last message");
	show_check(d, l->completed && l->completion_error == CAY_ERROR_GONE,
		"the message that it had not taken completed with an error");
}

/* What is left of it: nothing but the way it is remembered. */
static int death_aftermath(struct demo *d, struct cay_peer *victim)
{
	struct cay_port_options again = { .name = VICTIM_NAME };
	struct node_report report;
	int r = cay_send(d->port, victim, 0, "hello?", 6, 0);

	show_check(d, r == -EPIPE, "sending to it now: %s",
		r == -EPIPE ? "-EPIPE" : cay_strerror(r));
	struct cay_port *port = cay_port_open(&again);
	show_check(d, port != NULL, "its name is free for the next one");
	if (port)
		cay_port_close(port);
	r = node_client_status(&d->node, &report);
	if (r)
		return show_failed(d, "node status", r);
	show_check(d, report.head->repaired >= 1,
		"the node repaired after %" PRIu64 " process, %" PRIu64
		" half-written entr%s voided",
		report.head->repaired, report.head->voided,
		report.head->voided == 1 ? "y" : "ies");
	node_report_free(&report);
	return 0;
}

static int death_run(struct demo *d, pid_t pid, void *data)
{
	struct last last = { 0 };
	struct cay_peer *victim = NULL;
	int r = cay_peer_lookup(d->port, VICTIM_NAME,
		clock_after_ns(DEMO_PATIENCE_NS), &victim);
	if (r)
		return show_failed(d, "cay_peer_lookup", r);
	r = cay_send(d->port, victim, LONG_TAG, data, DEMO_LONG, 0);
	if (r)
		show_failed(d, "cay_send", r);
	else
		r = death_watch(d, pid, &last);
	if (r == 0) {
		death_show(d, &last, pid);
		r = death_aftermath(d, victim);
	}
	cay_peer_release(victim);
	return r;
}

int demo_death(struct demo *d)
{
	void *data = cay_alloc(d->port, DEMO_LONG, 0);

	show_scene(d, "Death",
		"    A third process sends without end, and is killed in the "
		"middle of it. Its\n"
		"    peers see its last message, then that it is gone; nobody "
		"hangs.\n");
	if (!data)
		return show_failed(d, "cay_alloc", -errno);
	pid_t pid = demo_fork();
	if (pid == 0)
		victim_main();
	int r = pid < 0 ? show_failed(d, "fork", (int)pid)
			: death_run(d, pid, data);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	cay_free(d->port, data);
	return r;
}
