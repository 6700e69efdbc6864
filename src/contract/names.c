/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and sentences of the codes of the contract, and of errno values. */
#include "cay/error.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cay/contract.h"

struct error_words {
	const char *name, *text;
};

static const struct error_words errors[CAY_ERROR_COUNT] = {
	[CAY_ERROR_NONE] = { "none", "no error" },
	[CAY_ERROR_COMMAND] = { "invalid_command",
		"the command word, its length or its flags are not valid" },
	[CAY_ERROR_ORIGIN_VPID] = { "invalid_origin_vpid",
		"the origin's port number is not valid" },
	[CAY_ERROR_ROUTE] = { "invalid_route",
		"the route is empty or in no entry of the peer table: "
		"resolve" },
	[CAY_ERROR_ORIGIN_WINDOW] = { "invalid_origin_window",
		"the origin window does not exist" },
	[CAY_ERROR_ORIGIN_BOUNDS] = { "outside_origin_window",
		"the access reaches outside the origin's memory" },
	[CAY_ERROR_ORIGIN_OFFSET_ALIGN] = { "misaligned_origin_offset",
		"word mode: the origin offset is not a multiple of 8" },
	[CAY_ERROR_ORIGIN_LENGTH_ALIGN] = { "misaligned_origin_length",
		"word mode: the length is not a multiple of 8" },
	[CAY_ERROR_TARGET_VPID] = { "invalid_target_vpid",
		"the target VPID is not the one that the route leads to" },
	[CAY_ERROR_TARGET_WINDOW] = { "invalid_target_window",
		"the target window does not exist" },
	[CAY_ERROR_CAPABILITY] = { "wrong_capability",
		"the capability is not the target window's" },
	[CAY_ERROR_TARGET_BOUNDS] = { "outside_target_window",
		"the access reaches outside the target window" },
	[CAY_ERROR_TARGET_OFFSET_ALIGN] = { "misaligned_target_offset",
		"the target offset is not aligned as the command needs it" },
	[CAY_ERROR_TARGET_LENGTH_ALIGN] = { "misaligned_target_length",
		"word mode: the length is not a multiple of 8" },
	[CAY_ERROR_UNREACHABLE] = { "unreachable",
		"the route is broken or the target cannot be reached" },
	[CAY_ERROR_POSTED_PHYSICAL] = { "posted_physical",
		"posted receive: a physical address is not allowed" },
	[CAY_ERROR_POSTED_ADDRESS] = { "posted_address",
		"posted receive: the address is not valid" },
	[CAY_ERROR_POSTED_TRUNCATED] = { "posted_truncated",
		"posted receive: the message was longer than the buffer" },
	[CAY_ERROR_ORIGIN_LOCKED] = { "origin_locked",
		"the origin window is locked" },
	[CAY_ERROR_TARGET_LOCKED] = { "target_locked",
		"the target window is locked" },
	[CAY_ERROR_RIGHTS] = { "no_rights",
		"the target window's rights do not allow it" },
	[CAY_ERROR_GONE] = { "peer_gone", "the peer has closed or died" },
	[CAY_ERROR_TIMEOUT] = { "timeout",
		"the operation was cancelled or timed out" },
	[CAY_ERROR_REALM] = { "realm_denied",
		"the realms of the two ports do not allow it" },
	[CAY_ERROR_NO_RESOURCES] = { "no_resources",
		"a queue or a table is full" },
	[CAY_ERROR_MEMORY] = { "memory_access",
		"the memory cannot be accessed in this way" },
};

const char *cay_error_name(unsigned code)
{
	return code < CAY_ERROR_COUNT ? errors[code].name : "unknown";
}

const char *cay_error_text(unsigned code)
{
	return code < CAY_ERROR_COUNT ? errors[code].text
				      : "not a code of the contract";
}

struct command_words {
	uint8_t command, ignored; /* bits that carry A and lengths */
	const char *name;
};

