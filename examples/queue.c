/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A work queue that survives a killed worker: workers ask for tasks and return
 * results. One is killed in the middle of a task; the queue receives
 * CAY_EVENT_GONE and gives the task to another worker.
 *
 *	cc queue.c -o queue $(pkg-config --cflags --libs cay) && ./queue
 */
#include "example.h"

#include <string.h>

#define WORKERS 3
#define TASKS	60
#define FATAL	10	   /* kills the first worker that gets it */
#define NONE	UINT64_MAX /* tag instead of a task: ask, or leave */

/* Requests tasks until the queue sends NONE; a result requests the next. */
static void worker(void)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *queue;
	uint64_t task = NONE, result = 0;
	int attempt;

	check("cay_peer_lookup",
		cay_peer_lookup(port, "queue", deadline(), &queue));
	do {
		check("cay_send", cay_send(port, queue, task, &result,
					  sizeof(result), 0));
		struct cay_event event = next_event(port);
		if (event.kind != CAY_EVENT_MESSAGE)
			errx(1, "the queue is gone");
		task = event.tag;
		memcpy(&attempt, event.data, sizeof(attempt));
		cay_release(port, &event);
		if (task == FATAL && attempt == 1)
			raise(SIGKILL);
		result = task * task;
	} while (task != NONE);
	cay_peer_release(queue);
	check("cay_port_close", cay_port_close(port));
}

static struct task {
	int attempts, done;
	uint16_t worker; /* VPID of the port that has the task; 0: none */
} tasks[TASKS];

/* Replies to a request with a task. Returns 0 if no task is free. */
static int assign(
	struct cay_port *port, const struct cay_event *request, int finished)
{
	uint64_t t = 0;
	int attempt = 0;
	while (t < TASKS && (tasks[t].done || tasks[t].worker))
		t++;
	if (t == TASKS && finished < TASKS)
		return 0;
	if (t < TASKS)
		attempt = ++tasks[t].attempts;
	int r = cay_reply(port, request, t < TASKS ? t : NONE, &attempt,
		sizeof(attempt), 0);
	if (r != -EPIPE) { /* else the worker is gone: the task stays free */
		check("cay_reply", r);
		if (t < TASKS)
			tasks[t].worker = request->peer.vpid;
	}
	return 1;
}

/* Handles an event of a worker. Returns 1 if it has finished a task. */
static int handle(const struct cay_event *event)
{
	uint16_t from = event->peer.vpid;
	uint64_t result, t = event->tag;
	if (event->kind == CAY_EVENT_GONE) {
		for (t = 0; t < TASKS; t++)
			if (tasks[t].worker == from)
				tasks[t].worker = 0;
		return 0;
	}
	if (t >= TASKS || tasks[t].worker != from ||
		event->length != sizeof(result))
		return 0;
	memcpy(&result, event->data, sizeof(result));
	tasks[t].done = result == t * t;
	tasks[t].worker = 0;
	return tasks[t].done;
}

int main(void)
{
	/* TELL_GONE: also of workers that have asked and have no reply yet. */
	struct cay_port_options options = { .name = "queue",
		.flags = CAY_PORT_TELL_GONE };
	struct cay_port *port = cay_port_open(&options);
	struct cay_event waiting[WORKERS]; /* requests, not released yet */
	int finished = 0, count = 0;

	if (!port)
		errx(1, "cay_port_open: %s",
			cay_call_strerror("cay_port_open", errno));
	for (int i = 0; i < WORKERS; i++)
		if (child_start() == 0) {
			worker();
			_exit(0);
		}
	while (finished < TASKS || count < WORKERS - 1) {
		struct cay_event event = next_event(port);
		finished += handle(&event);
		if (event.kind == CAY_EVENT_MESSAGE)
			waiting[count++] = event;
		else
			cay_release(port, &event);
		while (finished < TASKS && count > 0 &&
			assign(port, &waiting[count - 1], finished))
			cay_release(port, &waiting[--count]);
	}
	while (count > 0 && assign(port, &waiting[count - 1], finished))
		cay_release(port, &waiting[--count]);

	int killed = children_wait();
	printf("%d tasks done, 1 worker killed\n", finished);
	expect(killed == 1, "the other workers have left");
	expect(tasks[FATAL].attempts == 2, "another worker did its task");
	check("cay_port_close", cay_port_close(port));
	return 0;
}
