/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared mappings under Valgrind. The leak check of memcheck reads all memory
 * that is mapped readable and writable, and reading a hole of a memfd allocates
 * its page: an arena of 32 GiB would be allocated whole. The check skips
 * mappings without PROT_READ, and memory that is mapped with PROT_WRITE alone
 * can be read all the same.
 */
#ifndef CAY_BASE_VALGRIND_H
#define CAY_BASE_VALGRIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/*
 * The request RUNNING_ON_VALGRIND of <valgrind/valgrind.h>: rotations that
 * leave a register unchanged, and an exchange of a register with itself, which
 * Valgrind recognizes. The processor executes them without effect.
 */
static inline bool valgrind_running(void)
{
#if defined(__x86_64__)
	uint64_t request[6] = { 0x1001 };
	uint64_t result = 0;
	__asm__ volatile("rolq $3, %%rdi ; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi ; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(request)
			 : "cc", "memory");
	return result != 0;
#else
	return false;
#endif
}

/* Protection for a mapping of an arena. */
static inline int valgrind_arena_protection(void)
{
	return valgrind_running() ? PROT_WRITE : PROT_READ | PROT_WRITE;
}

#endif
