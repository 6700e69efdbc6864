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
 * The injecting thread, when all slices appear to be in use: loads the returned
 * position. Returns 0, -EAGAIN, or -EBADMSG if it is impossible.
 */
__attribute__((noinline, unused)) static int ultra_reload(
	struct ultra_requester *u)
{
	uint64_t sent = private_load(&u->sent);
	uint64_t now = host_load(&u->page->position, HOST_RETURN); /* U4 */
	/* At most all slices are in use. */
	if (sent - now > u->next.slices)
		return -EBADMSG;
	private_store(&u->limit, now + u->next.slices);
	return sent - now == u->next.slices ? -EAGAIN : 0;
}

/*
 * Any thread of the origin: returns the returned position. The target may have
 * taken a message that is not counted in `sent` yet.
 */
static inline uint64_t ultra_returned(const struct ultra_requester *u)
{
	uint64_t now = host_load(&u->page->position, HOST_RETURN); /* U4 */
	uint64_t sent = private_load(&u->sent);
	return sent - now <= u->next.slices ? now : sent;
}

/* Stores payload and tag into a slice. Calls no function for up to 48 bytes. */
static folded void ultra_fill(
	uint64_t *end, uint64_t tag, const unsigned char *data, size_t length)
{
	uint64_t *to = end - 2 - (length + 7) / 8;
	if (likely(length <= COMPLETER_IMMEDIATE_MAX))
		completer_immediate(to, 0, data, length, HOST_SLICE);
	else
		host_copy(to, data, length, HOST_SLICE);
	host_write(end - 2, tag, HOST_SLICE);
}

/*
 * Injects a message into a slice that is free. The length is at most
 * ultra_payload_max(). Returns false if the page has other flags than ENABLED.
 * Calls no function for up to 48 bytes.
 */
static folded bool ultra_inject(struct ultra_requester *u, uint64_t tag,
	const unsigned char *data, size_t length, unsigned flags)
{
	uint64_t sent = private_load(&u->sent);
	uint64_t *end = (uint64_t *)(void *)u->next.end;
	ultra_fill(end, tag, data, length);
	host_step_unrecorded(STEP_ENTRY);
	host_store((_Atomic uint64_t *)(end - 1), /* U1 */
		length | (uint64_t)flags << CAY_ULTRA_FLAGS_SHIFT |
			u->next.generation,
		HOST_SLICE);
	host_step_unrecorded(STEP_PUBLISH);
	ultra_cursor_advance(&u->next);
	private_store(&u->sent, sent + 1);
	if (unlikely(u->fence))
		host_fence();
	else
		host_fence_light();
	/* U5; the lower half: the flags. */
	return (uint32_t)host_load(&u->page->flags, HOST_RETURN) ==
	       ULTRA_ENABLED;
}

/*
 * Returns 1 and the next message, 0 if there is none, or -EBADMSG if its status
 * is invalid. The status is loaded once.
 */
static folded int ultra_peek(
	const struct ultra_completer *u, struct ultra_message *m)
{
	const uint64_t *end = (const uint64_t *)(const void *)u->next.end;
	uint64_t status = host_load(
		(const _Atomic uint64_t *)(end - 1), HOST_SLICE); /* U2 */
	if ((status ^ u->next.generation) >> CAY_ULTRA_GENERATION_SHIFT)
		return 0;
	m->length = status & 0xffff;
	m->flags = (uint8_t)(status >> CAY_ULTRA_FLAGS_SHIFT);
	if (unlikely(m->length > ultra_payload_max(&u->next)))
		return -EBADMSG;
	m->tag = host_read(end - 2, HOST_SLICE);
	m->data = (const unsigned char *)(end - 2 - (m->length + 7) / 8);
	return 1;
}

static inline void ultra_copy_word(
	unsigned char *to, const uint64_t *from, unsigned i)
{
	uint64_t word = host_read(&from[i], HOST_SLICE);
	memcpy(to + 8 * i, &word, sizeof(word));
}

/*
 * Copies a payload of up to 48 bytes without a call. Unrolled, as
 * completer_immediate().
 */
static folded void ultra_copy(const struct ultra_message *m, unsigned char *to)
{
	const uint64_t *from = (const uint64_t *)(const void *)m->data;
	uint32_t words = m->length / 8, left = m->length % 8;
	switch (words) {
	case 6:
		ultra_copy_word(to, from, 5);
		/* fall through */
	case 5:
		ultra_copy_word(to, from, 4);
		/* fall through */
	case 4:
		ultra_copy_word(to, from, 3);
		/* fall through */
	case 3:
		ultra_copy_word(to, from, 2);
		/* fall through */
	case 2:
		ultra_copy_word(to, from, 1);
		/* fall through */
	case 1:
		ultra_copy_word(to, from, 0);
	}
	if (likely(left == 0))
		return;
	uint64_t word = host_read(&from[words], HOST_SLICE);
	for (uint32_t i = 0; i < left; i++, word >>= 8)
		to[8 * words + i] = (unsigned char)word;
}

/* Returns the slices of all messages taken. True: wake the origin. */
__attribute__((noinline, unused)) static bool ultra_return(
	struct ultra_completer *u)
{
	uint64_t position = private_load(&u->position);
	if (u->returned == position)
		return false;
	u->returned = position;
	host_store(&u->page->position, position, HOST_RETURN); /* U3 */
	host_step_unrecorded(STEP_RETURN);
	host_fence();
	uint64_t asleep = host_load(&u->origin->asleep, HOST_RETURN); /* U6 */
	if (!asleep || asleep == u->woken)
		return false;
	u->woken = asleep;
	return true;
}

/*
 * Advances past the message of ultra_peek(). The position is returned after a
 * quarter of the slices, or at once if the origin waits for this message. True:
 * wake the origin.
 */
static folded bool ultra_take(struct ultra_completer *u, unsigned flags)
{
	uint64_t position = private_load(&u->position) + 1;
	ultra_cursor_advance(&u->next);
	private_store(&u->position, position);
	host_step_unrecorded(STEP_TAKE);
	if (likely(position - u->returned < u->next.slices / 4 &&
		    !(flags & CAY_ULTRA_ACK)))
		return false;
	return ultra_return(u);
}

/*
 * Takes the next message into a buffer. `line`: only one of up to 48 bytes,
 * without a call; else -E2BIG. Returns the length, | ULTRA_WAKE; -EAGAIN,
 * -EMSGSIZE or -EBADMSG.
 */
static folded int ultra_receive(struct ultra_completer *u, uint64_t *tag,
	void *buffer, size_t size, bool line)
{
	struct ultra_message m;
	int r = ultra_peek(u, &m);
	if (r <= 0)
		return r ? r : -EAGAIN;
	if (unlikely(m.length > size))
		return -EMSGSIZE;
	if (line && unlikely(m.length > COMPLETER_IMMEDIATE_MAX))
		return -E2BIG;
	if (likely(tag))
		*tag = m.tag;
	if (line)
		ultra_copy(&m, buffer);
	else
		host_copy(buffer, m.data, m.length, HOST_SLICE);
	return (int)m.length | (ultra_take(u, m.flags) ? ULTRA_WAKE : 0);
}
