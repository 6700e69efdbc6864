/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes of what separates the processes of one user: namespaces, by comparison
 * with the initial ones and with those of a running node, and the directory of
 * the user's sockets.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/doctor/probe.h"
#include "node/client.h"
#include "node/wire.h"

/* ---- namespaces ---- */

/* The number of an initial namespace is a constant of the kernel
 * (PROC_*_INIT_INO in linux/proc_ns.h); that of the network is not. */
static const struct space {
	const char *name;
	ino_t initial;	   /* 0: not known */
	const char *apart; /* the effect of differing from the node's */
} spaces[] = {
	{ "user", 0xeffffffd,
		"long messages are copied twice, because process_vm_readv is "
		"refused" },
	{ "pid", 0xeffffffc,
		"long messages are copied twice, because process numbers "
		"differ" },
	{ "net", 0, "abstract socket names differ" },
	{ "mnt", 0, "/run/user may differ" },
};

/* Returns the number of a process's namespace, or 0 if it cannot be read. */
static ino_t space_of(const char *process, const char *name)
{
	char path[64];
	struct stat s;
	snprintf(path, sizeof(path), "/proc/%s/ns/%s", process, name);
	return stat(path, &s) == 0 ? s.st_ino : 0;
}

/*
 * Returns the process number of a node as seen from here, 0 if it is in a pid
 * namespace that is not visible, or -1 if no node answers. The credentials of a
 * listening socket are those of the process that started the node; the kernel
 * adds those of the node itself to its reply.
 */
static pid_t node_process(const struct node_address *a)
{
	const struct node_request request = { .kind = NODE_STATUS };
	const struct timeval timeout = { .tv_sec = 2 };
	const int on = 1;
	struct node_reply reply;
	struct iovec data = { &reply, sizeof(reply) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.space) };
	struct ucred c = { .pid = -1 };
	int s = client_connect(a), fd;
	if (s < 0)
		return -1;
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (setsockopt(s, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
		wire_send(s, &request, sizeof(request), -1, 0) != 0 ||
		recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0)
		m.msg_controllen = 0;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_type == SCM_CREDENTIALS)
			memcpy(&c, CMSG_DATA(h), sizeof(c));
		if (h->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
		close(fd); /* the report */
	}
	close(s);
	return c.pid;
}

static void probe_namespaces(struct finding *f)
{
	char own[64] = "", apart[64] = "", node[16] = "";
	const char *effect = "";
	struct node_address a;
	pid_t pid = node_address(NULL, &a) == 0 ? node_process(&a) : -1;
	if (pid > 0)
		snprintf(node, sizeof(node), "%d", (int)pid);
	for (unsigned i = 0; i < ARRAY_COUNT(spaces); i++) {
		const struct space *s = &spaces[i];
		ino_t here = space_of("self", s->name);
		ino_t initial = s->initial ? s->initial
					   : space_of("1", s->name);
		ino_t there = pid > 0 ? space_of(node, s->name) : 0;
		size_t used = strlen(own);
		if (here && initial && here != initial)
			snprintf(own + used, sizeof(own) - used, "%s%s",
				used ? ", " : "", s->name);
		used = strlen(apart);
		if (!here || !there || here == there)
			continue;
		snprintf(apart + used, sizeof(apart) - used, "%s%s",
			used ? ", " : "", s->name);
		effect = *effect ? effect : s->apart;
	}
	/* Reading the link takes the permission of process_vm_readv. */
	bool refused = pid > 0 && !space_of(node, spaces[0].name);
	if (pid == 0) {
		finding_set(f, PROBE_WARN,
			"node '%s' runs in a pid namespace that is not visible "
			"here: %s",
			a.name, spaces[1].apart);
		finding_advise(f, "share the pid namespace of the containers "
				  "(--pid=host, shareProcessNamespace), or "
				  "send long messages from cay_alloc() memory");
	} else if (refused || *apart) {
		finding_set(f, PROBE_WARN,
			"node '%s' has other namespaces (%s): %s", a.name,
			refused ? "user" : apart,
			refused ? spaces[0].apart : effect);
		finding_advise(f, "start the node and its users in one "
				  "container, or share these namespaces");
	} else if (*own) {
		finding_set(
			f, PROBE_OK, "own namespaces (a container): %s", own);
		finding_advise(f,
			"processes of two containers share a node if they "
			"share the net namespace, and copy long messages once "
			"if they share pid and user too");
	} else {
		finding_set(f, PROBE_OK, "the initial user and pid namespace");
	}
}

/* ---- directory of the user's sockets ---- */

static void probe_run_directory(struct finding *f)
{
	char path[64];
	struct stat s;
	const char *wrong = NULL;
	snprintf(path, sizeof(path), "/run/user/%u", (unsigned)geteuid());
	if (lstat(path, &s) != 0)
		wrong = strerror(errno);
	else if (!S_ISDIR(s.st_mode))
		wrong = "not a directory";
	else if (s.st_uid != geteuid())
		wrong = "it belongs to another user";
	else if (s.st_mode & (S_IRWXG | S_IRWXO))
		wrong = "other users have access to it";
	if (!wrong) {
		finding_set(f, PROBE_OK, "%s is this user's alone", path);
		return;
	}
	finding_set(f, PROBE_WARN,
		"%s: %s; nodes have abstract socket names only, which another "
		"user may take first",
		path, wrong);
	finding_advise(f,
		"log in through systemd-logind (loginctl enable-linger), or as "
		"root: install -d -m 700 -o %u %s",
		(unsigned)geteuid(), path);
}

static const struct probe probes[] = {
	{ "namespaces", probe_namespaces },
	{ "run directory", probe_run_directory },
};

const struct probe_group probe_isolation = { probes, ARRAY_COUNT(probes) };
