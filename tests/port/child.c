/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See harness.h: child processes, and the node of a program seen from outside.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "harness_private.h"

#define CHILDREN_MAX 64
#define GONE_NS	     (3 * NS_PER_S)

/* Running children; copies, because a failing test loses its own. */
static struct child children[CHILDREN_MAX];

static void child_note(const struct child *c)
{
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		if (!children[i].pid) {
			children[i] = *c;
			return;
		}
	fail_msg("too many children");
}

static void child_forget(struct child *c)
{
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid == c->pid)
			children[i].pid = 0;
	close(c->fd);
	c->pid = 0;
}

_Noreturn static void child_run(
	struct child *me, void (*body)(struct child *, void *), void *argument)
{
	/* If the parent exits, the child is killed, too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	body(me, argument);
	_exit(0);
}

void child_start(
	struct child *c, void (*body)(struct child *, void *), void *argument)
{
	int line[2];
	assert_true(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			    line) == 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct child me = { .fd = line[1] };
		close(line[0]);
		memset(children, 0, sizeof(children));
		child_run(&me, body, argument);
	}
	close(line[1]);
	*c = (struct child){ .pid = pid, .fd = line[0] };
	child_note(c);
}

/* Arguments of a thread that replaces a child process. */
struct thread_child {
	struct child me;
	void (*body)(struct child *, void *);
	void *argument;
};

static void *near_run(void *argument)
{
	struct thread_child *n = argument;
	n->body(&n->me, n->argument);
	close(n->me.fd);
	free(n);
	return NULL;
}

void child_start_local(
	struct child *c, void (*body)(struct child *, void *), void *argument)
{
	if (!HARNESS_THREAD) {
		child_start(c, body, argument);
		return;
	}
	struct thread_child *n = calloc(1, sizeof(*n));
	int line[2];
	assert_true(n != NULL);
	assert_true(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			    line) == 0);
	*n = (struct thread_child){ { .fd = line[1] }, body, argument };
	*c = (struct child){ .pid = getpid(), .fd = line[0] };
	assert_int_equal(pthread_create(&c->thread, NULL, near_run, n), 0);
}

void child_send(struct child *c, uint64_t word)
{
	assert_int_equal(
		send(c->fd, &word, sizeof(word), MSG_NOSIGNAL), sizeof(word));
}

uint64_t child_receive(struct child *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	uint64_t word = 0;
	int n;
	do
		n = poll(&p, 1, (int)(TIMEOUT_NS / NS_PER_MS));
	while (n < 0 && errno == EINTR);
	assert_int_equal(n, 1);
	assert_int_equal(recv(c->fd, &word, sizeof(word), 0), sizeof(word));
	return word;
}

void child_join(struct child *c)
{
	if (c->pid == getpid()) {
		pthread_join(c->thread, NULL);
		close(c->fd);
		return;
	}
	uint64_t deadline = soon();
	int status = 0;
	pid_t pid;
	while ((pid = waitpid(c->pid, &status, WNOHANG)) == 0) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
	assert_int_equal(pid, c->pid);
	child_forget(c);
	assert_int_equal(status, 0);
}

void child_kill(struct child *c)
{
	kill(c->pid, SIGKILL);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
	child_forget(c);
}

void children_end(void)
{
	for (unsigned i = 0; i < CHILDREN_MAX; i++)
		if (children[i].pid)
			child_kill(&(struct child){
				.pid = children[i].pid, .fd = children[i].fd });
}

void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	return p;
}

/* ---- node ---- */

/*
 * The command line of a node: "PROGRAM node serve --background NAME", with
 * other options before the name.
 */
static bool command_is_node(const char *text, size_t length, const char *name)
{
	const char *word[16];
	unsigned words = 0;
	for (size_t at = 0; at < length && words < COUNT(word);
		at += strlen(text + at) + 1)
		word[words++] = text + at;
	return words >= 5 && strcmp(word[1], "node") == 0 &&
	       strcmp(word[words - 1], name) == 0;
}

static bool process_is_node(const char *pid, const char *name)
{
	char path[300], text[4096];
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	size_t length = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[length] = 0;
	return command_is_node(text, length, name);
}

pid_t node_process(const char *name)
{
	DIR *processes = opendir("/proc");
	assert_true(processes != NULL);
	pid_t found = 0;
	struct dirent *entry;
	while (!found && (entry = readdir(processes)))
		if (process_is_node(entry->d_name, name))
			found = (pid_t)atoi(entry->d_name);
	closedir(processes);
	return found;
}

bool node_socket(const char *name)
{
	char line[512], end[128];
	bool found = false;
	FILE *f = fopen("/proc/net/unix", "r");
	assert_true(f != NULL);
	snprintf(end, sizeof(end), "@cay/%u/%s\n", (unsigned)geteuid(), name);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, end) != NULL;
	fclose(f);
	return found;
}

bool node_gone_soon(const char *name)
{
	uint64_t deadline = now_ns() + GONE_NS;
	while (node_socket(name) || node_process(name)) {
		if (now_ns() > deadline)
			return false;
		nap_ns(10 * NS_PER_MS);
	}
	return true;
}
