/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows: finds and checks the window descriptor of an access, and notifies
 * the owner of accesses and refusals if it has requested that. The checks are
 * in the order of the contract: window, capability, rights, lock, bounds,
 * alignment.
 *
 *	window_enter()	stores the window in the op record, checks, claims the
 *			entry of the notification
 *	... the access
 *	window_leave()	publishes that entry, clears the record
 */

/* A granted access: the memory, its rights, and the notification. */
struct access {
	uint64_t at; /* offset in the arena, or address in the owner */
	uint32_t rights;
	struct process_memory owner; /* pid 0: the arena */
	struct claim claim;	     /* if `notifies` */
	bool notifies;		     /* the owner requested a notification */
};

static inline const _Atomic uint64_t *window_word(const uint64_t *word)
{
	return (const _Atomic uint64_t *)word;
}

/* Returns the right that a command needs. */
static inline uint32_t window_right(unsigned command)
{
	if (command_is_atomic(command))
		return CAY_RIGHT_ATOMIC;
	return command_is_get(command) ? CAY_RIGHT_READ : CAY_RIGHT_WRITE;
}

/*
 * The record names the window, so its owner does not reuse the descriptor at
 * the same time: all fields that are read here are of one window.
 */
static inline enum cay_error window_check(const struct cay_window_descriptor *d,
	const struct packet *p, struct access *a)
{
	/* Acquire pairs with W1 in window_publish(), port/window.c. */
	a->rights =
		host_load32((const _Atomic uint32_t *)&d->rights, HOST_WINDOW);
	if (unlikely(a->rights == 0))
		return CAY_ERROR_TARGET_WINDOW;
	uint64_t capability =
		host_load_relaxed(window_word(&d->capability), HOST_WINDOW);
	if (unlikely((capability ^ p->capability) & CAY_CAPABILITY_MASK))
		return CAY_ERROR_CAPABILITY;
	if (unlikely(!(a->rights & window_right(p->command))))
		return CAY_ERROR_RIGHTS;
	uint64_t lock = host_load_relaxed(window_word(&d->lock), HOST_WINDOW);
	if (unlikely(lock && lock != p->origin_lock))
		return CAY_ERROR_TARGET_LOCKED;
	uint64_t length =
		host_load_relaxed(window_word(&d->length), HOST_WINDOW);
	if (unlikely(!bits_inside(p->offset, p->length, length)))
		return CAY_ERROR_TARGET_BOUNDS;
	a->at = host_load_relaxed(window_word(&d->start), HOST_WINDOW) +
		p->offset;
	a->owner.pid = host_load32_relaxed(
		(const _Atomic uint32_t *)&d->pid, HOST_WINDOW);
	/* A window may have any alignment; an atomic word must be aligned. */
	if (unlikely(command_is_word(p->command) && (p->offset | a->at) % 8))
		return CAY_ERROR_TARGET_OFFSET_ALIGN;
	return CAY_ERROR_NONE;
}

/* Checks the descriptor, which a peer has written, against the arena. */
static inline bool window_inside(const struct context *to,
	const struct packet *p, const struct access *a)
{
	return a->at >= ARENA_HEAP_OFFSET &&
	       bits_inside(a->at, p->length, to->arena->bytes);
}

/* Publishes a NOTIFY_RMA: an access to a window, or its refusal. */
static inline void window_entry(struct context *to, const struct packet *p,
	const struct claim *claim, enum cay_error error)
{
	uint64_t position = queue_nq(claim->w_old);
	struct cay_nqe *nqe = notify_entry(to, position);
	notify_head(nqe, p->tag, p->origin_node, p->api_tag);
	notify_fill(nqe, &(struct notify_body){ p->length, p->offset, p->window,
				 notify_pointers(claim), p->command });
	notify_publish(nqe,
		notify_word(to, position,
			(uint16_t)(CAY_NOTIFY_RMA |
				   (unsigned)error << CAY_COMMAND_ERROR_SHIFT),
			0, p->origin_vpid));
}

/* Returns true if the owner has not returned the last notification. */
static bool window_refusal_unread(
	struct context *to, const struct cay_window_descriptor *d)
{
	uint32_t notified = host_load32(
		(const _Atomic uint32_t *)&d->notified, HOST_WINDOW);
	uint64_t r = host_load(&to->control->r, HOST_R);
	/* Entries that were not returned are at most nq_entries. */
	return notified && (uint32_t)(notified - 1 - (uint32_t)queue_nq(r)) <
				   to->nq_entries;
}

