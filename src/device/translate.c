/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation: from a checked window and offset to memory. Arena memory is a
 * pointer; private memory of the owner is accessed through the kernel, and if
 * the kernel denies that, or the access must be atomic, it must be emulated:
 * -EXDEV.
 */

/* Memory of the owner is outside of the arena: the sum wraps around. */
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

/* Returns 0, a positive enum cay_error, or -EXDEV. */
__attribute__((cold, noinline)) static int translate_process(struct context *to,
	const struct access *a, void *local, uint64_t bytes, bool write)
{
	/* Relaxed: a thread that misses it tries the kernel once more. */
	if (private_load32(&to->process_memory_denied))
		return -EXDEV;
	int r = host_process(&a->owner, a->at, local, bytes, write);
	if (r == -EPERM || r == -ENOSYS || r == -ESRCH) {
		/* ESRCH: the process is gone, or in another PID namespace. */
		private_store32(&to->process_memory_denied, 1);
		return -EXDEV;
	}
	return r ? CAY_ERROR_MEMORY : 0;
}

/*
 * Translates to memory of this process, for an emulated access. The application
 * may have unmapped the memory of the window: then the access fails, and must
 * not fault. Returns 0 or a positive enum cay_error.
 */
static inline int translate_own(const struct context *own,
	const struct packet *p, const struct origin_window *window,
	struct access *a)
{
	if (!bits_inside(p->offset, p->length, window->length))
		return CAY_ERROR_TARGET_BOUNDS;
	bool write = window_right(p->command) != CAY_RIGHT_READ;
	if (!host_mapped(window->base + p->offset, p->length, write))
		return CAY_ERROR_MEMORY;
	a->owner.pid = 0;
	a->at = (uintptr_t)window->base + p->offset -
		(uintptr_t)own->arena->base;
	return 0;
}
