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

void content_begin(struct content *g)
{
	content_fill(g->fixed, CONTENT_FIXED_WORDS, PARTY_COUNT, 1);
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

/* The record of a party about one kind of access. */
struct noted {
	uint64_t tried, done;
};

static struct noted noted_of(
	struct page *page, enum party party, enum place place, enum access kind)
{
	struct tally *t = &page->tally[party][place][kind];
	return (struct noted){ atomic_load(&t->tried), atomic_load(&t->done) };
}

/* Each word is that of the last completed put, or of the next one. */
static bool words_check(
	const uint64_t *from, unsigned words, enum party party, struct noted n)
{
	for (unsigned i = 0; n.tried && i < words; i++)
		if (from[i] != content_word(party, n.done, i) &&
			from[i] != content_word(party, n.tried, i))
			return false;
	return true;
}

static bool lane_check(struct page *page, uint64_t word, enum party party,
	enum place place, enum access kind)
{
	static const char *const names[] = { [ACCESS_ADD] = "added",
		[ACCESS_SWAP] = "swapped",
		[ACCESS_COUNTED] = "counted" };
	struct noted n = noted_of(page, party, place, kind);
	uint64_t count = content_count(word, party);
	if (count >= n.done && count <= n.tried)
		return true;
	return page_fail(page,
		"place %d: %s has %s %lu times, %lu done, "
		"%lu tried",
		(int)place, party_name(party), names[kind], count, n.done,
		n.tried);
}

static bool content_check_of(struct page *page, const struct content *g,
	enum place place, enum party party)
{
	struct noted masked = noted_of(page, party, place, ACCESS_MASKED);
	uint8_t byte = (uint8_t)(g->masked >> (8 * party));
	if (!lane_check(page, g->sum, party, place, ACCESS_ADD) ||
		!lane_check(page, g->swapped, party, place, ACCESS_SWAP) ||
		!lane_check(page, g->counted, party, place, ACCESS_COUNTED))
		return false;
	if (byte != (uint8_t)masked.done && byte != (uint8_t)masked.tried)
		return page_fail(page, "place %d: the byte of %s is %u",
			(int)place, party_name(party), byte);
	if (!words_check(g->put[party], CONTENT_PUT_WORDS, party,
		    noted_of(page, party, place, ACCESS_PUT)) ||
		!words_check(g->bulk[party], CONTENT_BULK_WORDS, party,
			noted_of(page, party, place, ACCESS_BULK)))
		return page_fail(page, "place %d: what %s put is damaged",
			(int)place, party_name(party));
	return true;
}

/* Refused accesses have not changed the memory. */
static bool content_check_untouched(struct page *page, const struct content *g)
{
	static struct content untouched;
	content_begin(&untouched);
	return memcmp(g, &untouched, offsetof(struct content, bulk)) == 0 ||
	       page_fail(page, "refused, but there all the same");
}

bool content_check(struct page *page, const struct content *g, enum place place)
{
	if (place == PLACE_REFUSED)
		return content_check_untouched(page, g);
	for (int i = 0; i < PARTY_COUNT; i++)
		if (!content_check_of(page, g, place, (enum party)i))
			return false;
	return content_fixed(g->fixed) ||
	       page_fail(page, "place %d: nobody wrote there", (int)place);
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