/*
 * Notifies the owner of a refusal if it has requested that, and has returned
 * the entry of the last such notification, which `notified` names. If an origin
 * dies between claim and publication the entry becomes void, and once it is
 * returned the next refusal is notified.
 */
__attribute__((cold, noinline)) static void window_refused(struct context *to,
	struct op_record *op, const struct packet *p, enum cay_error error)
{
	struct cay_window_descriptor *d = &to->wdt[p->window];
	struct claim claim;
	uint32_t rights =
		host_load32((const _Atomic uint32_t *)&d->rights, HOST_WINDOW);
	if (!(rights & CAY_RIGHT_NOTIFY_REFUSAL))
		return;
	host_add32_relaxed((_Atomic uint32_t *)&d->refusals, 1, HOST_WINDOW);
	/* Count, then load `notified`; window_refusals() does the reverse. */
	host_fence();
	if (window_refusal_unread(to, d) ||
		notify_claim(to, op, 0, to->cq_reserve + to->priority_reserve,
			&claim) != 0)
		return;
	host_store32_relaxed((_Atomic uint32_t *)&d->notified,
		(uint32_t)queue_nq(claim.w_old) + 1, HOST_WINDOW);
	host_step(op, STEP_ENTRY);
	window_entry(to, p, &claim, error);
	host_step(op, STEP_PUBLISH);
	notify_finish(to, op, &claim, 0);
}

/* Loads the identity of the process that owns the memory. */
static inline void window_owner(
	const struct context *to, const struct packet *p, struct access *a)
{
	const struct cay_window_descriptor *d = &to->wdt[p->window];
	a->owner.cookie = host_load32_relaxed(
		(const _Atomic uint32_t *)&d->cookie, HOST_WINDOW);
	a->owner.cookie_address =
		host_load_relaxed(window_word(&d->cookie_address), HOST_WINDOW);
}

/*
 * Checks an access. Returns 0; a positive enum cay_error (refused); or -EPIPE
 * (the queue set is closed). Unless it returns 0 the record is IDLE.
 */
static inline int window_grant(struct context *to, struct op_record *op,
	const struct packet *p, struct access *a)
{
	enum cay_error error = CAY_ERROR_TARGET_WINDOW;
	int r = 0;

	a->notifies = false;
	a->claim = (struct claim){ 0 };
	record_access(op, to, p->window + 1ull);
	if (unlikely(host_load32(&to->control->access_epoch, HOST_MIGRATION) !=
		     to->epoch)) {
		r = -EPIPE;
		goto out;
	}
	if (likely(p->window < to->windows))
		error = window_check(&to->wdt[p->window], p, a);
	if (likely(!error && a->owner.pid == 0) && !window_inside(to, p, a))
		error = CAY_ERROR_MEMORY;
	if (unlikely(error)) {
		if (p->window < to->windows)
			window_refused(to, op, p, error);
		r = (int)error;
		goto out;
	}
	host_step(op, STEP_WINDOW);
	if (unlikely(a->owner.pid))
		window_owner(to, p, a);
	return 0;
out:
	record_access_end(op);
	return r;
}

/*
 * Word mode: offset and length at the target must be whole words. The checks of
 * the window come first. Returns 0, a positive enum cay_error or -EPIPE.
 */
__attribute__((cold, noinline)) static int window_check_words(
	struct context *to, struct op_record *op, const struct packet *p)
{
	enum cay_error error = p->offset % 8   ? CAY_ERROR_TARGET_OFFSET_ALIGN
			       : p->length % 8 ? CAY_ERROR_TARGET_LENGTH_ALIGN
					       : CAY_ERROR_NONE;
	struct access a;
	if (!error)
		return 0;
	int r = window_grant(to, op, p, &a);
	if (r)
		return r;
	window_refused(to, op, p, error);
	record_access_end(op);
	return (int)error;
}

/* Returns true if the access must be emulated. */
static inline bool window_needs_owner(const struct context *to,
	const struct packet *p, const struct access *a)
{
	return unlikely(a->owner.pid) &&
	       (command_is_word(p->command) ||
		       private_load32(&to->process_memory_denied));
}

/*
 * Does the same, and claims the entry of the notification. Returns in addition
 * -EAGAIN (no room for the notification) or -EXDEV (the access must be
 * emulated).
 */
