/* SPDX-License-Identifier: BSD-2-Clause */
/* See life.h. */
#include "port/life.h"

#include <errno.h>
#include <sys/mman.h>

#include "contract/arena.h"

static uint32_t *page;
static uint32_t lives; /* ordinary memory: the child goes on counting */

const uint32_t *life_now = &(const uint32_t){ 0 };

int life_begin(void)
{
	if (page && *page)
		return 0;
	bool forked = page != NULL;
	if (!page) {
		void *p = mmap(NULL, ARENA_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -ENOMEM;
		if (madvise(p, ARENA_PAGE, MADV_WIPEONFORK) != 0) {
			munmap(p, ARENA_PAGE);
			return -ENOMEM;
		}
		page = p;
		life_now = page;
	}
	*page = ++lives;
	return forked;
}
