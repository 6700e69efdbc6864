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
	if (atomic_load_explicit(
		    &to->process_memory_denied, memory_order_relaxed))
		return -EXDEV;
	int r = host_process(&a->owner, a->at, local, bytes, write);
	if (r == -EPERM || r == -ENOSYS || r == -ESRCH) {
		/* Another PID namespace looks like a process that is gone. */
		atomic_store_explicit(
			&to->process_memory_denied, true, memory_order_relaxed);
		return -EXDEV;
	}
	return r ? CAY_ERROR_MEMORY : 0;
}

/*
 * Memory of this very process, for an access that its origin cannot make. The
 * application may have unmapped what the window was opened on: that is the
 * origin's error and not our end. 0 or a positive enum cay_error.
 */
static int translate_own(const struct context *own, const struct packet *p,
	const struct origin_window *window, struct access *a)
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
