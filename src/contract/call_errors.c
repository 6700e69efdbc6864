/* SPDX-License-Identifier: BSD-2-Clause */
/* What an error number means for the call that returned it, and what to do. */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cay/error.h"

#define SENDS                                                                 \
	" cay_send cay_send_tagged cay_sendv cay_sendv_tagged cay_send_wait " \
	"cay_send_burst cay_reply "
#define ACCESSES                                                          \
	" cay_put cay_put_masked cay_get cay_fetch_add cay_compare_swap " \
	"cay_fetch_add_into cay_compare_swap_into "
#define RESOLVES                                                    \
	" cay_peer_resolve cay_peer_lookup cay_peer_resolve_start " \
	"cay_peer_lookup_start "
#define LOCKS " cay_window_lock cay_window_unlock "

#define ULTRA_STARTS                                      \
	" cay_ultra_accept_start cay_ultra_connect_start" \
	" cay_ultra_continue "
#define ULTRA_SETUP    " cay_ultra_accept cay_ultra_connect " ULTRA_STARTS
#define ULTRA_RECEIVES " cay_ultra_recv cay_ultra_peek "

/* The first line that fits decides; NULL fits all calls. */
static const struct call_error {
	const char *calls; /* names between spaces */
	int error;
	const char *text;
} call_errors[] = {
	/* ---- ports ---- */
	{ " cay_event_fetch ", EINVAL,
		"the event is not that of a message, or the message was "
		"fetched before" },
	{ " cay_event_fetch ", EFAULT,
		"the buffer cannot be written: fetch the message again, into "
		"another" },
	{ " cay_event_fetch ", EPIPE,
		"the sender is gone, and with it the memory that it lent" },
	{ " cay_event_fetch ", EREMOTEIO,
		"the memory of the sender can no longer be read: the sender "
		"has got an error event and can send the message again" },
	{ " cay_port_open ", EINVAL,
		"an option is invalid: look at its sizes, its flags and the "
		"characters of its names, also in CAY_NODE and CAY_REALM" },
	{ " cay_port_open ", EOPNOTSUPP,
		"a flag of the options is reserved: open the port without it" },
	{ " cay_port_open ", ENOSPC,
		"the node has no VPID or no arena space left: close ports, "
		"request smaller queues, or serve a node with a larger arena" },
	{ " cay_port_open ", EEXIST,
		"another port of the realm has this name: choose another" },
	{ " cay_port_open ", EPERM,
		"another user has the socket name of the node: set CAY_NODE to "
		"another name" },
	{ " cay_port_open ", ENOSYS,
		"the kernel or a system call filter refuses memfd_create(2) to "
		"the node: run 'cay doctor'" },
	{ " cay_port_open ", EPROTONOSUPPORT,
		"the node has another version: close its ports, or set "
		"CAY_NODE to start one of this version" },
	{ " cay_port_open ", EPROTO,
		"the socket of this name is not that of a node of Cay, or its "
		"arena is corrupt: set CAY_NODE to another name" },
	{ " cay_port_open ", EBADMSG,
		"the socket of this name is not that of a node of Cay, or its "
		"arena is corrupt: set CAY_NODE to another name" },
	{ " cay_port_open ", ETIMEDOUT,
		"the node did not start or reply in time: try again, or run "
		"'cay doctor'" },
	{ " cay_port_open ", ENOENT,
		"the program cay, which runs the node, was not found: install "
		"it or set CAY_NODE_PROGRAM" },
	{ " cay_port_open ", ENOEXEC,
		"the program of the node cannot be executed or has failed: run "
		"'cay node serve' to see why" },
	{ " cay_port_open ", EFBIG,
		"the limit of file sizes is below the size of an arena: raise "
		"RLIMIT_FSIZE (ulimit -f)" },
	{ " cay_port_open cay_port_fd ", EMFILE,
		"this process or the node has too many descriptors: raise "
		"RLIMIT_NOFILE (ulimit -n)" },
	{ " cay_port_open cay_port_fd ", ENFILE,
		"the machine has too many open files: raise fs.file-max" },
	{ " cay_port_open ", ENOMEM,
		"no memory or address space for the arena: look at RLIMIT_AS, "
		"the cgroup's limit and vm.max_map_count" },
	{ " cay_port_open ", EDQUOT,
		"a quota of the node is used up: close ports, or raise it with "
		"'cay node serve --quota'" },
	{ " cay_port_close cay_window_close ", ETIMEDOUT,
		"an access of a peer is still in progress: do not reuse the "
		"memory of the windows" },
	{ " cay_window_revoke ", ETIMEDOUT,
		"an access with an old key is still in progress: call again" },
	{ " cay_port_close cay_window_close cay_window_revoke ", EOPNOTSUPP,
		"no membarrier(2) shows whether accesses are in progress: do "
		"not reuse the memory" },
	{ " cay_port_arm ", EBADF, "call cay_port_fd() before" },
	{ " cay_port_arm ", EAGAIN, "there is an event: poll, then arm again" },
	{ " cay_port_arm cay_wait ", ENOTCONN,
		"the node has closed the port: close it and open another" },
	{ " cay_port_arm cay_wait cay_poll ", ENOMEM,
		"no memory for the queues or a long message: free some and "
		"call again" },

	/* ---- peers ---- */
	{ RESOLVES, ENXIO, "no open port has this address or name" },
	{ " cay_peer_lookup ", ETIMEDOUT,
		"no port had this name before the deadline, or the node did "
		"not "
		"reply: start the port, or look at realm and node of both" },
	{ " cay_peer_resolve cay_reply cay_alloc cay_port_fd cay_window_map "
	  "cay_window_unmap ",
		ETIMEDOUT,
		"the node has not replied for ten seconds, because it is "
		"stopped or gets no processor time: try again" },
	{ RESOLVES " cay_reply ", EHOSTUNREACH,
		"the address belongs to another node: both ports must use the "
		"same CAY_NODE" },
	{ RESOLVES, EACCES,
		"the port is in another realm, or this port was disabled for "
		"thousands of invalid keys" },
	{ RESOLVES " cay_reply ", ENOSPC,
		"the peer table is full: release peers, or open the port with "
		"a larger cay_port_options.peers" },
	{ RESOLVES " cay_reply ", EDQUOT,
		"this process or its realm has used its quota of peers: "
		"release some, or raise it with 'cay node serve --quota'" },
	{ " cay_peer_lookup ", EINVAL,
		"the name is invalid: 1 to 63 letters, digits and ._:@+-" },
	{ " cay_peer_resolve_start ", EAGAIN,
		"too many resolutions are under way: poll and try again" },

	/* ---- messages ---- */
	{ " cay_send_wait ", ETIMEDOUT,
		"a queue was full until the deadline: does the receiver poll, "
		"and this port too?" },
	{ SENDS, EAGAIN,
		"a queue is full, or the target has not released as many long "
		"messages as may be in flight: poll this port, then try "
		"again" },
	{ ACCESSES, EAGAIN, "a queue is full: poll this port, then try again" },
	{ SENDS ACCESSES, EPIPE,
		"the peer has closed its port or died: release the handle" },
	{ " cay_reply ", EINVAL,
		"the event has no sender, or a flag is unknown" },
	{ SENDS, EINVAL,
		"a flag or the number of pieces is invalid, or the peer is not "
		"one of this port" },
	{ SENDS, EMSGSIZE,
		"the message is longer than the arena or a quota of the node "
		"permits: send it in parts" },
	{ SENDS, EFAULT, "data is NULL, but the length is not 0" },
	{ SENDS ACCESSES " cay_cancel ", ENOBUFS,
		"too many threads of this process issue operations: end some" },
	{ SENDS, ENOTCONN,
		"a long message needs the node, which has exited: send shorter "
		"ones, or close the port and open another" },
	{ SENDS, ENOMEM,
		"no memory for the message: free memory of cay_alloc(), or "
		"send it in parts" },
	{ ACCESSES, ENOMEM, "no memory for an operation in flight" },
	{ " cay_send_wait cay_wait ", EINTR,
		"a signal handler ran: call again" },
	{ " cay_poll ", EINVAL,
		"max is negative, or there is no array for the events" },
	{ " cay_wait ", EAGAIN, "there is no event, and the deadline is 0" },
	{ " cay_wait ", ETIMEDOUT, "there was no event before the deadline" },

	/* ---- posted receives and memory ---- */
	{ " cay_receive_mode ", EINVAL, "the receive mode is unknown" },
	{ " cay_receive_post ", EINVAL, "the buffer has no length" },
	{ " cay_receive_post ", ENOMEM, "no memory for the list of buffers" },
	{ " cay_receive_post ", EAGAIN,
		"as many buffers as cay_port_options.posted are posted, or "
		"filled and not polled: poll" },
	{ " cay_receive_post ", EFAULT,
		"the buffer is not writable, or begins or ends in memory of "
		"cay_alloc() that is not one block of this process" },
	{ " cay_offset ", EFAULT,
		"the range is not inside one block that cay_alloc() gave to "
		"this process" },
	{ " cay_alloc ", EINVAL,
		"the size is 0 or too large, or a flag is unknown" },
	{ " cay_alloc ", ENOSPC,
		"the arena is full: free memory, or serve a node with a larger "
		"arena" },
	{ " cay_alloc ", ENOMEM, "no memory for the record of the block" },
	{ " cay_alloc ", EDQUOT,
		"a quota of the node is used up: free memory, or raise it with "
		"'cay node serve --quota'" },

	/* ---- remote memory ---- */
	{ ACCESSES, EINVAL,
		"a flag is unknown, the key has reserved bits or a Win-ID out "
		"of range, or the peer is not one of this port" },
	{ ACCESSES, EFAULT, "the local address is NULL" },
	{ ACCESSES, EMSGSIZE, "the length is too large: use several accesses" },
	{ ACCESSES, ENOTCONN,
		"the access must be emulated, which needs the node, and that "
		"has exited" },
	{ " cay_flush ", EREMOTEIO,
		"an access has failed since the last flush: its completion "
		"event has the reason" },
	{ " cay_flush ", EAGAIN,
		"operations are in flight, and the deadline is 0" },
	{ " cay_flush ", ETIMEDOUT,
		"operations were in flight until the deadline: does the peer "
		"poll?" },
	{ " cay_flush ", ENOTCONN,
		"the node has exited, and the peer completes nothing: close "
		"the port" },
	{ " cay_flush ", EINVAL, "the peer is not one of this port" },

	/* ---- windows ---- */
	{ " cay_window_open ", EINVAL,
		"no or unknown rights, or an invalid length" },
	{ " cay_window_open ", EFAULT,
		"the memory is NULL, or arena memory that is not inside one "
		"block that cay_alloc() gave to this process; or the place for "
		"the handle is NULL" },
	{ " cay_peer_resolve cay_peer_lookup cay_port_stats cay_window_key "
	  "cay_window_revoke cay_window_map ",
		EFAULT, "the place for the result is NULL" },
	{ " cay_window_key cay_window_revoke ", EINVAL, "the window is NULL" },
	{ " cay_window_open ", ENOSPC,
		"as many windows as cay_port_options.windows are open: close "
		"one" },
	{ " cay_window_open ", ENOMEM, "no memory for the window" },
	{ " cay_window_open cay_window_revoke ", EAGAIN,
		"the kernel has no random numbers for a key yet: try again" },
	{ " cay_window_close cay_window_revoke ", ENOTCONN,
		"the node, which alone detects accesses in progress, has "
		"exited: do not reuse the memory" },
	{ " cay_window_close cay_window_revoke ", EBUSY,
		"a living process has mapped the window: try again when it has "
		"unmapped it" },
	{ LOCKS, EAGAIN,
		"another port has locked the window, and the deadline is 0" },
	{ LOCKS, ETIMEDOUT,
		"another port held the lock, or had an access in progress, "
		"until the deadline" },
	{ LOCKS, EALREADY, "this port has locked the window already" },
	{ LOCKS, EACCES,
		"the key is invalid, or this port was disabled for thousands "
		"of invalid keys" },
	{ LOCKS, ENXIO, "the peer has no such window: it may be closed" },
	{ LOCKS, EPIPE, "the owner of the window has closed its port or died" },
	{ " cay_window_lock ", EPERM, "the lock was lost while waiting" },
	{ " cay_window_unlock ", EPERM, "this port has not locked the window" },
	{ LOCKS, EOPNOTSUPP,
		"no membarrier(2) reaches all processes of the realm" },
	{ LOCKS, EINVAL,
		"the key has reserved bits, or the peer is not one of this "
		"port" },
	{ LOCKS, ENOMEM, "the node has no memory for the lock" },

	{ " cay_window_lock ", EBUSY,
		"a process has a window on this memory mapped: try again when "
		"it has unmapped it" },
	{ " cay_window_map ", EACCES,
		"the key is invalid, the window lacks the right to read, to "
		"write or for atomics, or this port was disabled" },
	{ " cay_window_map ", EOPNOTSUPP,
		"the memory of the window does not come from cay_alloc(): use "
		"cay_put() and cay_get()" },
	{ " cay_window_map ", EBUSY,
		"the window is locked: try again when it is unlocked" },
	{ " cay_window_map ", ENXIO,
		"the peer has no such window: it may be closed" },
	{ " cay_window_map ", EPIPE,
		"the owner of the window has closed its port or died" },
	{ " cay_window_lock ", EDQUOT,
		"this process or its realm has used its quota of peers: close "
		"ports or release peers, or raise it with 'cay node serve "
		"--quota'" },
	{ " cay_window_map ", EDQUOT,
		"this process or its realm has used its quota of mappings: "
		"unmap some, or raise it with 'cay node serve --quota'" },
	{ " cay_window_unmap ", EINVAL,
		"this process has no window mapped at this address" },

	/* ---- ULTRA ---- */
	{ ULTRA_SETUP, EFAULT, "the place for the handle is NULL" },
	{ ULTRA_SETUP, ENXIO, "no port has this address: it may be closed" },
	{ ULTRA_SETUP, EHOSTUNREACH, "the address is that of another node" },
	{ ULTRA_SETUP, EDQUOT,
		"this process or its realm has used its quota of paths, or of "
		"paths that are not connected: close some, or raise it with "
		"'cay node serve --quota'" },
	{ ULTRA_SETUP, ENOSPC,
		"the node has no UPID left: close paths that are not used" },
	{ ULTRA_SETUP, EMFILE,
		"this process or the node has no file descriptor left: raise "
		"RLIMIT_NOFILE" },
	{ ULTRA_SETUP, ENFILE,
		"the system has no file descriptor left: raise fs.file-max" },
	{ ULTRA_STARTS, EAGAIN,
		"the node has not replied yet, or the port offers no path yet: "
		"call cay_ultra_continue() again" },
	{ " cay_ultra_connect ", EAGAIN,
		"the port offers no path to this port now, and the deadline is "
		"0: it must call cay_ultra_accept()" },
	{ " cay_ultra_connect ", ETIMEDOUT,
		"the port offered no path to this port until the deadline: it "
		"must call cay_ultra_accept(), and name this port if it is in "
		"another realm" },
	{ " cay_ultra_connect ", EPIPE,
		"the target has closed the path while it was set up" },
	{ " cay_ultra_accept ", ETIMEDOUT,
		"the node does not reply: it is stopped or has no processor "
		"time" },
	{ " cay_ultra_accept ", EINVAL,
		"a slice has at most 4096 bytes, or the port is NULL" },
	{ " cay_ultra_send ", EAGAIN,
		"all slices of the path are in use, or the port's queue has no "
		"room for the event: wait and retry" },
	{ " cay_ultra_send ", EMSGSIZE,
		"the message is longer than the slices of the path allow: "
		"accept a path with larger slices, or use cay_send()" },
	{ " cay_ultra_send ", EPIPE,
		"the target has closed its end or died: close the path" },
	{ " cay_ultra_send ", ENOBUFS,
		"more threads of this process issue operations than the node "
		"has records for: use fewer" },
	{ " cay_ultra_send ", EFAULT, "the data is NULL but has a length" },
	{ " cay_ultra_send ", EINVAL,
		"a flag is invalid, or this is the target's end of the path" },
	{ ULTRA_RECEIVES, EAGAIN, "there is no message: call cay_wait()" },
	{ ULTRA_RECEIVES, EMSGSIZE,
		"the buffer is shorter than the message, which stays: use a "
		"larger one" },
	{ ULTRA_RECEIVES, EPIPE,
		"the origin has closed its end or died, and everything is "
		"received: close the path" },
	{ ULTRA_RECEIVES, EFAULT, "the place for the message is NULL" },
	{ ULTRA_RECEIVES, EINVAL, "this is the origin's end of the path" },
	{ ULTRA_RECEIVES " cay_ultra_send ", EBADMSG,
		"the other end has damaged the path: close it" },
	{ " cay_ultra_status ", EINVAL,
		"the path or the status is NULL, or its size is not set" },

	/* ---- raw API ---- */
	{ " cay_vci_post ", EFAULT, "the work request is NULL" },
	{ " cay_vci_post ", EAGAIN,
		"the work queue is full: trigger the posted requests" },

	/* ---- any call ---- */
	{ NULL, ECHILD,
		"the port was opened before fork(): open one in this process" },
	{ NULL, EACCES,
		"the port was disabled for thousands of invalid keys: close "
		"it" },
	{ NULL, ENOTCONN,
		"the node has exited: close the ports and open new ones" },
	{ NULL, ENOMEM, "no memory for this call: free some and call again" },
	{ NULL, EINVAL, "an argument of this call is invalid" },
};

/* Returns true if the list has the name between spaces. */
static bool calls_contain(const char *calls, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = calls; (at = strstr(at, name)); at += length)
		if (at > calls && at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

const char *cay_call_strerror(const char *call, int error)
{
	int e = error < 0 ? -error : error;
	/* A name that is no call, such as "open", gets the general text. */
	if (!call || strncmp(call, "cay_", 4) != 0)
		return cay_strerror(error);
	for (unsigned i = 0; i < ARRAY_COUNT(call_errors); i++)
		if (call_errors[i].error == e &&
			(!call_errors[i].calls ||
				calls_contain(call_errors[i].calls, call)))
			return call_errors[i].text;
	return cay_strerror(error);
}
