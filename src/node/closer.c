/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See closer.h. A thread is started for each socket to close, up to a limit,
 * and ends when no socket is left. The state belongs to the process, because
 * these threads may outlive a node.
 */
#include "node/closer.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "node/wire.h"

#define CLOSER_THREADS 64
#define CLOSER_STACK   (256 << 10)

struct closable {
	struct list link;
	int socket;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static struct list waiting = { &waiting, &waiting };
static unsigned threads;

static void *closer_run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!list_empty(&waiting)) {
		struct closable *c =
			list_of(waiting.next, struct closable, link);
		list_remove(&c->link);
		pthread_mutex_unlock(&lock);
		close(c->socket);
		free(c);
		pthread_mutex_lock(&lock);
	}
	threads--;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Under the lock. The thread handles no signal of the node. */
static bool closer_start(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, CLOSER_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&thread, &attributes, closer_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r == 0;
}

void closer_close(int socket)
{
	if (!wire_end(socket)) {
		close(socket);
		return;
	}
	struct closable *c = malloc(sizeof(*c));
	if (!c)
		return; /* It stays open until the node exits. */
	c->socket = socket;
	pthread_mutex_lock(&lock);
	list_append(&waiting, &c->link);
	/* Without a thread, the next one or the exit closes it. */
	if (threads < CLOSER_THREADS)
		threads += closer_start();
	pthread_mutex_unlock(&lock);
}
