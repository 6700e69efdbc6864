/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Window locks: a process locks a window, which excludes all other ports, and
 * is killed. The lock passes to the next port that waits for it.
 *
 *	cc lock.c -o lock $(pkg-config --cflags --libs cay) && ./lock
 */
#include "example.h"

/* Locks the window, reports so, and keeps the lock. */
static int holder(
	struct cay_addr owner, struct cay_addr waiter, struct cay_key key)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *owner_peer, *waiter_peer;

	check("cay_peer_resolve", cay_peer_resolve(port, owner, &owner_peer));
	check("cay_peer_resolve", cay_peer_resolve(port, waiter, &waiter_peer));
	check("cay_window_lock",
		cay_window_lock(port, owner_peer, key, deadline()));
	check("cay_send", cay_send(port, waiter_peer, 0, NULL, 0, 0));
	/* Returns if the other process fails first: its ports are then gone. */
	return cay_wait(port, deadline()) == 0 ? 0 : 1;
}

/* Puts a word and returns the error of its completion. */
static int put(struct cay_port *port, struct cay_peer *owner,
	struct cay_key key, uint64_t word)
{
	check("cay_put",
		cay_put(port, owner, key, 0, &word, sizeof(word), 1, CAY_ACK));
	struct cay_event event = next_event(port);
	int error = event.error;
	cay_release(port, &event);
	return error;
}

int main(void)
{
	struct cay_port *owner = port_open(NULL);
	struct cay_port *waiter = port_open(NULL);
	struct cay_window *window;
	struct cay_peer *peer;
	struct cay_key key;

	uint64_t *memory = memory_alloc(owner, sizeof(*memory));
	check("cay_window_open", cay_window_open(owner, memory, sizeof(*memory),
					 CAY_RIGHT_WRITE, &window));
	check("cay_window_key", cay_window_key(window, &key));
	check("cay_peer_resolve",
		cay_peer_resolve(waiter, cay_port_addr(owner), &peer));

	pid_t pid = child_start();
	if (pid == 0)
		_exit(holder(cay_port_addr(owner), cay_port_addr(waiter), key));
	struct cay_event event = next_event(waiter);
	cay_release(waiter, &event);

	expect(put(waiter, peer, key, 1) == CAY_ERROR_TARGET_LOCKED &&
			*memory == 0,
		"a put is refused while another port has the lock");
	expect(cay_window_lock(waiter, peer, key, 0) == -EAGAIN,
		"the lock is not available");

	uint64_t start = now_ns();
	kill(pid, SIGKILL);
	int r = cay_window_lock(waiter, peer, key, deadline());
	printf("locked %.1f ms after its holder, process %d, was killed\n",
		(double)(now_ns() - start) / 1e6, (int)pid);
	expect(r == 0, "the lock passes to the next port");
	expect(put(waiter, peer, key, 2) == 0 && *memory == 2,
		"a put of the holder is accepted");
	check("cay_window_unlock", cay_window_unlock(waiter, peer, key));

	waitpid(pid, NULL, 0);
	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(waiter));
	check("cay_window_close", cay_window_close(window));
	cay_free(owner, memory);
	check("cay_port_close", cay_port_close(owner));
	return 0;
}
