/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ULTRA units. The requester injects a message with stores into one slice;
 * the completer takes it with loads from the same lines. The static parts
 * (route, identity, sizes) were checked when the path was set up.
 *
 * Origin	ultra_inject()	payload, tag, status
 * Target	ultra_peek()	loads the status of the next slice
 *		ultra_take()	advances; returns the position lazily
 *
 * Ordering edges:
 *   U1 store status (release) pairs with U2 load status (acquire): payload.
 *   U3 store position (release) pairs with U4 load position (acquire): the
 *      target has read what the origin is about to overwrite.
 *   U5 load the page's flags after U1. The target sets ASLEEP, executes a
 *      barrier in all processes and loads the status again: the origin finds
 *      ASLEEP, or the target finds the status. If the target cannot execute
 *      that barrier, the origin executes a fence.
 *   U6 load `asleep` of the origin page after U3 and a fence. The origin sets
 *      it, executes a fence and loads the position again.
 */

/*
 * The injecting thread: loads the returned position. Returns false if it is
 * impossible.
 */
static inline bool ultra_reload(struct ultra_requester *u)
{
	uint64_t sent = private_load(&u->sent);
	uint64_t seen = private_load(&u->returned);
	uint64_t now = host_load(&u->page->position, HOST_RETURN); /* U4 */
	if (now - seen > sent - seen)
		return false;
	private_store(&u->returned, now);
	return true;
}

static inline bool ultra_full(const struct ultra_requester *u)
{
	return private_load(&u->sent) - private_load(&u->returned) >=
	       ultra_slice_count(&u->slices);
}

/*
 * Any thread of the origin: returns the returned position. The target may have
 * taken a message that is not counted in `sent` yet.
 */
static inline uint64_t ultra_returned(const struct ultra_requester *u)
{
	uint64_t now = host_load(&u->page->position, HOST_RETURN); /* U4 */
	uint64_t sent = private_load(&u->sent);
	uint64_t seen = private_load(&u->returned);
	return now - seen <= sent - seen ? now : sent;
}

/*
 * Returns 0; 1 (injected, but the page has other flags than ENABLED); -EAGAIN
 * (all slices are in use); or -EBADMSG (the target has returned an impossible
 * position). The length is at most ultra_payload_max().
 */
static folded int ultra_inject(struct ultra_requester *u, uint64_t tag,
	const unsigned char *data, size_t length, unsigned flags)
{
	uint64_t sent = private_load(&u->sent);
	if (unlikely(ultra_full(u))) {
		if (!ultra_reload(u))
			return -EBADMSG;
		if (ultra_full(u))
			return -EAGAIN;
	}
	unsigned char *end = ultra_slice_end(&u->slices, sent);
	uint64_t *trailer = (uint64_t *)(void *)(end - CAY_ULTRA_TRAILER);
	uint64_t *to = trailer - (length + 7) / 8;
	if (likely(length <= COMPLETER_IMMEDIATE_MAX))
		completer_immediate(to, 0, data, length, HOST_SLICE);
	else
		host_copy(to, data, length, HOST_SLICE);
	host_write(trailer, tag, HOST_SLICE);
	host_step_unrecorded(STEP_ENTRY);
	host_store(ultra_status_word(end), /* U1 */
		length | (uint64_t)flags << CAY_ULTRA_FLAGS_SHIFT |
			ultra_generation(&u->slices, sent)
				<< CAY_ULTRA_GENERATION_SHIFT,
		HOST_SLICE);
	host_step_unrecorded(STEP_PUBLISH);
	private_store(&u->sent, sent + 1);
	if (unlikely(u->fence))
		host_fence();
	else
		host_fence_light();
	return host_load(&u->page->flags, HOST_RETURN) !=
	       ULTRA_ENABLED; /* U5 */
}

/*
 * Returns 1 and the next message, 0 if there is none, or -EBADMSG if its status
 * is invalid. The status is loaded once.
 */
static folded int ultra_peek(
	const struct ultra_completer *u, struct ultra_message *m)
{
	uint64_t position = private_load(&u->position);
	unsigned char *end = ultra_slice_end(&u->slices, position);
	uint64_t status =
		host_load(ultra_status_word(end), HOST_SLICE); /* U2 */
	if (status >> CAY_ULTRA_GENERATION_SHIFT !=
		ultra_generation(&u->slices, position))
		return 0;
	const uint64_t *trailer =
		(const uint64_t *)(const void *)(end - CAY_ULTRA_TRAILER);
	m->length = status & 0xffff;
	m->flags = (uint8_t)(status >> CAY_ULTRA_FLAGS_SHIFT);
	if (unlikely(m->length > ultra_payload_max(&u->slices)))
		return -EBADMSG;
	m->tag = host_read(trailer, HOST_SLICE);
	m->data = (const unsigned char *)(trailer - (m->length + 7) / 8);
	return 1;
}

/* Copies the payload of a message; short ones without a call. */
static folded void ultra_copy(const struct ultra_message *m, unsigned char *to)
{
	if (unlikely(m->length > COMPLETER_IMMEDIATE_MAX)) {
		host_copy(to, m->data, m->length, HOST_SLICE);
		return;
	}
	const uint64_t *from = (const uint64_t *)(const void *)m->data;
	uint32_t left = m->length;
	for (; left >= 8; left -= 8, to += 8) {
		uint64_t word = host_read(from++, HOST_SLICE);
		memcpy(to, &word, sizeof(word));
	}
	uint64_t word = left ? host_read(from, HOST_SLICE) : 0;
	for (; left; left--, word >>= 8)
		*to++ = (unsigned char)word;
}

/* Returns the slices of all messages taken. True: wake the origin. */
static inline bool ultra_return(struct ultra_completer *u)
{
	uint64_t position = private_load(&u->position);
	if (u->returned == position)
		return false;
	u->returned = position;
	host_store(&u->page->position, position, HOST_RETURN); /* U3 */
	host_step_unrecorded(STEP_RETURN);
	host_fence();
	return host_load(&u->origin->asleep, HOST_RETURN); /* U6 */
}

/*
 * Advances past the message of ultra_peek(). The position is returned after a
 * quarter of the slices, or at once if the origin waits for this message. True:
 * wake the origin.
 */
static folded bool ultra_take(struct ultra_completer *u, unsigned flags)
{
	uint64_t position = private_load(&u->position) + 1;
	private_store(&u->position, position);
	host_step_unrecorded(STEP_TAKE);
	if (likely(position - u->returned < ultra_slice_count(&u->slices) / 4 &&
		    !(flags & CAY_ULTRA_ACK)))
		return false;
	return ultra_return(u);
}
