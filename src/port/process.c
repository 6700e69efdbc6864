/* SPDX-License-Identifier: BSD-2-Clause */
/* See process.h. */
#include "port/process.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "contract/arena.h"

static uint32_t *wiped_page;
static uint32_t incarnations; /* a forked child continues to count */

const uint32_t *process_incarnation = &(const uint32_t){ 0 };

int process_incarnation_begin(void)
{
	if (wiped_page && *wiped_page)
		return 0;
	bool forked = wiped_page != NULL;
	if (!wiped_page) {
		void *p = mmap(NULL, ARENA_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -ENOMEM;
		if (madvise(p, ARENA_PAGE, MADV_WIPEONFORK) != 0) {
			munmap(p, ARENA_PAGE);
			return -ENOMEM;
		}
		wiped_page = p;
		process_incarnation = p;
	}
	*wiped_page = ++incarnations;
	return forked;
}

static uint64_t cookie;
static pthread_once_t cookie_once = PTHREAD_ONCE_INIT;

static void cookie_make(void)
{
	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie))
		cookie = (uint64_t)(uintptr_t)&cookie ^ (uint64_t)getpid()
								<< 32;
}

const uint64_t *process_cookie(void)
{
	pthread_once(&cookie_once, cookie_make);
	return &cookie;
}
