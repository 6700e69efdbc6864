/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder: executes packets that have a result. Its steps are window load
 * and check (in window.c), translation, fetch, response. Atomics are those of
 * the processor, so that local threads may use the same word.
 *
 * On the direct path it runs on the thread of the origin, and the response is a
 * return value.
 */

/* Loads whole words, each atomically. */
static inline void responder_words(
	uint64_t *to, const unsigned char *from, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		to[i] = host_load(
			(const _Atomic uint64_t *)(const void *)(from + 8 * i),
			HOST_MEMORY);
}

static inline void responder_load(
	unsigned char *to, const unsigned char *from, uint64_t bytes)
{
	uint64_t words[CAY_FAST_PUT_WORDS];
	if (likely(bytes <= CAY_FAST_PUT_BYTES &&
		    ((uintptr_t)from | bytes) % 8 == 0)) {
		responder_words(words, from, bytes / 8);
		memcpy(to, words, bytes);
		return;
	}
	host_copy(to, from, bytes, HOST_MEMORY);
}

/* Returns 0, a positive enum cay_error, or -EXDEV. */
static inline int responder_get(
	struct context *to, const struct access *a, const struct packet *p)
{
	void *local = p->payload->iov_base;
	if (unlikely(a->owner.pid))
		return translate_process(to, a, local, p->length, false);
	responder_load(local, translate_arena(to, a), p->length);
	return 0;
}

/* Returns the sum and the previous value. */
static inline struct response responder_add(
	_Atomic uint64_t *word, uint64_t addend)
{
	uint64_t previous = host_add(word, addend, HOST_MEMORY);
	return (struct response){ previous + addend, previous };
}

/* Returns the value afterwards and the previous value. */
static inline struct response responder_swap(
	_Atomic uint64_t *word, uint64_t compare, uint64_t swap)
{
	uint64_t found = compare;
	bool stored = host_cas(word, &found, swap, HOST_MEMORY);
	return (struct response){ stored ? swap : found, found };
}

static inline struct response responder_operate(
	_Atomic uint64_t *word, unsigned command, const uint64_t operand[2])
{
	return command == CAY_FAA
		       ? responder_add(word, operand[0])
		       : responder_swap(word, operand[0], operand[1]);
}

static inline int responder_atomic(struct context *to, const struct access *a,
	const struct packet *p, struct response *out)
{
	if (unlikely(a->owner.pid))
		return -EXDEV;
	*out = responder_operate(translate_word(to, a), p->command, p->operand);
	if (p->payload)
		*(uint64_t *)p->payload->iov_base = out->previous;
	return 0;
}
