/* SPDX-License-Identifier: BSD-2-Clause */
/* See content.h. */
#include "content.h"

#include <string.h>

#include "parties.h"

static uint64_t content_word(enum party party, uint64_t n, unsigned i)
{
	return n == 0 ? 0 : (uint64_t)(party + 1) << 60 | n << 20 | i;
}

void content_fill(uint64_t *to, unsigned words, enum party party, uint64_t n)
{
	for (unsigned i = 0; i < words; i++)
		to[i] = content_word(party, n, i);
}

bool content_filled(
	const uint64_t *from, unsigned words, enum party party, uint64_t n)
{
	for (unsigned i = 0; i < words; i++)
		if (from[i] != content_word(party, n, i))
			return false;
	return true;
}

void content_begin(struct content *c)
{
	content_fill(c->fixed, CONTENT_FIXED_WORDS, PARTY_COUNT, 1);
}

bool content_fixed(const uint64_t *fixed)
{
	return content_filled(fixed, CONTENT_FIXED_WORDS, PARTY_COUNT, 1);
}

/* Untouched pages stay untouched, since there are many scenarios. */
void content_copy(struct content *to, const struct content *from)
{
	memcpy(to, from, offsetof(struct content, bulk));
	for (int i = 0; i < PARTY_COUNT; i++)
		if (from->bulk[i][0])
			memcpy(to->bulk[i], from->bulk[i], sizeof(to->bulk[i]));
}

/* Number of started and completed accesses of a party. */
struct recorded {
	uint64_t tried, done;
};

static struct recorded recorded_of(struct page *page, enum party party,
	enum window window, enum access kind)
{
	struct tally *t = &page->tally[party][window][kind];
	return (struct recorded){ atomic_load(&t->tried),
		atomic_load(&t->done) };
}

/* Each word is that of the last completed put, or of the next one. */
static bool words_check(const uint64_t *from, unsigned words, enum party party,
	struct recorded n)
{
	for (unsigned i = 0; n.tried && i < words; i++)
		if (from[i] != content_word(party, n.done, i) &&
			from[i] != content_word(party, n.tried, i))
			return false;
	return true;
}

static bool lane_check(struct page *page, uint64_t word, enum party party,
	enum window window, enum access kind)
{
	static const char *const names[] = { [ACCESS_ADD] = "added",
		[ACCESS_SWAP] = "swapped",
		[ACCESS_COUNTED] = "counted" };
	struct recorded n = recorded_of(page, party, window, kind);
	uint64_t count = content_count(word, party);
	if (count >= n.done && count <= n.tried)
		return true;
	return page_fail(page,
		"window %d: %s has %s %lu times, %lu done, "
		"%lu tried",
		(int)window, party_name(party), names[kind], count, n.done,
		n.tried);
}

static bool content_check_of(struct page *page, const struct content *c,
	enum window window, enum party party)
{
	struct recorded masked =
		recorded_of(page, party, window, ACCESS_MASKED);
	uint8_t byte = (uint8_t)(c->masked >> (8 * party));
	if (!lane_check(page, c->sum, party, window, ACCESS_ADD) ||
		!lane_check(page, c->swapped, party, window, ACCESS_SWAP) ||
		!lane_check(page, c->counted, party, window, ACCESS_COUNTED))
		return false;
	if (byte != (uint8_t)masked.done && byte != (uint8_t)masked.tried)
		return page_fail(page, "window %d: the byte of %s is %u",
			(int)window, party_name(party), byte);
	if (!words_check(c->put[party], CONTENT_PUT_WORDS, party,
		    recorded_of(page, party, window, ACCESS_PUT)) ||
		!words_check(c->bulk[party], CONTENT_BULK_WORDS, party,
			recorded_of(page, party, window, ACCESS_BULK)))
		return page_fail(page, "window %d: the put of %s is damaged",
			(int)window, party_name(party));
	return true;
}

/* Refused accesses have not changed the memory. */
static bool content_check_untouched(struct page *page, const struct content *c)
{
	static struct content untouched;
	content_begin(&untouched);
	return memcmp(c, &untouched, offsetof(struct content, bulk)) == 0 ||
	       page_fail(page, "a refused access has changed the memory");
}

bool content_check(
	struct page *page, const struct content *c, enum window window)
{
	if (window == WINDOW_REFUSED)
		return content_check_untouched(page, c);
	for (int i = 0; i < PARTY_COUNT; i++)
		if (!content_check_of(page, c, window, (enum party)i))
			return false;
	return content_fixed(c->fixed) ||
	       page_fail(page, "window %d: the unwritten part has changed",
		       (int)window);
}

/* All ones: interpreted as a window descriptor, it has all rights. */
void content_scribble(void *memory, size_t bytes)
{
	memset(memory, 0xff, bytes);
}

bool content_scribbled(const void *memory, size_t bytes)
{
	const uint64_t *words = memory;
	for (size_t i = 0; i < bytes / 8; i++)
		if (words[i] != UINT64_MAX)
			return false;
	return true;
}
