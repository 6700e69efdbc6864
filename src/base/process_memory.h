/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to the memory of another process through the kernel. The process is
 * identified by its process ID and by a cookie, a random number at a known
 * address, which detects that the process ID has been reused. Thread-safe;
 * does not block.
 */
#ifndef CAY_BASE_PROCESS_MEMORY_H
#define CAY_BASE_PROCESS_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bits.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Maximum number of bytes per system call. */
#define PROCESS_MEMORY_BYTES_MAX (1ull << 30)

struct process_memory {
	uint32_t pid;
	uint32_t cookie;
	uint64_t cookie_address;
};

static inline struct iovec process_memory_at(uint64_t address, uint64_t bytes)
{
	return (struct iovec){ (void *)(uintptr_t)address, bytes };
}

static inline int process_memory_result(ssize_t n, uint64_t bytes)
{
	if (n < 0)
		return -errno;
	return (uint64_t)n == bytes ? 0 : -EFAULT;
}

/* Reads the cookie in the same call as the data. */
static inline int process_memory_read_some(
	const struct process_memory *p, uint64_t at, void *to, uint64_t bytes)
{
	uint32_t cookie = 0;
	struct iovec local[2] = { { &cookie, sizeof(cookie) }, { to, bytes } };
	struct iovec remote[2] = { process_memory_at(
					   p->cookie_address, sizeof(cookie)),
		process_memory_at(at, bytes) };
	unsigned long count = bytes ? 2 : 1;
	int r = process_memory_result(
		process_vm_readv((pid_t)p->pid, local, count, remote, count, 0),
		sizeof(cookie) + bytes);
	if (r)
		return r;
	return cookie == p->cookie ? 0 : -ESRCH;
}

/*
 * Returns 0, -EPERM (not permitted), -ESRCH (the process has exited), -EFAULT
 * (the memory is not mapped), or -ENOMEM. With 0 bytes only reads the cookie.
 */
static inline int process_memory_read(
	const struct process_memory *p, uint64_t at, void *to, uint64_t bytes)
{
	uint64_t done = 0;
	do {
		uint64_t some =
			bits_min(bytes - done, PROCESS_MEMORY_BYTES_MAX);
		int r = process_memory_read_some(
			p, at + done, (void *)((uintptr_t)to + done), some);
		if (r)
			return r;
		done += some;
	} while (done < bytes);
	return 0;
}

/*
 * The same for writing. The process could exit and its process ID be reused
 * between the check of the cookie and the copy. That would need a wrap-around
 * of all process IDs, and only a process that this one may ptrace is affected.
 */
static inline int process_memory_write(const struct process_memory *p,
	uint64_t at, const void *from, uint64_t bytes)
{
	int r = process_memory_read(p, 0, NULL, 0);
	for (uint64_t done = 0; r == 0 && done < bytes;) {
		uint64_t some =
			bits_min(bytes - done, PROCESS_MEMORY_BYTES_MAX);
		struct iovec local = { (void *)((uintptr_t)from + done), some };
		struct iovec remote = process_memory_at(at + done, some);
		r = process_memory_result(process_vm_writev((pid_t)p->pid,
						  &local, 1, &remote, 1, 0),
			some);
		done += some;
	}
	return r;
}

/*
 * Returns true if this process may read or write the range, and populates its
 * pages. Also true if the kernel has no MADV_POPULATE (before Linux 5.14).
 */
static inline bool process_memory_mapped(
	const void *at, uint64_t bytes, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)at & ~(page - 1);
	uintptr_t end = bits_round_up((uintptr_t)at + bytes, page);
	/* A length of 0 only tests whether the kernel knows the advice. */
	return bytes == 0 || madvise((void *)from, end - from, advice) == 0 ||
	       madvise((void *)from, 0, advice) != 0;
}

#endif
