/* SPDX-License-Identifier: BSD-2-Clause */
/* See client.h. */
#include "cli/node/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "cay/error.h"
#include "node/client.h"

#define PROCESSES_MAX (1u << 20)
#define THREADS_MAX   (1u << 24)

int node_client_call(const struct node_address *a,
	const struct node_request *request, struct node_reply *reply, int *fd)
{
	int s = client_connect(a);
	if (s < 0)
		return s;
	int r = client_call(s, request, reply, fd);
	close(s);
	return r;
}

const char *node_client_error(int error)
{
	switch (error) {
	case -ECONNREFUSED:
		return "no such node is running";
	case -EAGAIN:
	case -ETIMEDOUT:
		return "the node does not answer: it is stopped or overloaded";
	case -ENOTCONN:
		return "the node has just exited";
	default:
		return cay_strerror(error);
	}
}

/* ---- status ---- */

/* The threads after the ports; UINT64_MAX if the size does not fit. */
static uint64_t report_threads(const struct node_reply *reply)
{
	uint64_t others =
		sizeof(struct node_status) +
		(uint64_t)reply->status.processes *
			sizeof(struct node_status_process) +
		(uint64_t)reply->status.ports * sizeof(struct node_status_port);
	uint64_t bytes = reply->status.bytes - others;
	if (reply->status.bytes < others ||
		bytes % sizeof(struct node_status_thread))
		return UINT64_MAX;
	return bytes / sizeof(struct node_status_thread);
}

/* Copies the report, because a mapped one could change or shrink. */
static int report_read(int fd, const struct node_reply *reply, void **out)
{
	size_t bytes = reply->status.bytes, at = 0;
	struct stat st;

	if (fd < 0 || reply->status.processes > PROCESSES_MAX ||
		reply->status.ports > CAY_VPIDS ||
		report_threads(reply) > THREADS_MAX || fstat(fd, &st) != 0 ||
		(uint64_t)st.st_size != bytes)
		return -EPROTO;
	char *to = malloc(bytes);
	if (!to)
		return -ENOMEM;
	while (at < bytes) {
		ssize_t n = pread(fd, to + at, bytes - at, (off_t)at);
		if (n == 0 || (n < 0 && errno != EINTR)) {
			int r = n ? -errno : -EPROTO;
			free(to);
			return r;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	*out = to;
	return 0;
}

/* A name of a report, which may be empty; it is safe to print. */
static bool name_safe(const char *name)
{
	return *name == 0 || node_name_valid(name);
}

static bool report_valid(
	const struct node_report *r, const struct node_reply *reply)
{
	bool valid = r->head->magic == NODE_MAGIC &&
		     r->head->processes == reply->status.processes &&
		     r->head->ports == reply->status.ports &&
		     r->head->threads == report_threads(reply) &&
		     name_safe(r->head->name);
	for (uint32_t i = 0; valid && i < r->head->processes; i++)
		valid = name_safe(r->processes[i].realm);
	for (uint32_t i = 0; valid && i < r->head->ports; i++)
		valid = name_safe(r->ports[i].name) && r->ports[i].nq_entries &&
			r->ports[i].rdr_units;
	for (uint32_t i = 0; valid && i < r->head->threads; i++)
		valid = r->threads[i].process < r->head->processes;
	return valid;
}

int node_client_status(const struct node_address *a, struct node_report *report)
{
	struct node_request request = { .kind = NODE_STATUS };
	struct node_reply reply;
	void *memory = NULL;
	int fd, r = node_client_call(a, &request, &reply, &fd);
	if (r)
		return r;
	r = report_read(fd, &reply, &memory);
	if (fd >= 0)
		close(fd);
	if (r)
		return r;
	report->head = memory;
	report->processes = (void *)(report->head + 1);
	report->ports = (void *)(report->processes + reply.status.processes);
	report->threads = (void *)(report->ports + reply.status.ports);
	if (report_valid(report, &reply))
		return 0;
	node_report_free(report);
	return -EPROTO;
}

void node_report_free(struct node_report *report)
{
	free(report->head);
	report->head = NULL;
}

/* ---- listening nodes, by /proc/net/unix ---- */

/*
 * Returns the node's name in a line of /proc/net/unix, or NULL. Accepted
 * connections have the name too, but do not listen.
 */
static const char *line_name(char *line)
{
	unsigned flags;
	char prefix[2][64];
	if (sscanf(line, "%*s %*s %*s %x", &flags) != 1 ||
		!(flags & 0x10000)) /* __SO_ACCEPTCON */
		return NULL;
	line[strcspn(line, "\n")] = 0;
	snprintf(
		prefix[0], sizeof(prefix[0]), " @cay/%u/", (unsigned)geteuid());
	snprintf(prefix[1], sizeof(prefix[1]),
		" " NODE_DIRECTORY "/" NODE_SOCKET, (unsigned)geteuid());
	for (unsigned i = 0; i < ARRAY_COUNT(prefix); i++) {
		const char *at = strstr(line, prefix[i]);
		if (at && node_name_valid(at + strlen(prefix[i])))
			return at + strlen(prefix[i]);
	}
	return NULL;
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

bool node_client_any(bool (*visit)(const char *, void *), void *argument)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char *line = NULL, (*names)[NODE_NAME_MAX] = NULL;
	size_t capacity = 0, count = 0;
	bool found = false;

	while (f && getline(&line, &capacity, f) > 0) {
		const char *name = line_name(line);
		void *grown =
			name ? reallocarray(names, count + 1, sizeof(*names))
			     : NULL;
		if (!grown)
			continue;
		names = grown;
		snprintf(names[count++], sizeof(*names), "%s", name);
	}
	free(line);
	if (f)
		fclose(f);
	/* A node may have two sockets. */
	if (count)
		qsort(names, count, sizeof(*names), name_compare);
	for (size_t i = 0; i < count && !found; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			found = visit(names[i], argument);
	free(names);
	return found;
}

/* Adds a name, or "..." and returns true if few bytes are left. */
static bool name_list(const char *name, void *argument)
{
	char *text = argument;
	size_t used = strlen(text);
	bool last = used + NODE_NAME_MAX + 8 > NODE_NAMES_BYTES;
	snprintf(text + used, NODE_NAMES_BYTES - used, "%s%s", used ? ", " : "",
		last ? "..." : name);
	return last;
}

const char *node_client_names(char text[NODE_NAMES_BYTES])
{
	*text = 0;
	node_client_any(name_list, text);
	if (*text == 0)
		strcpy(text, "none is running");
	return text;
}

static bool name_is(const char *name, void *argument)
{
	return strcmp(name, argument) == 0;
}

bool node_client_listens(const struct node_address *a)
{
	return node_client_any(name_is, (void *)a->name);
}