static inline int window_enter(struct context *to, struct op_record *op,
	const struct packet *p, struct access *a)
{
	int r = window_grant(to, op, p, a);
	if (unlikely(!r && window_needs_owner(to, p, a))) {
		record_access_end(op);
		return -EXDEV;
	}
	if (likely(r || !(a->rights & CAY_RIGHT_NOTIFY_ACCESS)))
		return r;
	r = notify_claim(
		to, op, 0, to->cq_reserve + to->priority_reserve, &a->claim);
	a->notifies = r == 0;
	if (r)
		record_access_end(op);
	return r;
}

#define WINDOW_CAPABILITY_SHIFT 16 /* shifts out the other bits */
CAY_STATIC_ASSERT(UINT64_MAX >> WINDOW_CAPABILITY_SHIFT == CAY_CAPABILITY_MASK,
	"the capability is in the lower bits");

/*
 * Fast path: arena memory, not locked, without notification. Returns NULL in
 * all other cases, which the slow path handles. The record names the window in
 * either case.
 */
static inline unsigned char *window_fast_path(const struct context *to,
	struct op_record *op, const struct target *t, uint64_t bytes,
	uint32_t right)
{
	record_access(op, to, t->window + 1ull);
	if (unlikely(host_load32(&to->control->access_epoch, HOST_MIGRATION) !=
			     to->epoch ||
		     t->window >= to->windows))
		return NULL;
	const struct cay_window_descriptor *d = &to->wdt[t->window];
	/* Acquire as in window_check(). */
	uint32_t rights =
		host_load32((const _Atomic uint32_t *)&d->rights, HOST_WINDOW);
	/* The bits above the capability do not count. */
	uint64_t wrong =
		(host_load_relaxed(window_word(&d->capability), HOST_WINDOW) ^
			t->capability)
		<< WINDOW_CAPABILITY_SHIFT;
	uint64_t lock = host_load_relaxed(window_word(&d->lock), HOST_WINDOW);
	uint32_t pid = host_load32_relaxed(
		(const _Atomic uint32_t *)&d->pid, HOST_WINDOW);
	if (unlikely((rights & (right | CAY_RIGHT_NOTIFY_ACCESS)) != right ||
		     wrong | lock | pid))
		return NULL;
	uint64_t length =
		host_load_relaxed(window_word(&d->length), HOST_WINDOW);
	/* A start below the heap gives a large number. */
	uint64_t at = host_load_relaxed(window_word(&d->start), HOST_WINDOW) -
		      ARENA_HEAP_OFFSET + t->offset;
	if (unlikely(!bits_inside(t->offset, bytes, length) ||
		     !bits_inside(at, bytes, to->heap_bytes)))
		return NULL;
	host_step(op, STEP_WINDOW);
	return to->heap + at;
}

/*
 * Ends an access. If it has failed (`done` is not 0), its entry becomes void.
 * Returns `done`, or -ESTALE: the access is done, but its entry was fenced.
 */
static inline int window_leave(struct context *to, struct op_record *op,
	const struct packet *p, const struct access *a, int done)
{
	int r = 0;
	host_step(op, STEP_STORED);
	if (unlikely(a->notifies)) {
		if (done)
			notify_void(to, queue_nq(a->claim.w_old),
				(int64_t)queue_rdr(a->claim.w_new));
		else
			window_entry(to, p, &a->claim, CAY_ERROR_NONE);
		host_step(op, STEP_PUBLISH);
		r = notify_finish(to, op, &a->claim, p->flags);
	}
	record_access_end(op);
	return done ? done : r;
}

/*
 * The queue set was replaced, and the notification of the access was fenced:
 * notifies the owner in the new set, without repeating the access. Returns 0,
 * also if the owner is gone, or CAY_ERROR_NO_RESOURCES: the owner has made no
 * room for too long.
 */
__attribute__((cold, noinline, unused)) static int window_renotify(
	_Atomic(struct context *) *slot, struct op_record *op,
	const struct packet *p)
{
	uint64_t deadline = 0;
	for (;;) {
		struct context *to = host_context(slot);
		struct claim claim;
		int r = notify_claim(to, op, 0, 0, &claim);
		if (r == 0) {
			window_entry(to, p, &claim, CAY_ERROR_NONE);
			r = notify_finish(to, op, &claim, p->flags);
		}
		if (r == 0 || (r == -EPIPE && !host_follow(slot, to)))
			return 0;
		if (r == -EAGAIN && !host_pause(to->arena, &deadline))
			return CAY_ERROR_NO_RESOURCES;
	}
}
