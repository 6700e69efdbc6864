/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets of a node, and the election: of all processes that start a node
 * of one name, one listens.
 *
 * In the user's directory the election is under an flock() of the directory: if
 * no node answers at the path, the holder replaces a dead socket there. The
 * lock ends with the election, so a node that is killed later leaves its
 * socket behind, and nothing else. The node listens on the abstract name, too,
 * for clients that do not see the directory; if another user has taken that
 * name, the path suffices.
 *
 * Without a directory, binding the abstract name is the election.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/client.h"
#include "node/node.h"

#define LISTEN_BACKLOG	  4096
#define LISTEN_LOCK_NS	  (5 * CLOCK_NS_PER_S)
#define LISTEN_HOLDER_NAP (5 * CLOCK_NS_PER_MS)

/*
 * The time that a process which has bound the abstract name may take to listen,
 * or to exit. With a path it is another user's as a rule, because a node of
 * this user binds the name under the lock, and the path suffices. Without one
 * the result is final, and a node of this user may be preempted meanwhile.
 */
#define LISTEN_HOLDER_NS       (200 * CLOCK_NS_PER_MS)
#define LISTEN_HOLDER_ALONE_NS (2 * CLOCK_NS_PER_S)

static int socket_listen(const struct sockaddr_un *address, socklen_t length)
{
	int s = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s >= 0 && bind(s, (const struct sockaddr *)address, length) == 0 &&
		listen(s, LISTEN_BACKLOG) == 0)
		return s;
	int r = -errno;
	if (s >= 0)
		close(s);
	return r;
}

/*
 * Returns a socket, or -errno: -EEXIST if a process of this user listens,
 * -EAGAIN if the listener is unknown because its backlog is full, -EPERM if
 * another user has bound the name.
 */
static int abstract_listen(const struct node_address *a)
{
	uint64_t deadline = clock_after_ns(
		a->path_length ? LISTEN_HOLDER_NS : LISTEN_HOLDER_ALONE_NS);
	for (;;) {
		struct ucred holder;
		int s = socket_listen(&a->address, a->length);
		if (s != -EADDRINUSE)
			return s;
		int r = client_holder(a, &holder);
		if (r == 0)
			return holder.uid == geteuid() ? -EEXIST : -EPERM;
		/* Refused: it may be between bind() and listen(), or exit. */
		if (r != -ECONNREFUSED)
			return r;
		if (clock_passed(deadline))
			return -EPERM;
		clock_nap_ns(LISTEN_HOLDER_NAP);
	}
}

/* Returns the locked directory, or -errno. */
static int directory_lock(void)
{
	char path[sizeof(NODE_DIRECTORY) + 10];
	struct stat st;
	uint64_t deadline = clock_after_ns(LISTEN_LOCK_NS);
	snprintf(path, sizeof(path), NODE_DIRECTORY, (unsigned)geteuid());
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) != 0	    ? -errno
		: node_directory_valid(&st) ? 0
					    : -EPERM;
	while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			r = -errno;
		else if (clock_passed(deadline))
			r = -ETIMEDOUT;
		else
			clock_nap_ns(CLOCK_NS_PER_MS);
	}
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* Under the lock. Returns a socket, or -errno: -EEXIST if a node listens. */
static int path_listen(const struct node_address *a)
{
	struct stat st;
	int r = client_probe_path(a);
	if (r == 0 || r == -EAGAIN)
		return -EEXIST;
	/* The socket of a node that was killed. */
	if (r == -ECONNREFUSED && lstat(a->path.sun_path, &st) == 0 &&
		S_ISSOCK(st.st_mode))
		unlink(a->path.sun_path);
	return socket_listen(&a->path, a->path_length);
}

int listen_open(struct node *n, const struct node_address *a)
{
	if (!a->path_length) {
		int s = n->listener = abstract_listen(a);
		return s >= 0 ? 0 : s == -EEXIST || s == -EAGAIN ? 1 : s;
	}
	int lock = directory_lock();
	if (lock < 0)
		return lock;
	int r = n->path_listener = path_listen(a);
	if (r >= 0) {
		struct stat st = { 0 };
		memcpy(n->path, a->path.sun_path, sizeof(n->path));
		lstat(n->path, &st);
		n->path_inode = st.st_ino;
		r = n->listener = abstract_listen(a);
		/* Another user's: the path suffices. */
		if (r == -EPERM || r == -EAGAIN)
			r = 0;
		if (r < 0)
			listen_close(n);
	}
	close(lock);
	return r == -EEXIST ? 1 : r < 0 ? r : 0;
}

void listen_close(struct node *n)
{
	struct stat st;
	/*
	 * While this node listens, no other replaces its socket; but the
	 * directory may have been removed, and made again, at a new login.
	 */
	if (n->path_listener >= 0) {
		if (lstat(n->path, &st) == 0 && st.st_ino == n->path_inode)
			unlink(n->path);
		close(n->path_listener);
	}
	if (n->listener >= 0)
		close(n->listener);
	n->listener = n->path_listener = -1;
}
