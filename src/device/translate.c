/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation: from a window and an offset, already checked, to memory. What
 * the realm has mapped is a pointer; what is the owner's own goes through the
 * kernel, and where the kernel forbids that, or the access must be indivisible,
 * only the owner can make it: -EXDEV.
 */
/* Memory of the owner lies outside: its offset comes round, as it should. */
static inline unsigned char *translate_arena(
	const struct context *to, const struct access *a)
{
	return (unsigned char *)((uintptr_t)to->arena->base + a->at);
}

static inline _Atomic uint64_t *translate_word(
	const struct context *to, const struct access *a)
{
	return (_Atomic uint64_t *)(void *)translate_arena(to, a);
}

/* 0, a positive enum cay_error, or -EXDEV. */
__attribute__((cold, noinline)) static int translate_process(struct context *to,
	const struct access *a, void *local, uint64_t bytes, bool write)
{
	/* Relaxed: whoever misses it finds out once more. */
	if (atomic_load_explicit(&to->no_process, memory_order_relaxed))
		return -EXDEV;
	int r = host_process(&a->owner, a->at, local, bytes, write);
	if (r == -EPERM || r == -ENOSYS || r == -ESRCH) {
		/* Another PID namespace looks like a process that is gone. */
		atomic_store_explicit(
			&to->no_process, true, memory_order_relaxed);
		return -EXDEV;
	}
	return r ? CAY_ERROR_MEMORY : 0;
}