static const struct command_words commands[] = {
	{ CAY_NQE_INVALID, 0, "VOID" },
	{ CAY_FAST_SEND, 0xf, "FAST_SEND" },
	{ CAY_FAST_PUT, 0xb, "FAST_PUT" },
	{ CAY_FAST_GET, 0x3, "FAST_GET" },
	{ CAY_FAST_GET_RESPONSE, 0x3, "FAST_GET_RESPONSE" },
	{ CAY_MISALIGNED_PUT, 0x8, "MISALIGNED_PUT" },
	{ CAY_FAA, 0, "FAA" },
	{ CAY_FAA_RESPONSE, 0, "FAA_RESPONSE" },
	{ CAY_CAS, 0, "CAS" },
	{ CAY_CAS_RESPONSE, 0, "CAS_RESPONSE" },
	{ CAY_RESOLVE, 0, "RESOLVE" },
	{ CAY_SEND, 0x8, "SEND" },
	{ CAY_PUT, 0x8, "PUT" },
	{ CAY_GET, 0, "GET" },
	{ CAY_GET_RESPONSE, 0, "GET_RESPONSE" },
	{ CAY_NOTIFY_CC, 0, "NOTIFY_CC" },
	{ CAY_NOTIFY_RMA, 0, "NOTIFY_RMA" },
	{ CAY_NOTIFY_FAST_RECV, 0, "NOTIFY_FAST_RECV" },
	{ CAY_NOTIFY_RECV, 0, "NOTIFY_RECV" },
	{ CAY_NOTIFY_STATUS, 0, "NOTIFY_STATUS" },
	{ CAY_NOTIFY_POSTED_RECV, 0, "NOTIFY_POSTED_RECV" },
	{ CAY_NOTIFY_ULTRA, 0, "NOTIFY_ULTRA" },
	{ CAY_NOTIFY_BARRIER, 0, "NOTIFY_BARRIER" },
	{ CAY_NOTIFY_GONE, 0, "NOTIFY_GONE" },
	{ CAY_ACKNOWLEDGE, 0, "ACK" },
};

const char *cay_command_name(unsigned command)
{
	unsigned c = command & CAY_COMMAND_MASK;
	for (unsigned i = 0; i < ARRAY_COUNT(commands); i++)
		if ((c & ~commands[i].ignored) == commands[i].command)
			return commands[i].name;
	return "unknown";
}

struct errno_words {
	int error;
	const char *text;
};

static const struct errno_words errnos[] = {
	{ 0, "success" },
	{ EAGAIN, "nothing is ready, or a queue is full: poll and try again" },
	{ EREMOTEIO, "an access to remote memory was refused" },
	{ EPIPE, "the peer has closed its port or died" },
	{ ENOTCONN, "the node is gone: open the port again for a new one" },
	{ ECHILD, "the handle belongs to the parent process" },
	{ ENXIO, "no such port or window" },
	{ EACCES, "access is not permitted" },
	{ EHOSTUNREACH, "the address belongs to another node" },
	{ ETIMEDOUT, "the deadline has passed" },
	{ EPERM, "only the owner may do this" },
	{ EALREADY, "this port has done so already" },
	{ EPROTO, "the peer of the socket does not speak the control protocol "
		  "of Cay" },
	{ EPROTONOSUPPORT, "the node has another version" },
	{ EBADMSG, "the arena is damaged or too small" },
	{ EOPNOTSUPP, "this device does not have that feature" },
	{ ENOSPC, "a table or the arena is full" },
	{ EDQUOT, "a quota of the node is exhausted" },
	{ EEXIST, "the name is taken by another port" },
	{ ENOBUFS, "too many threads issue in this process" },
	{ EMFILE,
		"too many open descriptors: raise RLIMIT_NOFILE (ulimit -n)" },
	{ ENFILE, "too many open descriptors on this machine" },
	{ ENOMEM, "there is not enough memory or address space" },
	{ ENOENT, "the program cay was not found" },
	{ ENOEXEC, "the program of the node cannot be executed" },
	{ EFBIG, "the limit of file sizes is too low: raise RLIMIT_FSIZE "
		 "(ulimit -f)" },
	{ EINVAL, "an argument is not valid" },
	{ EMSGSIZE, "the message or access is too long" },
	{ E2BIG, "too many threads of the process are stuck in one queue" },
	{ EBUSY, "the object is still in use" },
	{ ESRCH, "no process with this number has ports here" },
	{ EFAULT, "the memory is not accessible to this call" },
	{ EBADF, "the port has no descriptor" },
	{ EINTR, "a signal handler interrupted the call" },
};

const char *cay_strerror(int error)
{
	int e = error < 0 ? -error : error;
	for (unsigned i = 0; i < ARRAY_COUNT(errnos); i++)
		if (errnos[i].error == e)
			return errnos[i].text;
	const char *description = strerrordesc_np(e);
	return description ? description : "unknown error";
}
