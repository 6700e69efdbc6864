/* SPDX-License-Identifier: BSD-2-Clause */
/* See cookie.h. */
#include "port/cookie.h"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t cookie;
static pthread_once_t cookie_once = PTHREAD_ONCE_INIT;

static void cookie_make(void)
{
	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie))
		cookie = (uint64_t)(uintptr_t)&cookie ^ (uint64_t)getpid()
								<< 32;
}

const uint64_t *cookie_of_process(void)
{
	pthread_once(&cookie_once, cookie_make);
	return &cookie;
}
