/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another process's memory, through the kernel. The process is named by its
 * number and by a cookie, a random number that it keeps at a known address:
 * whatever process has that number by now, if the cookie fits it is the right
 * one. Any thread.
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

/* The kernel copies at most so much in one call. */
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

/* The cookie comes along in the same call, so nothing lies between. */
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
 * 0, -EPERM (the kernel forbids it), -ESRCH (that process is gone), -EFAULT
 * (it has no such memory), -ENOMEM. With 0 bytes only the cookie is read.
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
 * The same for writing. Between the look at the cookie and the copy lies an
 * instant in which the process could die and all process numbers come round:
 * its own realm is what it would then write to.
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
 * Does this process have memory there, that it may read or write? The pages are
 * there afterwards. A kernel that cannot tell (before 5.14) says yes.
 */
static inline bool process_memory_mapped(
	const void *at, uint64_t bytes, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)at & ~(page - 1);
	uintptr_t end = bits_round_up((uintptr_t)at + bytes, page);
	/* Of no bytes only whether the kernel knows the advice is checked. */
	return bytes == 0 || madvise((void *)from, end - from, advice) == 0 ||
	       madvise((void *)from, 0, advice) != 0;
}

#endif
